"""Odd replies of real servers, over HTTP, in every dialect: the intended step, or a correction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.core.prompts.model import Dialect
from holo_tasks.core.prompts.step import Step
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.dialects import dialect_for
from holo_tasks.models.profile import profile_for
from tests.support.scripted_model import Answer, ScriptedModel, completion, function_call

BODY = {"model": "m", "messages": [], "max_tokens": 100}
DIALECTS: dict[str, Dialect] = {
    "structured": dialect_for(profile_for("holo3-1-35b-a3b"), "structured"),
    "tools": dialect_for(profile_for("holo3-1-35b-a3b"), "tools"),
    "holotron": dialect_for(profile_for("holotron-12b")),
}
HALF, LAST = {"holotron": 0.5}, {"holotron": 1.0}


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Server:
    """A server that always sends one reply, and the result of parsing it."""

    def __init__(self) -> None:
        self._said: list[Answer] = []
        self._model = ScriptedModel(lambda number, body: self._said[0])

    async def reply(self, answer: Answer) -> Reply:
        self._said = [answer]
        endpoint = ModelEndpoint(self._model.base_url, None)
        try:
            return await endpoint.complete(BODY, timeout_s=10)
        finally:
            await endpoint.close()

    async def step(self, dialect: str, answer: Answer) -> Step:
        return DIALECTS[dialect].parse(await self.reply(answer))


@pytest.fixture(scope="module")
def server() -> Any:
    served = Server()
    with served._model:
        yield served


def click(dialect: str, x: Any, y: Any = None) -> dict[str, Any]:
    """Return the object for a click in a dialect; for function calling, only the arguments."""
    y = (0.5 if dialect == "holotron" else 500) if y is None else y
    place = {"x": x, "y": y}
    match dialect:
        case "structured":
            return {"note": None, "thought": "t", "tool_call": {"tool_name": "click", "element": "OK", **place}}
        case "tools":
            return {"element": "OK", **place}
        case _:
            rest = {"element_type": "button", "text": None, "confidence": 0.9, "reasoning": "OK"}
            return {"action": "click", **place, **rest}


def message(dialect: str, said: str, **fields: Any) -> dict[str, Any]:
    """Return a message that holds the text where the dialect expects its object."""
    if dialect == "tools":
        return {"content": None, "tool_calls": [function_call("click", said)], **fields}
    return {"content": said, **fields}


def good(dialect: str) -> str:
    return json.dumps(click(dialect, HALF.get(dialect, 500)))


def meant(step: Step) -> bool:
    call = step.tool_call
    return call.tool_name == "click" and (call.x, call.y) == (500, 500)  # type: ignore[union-attr]


FENCED = ["```json\n{}\n```", "```\n{}\n```", " \n{}\n\n", "<think>{{1}}</think>{}", "I see {{it}}.\n</think>\n\n{}"]


@pytest.mark.parametrize("fenced", FENCED)
async def test_harmless_additions_are_removed(server: Server, dialect: str, fenced: str) -> None:
    assert meant(await server.step(dialect, completion(message(dialect, fenced.format(good(dialect))))))


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
async def test_reasoning_is_not_part_of_the_step(server: Server, dialect: str, name: str) -> None:
    step = await server.step(dialect, completion(message(dialect, good(dialect), **{name: "click (1, 1)"})))
    assert meant(step)
    assert "(1, 1)" not in step.model_dump_json()


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None}])
async def test_an_odd_bill_does_not_affect_the_step(server: Server, dialect: str, usage: Any) -> None:
    assert meant(await server.step(dialect, completion(message(dialect, good(dialect)), usage=usage)))


async def test_the_last_pixel_is_on_the_picture(server: Server, dialect: str) -> None:
    step = await server.step(dialect, completion(message(dialect, json.dumps(click(dialect, LAST.get(dialect, 1000))))))
    assert step.tool_call.x == 1000  # type: ignore[union-attr]


@pytest.mark.parametrize("x", [1001, -1, 10**9, "5", "0.5", True, None, [480, 520], [0.1, 0.2], {"x": 5}, 1.5, -0.1])
async def test_a_coordinate_outside_the_picture_gets_a_correction(server: Server, dialect: str, x: Any) -> None:
    with pytest.raises(UnusableReply) as caught:
        await server.step(dialect, completion(message(dialect, json.dumps(click(dialect, x)))))
    assert "x: " in caught.value.correction


SPOILT = [
    "I will click the OK button.",
    "",
    "null",
    "[]",
    "{}",
    '"click"',
    "GOODGOOD",
    "[GOOD, GOOD]",
    "GOOD That was it.",
    "Here: ```json\nGOOD\n```",
    "CUT",
    "<think>GOOD",
    "GOOD</think>",
    "GOOD</think>GOOD",
    '{"a": NaN}',
    '{"\\ud800": 1}',
    '{"a": "\\udc00"}',
    "{" + '"a":{' * 5000,
    '{"a": 1' + "0" * 5000 + "}",
]


@pytest.mark.parametrize("spoilt", SPOILT, ids=lambda text: text[:20])
async def test_anything_but_one_object_gets_a_correction(server: Server, dialect: str, spoilt: str) -> None:
    text = spoilt.replace("GOOD", good(dialect)).replace("CUT", good(dialect)[:-5])
    with pytest.raises(UnusableReply) as caught:
        await server.step(dialect, completion(message(dialect, text)))
    assert caught.value.correction
    assert f"{caught.value} {caught.value.correction}".encode(), "it can be sent and recorded"


@pytest.mark.parametrize("field", ["\ud800", "force", "tool_name"])
async def test_an_unknown_field_gets_a_correction(server: Server, dialect: str, field: str) -> None:
    value = {**click(dialect, HALF.get(dialect, 500)), field: "double_click"}
    with pytest.raises(UnusableReply) as caught:
        await server.step(dialect, completion(message(dialect, json.dumps(value))))
    assert f"{caught.value} {caught.value.correction}".encode()


@pytest.mark.parametrize("content", [None, "", " \n", 7, {"a": 1}, ["click"]])
async def test_an_empty_reply_is_not_a_step(server: Server, dialect: str, content: Any) -> None:
    for finish_reason in ("stop", "length", None):
        with pytest.raises(UnusableReply) as caught:
            await server.step(dialect, completion({"content": content}, finish_reason=finish_reason))  # type: ignore[arg-type]
        assert caught.value.correction


async def test_a_truncated_reply_is_refused_even_if_it_parses(server: Server, dialect: str) -> None:
    with pytest.raises(UnusableReply, match="cut off"):
        await server.step(dialect, completion(message(dialect, good(dialect)), finish_reason="length"))


async def test_an_unexpected_function_call_is_ignored(server: Server) -> None:
    call = function_call("click", click("tools", 500))
    for dialect in ("structured", "holotron"):
        for content in (None, "", "Clicking."):
            with pytest.raises(UnusableReply):
                await server.step(dialect, completion({"content": content, "tool_calls": [call]}))
        assert meant(await server.step(dialect, completion({"content": good(dialect), "tool_calls": [call]})))


async def test_an_object_in_the_content_is_not_a_function_call(server: Server) -> None:
    for dialect in ("structured", "tools", "holotron"):
        with pytest.raises(UnusableReply, match="called no function"):
            await server.step("tools", completion({"content": good(dialect)}))

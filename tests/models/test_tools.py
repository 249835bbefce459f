"""Function calling: the first call counts, facts stay in the content, and each replayed call has a unique id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.ports import ToolRequest
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, ClickCall
from holo_tasks.core.prompts.transcript import Correction, ModelStep, Observed, StepResult, Transcript
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.dialects.messages import OUT_OF_STEPS
from holo_tasks.models.dialects.tools import Tools
from holo_tasks.models.profile import profile_for
from tests.support.scripted_model import ScriptedModel, completion, function_call
from tests.support.shots import called, pictures_in, shot, wrote

HOLO31, HOLO4 = (Tools(profile_for(name)) for name in ("holo3-1-35b-a3b", "holo4-35b-a3b"))
OK = {"element": "OK", "x": 5, "y": 1000}
CLICK = ClickCall(tool_name="click", **OK)


def conversation(*steps: Step, is_error: bool = False) -> Transcript:
    transcript = Transcript("Do it.").extended(Observed(shot(0)))
    for number, step in enumerate(steps, start=1):
        told = StepResult(step.tool_call.tool_name, f"Result {number}.", is_error)
        transcript = transcript.extended(ModelStep(step), told, Observed(shot(number)))
    return transcript


def test_a_call_is_a_step_and_the_text_is_its_note() -> None:
    assert HOLO31.parse(called("click", OK)) == Step(tool_call=CLICK, call_id="c1")
    said = called("click", OK, content="<think>Where?</think>\n The total is 7 €. ", finish_reason="tool_calls")
    assert HOLO31.parse(said).note == "The total is 7 €."


def test_only_the_first_of_several_calls_counts() -> None:
    calls = (ToolRequest("a", "click", json.dumps(OK)), ToolRequest("b", "answer", '{"content": "done"}'))
    step = HOLO31.parse(wrote("", tool_calls=calls))
    assert (step.tool_call, step.call_id) == (CLICK, "a")
    (assistant,) = [m for m in HOLO31.request(conversation(step)).body["messages"] if m["role"] == "assistant"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["a"]
    broken = (ToolRequest("a", "click", "{"), calls[0])
    with pytest.raises(UnusableReply):
        HOLO31.parse(wrote("", tool_calls=broken))


async def test_arguments_may_be_an_object() -> None:
    call = {"id": None, "type": "function", "function": {"name": "click", "arguments": OK}}
    with ScriptedModel([completion({"content": None, "tool_calls": [call]})]) as model:
        endpoint = ModelEndpoint(model.base_url, None)
        reply = await endpoint.complete({"model": "m", "messages": []}, timeout_s=10)
        await endpoint.close()
    assert HOLO31.parse(reply) == Step(tool_call=CLICK)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("click", "not JSON"),
        ("click", ""),
        ("click", "null"),
        ("click", "[]"),
        ("click", '{"element": "OK", "x": 5, "y": 5, "y": 6}'),
        ("click", {**OK, "x": 1001}),
        ("click", {**OK, "tool_name": "double_click"}),
        ("click", {"tool_call": OK}),
        ("click", {"x": 5, "y": 5}),
        ("launch", OK),
        ("", OK),
        ("write", OK),
        ("write_at", {**OK, "content": "x"}),
        ("functions.click", OK),
    ],
)
def test_an_invalid_call_gets_a_correction(name: str, arguments: Any) -> None:
    with pytest.raises(UnusableReply) as caught:
        HOLO31.parse(called(name, arguments))
    assert caught.value.correction


def test_prose_gets_a_correction_unless_an_answer_is_due() -> None:
    said = wrote("<think>Hm.</think>The total is 7.")
    with pytest.raises(UnusableReply):
        HOLO4.parse(said)
    assert HOLO4.parse(said, answer_only=True).tool_call == AnswerCall(tool_name="answer", content="The total is 7.")
    for useless in (wrote("<think>Hm.</think> "), called("click", OK), wrote("The total", finish_reason="length")):
        with pytest.raises(UnusableReply):
            HOLO4.parse(useless, answer_only=True)


def test_the_request_declares_functions_and_no_schema() -> None:
    body = HOLO31.request(conversation()).body
    assert body["tool_choice"] == "required"
    assert "click" in [made["function"]["name"] for made in body["tools"]]
    assert not {"structured_outputs", "response_format"} & body.keys()
    assert '"properties"' not in body["messages"][0]["content"]
    assert [message["role"] for message in body["messages"]] == ["system", "user", "user"]
    final = HOLO31.request(conversation(), answer_only=True).body
    assert [made["function"]["name"] for made in final["tools"]] == ["answer"]
    assert final["messages"][-2] == {"role": "user", "content": OUT_OF_STEPS}
    assert final["messages"][0] == body["messages"][0]
    assert HOLO4.request(conversation()).body["tool_choice"] == "auto"


def test_a_step_is_replayed_as_call_result_and_screen() -> None:
    step = Step(note="Total: 7 €.", tool_call=CLICK, call_id="abc")
    *_, assistant, result, screen = HOLO31.request(conversation(step)).body["messages"]
    function = assistant["tool_calls"][0]["function"]
    assert (assistant["content"], function["name"]) == ("Total: 7 €.", "click")
    assert json.loads(function["arguments"]) == {**OK, "button": "left"}
    assert result == {"role": "tool", "tool_call_id": "abc", "content": "Result 1."}
    assert [part["type"] for part in screen["content"]] == ["text", "image_url", "text"]
    result = HOLO31.request(conversation(step, is_error=True)).body["messages"][-2]
    assert result == {"role": "tool", "tool_call_id": "abc", "content": "Error: Result 1."}


@pytest.mark.parametrize("ids", [["call_0"] * 6, [""] * 6, ["a", "a", "b", "a", "", "b"], ["call_0_4", "", "", ""]])
def test_replayed_ids_are_unique_and_stable(ids: list[str]) -> None:
    steps = [Step(tool_call=CLICK, call_id=call_id) for call_id in ids]
    replayed: list[str] = []
    for count in range(len(steps) + 1):
        messages = HOLO31.request(conversation(*steps[:count])).body["messages"]
        made = [message["tool_calls"][0]["id"] for message in messages if message["role"] == "assistant"]
        answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert made == answered
        assert len(set(made)) == count
        assert all(made)
        assert made[:-1] == replayed
        replayed = made
    assert all(own == given for own, given in zip(replayed, ids, strict=True) if given and ids.count(given) == 1)


def test_reasoning_is_replayed_only_to_models_trained_for_it() -> None:
    said = called("click", OK, reasoning="I see a button.")
    for dialect, kept in ((HOLO31, None), (HOLO4, "I see a button.")):
        *_, assistant, _, _ = dialect.request(conversation(dialect.parse(said))).body["messages"]
        assert assistant.get("reasoning_content") == kept
    assert HOLO4.request(conversation()).body["chat_template_kwargs"]["preserve_thinking"] is True
    assert "preserve_thinking" not in HOLO31.request(conversation()).body["chat_template_kwargs"]


def test_a_correction_is_sent_once_before_the_screen() -> None:
    transcript = conversation(Step(tool_call=CLICK, call_id="abc"))
    plain = HOLO31.request(transcript).body["messages"]
    *before, told, screen = HOLO31.request(transcript, correction=Correction("click", "Off the picture.")).body[
        "messages"
    ]
    assert [*before, screen] == plain
    assert told == {"role": "user", "content": '<error tool="click">\nOff the picture.\n</error>'}


def test_old_pictures_are_evicted_in_pairs() -> None:
    steps = [Step(tool_call=CLICK, call_id=str(number)) for number in range(9)]
    before: list[Any] = []
    for count in range(10):
        body = HOLO31.request(conversation(*steps[:count])).body
        assert 1 <= len(pictures_in(body)) <= 3
        same = [one == other for one, other in zip(before, body["messages"], strict=False)]
        assert same.count(False) in (0, 2)
        before = body["messages"]


async def test_tool_suffixes_are_sent_and_parsed() -> None:
    profile = profile_for("mine", like="holo4-27b", tool_suffix="_desktop", tool_choice="required")
    dialect = Tools(profile)
    step = dialect.parse(called("click_desktop", OK))
    assert step.tool_call == CLICK
    (assistant,) = [m for m in dialect.request(conversation(step)).body["messages"] if m["role"] == "assistant"]
    assert assistant["tool_calls"][0] == function_call(
        "click_desktop", json.loads(assistant["tool_calls"][0]["function"]["arguments"])
    )
    with pytest.raises(UnusableReply):
        dialect.parse(called("click", OK))

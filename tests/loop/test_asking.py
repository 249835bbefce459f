"""A question outside the conversation is asked, charged, and sent back if the reply is invalid."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, ModelFailed, TransientModelFault, UnusableReply
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.ports import Reply
from holo_tasks.loop.ask_model.ask import Question, QuestionCalls, ask
from holo_tasks.loop.ask_model.corrections import Corrections
from holo_tasks.loop.ask_model.predict import MIN_OUTPUT_TOKENS, CallAccount
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, shot, wrote

PAID = wrote({"paid": True})
SCHEMA = {"type": "object", "properties": {"paid": {"type": "boolean"}}}


async def asking(
    client: MemoryModel,
    recorder: MemoryRecorder,
    asked: QuestionCalls | None = None,
    text: str = "Is it paid?",
    **changes: Any,
) -> Any:
    guard = Guard("The run", Limits(), 0.0)
    question = Question("judge", text, (shot(1), shot(2)), SCHEMA)

    def read(value: dict[str, Any]) -> Any:
        if "paid" not in value:
            raise UnusableReply("there is no paid", correction="Say whether it is paid.")
        return value["paid"]

    till = CallAccount(guard, recorder.record, lambda: 0.0)
    return await ask(as_model(client, **changes), question, till, read, asked)


@pytest.mark.parametrize(
    "first",
    [
        wrote({"a": 1}),
        wrote("Yes, it is paid."),
        wrote(""),
        wrote('{"paid": "\\ud800"}'),
        wrote('{"paid": true, "paid": false}'),
        wrote({"paid": True}, finish_reason="length"),
    ],
    ids=lambda reply: repr(reply.content),
)
async def test_an_unusable_reply_is_sent_back_with_a_correction(first: Reply) -> None:
    client, recorder = MemoryModel([first, PAID]), MemoryRecorder()
    assert await asking(client, recorder) is True
    texts = [body["messages"][0]["content"][-1]["text"] for body in client.bodies]
    (correction,) = recorder.of("correction")
    assert correction.reason.encode()
    assert texts[1].startswith("Is it paid?\n\n")
    assert len(texts[1]) > len(texts[0])
    assert [event.purpose for event in recorder.of("request")] == ["judge", "judge"]
    assert sum(event.cost_micro_usd for event in recorder.of("reply")) == 2 * 340


async def test_the_fourth_unusable_reply_fails_the_question_and_is_quoted() -> None:
    client = MemoryModel([wrote("Yes.\x1b[31m\nIt is. " + "Really. " * 100)])
    recorder = MemoryRecorder()
    with pytest.raises(ModelFailed, match="corrected 3 times") as caught:
        await asking(client, recorder)
    assert len(client.bodies) == 4
    assert len(recorder.of("correction")) == 4
    assert r"Its last reply was ‘'Yes.\x1b[31m It is. Really." in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


async def test_the_number_of_corrections_can_be_set() -> None:
    client = MemoryModel([wrote("")])
    with pytest.raises(ModelFailed, match=r"no usable reply: .* Its last reply was empty"):
        await asking(client, MemoryRecorder(), QuestionCalls(Corrections(0)))
    assert len(client.bodies) == 1


async def test_an_endpoint_fault_does_not_count_as_a_correction() -> None:
    client = MemoryModel([wrote("Yes."), TransientModelFault("503"), wrote("Yes."), PAID])
    recorder, asked = MemoryRecorder(), QuestionCalls(Corrections(1))
    with pytest.raises(TransientModelFault):
        await asking(client, recorder, asked)
    with pytest.raises(ModelFailed, match="corrected 1 time:"):
        await asking(client, recorder, asked)
    assert [event.attempt for event in recorder.of("request")] == [1, 2, 3]
    first, second, third = [body["messages"][0]["content"][-1]["text"] for body in client.bodies]
    assert first != second == third, "the correction is still sent after the fault"


async def test_a_reply_may_be_as_long_as_the_free_context() -> None:
    small = {"context_tokens": 4096, "max_output_tokens": 4096}
    client, recorder = MemoryModel([PAID]), MemoryRecorder()
    await asking(client, recorder, **small)
    assert MIN_OUTPUT_TOKENS < client.bodies[0]["max_tokens"] < 4096
    await asking(client, recorder, text="Is it paid? " * 500, **small)
    assert client.bodies[1]["max_tokens"] < client.bodies[0]["max_tokens"] - 1000
    with pytest.raises(InvalidUsage, match="4096 tokens"):
        await asking(client, recorder, text="Is it paid? " * 1000, **small)
    assert len(client.bodies) == len(recorder.of("request")) == 2, "a question that does not fit is not sent"


async def test_a_question_is_one_message_with_the_pictures_first_and_no_thinking() -> None:
    client = MemoryModel([PAID])
    await asking(client, MemoryRecorder())
    (body,) = client.bodies
    (message,) = body["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "image_url", "text"]
    assert body["structured_outputs"] == {"json": SCHEMA}
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert body["temperature"] == 0
    assert "reasoning_effort" not in body
    assert "tools" not in body


async def test_a_model_without_a_thinking_option_gets_none_in_the_request() -> None:
    client = MemoryModel([PAID])
    await asking(client, MemoryRecorder(), thinking="default", schema_transport="response_format")
    assert "chat_template_kwargs" not in client.bodies[0]
    assert client.bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA

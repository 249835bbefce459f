"""Ask a model one question and read the JSON object in its reply.

`ask` is used for questions outside of steps, such as the verdict of a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from holo_tasks.core.errors import InvalidUsage, UnusableReply
from holo_tasks.core.events import Corrected, Purpose
from holo_tasks.core.prompts.json_object import parse_json_object
from holo_tasks.core.prompts.model import Model, Request
from holo_tasks.core.screen.frame import Shot
from holo_tasks.loop.ask_model.corrections import Corrections
from holo_tasks.loop.ask_model.predict import MIN_OUTPUT_TOKENS, CallAccount, predict, prompt_tokens

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A question with its pictures and the JSON schema of the reply."""

    purpose: Purpose
    text: str
    shots: Sequence[Shot]
    schema: Mapping[str, Any]
    thinking: bool = False


@dataclass
class QuestionCalls:
    """Counts the calls and corrections of a question.

    The caller passes the same object again if Prefect retries its task, so that retries give no extra attempts.
    """

    corrections: Corrections = field(default_factory=Corrections)
    attempts: int = 0


async def ask(
    model: Model,
    question: Question,
    account: CallAccount,
    read: Callable[[dict[str, Any]], T],
    calls: QuestionCalls | None = None,
) -> T:
    """Return the result of ``read`` for the reply; ``read`` raises `UnusableReply` for a reply that it rejects.

    After a rejected reply the model is asked again, with the reason. ``account`` charges and records the calls. Call
    this function again with the same ``calls`` after a transient fault. Raises `ModelFailed` after too many
    corrections, and `InvalidUsage` if the question does not fit the model's context.
    """
    calls = calls or QuestionCalls()
    corrections = calls.corrections
    while True:
        text = f"{question.text}\n\n{corrections.last.text}" if corrections.last else question.text
        request = model.question(text, question.shots, question.schema, thinking=question.thinking)
        fit(request, model.context_tokens)
        calls.attempts += 1
        reply = await predict(model, request, account, attempt=calls.attempts, purpose=question.purpose)
        try:
            if reply.finish_reason == "length":
                raise UnusableReply("the reply was cut off", correction="Your last reply was cut off: be brief.")
            return read(parse_json_object(reply.content))
        except UnusableReply as error:
            await account.record(Corrected(reason=str(error)))
            corrections.count(error, reply, "reply")


def fit(request: Request, context_tokens: int) -> None:
    """Lower the request's ``max_tokens`` in place, to the room that the context has for a reply.

    Raises `InvalidUsage` if the room is too small for a reply.
    """
    most, room = int(request.body["max_tokens"]), context_tokens - prompt_tokens(request)
    if room < min(most, MIN_OUTPUT_TOKENS):
        raise InvalidUsage(
            f"The question and its pictures do not fit the {context_tokens} tokens that {request.body['model']} can "
            "read. Ask in fewer words, give fewer facts, or show a region of the screen."
        )
    request.body["max_tokens"] = min(most, room)

"""Asking a model one question and reading the JSON object it replies with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from holo_tasks.core.errors import ModelFailed, UnusableReply
from holo_tasks.core.events import Corrected, Purpose
from holo_tasks.core.frame import Shot
from holo_tasks.core.json_object import parse_json_object
from holo_tasks.core.model import Model
from holo_tasks.core.predict import Till, predict

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """What is asked, about which pictures, and the JSON schema of the reply."""

    purpose: Purpose
    text: str
    shots: Sequence[Shot]
    schema: Mapping[str, Any]
    thinking: bool = False


async def ask(model: Model, question: Question, till: Till, read: Callable[[dict[str, Any]], T]) -> T:
    """Return what ``read`` makes of the reply; it raises `UnusableReply` for one that will not do.

    Such a reply is sent back once. Raises `ModelFailed` when the second will not do either.
    """
    text = question.text
    for attempt in (1, 2):
        request = model.question(text, question.shots, question.schema, thinking=question.thinking)
        reply = await predict(model, request, till, attempt=attempt, purpose=question.purpose)
        try:
            if reply.finish_reason == "length":
                raise UnusableReply("the reply was cut off", correction="Your last reply was cut off: be brief.")
            return read(parse_json_object(reply.content))
        except UnusableReply as error:
            await till.record(Corrected(reason=str(error)))
            text = f"{question.text}\n\n{error.correction}"
            problem = str(error)
    raise ModelFailed(f"The model gave no usable reply twice: {problem}.")

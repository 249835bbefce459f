"""A model that can be asked: where it is, how it is spoken to, what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holo_tasks.core.frame import Shot
from holo_tasks.core.macros import Macro
from holo_tasks.core.money import Price
from holo_tasks.core.ports import ModelClient, Reply
from holo_tasks.core.step import Step
from holo_tasks.core.toolbox import Space
from holo_tasks.core.transcript import Correction, Transcript


@dataclass(frozen=True)
class Request:
    """The body of a chat completion request, and the pictures in it, oldest first."""

    body: dict[str, Any]
    shots: tuple[Shot, ...] = ()


class Dialect(Protocol):
    """How a conversation is written down for a family of models: transcript in, request out; reply in, step out."""

    @property
    def reading(self) -> str:
        """What it depends on, besides the request, how a reply is read."""
        ...

    def offering(self, macros: Sequence[Macro]) -> Dialect:
        """Return the same dialect with macros beside the model's own tools.

        Raises `InvalidUsage` for names that do not go together, and for a dialect without tools.
        """
        ...

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        """Return the request for the next step.

        ``correction`` tells the model what was wrong with its last reply; it is not part of the
        transcript, so it is never replayed. ``answer_only`` allows nothing but an answer.
        """
        ...

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        """Read the step; raise `UnusableReply` if there is none."""
        ...


class Questioner(Protocol):
    """Writes a one-shot question: no conversation, the pictures first, the reply a JSON object."""

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request: ...


@dataclass(frozen=True)
class Model:
    """One model at one endpoint.

    ``price`` is None when nobody knows what a token costs. ``question`` writes a one-shot question about pictures.
    ``image_budget`` pictures are shown in a request.
    """

    name: str
    client: ModelClient
    dialect: Dialect
    question: Questioner
    price: Price | None
    context_tokens: int
    image_budget: int
    call_timeout_s: float = 120.0
    space: Space = "thousandths"

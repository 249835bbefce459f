"""A model that can be called: its endpoint, its dialect and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holo_tasks.core.limits.money import Price
from holo_tasks.core.ports import ModelClient, Reply
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.toolbox import Space
from holo_tasks.core.prompts.transcript import Correction, Transcript
from holo_tasks.core.screen.frame import Shot


@dataclass(frozen=True)
class Request:
    """The body of a chat completion request, and its pictures, oldest first."""

    body: dict[str, Any]
    shots: tuple[Shot, ...] = ()


class Dialect(Protocol):
    """Format of conversations for a family of models: it writes transcripts as requests and parses replies as steps."""

    @property
    def reading(self) -> str:
        """Version of the reply parser, for cache keys: everything except the request that decides how a reply is
        read."""
        ...

    def offering(self, macros: Sequence[Macro]) -> Dialect:
        """Return the same dialect with macros in addition to the model's own tools.

        Raises `InvalidUsage` for conflicting names, and for a dialect without tools.
        """
        ...

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        """Return the request for the next step.

        ``correction`` explains the error in the model's last reply. It is not part of the transcript, so it is never
        replayed. ``answer_only`` allows no call but an answer.
        """
        ...

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        """Parse a reply into a step. Raises `UnusableReply` if that is not possible."""
        ...


class Questioner(Protocol):
    """Writes a single question without a conversation: pictures first, and a JSON object as the reply."""

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request: ...


@dataclass(frozen=True)
class Model:
    """One model at one endpoint.

    ``price`` is ``None`` if the cost of a token is unknown. ``question`` writes a single question about pictures.
    ``image_budget`` is the most pictures in one request.
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

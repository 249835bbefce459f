"""How the core sees the world outside: what a desktop, a model and a recorder can be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holo_tasks.core.events import Event
from holo_tasks.core.frame import Frame, RedactedFrame, Shot
from holo_tasks.core.gestures import Gesture, Receipt
from holo_tasks.core.transcript import Turn


class Desktop(Protocol):
    """A screen with hands, in a process of its own."""

    @property
    def display(self) -> str: ...

    async def look(self, *, after_action: bool = False) -> Frame:
        """Wait until the screen is quiet, then capture it."""
        ...

    async def do(self, gesture: Gesture, *, deadline: float | None = None) -> Receipt:
        """Carry out one gesture. ``deadline`` is on the monotonic clock, in seconds."""
        ...


class Redactor(Protocol):
    """Paints over what must not leave the machine."""

    def redact(self, frame: Frame) -> RedactedFrame: ...


class Encoder(Protocol):
    """Turns a redacted frame into the bytes that are sent."""

    def encode(self, frame: RedactedFrame) -> Shot: ...

    def strip(self, turns: Sequence[Turn]) -> Shot:
        """Put the last actions into one picture, made of pictures that were sent before."""
        ...


class Recorder(Protocol):
    """Where the evidence goes. Both calls return only when what they were given is durable."""

    async def keep(self, shot: Shot) -> None: ...

    async def record(self, event: Event) -> None: ...


@dataclass(frozen=True)
class Usage:
    """Tokens on a bill, as the server counted them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True)
class ToolRequest:
    """One function call in a reply, not yet trusted; ``arguments`` should be a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """What a model server sent back, not yet trusted. ``usage`` is None when the server gave none."""

    content: str
    finish_reason: str
    usage: Usage | None
    latency_ns: int = 0
    reasoning: str = ""
    tool_calls: tuple[ToolRequest, ...] = ()

    @property
    def written_bytes(self) -> int:
        """All that the model wrote, in bytes: it is on the bill."""
        called = sum(len(call.name) + len(call.arguments.encode()) for call in self.tool_calls)
        return len(self.content.encode()) + len(self.reasoning.encode()) + called


class ModelClient(Protocol):
    """One request to a model endpoint, tried once."""

    @property
    def endpoint(self) -> str: ...

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        """Send a chat completion request; raise a `ModelFailed` or `InvalidUsage` if there is no reply."""
        ...

"""How the core sees the world outside: what a desktop, a model and a recorder can be asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from holo_tasks.core.attachment import Attachment
from holo_tasks.core.budget import Guard
from holo_tasks.core.elements import ElementTree
from holo_tasks.core.frame import Frame, Mask, RedactedFrame, Shot
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Gesture, Receipt
from holo_tasks.core.input_permit import Slip
from holo_tasks.core.money import Usage
from holo_tasks.core.monitors import Monitor
from holo_tasks.core.overbilling import Overbilling, Quote
from holo_tasks.core.programs import Owner
from holo_tasks.core.remote_input import ByHand
from holo_tasks.core.shared_files import SharedFolder

if TYPE_CHECKING:  # these take long to load, and the process that owns a desktop has no use for them
    from holo_tasks.core.events import Event
    from holo_tasks.core.transcript import Turn


class Desktop(Protocol):
    """A screen with hands, in a process of its own."""

    @property
    def display(self) -> str: ...

    async def look(self, *, after_action: bool = False) -> Frame:
        """Wait until the screen is quiet, then capture it."""
        ...

    async def do(self, gesture: Gesture, *, deadline: float | None = None, slip: Slip | None = None) -> Receipt:
        """Carry out one gesture. ``deadline`` is on the monotonic clock, in seconds; ``slip`` shows it is permitted.

        Raises `PolicyRefused` before any input event if the desktop wants a slip and this one is not good for it.
        """
        ...

    async def owner_at(self, at: Point | None) -> Owner:
        """Say whose window gets a press at a point or, without one, the keys."""
        ...


@runtime_checkable
class Gated(Protocol):
    """A desktop whose input a run can have stopped, whatever hangs. All but `serve` may be called from any thread."""

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Belong to a run from now on: take no input without a slip and a lease, and look for requests to stop it.

        ``began_s`` is when the run began, in seconds on the monotonic clock; ``folder`` is where requests are.
        """
        ...

    def renew(self, until_s: float) -> None:
        """Let input through until then, in seconds on the clock that goes on while the machine sleeps."""
        ...

    def latch(self) -> None:
        """Stop all input, for good."""
        ...

    @property
    def latched(self) -> bool:
        """Whether input was stopped for good, by this process or another."""
        ...

    @property
    def at_rest(self) -> bool:
        """Whether the latch was noticed where the input is sent: nothing is pressed or on its way any more."""
        ...

    def kill(self) -> None:
        """End the desktop by force."""
        ...


@runtime_checkable
class Held(Protocol):
    """A desktop that a person can be given, and that takes no input of the agent's and shows it nothing meanwhile."""

    async def hold(self) -> None:
        """Keep the agent away: when this returns nothing is pressed, and `look` and `do` raise `ScreenHeld`.

        What is being done is stopped half-way, what waits its turn is not begun. Held as often as it was asked for.
        """
        ...

    async def release(self) -> None:
        """Let the agent go on, once this was called as often as `hold`; what a person left pressed is let go."""
        ...

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        ...


@runtime_checkable
class Shown(Protocol):
    """A desktop that a person can look at and use from elsewhere."""

    async def open_vnc(self) -> Path:
        """Start a VNC server that wants no password and takes no input; return its socket, which is this user's."""
        ...

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Do what a person does. Raises a `HoloError`, before any of it, unless the desktop is held for one."""
        ...

    async def close_vnc(self, path: Path) -> None:
        """End a VNC server, and with it what is connected to it."""
        ...


@runtime_checkable
class TellsWindows(Protocol):
    """A desktop whose frames can say which windows are in them. It takes some time, so they do once this is set."""

    tells_windows: bool


@runtime_checkable
class SharesFiles(Protocol):
    """A desktop that has a folder which its programs and the agent share."""

    async def shared_folder(self) -> SharedFolder:
        """Return that folder, which is the agent's own until a program is told of it. Raises `InvalidUsage` if none."""
        ...


@runtime_checkable
class TellsElements(Protocol):
    """A desktop whose programs tell of their elements, as far as they do."""

    async def elements(self) -> ElementTree:
        """Return the elements of this moment, within a bounded time.

        Where there is no bus, or programs tell nothing, the tree is empty and says why not; that raises nothing.
        """
        ...


@runtime_checkable
class TellsMonitors(Protocol):
    """A desktop that can say which monitors its display has."""

    async def monitors(self) -> Sequence[Monitor]: ...


class Masker(Protocol):
    """Finds what must not leave the machine, of one kind or a few."""

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return the areas to paint over. Any error means that nothing of this frame is sent."""
        ...


class Redactor(Protocol):
    """Paints over what must not leave the machine."""

    async def redact(self, frame: Frame) -> RedactedFrame: ...


class Encoder(Protocol):
    """Turns a redacted frame into the bytes that are sent."""

    def encode(self, frame: RedactedFrame) -> Shot: ...

    def strip(self, turns: Sequence[Turn]) -> Shot:
        """Put the last actions into one picture, made of pictures that were sent before."""
        ...


class Recorder(Protocol):
    """Where the evidence goes. Both calls return only when what they were given is durable."""

    async def keep(self, shot: Shot | Attachment) -> None: ...

    async def record(self, event: Event) -> None: ...


class BudgetStore(Protocol):
    """The durable side of guardrails, shared with other processes. All calls are durable when they return."""

    async def quote(self, guard: Guard, meter: str, patience_s: float) -> Quote:
        """Return what a call is made on.

        Waits while another call is the first to a server that nobody knows the bills of; raises `TransientModelFault`
        if that takes longer than ``patience_s``.
        """
        ...

    async def alone(self, quote: Quote, meter: str, patience_s: float) -> Quote | None:
        """Return what a call is made on that cannot afford what is known of its server, if it may find out whether
        that still holds; None if it may not. Waits as `quote` does.
        """
        ...

    async def learn(self, quote: Quote, meter: str, seen: Overbilling | None, *, doubtful: bool = False) -> None:
        """Take in what a call's bill tells, None where it brought none; others need not wait for it any more.

        ``doubtful`` says that there may be a bill that nobody has seen.
        """
        ...

    async def reserve(self, guard: Guard, worst_micro: int) -> str:
        """Hold the worst case of a call; return a name to settle it by. Raises `LimitReached`, holding nothing."""
        ...

    async def settle(self, hold: str, actual_micro: int, still_held_micro: int = 0) -> None:
        """Replace what was held by the bill; ``still_held_micro`` stays held, because it may be billed yet."""
        ...

    async def count_action(self, guard: Guard) -> None:
        """Count an action before it is done. Raises `LimitReached` if it is one too many."""
        ...


class SetsAside(Protocol):
    """Sets one-time codes aside, so that nobody else types them."""

    async def take(self, names: Collection[str]) -> tuple[tuple[str, int], ...]:
        """Return for each of these secrets that is a seed the window whose code is ours; waits for one that is free.

        Raises `SecretRefused` where others take each next one.
        """
        ...


class Journal(Protocol):
    """Where the effects on one business item are written down before they are tried. All calls are durable."""

    async def intend(self, action: str, frame: str) -> int:
        """Write down an action before its first input event; return its number.

        Raises `Killed` if another worker has taken over.
        """
        ...

    async def done(self, number: int) -> None:
        """Write down that all input events of an action were sent."""
        ...

    async def void(self, number: int) -> None:
        """Take back an intent of which no input event was sent."""
        ...


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

"""Protocols of the outer packages: the methods that a desktop, a model endpoint, a recorder and a budget store must
have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from holo_tasks.core.attachment import Attachment
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.limits.budget import Guard
from holo_tasks.core.limits.money import Usage
from holo_tasks.core.limits.overbilling import Overbilling, Quote
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, Mask, RedactedFrame, Shot
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.monitors import Monitor
from holo_tasks.core.shared_files import SharedFolder

if TYPE_CHECKING:  # these take long to load, and the process that owns a desktop does not need them
    from holo_tasks.core.events import Event
    from holo_tasks.core.prompts.transcript import Turn


class Desktop(Protocol):
    """A screen with mouse and keyboard, in a process of its own."""

    @property
    def display(self) -> str: ...

    async def look(self, *, after_action: bool = False) -> Frame:
        """Wait until the screen is quiet, then capture it."""
        ...

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        """Carry out one gesture. ``deadline`` is in seconds on the monotonic clock; ``input_permit`` is its permit.

        Raises `PolicyRefused` before any input event if the desktop requires a slip and this one is not valid for the
        gesture.
        """
        ...

    async def owner_at(self, at: Point | None) -> Owner:
        """Return the owner of the window at a point or, without a point, of the focused window."""
        ...


@runtime_checkable
class Gated(Protocol):
    """A desktop whose input a run can stop, even if other parts hang. All methods but `serve` are thread-safe."""

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Attach the desktop to a run: require a slip and a lease for input, and watch for requests to stop it.

        ``began_s`` is the start of the run in seconds on the monotonic clock. ``folder`` is where requests are put.
        """
        ...

    def renew(self, until_s: float) -> None:
        """Allow input until ``until_s``, in seconds on the clock that also runs while the machine sleeps."""
        ...

    def latch(self) -> None:
        """Stop all input permanently."""
        ...

    @property
    def latched(self) -> bool:
        """Whether input was stopped permanently, by this process or another."""
        ...

    @property
    def at_rest(self) -> bool:
        """Whether the process that sends input has seen the latch. Nothing is pressed or in transit any more."""
        ...

    def kill(self) -> None:
        """Terminate the desktop by force."""
        ...


@runtime_checkable
class Held(Protocol):
    """A desktop that a person can take over. Meanwhile it accepts no input from the agent and gives it no pictures."""

    async def hold(self) -> None:
        """Keep the agent away. After the call nothing is pressed, and `look` and `do` raise `ScreenHeld`.

        A running gesture is stopped half-way, and waiting ones are not started. Calls nest with `release`.
        """
        ...

    async def release(self) -> None:
        """Let the agent continue after as many calls as to `hold`.

        Keys and buttons that the person left pressed are released.
        """
        ...

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        ...


@runtime_checkable
class Shown(Protocol):
    """A desktop that a person can view and use from another machine."""

    async def open_vnc(self) -> Path:
        """Start a VNC server without a password and without input; return its socket, which only this user can open."""
        ...

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Carry out a person's input. Raises a `HoloError` beforehand unless the desktop is held for a person."""
        ...

    async def close_vnc(self, path: Path) -> None:
        """Stop a VNC server and close its connections."""
        ...


@runtime_checkable
class ReportsWindows(Protocol):
    """A desktop whose frames list their windows once this flag is set. The listing takes some time."""

    tells_windows: bool


@runtime_checkable
class ArrangesWindows(Protocol):
    """A desktop that can put windows of other programs behind its own programs, and bring a window into the screen."""

    async def put_foreign_behind(self, *, covering: bool) -> bool:
        """Put small foreign windows behind if one has the keyboard or, with ``covering``, lies over a program.

        It sends no input. Returns whether there was one.
        """
        ...

    async def fit_window(self) -> bool:
        """Bring the active window into the screen if it reaches beyond the edge; return whether it was moved."""
        ...


@runtime_checkable
class SharesFiles(Protocol):
    """A desktop with a folder that its programs share with the agent."""

    async def shared_folder(self) -> SharedFolder:
        """Return the shared folder.

        Only the agent uses it until a program gets its path. Raises `InvalidUsage` without one.
        """
        ...


@runtime_checkable
class ReportsElements(Protocol):
    """A desktop that can read the accessibility trees of its programs."""

    async def elements(self) -> ElementTree:
        """Return the current elements within a bounded time.

        Without an accessibility bus, or if programs publish nothing, the tree is empty and gives the reason. This
        raises no error.
        """
        ...


@runtime_checkable
class ReportsMonitors(Protocol):
    """A desktop that can list the monitors of its display."""

    async def monitors(self) -> Sequence[Monitor]: ...


class Masker(Protocol):
    """Finds private content of one or more kinds."""

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        """Return the areas to paint over. If it raises any error, nothing of the frame is sent."""
        ...


class Redactor(Protocol):
    """Paints over private content."""

    async def redact(self, frame: Frame) -> RedactedFrame: ...


class Encoder(Protocol):
    """Encodes a redacted frame to the bytes that are sent."""

    def encode(self, frame: RedactedFrame) -> Shot: ...

    def strip(self, turns: Sequence[Turn]) -> Shot:
        """Combine the last actions into one picture, made of pictures that were sent before."""
        ...


class Recorder(Protocol):
    """The writer of a trace. Both methods return only after their argument is stored durably."""

    async def keep(self, shot: Shot | Attachment) -> None: ...

    async def record(self, event: Event) -> None: ...


class BudgetStore(Protocol):
    """The durable storage of budgets, shared with other processes. All calls are durable when they return."""

    async def quote(self, guard: Guard, meter: str, patience_s: float) -> Quote:
        """Return the money left and the known excess for the next call.

        Waits while another caller probes a server with unknown billing. Raises `TransientModelFault` if that takes
        longer than ``patience_s``.
        """
        ...

    async def alone(self, quote: Quote, meter: str, patience_s: float) -> Quote | None:
        """Return a quote for a probe of whether the server's known excess still holds, or ``None`` if no probe is due.

        It is for a call that cannot afford that excess. Waits like `quote`.
        """
        ...

    async def learn(self, quote: Quote, meter: str, seen: Overbilling | None, *, doubtful: bool = False) -> None:
        """Record the excess that a call's bill shows (``None`` without a bill), and end the wait of other callers.

        ``doubtful`` says that there may be a bill that was not received.
        """
        ...

    async def reserve(self, guard: Guard, worst_micro: int) -> str:
        """Reserve the worst-case cost of a call and return the reservation's id.

        Raises `LimitReached` without reserving anything.
        """
        ...

    async def settle(self, hold: str, actual_micro: int, still_held_micro: int = 0) -> None:
        """Replace a reservation by the bill. ``still_held_micro`` stays reserved because it may still be billed."""
        ...

    async def count_action(self, guard: Guard) -> None:
        """Count an action before it is carried out. Raises `LimitReached` if it exceeds the limit."""
        ...


class LimitsCodeWindow(Protocol):
    """Reserves one-time codes, so that no other process types them."""

    async def take(self, names: Collection[str]) -> tuple[tuple[str, int], ...]:
        """Return for each seed among these secrets the window of the reserved code. Waits for a free window.

        Raises `SecretRefused` if other processes keep taking each next one.
        """
        ...


class Journal(Protocol):
    """The write-ahead log of effects on one business item. All calls are durable."""

    async def intend(self, action: str, frame: str) -> int:
        """Record an action before its first input event and return its number.

        Raises `Killed` if another worker has taken over the item.
        """
        ...

    async def done(self, number: int) -> None:
        """Record that all input events of an action were sent."""
        ...

    async def void(self, number: int) -> None:
        """Withdraw an intent whose input events were never sent."""
        ...


@dataclass(frozen=True)
class ToolRequest:
    """One function call in a reply, not yet validated. ``arguments`` should be a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """The response of a model server, not yet validated. ``usage`` is ``None`` if the server sent none."""

    content: str
    finish_reason: str
    usage: Usage | None
    latency_ns: int = 0
    reasoning: str = ""
    tool_calls: tuple[ToolRequest, ...] = ()

    @property
    def written_bytes(self) -> int:
        """Number of bytes that the model wrote. The server bills all of these."""
        called = sum(len(call.name) + len(call.arguments.encode()) for call in self.tool_calls)
        return len(self.content.encode()) + len(self.reasoning.encode()) + called


class ModelClient(Protocol):
    """Sends single requests to a model endpoint, without retries."""

    @property
    def endpoint(self) -> str: ...

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        """Send a chat completion request. Raises `ModelFailed` or `InvalidUsage` without a reply."""
        ...

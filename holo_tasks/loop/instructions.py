"""Instructions of the loop's guards. Only the loop looks at the screen and acts on it.

The guards are `guide`, `press_once`, `repeated_press` and `stuck_recovery`. Their methods are plain generators. Each
yields one instruction after another, gets each result back, and returns its own result. So a test can drive a guard
without a desktop, a model or a walk. A generator under way is called a *course*.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from holo_tasks.core.events import Event
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.states import State
from holo_tasks.loop.screens import Do, Screens

T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """A screen, and the requested state that it shows, if any."""

    frame: Frame
    state: State | None


@dataclass(frozen=True)
class Look:
    """Take a new picture with all checks. The next decision sees it. Has no result."""


@dataclass(frozen=True)
class Glance:
    """Take a new picture for the guard alone. It is neither stored nor sent to a model. The result is the `Frame`.

    ``redacted`` applies the masks.
    """

    redacted: bool = False


@dataclass(frozen=True)
class Recognize:
    """Recognize which of some states a screen shows. The result is a `View`.

    The screen is the one of a glance, or of the last look.
    """

    states: Sequence[State]
    glanced: Frame | None = None


@dataclass(frozen=True)
class CheckState:
    """Check whether a screen shows a state: the screen of a glance, or of the last look. The result is a boolean."""

    state: State
    glanced: Frame | None = None


@dataclass(frozen=True)
class FocusedTitle:
    """Get the title of the window that has the keyboard focus. The result is a string."""


@dataclass(frozen=True)
class GetTime:
    """Get the time. The result is in seconds."""


@dataclass(frozen=True)
class Wait:
    """Let the program work for some seconds, but not past a deadline. Has no result."""

    seconds: float


@dataclass(frozen=True)
class Perform:
    """Do a declared script or sub-goal, then look. Has no result.

    ``what`` is its purpose, and ``screens`` are those that may appear meanwhile.
    """

    do: Do
    what: str
    screens: Screens


@dataclass(frozen=True)
class Escape:
    """Press Escape with the same checks as every action. The result is a sentence about the outcome."""


@dataclass(frozen=True)
class LookForEffect:
    """Look for an effect. The result is true if the effect is certainly missing, and false if this is unknown."""

    not_done: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Ask:
    """Ask a question about the newest screen. The result is a boolean."""

    question: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Record:
    """Write an event into the trace. Has no result."""

    event: Event


@dataclass(frozen=True)
class AddText:
    """Add text to the newest screen for the next decision. Has no result."""

    words: str


@dataclass(frozen=True)
class ReportStuck:
    """Tell the decider that it is stuck, with ``pictures`` of its last actions.

    The result is the digest of the added picture, or an empty string.
    """

    pictures: bool


@dataclass(frozen=True)
class GiveUp:
    """End the work of this layer. The loop raises `GaveUp`, and the course does not continue."""

    why: str


Instruction: TypeAlias = (
    Look
    | Glance
    | Recognize
    | CheckState
    | FocusedTitle
    | GetTime
    | Wait
    | Perform
    | Escape
    | LookForEffect
    | Ask
    | Record
    | AddText
    | ReportStuck
    | GiveUp
)
GuardSteps: TypeAlias = Generator[Instruction, Any, T]
"""Generator that yields instructions, gets their results, and returns a result."""

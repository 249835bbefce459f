"""What a guard of the loop can ask for: the loop alone looks at the screen and acts on it.

A guard (the screens' guide, the buttons pressed once, the recovery of a stuck agent) is a plain generator, a *course*:
it yields one instruction after another, is sent what came of each, and returns what it comes to. So it takes values and
returns values, and a test can drive it without a desktop, a model or a walk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from holo_tasks.core.events import Event
from holo_tasks.core.frame import Frame
from holo_tasks.core.states import State
from holo_tasks.loop.screens import Do, Screens

T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """A screen, and which of the states asked for it shows."""

    frame: Frame
    state: State | None


@dataclass(frozen=True)
class Look:
    """Take a fresh picture through all doors: it is what the next decision sees. Sends nothing back."""


@dataclass(frozen=True)
class Glance:
    """Take a fresh picture for the guard alone: it is neither kept nor sent to a model. Sends back the `Frame`.

    ``redacted`` paints over what must not leave the machine.
    """

    redacted: bool = False


@dataclass(frozen=True)
class Recognize:
    """Tell which of some states a screen shows: a glance's, or the one looked at last. Sends back a `View`."""

    states: Sequence[State]
    glanced: Frame | None = None


@dataclass(frozen=True)
class Shows:
    """Tell whether a screen shows a state: a glance's, or the one looked at last. Sends back a truth value."""

    state: State
    glanced: Frame | None = None


@dataclass(frozen=True)
class TitleWithKeyboard:
    """Tell the title of the window that has the keyboard. Sends back a text."""


@dataclass(frozen=True)
class Now:
    """Tell the time. Sends back seconds."""


@dataclass(frozen=True)
class Wait:
    """Let the program work for so many seconds, but not past a deadline. Sends nothing back."""

    seconds: float


@dataclass(frozen=True)
class Perform:
    """Do what was declared, a script or a whole sub-goal, then look.

    ``what`` says what for, ``screens`` what may come up meanwhile. Sends nothing back.
    """

    do: Do
    what: str
    screens: Screens


@dataclass(frozen=True)
class Escape:
    """Press Escape, by the same doors as every action. Sends back a sentence that says what came of it."""


@dataclass(frozen=True)
class LookForEffect:
    """Ask who knows whether an effect is there. Sends back true if it certainly is not, false if nobody can say."""

    not_done: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Ask:
    """Ask a question about the newest screen. Sends back a truth value."""

    question: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Record:
    """Write an event into the trace. Sends nothing back."""

    event: Event


@dataclass(frozen=True)
class Tell:
    """Tell whoever decides next some words, beside the newest screen. Sends nothing back."""

    words: str


@dataclass(frozen=True)
class TakeStock:
    """Tell whoever decides that they go round in circles, with ``pictures`` of what they did.

    Sends back the digest of that picture, empty if there is none.
    """

    pictures: bool


@dataclass(frozen=True)
class GiveUp:
    """End the work of this layer. The loop raises `GaveUp`; nothing is sent back, ever."""

    why: str


Instruction: TypeAlias = (
    Look
    | Glance
    | Recognize
    | Shows
    | TitleWithKeyboard
    | Now
    | Wait
    | Perform
    | Escape
    | LookForEffect
    | Ask
    | Record
    | Tell
    | TakeStock
    | GiveUp
)
Course: TypeAlias = Generator[Instruction, Any, T]
"""What a guard asks for, step by step, and what it comes to."""

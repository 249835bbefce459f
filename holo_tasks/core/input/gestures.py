"""Gestures of mouse and keyboard, in pixels and key names: the only commands that a desktop accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holo_tasks.core.screen.geometry import Box, Point

Button: TypeAlias = Literal["left", "middle", "right"]
Direction: TypeAlias = Literal["up", "down", "left", "right"]


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release a button ``count`` times at a point (2 is a double click)."""

    at: Point
    button: Button = "left"
    count: int = 1


@dataclass(frozen=True, slots=True)
class Move:
    """Move the pointer and leave it there (hover)."""

    to: Point


@dataclass(frozen=True, slots=True)
class Drag:
    """Press at ``start``, move in steps, release at ``end``."""

    start: Point
    end: Point
    button: Button = "left"


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel by ``notches`` at a point; ``down`` shows content further below."""

    at: Point
    direction: Direction
    notches: int


@dataclass(frozen=True, slots=True)
class Write:
    """Type text into the focused control, after a click ``at`` a point if one is given.

    ``overwrite`` first selects the field's content, which the text then replaces. The text may hold
    ``{{secret:NAME}}``: the process that owns the keyboard inserts the value.
    """

    text: str
    overwrite: bool = False
    press_enter: bool = False
    at: Point | None = None


@dataclass(frozen=True, slots=True)
class Hotkey:
    """Press keys together and release them in reverse order, ``repeat`` times."""

    keys: tuple[str, ...]
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class HoldAndTap:
    """Hold some keys, tap others one after the other, then release the held keys."""

    hold: tuple[str, ...]
    tap: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait while the program is busy."""

    seconds: float


Gesture: TypeAlias = Click | Move | Drag | Scroll | Write | Hotkey | HoldAndTap | Pause


def keys(gesture: Gesture) -> int:
    """Return about how many keys a gesture presses one after the other."""
    match gesture:
        case Write(text):
            return len(text)
        case Hotkey(repeat=repeat):
            return repeat
        case HoldAndTap(tap=tap):
            return len(tap)
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class Typed:
    """The place where a typed secret shows: the field ``box``, and the pixels ``around`` it. Held in memory only.

    ``before`` and ``after`` are the pixels of ``around`` before and after typing, height x width x 3 bytes each.
    ``window`` is the number of the innermost window that draws only this field. If one window draws the whole program,
    it is that window. ``inside`` is that window's box, and ``pid`` its process; both numbers are 0 if unknown.
    ``hidden`` says that the field shows the same sign for each character, as password fields do.
    """

    box: Box
    around: Box
    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    window: int = 0
    inside: Box | None = None
    pid: int = 0
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a gesture was carried out: the time of its last input event, and its duration.

    ``events`` counts all keys of a secret as one event. ``typed`` lists the places where secrets show. ``left_out``
    describes a part of the gesture that was not done, and the reason: its first press brought up an unexpected screen.
    """

    done_at_ns: int
    took_ns: int
    events: int
    typed: tuple[Typed, ...] = ()
    left_out: str = ""

"""What hands do on a screen, in pixels and key names: the only vocabulary a desktop understands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from holo_tasks.core.geometry import Box, Point

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
    """Turn the wheel by ``notches`` at a point; ``down`` shows what is further below."""

    at: Point
    direction: Direction
    notches: int


@dataclass(frozen=True, slots=True)
class Write:
    """Type text into whatever has the keyboard, after a click ``at`` a point if one is given.

    ``overwrite`` first selects and replaces what the field holds. The text may hold
    ``{{secret:NAME}}``: the value is put in by the process that owns the keyboard.
    """

    text: str
    overwrite: bool = False
    press_enter: bool = False
    at: Point | None = None


@dataclass(frozen=True, slots=True)
class Hotkey:
    """Press keys together, release them in reverse order, ``repeat`` times."""

    keys: tuple[str, ...]
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class HoldAndTap:
    """Hold some keys, tap others one after the other, then let go."""

    hold: tuple[str, ...]
    tap: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for a while: the program is busy."""

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
    """Where a secret shows since it was typed: the whole field ``box``, and the pixels ``around`` it, in memory only.

    ``before`` and ``after`` hold height x width x 3 bytes of ``around``, from before and after the typing.
    ``window`` is the number of the innermost window that draws nothing but this field or, where one draws all that a
    program shows, of that; ``inside`` is where it was, and ``pid`` the process that it is of. Zero where nobody can
    say. ``hidden`` says that the field shows the same sign for each character, as for passwords.
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
    """Proof that a gesture was carried out: when the last input event was sent, and how long it took.

    ``events`` counts all keys of a secret as one. ``typed`` says where secrets show since. ``left_out`` says what
    of the gesture was not done, and why: its first press brought up something else than it was decided on.
    """

    done_at_ns: int
    took_ns: int
    events: int
    typed: tuple[Typed, ...] = ()
    left_out: str = ""

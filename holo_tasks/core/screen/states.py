"""The states of a program's screen, and the marks by which each is recognized.

A mark is a text, a picture, a window, an element, or a question to a model. Marks describe the screen as a whole;
callers that act look up positions themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box

ANY = "*"
"""Start of a way that may be taken from every state, including an unknown one."""


@dataclass(frozen=True)
class Text:
    """A label on the screen. ``*`` matches anything.

    A label in capitals matches capitals only, and digits match themselves. ``within`` is the part of the screen, in
    pixels, that it must be in.
    """

    label: str
    within: Box | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.replace("*", " ").strip():
            raise InvalidUsage(
                f"A Text needs words to look for, not {self.label!r}; write a text that is on the screen."
            )
        _check_box(self.within)


@dataclass(frozen=True)
class Picture:
    """A picture of a part of the screen at its original scale: a PNG file, or its bytes.

    ``within`` works as for `Text`. ``likeness``, above 0 and at most 1, is the least similarity that counts.
    """

    png: Path | bytes
    within: Box | None = None
    likeness: float = 0.98

    def __post_init__(self) -> None:
        if isinstance(self.png, str):
            object.__setattr__(self, "png", Path(self.png))
        if not isinstance(self.png, Path | bytes) or not self.png:
            raise InvalidUsage("A Picture is the path of a PNG file or its bytes.")
        if isinstance(self.likeness, bool) or not isinstance(self.likeness, int | float) or not 0 < self.likeness <= 1:
            raise InvalidUsage(
                f"The likeness of a Picture is above 0 and at most 1, not {self.likeness!r}; 0.98 is usual."
            )
        _check_box(self.within)


@dataclass(frozen=True)
class Window:
    """A window, by its title, its program or both.

    The title is a shell pattern. The program is the name or path of the file that its process runs.
    """

    title: str = "*"
    program: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not isinstance(self.program, str):
            raise InvalidUsage("A Window needs texts: title=, program= or both.")
        if not self.title.strip("* ") and not self.program.strip():
            raise InvalidUsage("This Window fits every window; give it a title, a program or both.")


@dataclass(frozen=True)
class Widget:
    """A visible element of an accessibility tree, by its role, such as ``button``, its name, or both.

    A ``*`` in the name matches anything. ``text`` is the label that is searched for if programs publish no elements.
    """

    role: str | None = None
    name: str | None = None
    text: str = ""

    def __post_init__(self) -> None:
        given = [each for each in (self.role, self.name) if each is not None]
        if not given or not all(isinstance(each, str) and each.strip() for each in given):
            raise InvalidUsage("A Widget needs role=, name= or both, as in the accessibility tree.")
        if self.role is None and not str(self.name).strip("* "):
            raise InvalidUsage("This Widget fits every element with a name; give it a role or a name.")
        if not isinstance(self.text, str) or (self.text and not self.text.replace("*", " ").strip()):
            raise InvalidUsage(f"The text of a Widget is its label on the screen, not {self.text!r}.")


@dataclass(frozen=True)
class Asked:
    """A yes-or-no question about the screen to a model. It costs a call, so it is asked last."""

    question: str

    def __post_init__(self) -> None:
        if not isinstance(self.question, str) or not self.question.strip():
            raise InvalidUsage("Asked needs a question that can be answered with yes or no.")


@dataclass(frozen=True)
class Absent:
    """Holds if its mark does not."""

    mark: Mark

    def __post_init__(self) -> None:
        _check_marks("Absent", (self.mark,))


@dataclass(frozen=True, init=False)
class AnyOf:
    """Holds if any of its marks does."""

    marks: tuple[Mark, ...]

    def __init__(self, *marks: Mark) -> None:
        _check_marks("AnyOf", marks)
        object.__setattr__(self, "marks", marks)


Mark: TypeAlias = Text | Picture | Window | Widget | Asked | Absent | AnyOf
_MARKS = (Text, Picture, Window, Widget, Asked, Absent, AnyOf)


@dataclass(frozen=True, init=False)
class State:
    """A named screen of the program; all its marks must hold.

    In a ``busy`` state the program is working. Such a state is waited out, and no action is taken in it.
    """

    name: str
    marks: tuple[Mark, ...]
    busy: bool = False

    def __init__(self, name: str, *marks: Mark, busy: bool = False) -> None:
        if not isinstance(name, str) or not name.strip() or name.strip() == ANY:
            raise InvalidUsage(f"A State needs a name of its own, not {name!r}.")
        _check_marks(f"The state {name!r}", marks)
        for field, value in (("name", name), ("marks", marks), ("busy", bool(busy))):
            object.__setattr__(self, field, value)


class Recognizer(Protocol):
    """Finds the state that a frame shows.

    Frames are unredacted. They stay on this machine; only questions send them, after redaction.
    """

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        """Return the first of these states whose marks all hold, or ``None``."""
        ...

    async def holds(self, frame: Frame, state: State) -> bool:
        """Return whether a frame shows this state."""
        ...


def marks_in(marks: Iterable[Mark]) -> Iterator[Text | Picture | Window | Widget | Asked]:
    """Yield the simple marks, including those inside `Absent` and `AnyOf`."""
    for mark in marks:
        match mark:
            case Absent():
                yield from marks_in((mark.mark,))
            case AnyOf():
                yield from marks_in(mark.marks)
            case _:
                yield mark


def _check_marks(what: str, marks: tuple[Any, ...]) -> None:
    if not marks:
        raise InvalidUsage(f"{what} has no marks, so it cannot be recognized; give it a Text, a Picture or a Window.")
    for mark in marks:
        if not isinstance(mark, _MARKS):
            hint = f"; write Text({mark!r})" if isinstance(mark, str) else ""
            raise InvalidUsage(f"{what} takes marks such as Text, Picture or Window, not {mark!r}{hint}.")


def _check_box(within: Any) -> None:
    if within is not None and (not isinstance(within, Box) or within.width < 1 or within.height < 1):
        raise InvalidUsage(f"within= is a Box of at least one pixel, not {within!r}.")

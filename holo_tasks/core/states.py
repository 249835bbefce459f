"""The states a program's screen can be in, and how each is recognized.

A state is told by marks: what is written, a picture, a window, an element, or a question to a model. Marks are facts
about the screen as a whole; where things are on it is left to those who act.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box

ANY = "*"
"""As the start of a way: it may be taken from every state, also from one that nobody knows."""


@dataclass(frozen=True)
class Text:
    """A label that is written on the screen: ``*`` stands for anything, CAPITALS for capitals, a digit for itself.

    ``within`` is the part of the screen, in pixels, that it has to be in.
    """

    label: str
    within: Box | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.replace("*", " ").strip():
            raise InvalidUsage(f"A Text needs words to look for, not {self.label!r}; write what is on the screen.")
        _check_box(self.within)


@dataclass(frozen=True)
class Picture:
    """A picture of a part of the screen, at its own scale: a PNG file, or its bytes.

    ``within`` is as for `Text`; ``likeness``, above 0 and at most 1, is how like the screen has to be.
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
    """A window by its title, a shell pattern, or by its program, the name or path of the file that its process runs."""

    title: str = "*"
    program: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not isinstance(self.program, str):
            raise InvalidUsage("A Window is told by texts: title=, program= or both.")
        if not self.title.strip("* ") and not self.program.strip():
            raise InvalidUsage("This Window fits every window; give it a title, a program or both.")


@dataclass(frozen=True)
class Widget:
    """An element that its program tells of, by its role, as in ``button``, its name, or both, and that can be seen.

    A ``*`` in the name stands for anything. ``text`` is the label that is looked for where programs do not tell of
    their elements.
    """

    role: str | None = None
    name: str | None = None
    text: str = ""

    def __post_init__(self) -> None:
        given = [each for each in (self.role, self.name) if each is not None]
        if not given or not all(isinstance(each, str) and each.strip() for each in given):
            raise InvalidUsage("A Widget is told by role=, name= or both, as its program tells them.")
        if self.role is None and not str(self.name).strip("* "):
            raise InvalidUsage("This Widget fits every element with a name; give it a role or a name.")
        if not isinstance(self.text, str) or (self.text and not self.text.replace("*", " ").strip()):
            raise InvalidUsage(f"The text of a Widget is what is written on it, not {self.text!r}.")


@dataclass(frozen=True)
class Asked:
    """A question about the screen that a model answers with yes or no; it costs a call, so it is asked last."""

    question: str

    def __post_init__(self) -> None:
        if not isinstance(self.question, str) or not self.question.strip():
            raise InvalidUsage("Asked needs a question that can be answered with yes or no.")


@dataclass(frozen=True)
class Absent:
    """Holds where its mark does not."""

    mark: Mark

    def __post_init__(self) -> None:
        _check_marks("Absent", (self.mark,))


@dataclass(frozen=True, init=False)
class AnyOf:
    """Holds where one of its marks does."""

    marks: tuple[Mark, ...]

    def __init__(self, *marks: Mark) -> None:
        _check_marks("AnyOf", marks)
        object.__setattr__(self, "marks", marks)


Mark: TypeAlias = Text | Picture | Window | Widget | Asked | Absent | AnyOf
_MARKS = (Text, Picture, Window, Widget, Asked, Absent, AnyOf)


@dataclass(frozen=True, init=False)
class State:
    """A screen of the program by name; all its marks must hold.

    ``busy``: the program is working. Such a state is waited out and never acted on.
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
    """Tells which state a frame shows. Frames are raw: they stay here, but for questions, which go redacted."""

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        """Return the first state of these, in their order, whose marks all hold; None if none does."""
        ...

    async def holds(self, frame: Frame, state: State) -> bool:
        """Say whether a frame shows this state."""
        ...


def marks_in(marks: Iterable[Mark]) -> Iterator[Text | Picture | Window | Widget | Asked]:
    """Yield the plain marks, those inside `Absent` and `AnyOf` included."""
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
        raise InvalidUsage(f"{what} has no marks, so nothing tells it; give it a Text, a Picture or a Window.")
    for mark in marks:
        if not isinstance(mark, _MARKS):
            hint = f"; write Text({mark!r})" if isinstance(mark, str) else ""
            raise InvalidUsage(f"{what} is told by marks such as Text, Picture or Window, not by {mark!r}{hint}.")


def _check_box(within: Any) -> None:
    if within is not None and (not isinstance(within, Box) or within.width < 1 or within.height < 1):
        raise InvalidUsage(f"within= is a Box of at least one pixel, not {within!r}.")

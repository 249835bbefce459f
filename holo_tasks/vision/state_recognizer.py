"""Recognize which state a screen is in, with the cheapest checks first and without repeating a check.

Windows come with the frame. The accessibility tree and pictures take milliseconds, reading a new screen takes up to a
second, and a question costs a model call. A state that a cheap mark refutes skips the expensive ones.
`ScreenRecognizer` does it; runs and scripts use it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import partial
from typing import TypeAlias

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import is_viewer, runs
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Mark, Picture, State, Text, Widget, Window, marks_in
from holo_tasks.loop.screens import Screens
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.screen_text import Sight
from holo_tasks.vision.template_match import pixels_of, places_of, reference

KEPT_FRAMES = 32
_MARGIN = 6
"""Pixels around a box that are read as well, since OCR reads a text at the edge better with space around it."""

Ask: TypeAlias = Callable[[str, Frame], Awaitable[bool]]
"""Asks a model a yes-or-no question about a frame. The frame is redacted before it is sent."""
Elements: TypeAlias = Callable[[], Awaitable[ElementTree]]
"""Returns the current accessibility tree."""
Plain: TypeAlias = Text | Picture | Window | Widget | Asked


class Cost(IntEnum):
    """Cost of checking a mark, the cheapest first."""

    WINDOW, ELEMENT, PICTURE, TEXT, QUESTION = range(5)


_COSTS: Mapping[type, Cost] = {
    Window: Cost.WINDOW,
    Widget: Cost.ELEMENT,
    Picture: Cost.PICTURE,
    Text: Cost.TEXT,
    Asked: Cost.QUESTION,
}


@dataclass
class _Known:
    """Cached findings about one frame."""

    marks: dict[Plain, bool | None] = field(default_factory=dict)
    sights: dict[Box | None, Sight] = field(default_factory=dict)
    tree: ElementTree | None = None
    """The accessibility tree, requested again for each call. Programs may add elements after they are visible."""
    searched: tuple[tuple[Element, ...], bool] | None = None
    """The elements of the tree that ``widgets`` was computed from, and whether the tree was complete."""
    widgets: dict[Widget, bool | None] = field(default_factory=dict)


class ScreenRecognizer:
    """Recognizes states on frames; implements `core.screen.states.Recognizer`. Only one task at a time may use it.

    ``ask`` asks the model. Without it a state with a question raises `InvalidUsage`. A `Window` mark is checked against
    the windows of the frame; `needs_windows` says whether the desktop has to include them. A `Widget` mark is checked
    against the tree from ``elements``. Without a tree, its text is searched instead.
    """

    def __init__(self, reader: Reader | None = None, ask: Ask | None = None, elements: Elements | None = None) -> None:
        self._reader = reader or shared_reader()
        self._ask = ask
        self._elements = elements
        self._check = ElementCheck(self._reader)
        self._frames: OrderedDict[tuple[str, tuple[OnScreen, ...] | None], _Known] = OrderedDict()

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        """Return the first of these states whose marks all hold, or ``None``."""
        known, possible = self._state_of_frame(frame), list(states)
        known.tree = None
        for cost in Cost:
            for state in tuple(possible):
                whole = any(mark.within is None for mark in _texts(possible))
                found = await self._fits(frame, known, state, cost, whole)
                if found is False or (found is None and cost is Cost.QUESTION):  # a mark that stays unknown fails
                    possible.remove(state)
                elif found and state is possible[0]:
                    return state
            if not possible:
                break
        return None

    async def holds(self, frame: Frame, state: State) -> bool:
        """Return whether a frame shows this state."""
        return await self.recognize(frame, (state,)) is state

    def _state_of_frame(self, frame: Frame) -> _Known:
        key = (frame.digest, frame.windows)
        known = self._frames.setdefault(key, _Known())
        self._frames.move_to_end(key)
        if len(self._frames) > KEPT_FRAMES:
            self._frames.popitem(last=False)
        return known

    async def _fits(self, frame: Frame, known: _Known, state: State, most: Cost, whole: bool) -> bool | None:
        """Return whether all marks hold, with checks up to cost ``most``; ``None`` if that is not yet known."""
        held: bool | None = True
        for mark in sorted(state.marks, key=_cost_of_mark):
            holds = await self._holds(frame, known, mark, most, whole)
            if holds is False:
                return False
            held = held and holds
        return held

    async def _holds(self, frame: Frame, known: _Known, mark: Mark, most: Cost, whole: bool) -> bool | None:
        match mark:
            case Absent():
                holds = await self._holds(frame, known, mark.mark, most, whole)
                return None if holds is None else not holds
            case AnyOf():
                held: bool | None = False
                for one in sorted(mark.marks, key=_cost_of_mark):
                    holds = await self._holds(frame, known, one, most, whole)
                    if holds:
                        return True
                    held = None if holds is None else held
                return held
            case Widget():
                return await self._shows_widget(frame, known, mark, most, whole)
            case _ if mark in known.marks:
                return known.marks[mark]
            case _ if _COSTS[type(mark)] > most:
                return None
        known.marks[mark] = found = await self._found(frame, known, mark, whole)
        return found

    async def _found(
        self, frame: Frame, known: _Known, mark: Text | Picture | Window | Asked, whole: bool
    ) -> bool | None:
        match mark:
            case Window():
                return _shows_window(frame, mark)
            case Picture():
                return await asyncio.to_thread(_shows_picture, frame, mark)
            case Text():
                return await self._shows_text(frame, known, mark, whole)
            case Asked():
                if self._ask is None:
                    raise InvalidUsage(
                        f"A state is recognized by the question {mark.question!r}, and no model can be asked here; "
                        "use a Text, a Picture or a Window instead."
                    )
                return await self._ask(mark.question, frame)

    async def _shows_widget(self, frame: Frame, known: _Known, mark: Widget, most: Cost, whole: bool) -> bool | None:
        """Return whether an element is in the tree and visible. If the tree is incomplete, search for its text."""
        if most < Cost.ELEMENT:
            return None
        if known.tree is None:
            known.tree = await self._elements() if self._elements is not None else ElementTree(complete=False)
            searched = known.tree.elements, known.tree.complete
            if known.searched is None or known.searched[0] is not searched[0] or known.searched[1] != searched[1]:
                known.searched, known.widgets = searched, {}
        if mark not in known.widgets:
            known.widgets[mark] = await self._is_in_tree(frame, known.tree, mark)
        if (shows := known.widgets[mark]) is not None:
            return shows
        return await self._holds(frame, known, Text(mark.text), most, whole) if mark.text else None

    async def _is_in_tree(self, frame: Frame, tree: ElementTree, mark: Widget) -> bool | None:
        """Return whether an element is in the tree and visible; ``None`` if it is not and the tree is incomplete."""
        for element in tree.find(mark.role, mark.name):
            against = self._check.at_once(frame, tree, element, mark.text)
            if against is None:
                check = partial(self._check.contradiction, frame, tree, element, mark.text, whole=False)
                against = await asyncio.to_thread(check)
            if not against:
                return True
        return False if tree.complete else None

    async def _shows_text(self, frame: Frame, known: _Known, mark: Text, whole: bool) -> bool:
        part = None if whole or None in known.sights else mark.within
        sight = known.sights.get(part)
        if sight is None:
            sight = known.sights[part] = await asyncio.to_thread(self._read, frame, part)
        if mark.within is not None:
            lines = tuple(line for line in sight.lines if mark.within.contains(line.box.center))
            sight = replace(sight, lines=lines)
        return sight.has(mark.label)

    def _read(self, frame: Frame, part: Box | None) -> Sight:
        """Read a frame or a part. The boxes of the lines are in pixels of the frame."""
        from PIL import Image

        roomy = None if part is None else part.grown(_MARGIN)
        pixels, box = pixels_of(frame, roomy)
        if box.width < 1 or box.height < 1:
            return Sight((), Size(1, 1))
        sight = self._reader.read(Image.fromarray(pixels)).sight
        moved = (replace(line, box=_moved(line.box, box.left, box.top)) for line in sight.lines)
        return replace(sight, lines=tuple(moved))


def needs_windows(screens: Screens | Iterable[State]) -> bool:
    """Return whether a state uses a `Window` mark, so that the desktop's frames must include windows."""
    states = screens.candidates if isinstance(screens, Screens) else screens
    return any(isinstance(mark, Window) for state in states for mark in marks_in(state.marks))


def _texts(states: Iterable[State]) -> list[Text]:
    return [mark for state in states for mark in marks_in(state.marks) if isinstance(mark, Text)]


def _cost_of_mark(mark: Mark) -> Cost:
    """Return the least cost of checking a mark."""
    return min(_COSTS[type(one)] for one in marks_in((mark,)))


def _shows_picture(frame: Frame, mark: Picture) -> bool:
    pixels, _ = pixels_of(frame, mark.within)
    assert not isinstance(mark.png, str)
    return bool(pixels.size) and bool(places_of(pixels, reference(mark.png), mark.likeness))


def _shows_window(frame: Frame, mark: Window) -> bool | None:
    """Return whether a window is visible; ``None`` if one may be, but its program is unknown."""
    if frame.windows is None:
        raise InvalidUsage(
            f"A state is recognized by the window {mark.title or mark.program!r}, and this desktop cannot say which "
            "windows are in a picture; use a Text or a Picture instead, or a desktop of holo_tasks with tells_windows "
            "set."
        )
    unknown = False
    for place, window in enumerate(frame.windows):
        if any(above.solid and above.box.encloses(window.box) for above in frame.windows[place + 1 :]):
            continue  # a solid window covers it
        for owner in window.owners:
            # A remote screen may contain any window, and its windows are unknown.
            unknown = unknown or is_viewer(owner)
            if not fnmatchcase(owner.title.casefold(), mark.title.casefold()):
                continue
            if not mark.program or runs(owner, (mark.program,)):
                return True
            unknown = unknown or not owner.executable
    return None if unknown else False


def _moved(box: Box, right: int, down: int) -> Box:
    return box.moved(right, down)

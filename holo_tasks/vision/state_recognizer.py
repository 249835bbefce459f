"""Telling which state a screen is in: what is cheap first, over all states, and nothing twice.

Windows come with the frame; what programs tell and pictures take milliseconds, reading a new screen up to a second, and
a question costs a call. A state that a cheap mark refutes is never asked the dearer ones.
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

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.frame import Frame, OnScreen
from holo_tasks.core.geometry import Box, Size
from holo_tasks.core.programs import is_viewer, runs
from holo_tasks.core.states import Absent, AnyOf, Asked, Mark, Picture, State, Text, Widget, Window, marks_in
from holo_tasks.loop.screens import Screens
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.screen_text import Sight
from holo_tasks.vision.template_match import pixels_of, places_of, reference

KEPT_FRAMES = 32
_MARGIN = 6
"""Pixels around a box that are read with it: a text at its very edge is read better with some room."""

Ask: TypeAlias = Callable[[str, Frame], Awaitable[bool]]
"""Asks a model a question about a frame that is answered with yes or no; what it sends is redacted."""
Elements: TypeAlias = Callable[[], Awaitable[ElementTree]]
"""Returns what programs tell of their elements by now."""
Plain: TypeAlias = Text | Picture | Window | Widget | Asked


class Cost(IntEnum):
    """What finding out about a mark takes, the cheapest first."""

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
    """What has been found out about one frame."""

    marks: dict[Plain, bool | None] = field(default_factory=dict)
    sights: dict[Box | None, Sight] = field(default_factory=dict)
    tree: ElementTree | None = None
    """What programs tell: asked for anew for each question, since they may tell later of what shows already."""
    told: tuple[tuple[Element, ...], bool] | None = None
    """What they told when these were last looked for, and whether that was all."""
    widgets: dict[Widget, bool | None] = field(default_factory=dict)


class ScreenRecognizer:
    """Recognizes states on frames; a `core.states.Recognizer`. For one task at a time.

    ``ask`` asks the model; without it a state with a question raises `InvalidUsage`. A `Window` is looked for among
    the windows that came with the frame: `needs_windows` says when a desktop must be told to send them. A `Widget` is
    looked for among what ``elements`` returns; without it, its text is.
    """

    def __init__(self, reader: Reader | None = None, ask: Ask | None = None, elements: Elements | None = None) -> None:
        self._reader = reader or shared_reader()
        self._ask = ask
        self._elements = elements
        self._check = ElementCheck(self._reader)
        self._frames: OrderedDict[tuple[str, tuple[OnScreen, ...] | None], _Known] = OrderedDict()

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        """Return the first of these states whose marks all hold; None if none does."""
        known, possible = self._known(frame), list(states)
        known.tree = None
        for cost in Cost:
            for state in tuple(possible):
                whole = any(mark.within is None for mark in _texts(possible))
                found = await self._fits(frame, known, state, cost, whole)
                if found is False or (found is None and cost is Cost.QUESTION):  # what nobody can know does not hold
                    possible.remove(state)
                elif found and state is possible[0]:
                    return state
            if not possible:
                break
        return None

    async def holds(self, frame: Frame, state: State) -> bool:
        """Say whether a frame shows this state."""
        return await self.recognize(frame, (state,)) is state

    def _known(self, frame: Frame) -> _Known:
        key = (frame.digest, frame.windows)
        known = self._frames.setdefault(key, _Known())
        self._frames.move_to_end(key)
        if len(self._frames) > KEPT_FRAMES:
            self._frames.popitem(last=False)
        return known

    async def _fits(self, frame: Frame, known: _Known, state: State, most: Cost, whole: bool) -> bool | None:
        """Say whether all marks hold, as far as this cost tells; None if that cannot be said."""
        held: bool | None = True
        for mark in sorted(state.marks, key=_cost):
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
                for one in sorted(mark.marks, key=_cost):
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
                        f"A state is told by the question {mark.question!r}, and there is no model to ask here; "
                        "use a Text, a Picture or a Window instead."
                    )
                return await self._ask(mark.question, frame)

    async def _shows_widget(self, frame: Frame, known: _Known, mark: Widget, most: Cost, whole: bool) -> bool | None:
        """Say whether an element is told of and shows; where not all programs tell of theirs, whether its text does."""
        if most < Cost.ELEMENT:
            return None
        if known.tree is None:
            known.tree = await self._elements() if self._elements is not None else ElementTree(complete=False)
            told = known.tree.elements, known.tree.complete
            if known.told is None or known.told[0] is not told[0] or known.told[1] != told[1]:
                known.told, known.widgets = told, {}
        if mark not in known.widgets:
            known.widgets[mark] = await self._is_told(frame, known.tree, mark)
        if (shows := known.widgets[mark]) is not None:
            return shows
        return await self._holds(frame, known, Text(mark.text), most, whole) if mark.text else None

    async def _is_told(self, frame: Frame, tree: ElementTree, mark: Widget) -> bool | None:
        """Say whether an element is told of and shows; None where it does not, and not all programs tell of theirs."""
        for element in tree.find(mark.role, mark.name):
            against = self._check.at_once(frame, tree, element, mark.text)
            if against is None:
                check = partial(self._check.why_not, frame, tree, element, mark.text, whole=False)
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
        """Read a frame or a part of it; the places of what is read are the frame's."""
        from PIL import Image

        roomy = None if part is None else part.grown(_MARGIN)
        pixels, box = pixels_of(frame, roomy)
        if box.width < 1 or box.height < 1:
            return Sight((), Size(1, 1))
        sight = self._reader.read(Image.fromarray(pixels)).sight
        moved = (replace(line, box=_moved(line.box, box.left, box.top)) for line in sight.lines)
        return replace(sight, lines=tuple(moved))


def needs_windows(screens: Screens | Iterable[State]) -> bool:
    """Say whether some state is told by a window, so that a desktop's frames must say which are in them."""
    states = screens.candidates if isinstance(screens, Screens) else screens
    return any(isinstance(mark, Window) for state in states for mark in marks_in(state.marks))


def _texts(states: Iterable[State]) -> list[Text]:
    return [mark for state in states for mark in marks_in(state.marks) if isinstance(mark, Text)]


def _cost(mark: Mark) -> Cost:
    """Return what a mark costs at least."""
    return min(_COSTS[type(one)] for one in marks_in((mark,)))


def _shows_picture(frame: Frame, mark: Picture) -> bool:
    pixels, _ = pixels_of(frame, mark.within)
    assert not isinstance(mark.png, str)
    return bool(pixels.size) and bool(places_of(pixels, reference(mark.png), mark.likeness))


def _shows_window(frame: Frame, mark: Window) -> bool | None:
    """Say whether a window can be seen; None if one may be it, and nobody can say which program it belongs to."""
    if frame.windows is None:
        raise InvalidUsage(
            f"A state is told by the window {mark.title or mark.program!r}, and this desktop cannot say which windows "
            "are in a picture; use a Text or a Picture instead, or a desktop of holo_tasks with tells_windows set."
        )
    unknown = False
    for place, window in enumerate(frame.windows):
        if any(above.solid and above.box.encloses(window.box) for above in frame.windows[place + 1 :]):
            continue  # nobody sees it
        for owner in window.owners:
            # Any window may be in the screen of another machine, and none is told of.
            unknown = unknown or is_viewer(owner)
            if not fnmatchcase(owner.title.casefold(), mark.title.casefold()):
                continue
            if not mark.program or runs(owner, (mark.program,)):
                return True
            unknown = unknown or not owner.executable
    return None if unknown else False


def _moved(box: Box, right: int, down: int) -> Box:
    return box.moved(right, down)

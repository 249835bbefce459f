"""Read the screen of a walk for scripts (`ScreenReader`), and the outcome of the last step (`OutcomeReader`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Flag, auto
from functools import cache
from itertools import pairwise
from pathlib import Path

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.elements.known_elements import redacted_tree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.ports import ReportsElements, ReportsWindows
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import ModelStep, StepResult
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.states import Recognizer, State
from holo_tasks.core.screen.window_titles import titles_on
from holo_tasks.core.texts.outside_text import defused
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.steps_and_targets import AtState, Condition, FewPlaces, Gone, ShownWindow, Target
from holo_tasks.vision.checked_elements import seen_in, with_elements
from holo_tasks.vision.element_check import ElementCheck, shared_check
from holo_tasks.vision.lazy_sequence import LazySequence
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Line, Sight
from holo_tasks.vision.template_match import FoundPicture

SCRIPT, PLAYBOOK = "script", "playbook"
"""Names of the layers of Python scripts and of playbooks."""


class ScreenNeeds(Flag):
    """The facts that are needed about a screen: its text, its elements, its windows, its state."""

    TEXT = auto()
    ELEMENTS = auto()
    WINDOWS = auto()
    STATE = auto()


def needs_for(targets: Sequence[Target]) -> ScreenNeeds:
    """Return the facts that are needed to find some targets."""
    needs = ScreenNeeds(0)
    for way in (way for target in targets for way in target.ways):
        if way.is_named or way.field is not None:
            needs |= ScreenNeeds.ELEMENTS
        if not way.is_named:
            needs |= ScreenNeeds.TEXT
    return needs


def needs_of_condition(wanted: Condition) -> ScreenNeeds:
    """Return the facts that are needed to check a condition."""
    match wanted:
        case str() | FewPlaces():
            return ScreenNeeds.TEXT
        case ShownWindow():
            return ScreenNeeds.WINDOWS
        case AtState():
            return ScreenNeeds.STATE
        case Gone(gone=inner):
            return needs_of_condition(inner)
        case _:
            return ScreenNeeds.ELEMENTS


class ScreenReader:
    """Reads the newest screen of a walk, as far as the walk is shown it.

    Targets are found on the original screen, which never leaves this machine. Values are read from the redacted screen,
    because they end up in answers, notes and texts. Text that looks like a secret's placeholder is made ineffective.
    ``states`` are the known states of the program, and ``recognizer`` recognizes them.
    """

    def __init__(
        self, reader: Reader | None = None, recognizer: Recognizer | None = None, states: Sequence[State] = ()
    ) -> None:
        self._reader = reader or shared_reader()
        self._recognizer, self._states = recognizer, states
        self._check = shared_check() if reader is None else ElementCheck(reader)
        self._last: tuple[NewestScreen, Sight] | None = None

    async def sight(self, walk: Walk, needs: ScreenNeeds = ScreenNeeds.TEXT, *, reported: bool = False) -> Sight:
        """Return the needed contents of the screen, in pixels of the shown part.

        The screen is read by OCR if a program does not report its elements. If all do and ``reported`` is set, OCR
        reads only the places of the requested texts, and the whole screen if these are not enough. Use such a sight in
        another thread.
        """
        seen = walk.seen
        if seen is None:
            raise InvalidUsage("Look at the screen before deciding.")
        if ScreenNeeds.WINDOWS in needs and seen.frame.windows is None:
            seen = await _with_windows(walk)
        sight = await self._sight(walk, seen, needs, reported=reported)
        if ScreenNeeds.STATE in needs and self._recognizer is not None and self._states:
            state = await self._recognizer.recognize(seen.frame, self._states)
            sight = replace(sight, state="" if state is None else state.name)
        return replace(sight, windows=titles_on(seen.frame, seen.shot.region))

    def with_texts(self, sight: Sight, walk: Walk) -> Sight:
        """Return a sight of the newest screen whose texts are read by OCR when something asks for them."""
        is_unread = isinstance(sight.lines, tuple) and not sight.lines
        return replace(sight, lines=self._later(walk.seen).lines) if is_unread and walk.seen is not None else sight

    async def _sight(self, walk: Walk, seen: NewestScreen, needs: ScreenNeeds, *, reported: bool) -> Sight:
        elements = _elements(walk) if ScreenNeeds.ELEMENTS in needs else None
        tree = None if elements is None else await elements.read_for_action()
        reads = ScreenNeeds.TEXT in needs or (ScreenNeeds.ELEMENTS in needs and (tree is None or not tree.complete))
        if self._last is None or self._last[0] is not seen:
            self._last = None
        instead = reported and reads and tree is not None and tree.complete and self._last is None
        if reads and self._last is None and not instead:
            self._last = seen, await asyncio.to_thread(self._read, seen, seen.shot.region)
        read = self._later(seen) if instead else _unread(seen) if self._last is None else self._last[1]
        if tree is None or elements is None:
            return read
        shown = redacted_tree(tree, seen.masks, elements.text_filter, unseen=elements.unseen)
        return await asyncio.to_thread(self._with_elements, read, tree, shown, seen, instead)

    def _with_elements(
        self, sight: Sight, tree: ElementTree, shown: ElementTree, seen: NewestScreen, instead: bool = False
    ) -> Sight:
        """Return a sight with the elements. Masked elements are left out of the part for outside."""
        region = seen.shot.region
        found = with_elements(sight, _part(seen.frame, region), seen_in(tree, region), self._check, instead=instead)
        outside, part = seen_in(shown, region), _part(seen.redacted, region)
        shows = with_elements(sight.shown or sight, part, outside, self._check, instead=instead)
        return replace(self._until_read(found, seen), shown=self._until_read(shows, seen))

    def _until_read(self, sight: Sight, seen: NewestScreen) -> Sight:
        """Return a sight that uses the OCR result as soon as the whole screen was read."""

        def has(label: str) -> bool | None:
            return None if self._last and self._last[0] is seen else sight.reported(label)

        def row(label: str) -> Sequence[Line] | None:
            return None if self._last and self._last[0] is seen else sight.row(label)

        return replace(sight, reported=has, row=row)

    def _later(self, seen: NewestScreen) -> Sight:
        """Return a sight whose OCR runs at the first question that needs it."""

        @cache
        def read() -> Sight:
            self._last = seen, self._read(seen, seen.shot.region)
            return self._last[1]

        def later(of: Callable[[], Sight]) -> Sight:
            lines, fields = LazySequence(lambda: of().lines), LazySequence(lambda: of().fields)
            colored = LazySequence(lambda: of().colored_fields)
            found = replace(_unread(seen), lines=lines, fields=fields, colored_fields=colored, pictures=_pictures(of))
            return replace(found, pieces=lambda line: of().pieces(line))

        found = later(read)
        masked = seen.redacted.rgb != seen.frame.rgb
        return replace(found, shown=later(lambda: read().shown or read())) if masked else found

    def _read(self, seen: NewestScreen, region: Box | None) -> Sight:
        sight = self._read_frame(seen.frame, region)
        if seen.redacted.rgb == seen.frame.rgb:
            return sight
        return replace(sight, shown=self._read_frame(seen.redacted, region))

    def _read_frame(self, frame: Frame, region: Box | None) -> Sight:
        from PIL import Image

        part = _part(frame, region)
        picture = Image.frombuffer("RGB", (part.size.width, part.size.height), part.rgb, "raw", "RGB", 0, 1)
        sight = self._reader.read(picture).sight
        lines = tuple(replace(line, text=defused(line.text)) for line in sight.lines)
        return with_pictures(replace(sight, lines=lines), picture)


def needs_of(rules: Sequence[Rule]) -> ScreenNeeds:
    """Return the kinds of facts that some rules need from a screen. OCR is left out if no rule needs text."""
    needs = needs_for([target for rule in rules for action in rule.do for target in action.targets])
    for rule in rules:
        for wanted in rule.conditions:
            needs |= needs_of_condition(wanted)
        for read in rule.read.values():
            needs |= ScreenNeeds.TEXT if read.element is None else ScreenNeeds.ELEMENTS
        if rule.shows_part_of is not None:
            needs |= ScreenNeeds.TEXT
        if rule.dialogs is not None or any(action.focus is not None for action in rule.do):
            needs |= ScreenNeeds.ELEMENTS
    return needs


def _pictures(of: Callable[[], Sight]) -> Callable[[Path], Sequence[FoundPicture]]:
    """Return a function that finds smaller pictures on a sight that is read later."""
    return lambda file: of().pictures(file)


def _part(frame: Frame, region: Box | None) -> Frame:
    return frame if region is None else frame.crop(region)


def _unread(seen: NewestScreen) -> Sight:
    return Sight((), Size(seen.shot.area.width, seen.shot.area.height))


def _elements(walk: Walk) -> Elements | None:
    """Return the reader of elements; ``None`` on a desktop that reports none."""
    desktop = walk.services.desktop
    return walk.services.elements or (Elements(desktop) if isinstance(desktop, ReportsElements) else None)


def report_windows(desktop: object) -> None:
    """Let frames contain the windows from now on. Raises `InvalidUsage` if the desktop does not support this."""
    if getattr(desktop, "far", "") or not isinstance(desktop, ReportsWindows):
        raise InvalidUsage("A playbook asks for a window, but the windows on this screen are not known.")
    desktop.tells_windows = True


async def _with_windows(walk: Walk) -> NewestScreen:
    """Look again with windows. Without them, a condition on a window cannot be checked."""
    report_windows(walk.services.desktop)
    seen = await walk.look()
    if seen.frame.windows is None:
        raise InvalidUsage("A playbook asks for a window, but this desktop does not report its windows.")
    return seen


class OutcomeReader:
    """Finds the outcome of the last step in the transcript."""

    def __init__(self) -> None:
        self._given: tuple[Step, int] | None = None

    def remember(self, step: Step, walk: Walk) -> None:
        """Remember the step that is done next."""
        self._given = step, len(walk.transcript.entries)

    def last_outcome(self, walk: Walk) -> tuple[Step, StepResult] | None:
        """Return the last step and its outcome; ``None`` without a step, or if it was not done."""
        given, self._given = self._given, None
        if given is None:
            return None
        step, start = given
        later = walk.transcript.entries[start:]
        for did, result in pairwise(later):
            if isinstance(did, ModelStep) and isinstance(result, StepResult) and did.step.tool_call == step.tool_call:
                return step, result
        return None


def exactly(point: Point, size: Size) -> tuple[float, float]:
    """Return coordinates that `call_to_gesture` converts back to this pixel, even on screens wider than 1000."""
    return _thousandths(point.x, size.width), _thousandths(point.y, size.height)


def _thousandths(pixel: int, length: int) -> float:
    whole = -(-pixel * 1000 // length)
    return whole if whole <= 1000 and int(whole * length / 1000) == pixel else (pixel + 0.5) * 1000 / length

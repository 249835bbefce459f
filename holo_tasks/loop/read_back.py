"""Read a field back after a text was typed into it: from the accessibility tree, otherwise by OCR of the field.

`ReadBack` is used by `Walk`. Fields of secrets are not read, and a text that names a secret is not compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from holo_tasks.core import events
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.elements.known_elements import redacted_element
from holo_tasks.core.elements.typed_field import (
    DATES,
    INVALID_ENTRY,
    OBJECT,
    FieldNow,
    changed_beside,
    drawn_sheet,
    field_now,
    moves_on,
    takes_text,
)
from holo_tasks.core.errors import HoloError
from holo_tasks.core.input.gestures import Gesture, Write
from holo_tasks.core.input.pressed_elements import hit_by
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.recheck import CARET_TALL, CARET_WIDE
from holo_tasks.core.screen.verdicts import changed_box, changed_outside
from holo_tasks.core.texts.outside_text import is_placeholder
from holo_tasks.core.texts.typed_text import (
    INVALID,
    Kind,
    TypedText,
    compare,
    compare_choice,
    compare_seen,
    matches_shown,
    plain,
    quoted,
)
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.element_tree import LONGEST_S
from holo_tasks.loop.left_fields import LeftFields

if TYPE_CHECKING:
    from holo_tasks.loop.services import FieldText, Services

Note: TypeAlias = Callable[[events.Event], Awaitable[None]]
PATIENCE_S, MOST_MISSES, BRIEFLY_S = 1.5, 2, 0.1
"""Longest wait for a program that hangs, in seconds. After `MOST_MISSES` vain waits in a row, it is `BRIEFLY_S`.

Most programs answer in 2 to 40 ms. LibreOffice Calc takes 110 to 140 ms, and more on a busy machine.
"""
AGAIN_S, LATE_S, MOST_READS = 0.06, 0.25, 4
"""Seconds between two reads of the tree and by OCR, and the most reads.

A program may report a new text a moment after it drew it, and a busy program draws it late. So a difference counts only
if two reads in a row agree.
"""
ARRIVES_S = 1.5
"""Longest wait, in seconds, for the rest of a text that a program has not taken yet."""
ARRIVING = ("cut_off", "lost", "empty")
"""Kinds of a text with some or all characters missing. They may arrive later."""
SHOWS = "If that is right, give `shows` with the text that the field should hold."
GONE = "the program does not report the field any more"
UNTOLD = "the program does not report the text of the field"
"""Why a field that looks different and has the text of before in the tree is unread, unless the picture shows it."""
FIXED = "the field takes no typed text"
MULTI_LINE = "multi line"
DRAWS_CASE = ("chrom", "gecko", "webkit")
"""Toolkits that report a text in the case that a style sheet draws, not in the case that the field holds."""


@dataclass
class ReadBack:
    """The check of the last typed text in one sub-goal.

    ``shows`` is for the next gesture: the text that a playbook or a script expects in the field instead of the typed
    one, empty if it expects the typed one. ``result`` is the result for the last gesture, if that typed a text, and
    ``target`` its field, if a program reports it, with its text ``before`` the typing. ``left`` are the earlier fields.
    """

    shows: str = ""
    result: TypedText | None = None
    before: str = ""
    target: Element | None = field(default=None, repr=False)
    left: LeftFields = field(default_factory=LeftFields, repr=False)
    _expected: str = ""
    _write: Write | None = field(default=None, repr=False)
    _tree: ElementTree | None = field(default=None, repr=False)
    _now: ElementTree | None = field(default=None, repr=False)
    """The tree by which the field of the last text was read."""
    _aimed: Element | None = field(default=None, repr=False)
    """The field before the typing, for a program that does not answer after it."""
    _pids: Collection[int] = ()
    """The process of the field's program. The others are not waited for."""
    _misses: int = 0
    _beside: str = ""
    _told: TypedText | None = None

    async def prepare(self, services: Services, gesture: Gesture) -> None:
        """Keep the tree with the field that a gesture is about to type into."""
        self.result = self.target = self._write = self._tree = self._now = self._aimed = None
        self.before = self._beside = ""
        self._expected, self.shows = self.shows, ""
        if not isinstance(gesture, Write) or is_placeholder(gesture.text) or not plain(gesture.text):
            return
        self._write = gesture
        if services.elements is None:
            return
        owner = await services.desktop.owner_at(gesture.at)
        tree = services.elements.latest or await self._read_tree(services, {owner.pid})
        target = None if tree is None else hit_by(tree, gesture)
        if tree is None or target is None or tree.is_late(target.pid):
            return
        self._pids = {target.pid}
        if owner.pid in (0, target.pid):
            self._tree, self._aimed = tree, target if takes_text(target) else None

    async def sentence(
        self, services: Services, before: NewestScreen, after: NewestScreen, done: Gesture | None, note: Note
    ) -> str:
        """Read the field back and record the result; return the difference as a sentence with a leading blank.

        Returns an empty string without a difference. After a text was overwritten, another sentence names the fields
        that the form changed with it. Further ones describe earlier fields that the gesture has left or sent.
        """
        write, self._write = self._write, None
        said = ""
        if write is not None and done is write and not _leaves_first(write, self._aimed):
            said = await self._read(services, before, after, write, note)
            if self.result is not None and not self._expected:
                self.left.note(write, self.result, self.target or self._aimed, self.before)
        return said + await self._look_at_left(services, before, after, done)

    @property
    def problem(self) -> str:
        """The error of a script about its last step; empty without one."""
        found = "" if self.result is None else self.result.problem
        return found or next((f"{filled.sentence(now.value)} {SHOWS}" for filled, now in self.left.found), "")

    async def _read(
        self, services: Services, before: NewestScreen, after: NewestScreen, write: Write, note: Note
    ) -> str:
        """Read the field back and record the result; return the difference as a sentence with a leading blank."""
        self.result = result = await self._compare_field(services, write, before, after)
        held = plain(result.held) if result.differs else ""
        why = INVALID if result.is_invalid else result.why
        await note(events.FieldRead(outcome=result.kind, field=result.field, held=held, by=result.by, why=why))
        return " ".join(["", *filter(None, (result.sentence, self._beside))])

    async def _look_at_left(
        self, services: Services, before: NewestScreen, after: NewestScreen, done: Gesture | None
    ) -> str:
        """Return the sentences about earlier fields that hold another value now, each with a leading blank."""
        self.left.found, elements = [], services.elements
        tree, self._now = self._now, None
        if elements is None or not self.left.filled:
            return ""
        pids = {each.field.pid for each in self.left.filled}
        if tree is None or any(map(tree.is_late, pids)):
            tree = await self._read_tree(services, pids)
        if tree is None:
            return ""
        self.left.look(tree, done, elements.latest, partial(changed_outside, before.frame, after.frame))
        self.left.found = [
            (filled, now)
            for filled, now in self.left.found
            if redacted_element(tree, now, after.masks, elements.text_filter, unseen=elements.unseen).value == now.value
        ]
        return "".join(f" {filled.sentence(now.value)}" for filled, now in self.left.found)

    async def _compare_field(
        self, services: Services, write: Write, before: NewestScreen, after: NewestScreen
    ) -> TypedText:
        """Return the comparison of the field with the expected text, or with the typed text."""
        tree = self._tree
        result = await self._compare_by_tree(services, write, before, after)
        if result is None:
            result = await self._compare_by_ocr(services, write, before, after)
        elif result.why == UNTOLD and self._told is not None and await self._is_shown(services, before, after):
            result = self._told
        elif result.why == GONE:
            completed = await self._completed(services, write, before, after)
            sheet = None if tree is None else drawn_sheet(tree, write)
            if completed is not None:
                result = completed
            elif sheet is not None:
                result = await self._compare_by_ocr(services, write, before, after, sheet.box)
        if self._expected and result.held:
            result = replace(result, kind=_kind_of_expected(self._expected, result), is_invalid=False)
        return replace(result, typed=self._expected or write.text)

    async def _compare_by_tree(
        self, services: Services, write: Write, before: NewestScreen, after: NewestScreen
    ) -> TypedText | None:
        """Return the comparison by the tree; ``None`` if the field was not in the tree before."""
        tree, self._tree = self._tree, None
        if tree is None:
            return None
        clock, reads = asyncio.get_running_loop(), 0
        until_s = clock.time() + ARRIVES_S
        found = await self._compare_in_trees(services, write, tree, before, after)
        while found.kind == "unread" and OBJECT in found.held and reads < MOST_READS:  # a new paragraph comes late
            reads += 1
            await asyncio.sleep(AGAIN_S)
            found = await self._compare_in_trees(services, write, tree, before, after)
        reads = 0
        while found.differs:
            await asyncio.sleep(AGAIN_S)
            last, found = found, await self._compare_in_trees(services, write, tree, before, after)
            is_expected = bool(self._expected and found.held) and matches_shown(self._expected, found.held)
            if found.kind in ARRIVING and not is_expected and clock.time() < until_s:
                continue  # a busy page takes each key on its own, and reports the field between two keys
            if found == last:
                return found
            reads += 1
            if reads == MOST_READS:
                return TypedText("unread", why="the field keeps changing")
        return found

    async def _compare_in_trees(
        self, services: Services, write: Write, tree: ElementTree, before: NewestScreen, after: NewestScreen
    ) -> TypedText:
        now = self._now = await self._read_tree(services, self._pids)
        held = None if now is None else field_now(tree, write, now)
        if now is None or held is None:
            return TypedText("unread", why=GONE if now else "the program did not answer")
        assert services.elements is not None
        element, elements = held.element, services.elements
        self.target, self.before = element, held.before
        reported = redacted_element(now, element, after.masks, elements.text_filter, unseen=elements.unseen)
        if (reported.value, elements.text_filter(held.before)) != (element.value, held.before):
            return TypedText("unread", why="a part of the field is masked")
        if write.overwrite and not moves_on(write):
            told = partial(redacted_element, now, masks=after.masks, text_filter=elements.text_filter)
            self._beside = _beside([told(each, unseen=elements.unseen) for each in changed_beside(tree, element, now)])
        if held.is_choice:
            kind = compare_choice(write, held.before, element.value)
        else:
            kind = compare(write, held.before, element.value, in_cell=held.in_cell, others_changed=held.others_changed)
        if held.is_rich and kind == "lost" and element.value == held.before and moves_on(write):
            return TypedText("unread", why="the text was sent, and the field may show a hint again")
        if kind == "case" and _draws_case(now, element.pid):
            return TypedText("unread", why="the program reports its text in another case")
        found = TypedText(kind, "", element.value, held.before, reported.name, "accessibility")
        is_invalid = INVALID_ENTRY in element.states and bool(element.value)  # an empty one may only be required
        is_invalid = is_invalid and element.role != DATES  # Chromium tells whether its date before was valid
        self._told = replace(found, before="" if write.overwrite else found.before, is_invalid=is_invalid)
        if kind != "exact" and (why := _doubt(held, before.frame, after.frame)):
            return TypedText("unread", why=why)
        return self._told

    async def _is_shown(self, services: Services, before: NewestScreen, after: NewestScreen) -> bool:
        """Say whether the field shows the text that the tree tells: two pictures in a row, since programs draw late.

        A field that took nothing also looks different if its text is selected now.
        """
        told, target, shown = self._told, self.target, after.redacted
        if services.field_text is None or told is None or target is None:
            return False
        for number in range(2):
            if number:
                await asyncio.sleep(LATE_S)
                shown = (await services.redactor.redact(await services.desktop.look())).frame
            # The box of a field may hold its buttons, and a selected text hides the edges of the field.
            text = await services.field_text.text_in(shown, target.box)
            if any(map(str.isalnum, text)) and compare_seen(told.held, text) == "exact":
                continue
            seen = await services.field_text(before.redacted, shown, target.box.center)
            if seen is None or not seen.text or seen.is_full or compare_seen(told.held, seen.text) != "exact":
                return False
        return True

    async def _read_tree(self, services: Services, pids: Collection[int]) -> ElementTree | None:
        """Return the tree of this moment, ``None`` if one of these processes hangs."""
        if services.elements is None:
            return None
        clock = asyncio.get_running_loop()
        until_s = clock.time() + (PATIENCE_S if self._misses < MOST_MISSES else BRIEFLY_S)
        try:
            async with asyncio.timeout(LONGEST_S):
                while any(map((tree := await services.elements.desktop.elements()).is_late, pids)):
                    if clock.time() >= until_s:
                        raise TimeoutError
                    await asyncio.sleep(AGAIN_S)
        except TimeoutError:
            self._misses += 1
            return None
        except HoloError:  # the next use of the desktop raises the error
            return None
        self._misses = 0
        return tree

    async def _completed(
        self, services: Services, write: Write, before: NewestScreen, after: NewestScreen
    ) -> TypedText | None:
        """Return the text that a program has made of the typed one, if its picture shows that, as in a sheet.

        After a press on a point, the picture does not show whether a text was completed.
        """
        if services.field_text is None or write.at is not None:
            return None
        seen = await services.field_text(before.redacted, after.redacted, None)
        if seen is None or not seen.is_completed or (services.text_filter or str)(seen.text) != seen.text:
            return None
        found = _compare_with_ocr_text(write, seen)
        return found if found.kind == "completed" else None

    async def _compare_by_ocr(
        self, services: Services, write: Write, before: NewestScreen, after: NewestScreen, sheet: Box | None = None
    ) -> TypedText:
        """Return the comparison by OCR of the field, or of a cell of a sheet; only a clear difference counts."""
        if services.field_text is None:
            return TypedText("unread", why="no program reports the field")
        shown, last = after.redacted, TypedText("unread", why="the field keeps changing")
        for _ in range(MOST_READS):
            if sheet is None:
                seen = await services.field_text(before.redacted, shown, write.at)
            else:
                seen = await services.field_text.cell(before.redacted, shown, sheet)
            found = _compare_with_ocr_text(write, seen)
            late = seen is not None and seen.was_empty and len(seen.text) < len(write.text)
            if found.kind == "exact" or not (found.differs or late):
                return replace(found, held="") if found.kind == "unread" else found
            if found == last:
                tell = services.text_filter or str
                return found if tell(found.held) == found.held else TypedText("unread", why="it is masked")
            await asyncio.sleep(LATE_S)
            shown, last = (await services.redactor.redact(await services.desktop.look())).frame, found
        return replace(last, kind="unread", held="")


def _compare_with_ocr_text(write: Write, seen: FieldText | None) -> TypedText:
    """Return the comparison with a text that OCR read. The text is kept even if the difference is not clear."""
    text = "" if seen is None else seen.text
    unsure = TypedText("unread", held=text, by="text", why="the field cannot be read with certainty")
    if seen is None or not text or not (seen.was_empty or write.overwrite) or "\n" in write.text:
        return replace(unsure, held="")
    kind = compare_seen(write.text, text)
    # The field may contain a unit or a button, and the end of a long text may be out of sight.
    doubtful = (kind == "completed" and not seen.was_empty) or (kind != "exact" and seen.is_full)
    # A completed text begins with the typed one. A new text elsewhere with a colored end contains it at most.
    doubtful = doubtful or (seen.is_completed and not _begins_with(text, write.text))
    if doubtful or (write.press_enter and kind == "lost"):
        return unsure
    return replace(unsure, kind=kind, why="") if kind != "unread" else unsure


def _leaves_first(write: Write, target: Element | None) -> bool:
    """Say whether a text begins with a key that leaves its field. A line break does not leave a field of lines."""
    stays = target is not None and MULTI_LINE in target.states
    return write.text[:1] in ("\t" if stays else "\t\r\n")


def _begins_with(text: str, start: str) -> bool:
    """Say whether a text begins with another one, apart from blanks and case."""
    one, other = ("".join(each.casefold().split()) for each in (text, start))
    return one.startswith(other)


def _kind_of_expected(expected: str, result: TypedText) -> Kind:
    """Return the relation of a field's text to the one that a playbook or a script expects."""
    if matches_shown(expected, result.held):
        return "exact"
    return compare_seen(expected, result.held) if result.by == "text" else "another"


def _beside(changed: list[Element]) -> str:
    """Return the sentence about other fields that have changed, with the text of the first one; empty without any."""
    if not changed:
        return ""
    name, text = quoted(changed[0].name), quoted(changed[0].value)
    first = (f"‘{name}’" if name else "one without a name") + (f" holds ‘{text}’" if text else "")
    if len(changed) == 1:
        return f"Another field changed as well: {first}."
    return f"{len(changed)} other fields or cells changed as well: {first}, for example."


def _doubt(held: FieldNow, before: Frame, after: Frame) -> str:
    """Return why a difference does not count, empty if it does."""
    if held.moved_on:
        return "the program moved on to another field"
    if held.is_fixed and (held.element.value != held.before or _is_redrawn(Box.whole(after.size), before, after)):
        return FIXED
    if held.element.value == held.before and _is_redrawn(held.element.box, before, after):
        return UNTOLD
    return ""


def _is_redrawn(box: Box, before: Frame, after: Frame) -> bool:
    """Say whether more of a field has changed than a text caret."""
    if before.size != after.size:
        return True
    part = box.clipped(after.size)
    changed = changed_box(before.crop(part), after.crop(part)) if part is not None else None
    return changed is not None and (changed.width > CARET_WIDE or changed.height > CARET_TALL)


def _draws_case(tree: ElementTree, pid: int) -> bool:
    toolkits = (each.toolkit.casefold() for each in tree.applications if each.pid == pid)
    return any(toolkit.startswith(DRAWS_CASE) for toolkit in toolkits)

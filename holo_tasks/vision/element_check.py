"""Check whether an element of the accessibility tree agrees with the pixels at its place.

A tree may be wrong, late or misplaced. A person sees pixels and a press hits them, so pixels decide. A place without
anything drawn on it has no element. If its text differs from the element's name, neither of the two can be trusted.
`ElementCheck` is used by scripts, by the recognizer of states and by `agent.screen.named_element`.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.elements.elements import PLACE_NAME, TEXTS, Element, ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.name_fit import SHORT, SURE, agrees, day_in, fit, fit_cut_off, fit_pressed, is_cut_off
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.screen_text import (
    LIKENESS,
    Line,
    in_reading_order,
    likeness,
    on_row,
    plain,
)
from holo_tasks.vision.template_match import pixels_of
from holo_tasks.vision.text_row import enlarged, is_empty, row_after_icon, row_in

if TYPE_CHECKING:
    import numpy as np

    Pixels: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

WRITTEN_ON = frozenset(
    {
        "button",
        "toggle button",
        "check box",
        "radio button",
        "menu item",
        "check menu item",
        "radio menu item",
        "menu",
        "tab",
        "link",
        "label",
        "heading",
        "paragraph",
        "caption",
        "list item",
        "tree item",
        "cell",
        "column header",
        "row header",
    }
)
"""Roles whose name is written on the control. A field's name is written next to the field."""
WRITTEN_INTO = frozenset({"text field", "password field", "spin button", "combo box", "date editor"})
"""Roles of input fields. Fields have an edge."""
PRESSED = frozenset(
    {"button", "toggle button", "check box", "radio button", "menu item", "check menu item", "radio menu item", "tab"}
)
"""Roles of controls that are about as large as the text or symbol on them."""
IN_LISTS = frozenset({"cell", "list item", "tree item"})
"""Roles of entries of a list, which may have an icon and be cut off."""
SIGNS = frozenset({"check box", "radio button"})
"""Roles of controls whose name may be written next to them."""
FARTHEST_LABEL = 24
"""Largest distance of this name from the control, in pixels."""
WIDEST, HIGHEST = 400, 40
"""Largest distance of a label from its field, in pixels: to the left, and above."""
LATE = "the program did not answer in time, and no text confirms its place"
BEFORE_CELL = 24
"""Largest distance by which a text may begin left of its cell, in pixels."""
TOO_SMALL = "it is too small there to be seen"
NOTHING_THERE = "the picture shows nothing there"
TOO_LARGE = "the text on it is far from its middle"
MULTI_LINE = "multi line"
ANOTHER_TEXT = "the picture shows another text there"
SAME_PLACE = 3
"""Largest distance of the edges of two boxes in the same place, in pixels."""
ANOTHER_ELEMENT = "the accessibility tree has another element there as well"
ANOTHER_LABEL = "the label next to it belongs to another field"
ELSEWHERE = "nothing is written there, and its name is elsewhere on the picture"
LEAST_PIXELS = 4
"""Elements narrower or lower than this, in pixels, are meant for screen readers only."""
GROUND = 6
"""Levels of 255 by which the colors of a blank place may differ."""
LEAST_READ = 2
"""Fewer letters than this may be a misread symbol."""
SURE_READ = 0.9
"""Confidence that a row read alone needs."""
ROOM, AROUND = 8, 3
CLOSE, LOW = 4, 2.5
"""Number of containers around a field that may be its area, and their largest height in heights of the field."""
MOST_OF, HIGH = 0.6, 60
KEPT = 2048
"""Number of places whose text is cached by their pixels."""
_AFTER_ELLIPSIS = re.compile(r"(?<=…)\s|(?<=\.\.)\s")


class ElementCheck:
    """Compares elements with a picture. The text of a place is read once and then cached by its pixels.

    Without OCR (the extra ``rehearsal``) only blank pixels can contradict an element.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader or shared_reader()
        self._known: OrderedDict[bytes, tuple[Line, ...]] = OrderedDict()

    def contradiction(
        self, frame: Frame, tree: ElementTree, element: Element, also: str = "", *, whole: bool = True
    ) -> str:
        """Return the reason why the picture contradicts an element, or an empty string.

        ``also`` is a text that may be written on it instead of its name. With ``whole``, the name of an element without
        text is searched on the whole picture, which takes as long as reading the picture. The reason quotes no text
        from the screen, because that text may be masked.
        """
        if min(element.box.width, element.box.height) < LEAST_PIXELS:
            return TOO_SMALL
        if tree.place_in_sheet(element) is not None and not element.value:
            return self._of_empty_cell(frame, tree, element)
        if element.role in WRITTEN_INTO:
            spaces = [*_space_around(tree, element)]
            if not any(is_framed(frame, box) for box in spaces) and not (
                self._shows_value(frame, element) and any(is_framed(frame, box, with_text=True) for box in spaces)
            ):
                return NOTHING_THERE
        elif is_bare(frame, element.box):
            return NOTHING_THERE
        if element.role in WRITTEN_ON and (line := self.row(frame, element.box, element.name)):
            return TOO_LARGE if element.role in PRESSED and not _is_near([line], element.box) else ""
        lines = self.lines(frame, element.box)
        read = _text(lines)
        if element.role in PRESSED and read and read == day_in(element.name) and not tree.is_late(element.pid):
            return ""  # a calendar may be drawn over a field
        if len(plain(read)) < LEAST_READ and element.role in PRESSED and tree.is_late(element.pid):
            return LATE
        if len(plain(read)) < LEAST_READ or element.role in WRITTEN_INTO:  # its own text cannot confirm the element
            if is_another_there(tree, element):
                return ANOTHER_ELEMENT
            if whole and can_read() and (against := self._by_labels(frame, tree, element)):
                return against
        return "" if len(plain(read)) < LEAST_READ else self._by_text(frame, tree, element, also, lines)

    def _shows_value(self, frame: Frame, element: Element) -> bool:
        """Return whether the picture certainly shows a field's own value in its box, and nothing else."""
        is_long = not element.protected and len(plain(element.value)) >= SHORT
        return is_long and fit(element.value, self.read(frame, element.box)) >= SURE

    def at_once(self, frame: Frame, tree: ElementTree, element: Element, also: str = "") -> str | None:
        """Return the result of `contradiction` without ``whole``, or ``None`` if that needs text that is not cached."""
        known = ElementCheck(_UNREAD)
        known._known = self._known
        try:
            return known.contradiction(frame, tree, element, also, whole=False)
        except _Unread:
            return None

    def _by_text(self, frame: Frame, tree: ElementTree, element: Element, also: str, lines: tuple[Line, ...]) -> str:
        """Return the reason why the text in its box contradicts an element, or an empty string."""
        if element.role in WRITTEN_INTO and any(
            fit(name, _text(lines)) >= SURE for name in _names_around(tree, element)
        ):
            return ""
        if contradicts_name(element, read := _text(lines), self._others(frame, tree, element, read), also):
            lines = self.lines(frame, element.box, room=True)  # OCR reads a text at the edge better with space around
            read = _text(lines)
            fits = fit_pressed if element.role in PRESSED else fit
            if not any(fits(text, read) >= LIKENESS for text in _texts(element)) or contradicts_name(
                element, read, self._others(frame, tree, element, read), also
            ):
                return "" if self._is_there(frame, tree, element, read) else ANOTHER_TEXT
        return TOO_LARGE if element.role in PRESSED and not _is_near(lines, element.box) else ""

    def _is_there(self, frame: Frame, tree: ElementTree, element: Element, read: str) -> bool:
        """Return whether an element is on the picture although the text in its box is not its name as it is."""
        return (
            _is_own_text(tree, element, read)
            or self._begins_left(frame, tree, element)
            or self._is_read_alone(frame, tree, element, read)
        )

    def _begins_left(self, frame: Frame, tree: ElementTree, element: Element) -> bool:
        """Return whether the text in a cell begins left of the cell, and the whole text there is certainly its name.

        GTK reports the cells after the arrow of a tree too far to the right, by the width of the arrow.
        """
        box = element.box
        if element.role != "cell":
            return False
        wide = Box.of_corners(max(0, box.left - BEFORE_CELL), box.top, box.right, box.bottom)
        written = [line for line in self.lines(frame, wide) if line.box.intersects(box)]
        if len(written) != 1 or fit(element.name, written[0].text) < SURE:
            return False
        others = (each for each in tree.elements if each.role == "cell" and each.id != element.id and each.on_screen)
        return not any(each.box.intersects(written[0].box) and agrees(each.name, written[0].text) for each in others)

    def _is_read_alone(self, frame: Frame, tree: ElementTree, element: Element, read: str) -> bool:
        """Return whether the text in a row of a list, read alone, is its name or the beginning of it.

        OCR reads an icon before it as a letter or a digit, and loses letters beside it. It also loses letters of a
        text that is cut off, so such a text is read again in twice its size.
        """
        if element.role not in IN_LISTS or not can_read():
            return False
        pixels, part = pixels_of(frame, element.box)
        if min(part.width, part.height) < LEAST_PIXELS:
            return False
        found = row_after_icon(pixels) or (row_in(pixels) if is_cut_off(read) else None)
        if found is None:
            return False
        others = [*_others(tree, element)]
        for size in (1, 2):
            key = _key(found[0], ("row", size))
            lines = self._known.get(key)
            if lines is None:
                lines = self._remember(key, (self._read_row(enlarged(found[0], size), found[1]),))
            if not contradicts_name(element, _text(lines), others):
                return True
            if not is_cut_off(_text(lines)):
                return False
        return False

    def _of_empty_cell(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        """Return `ANOTHER_TEXT` if the picture shows a text in an empty cell of a spreadsheet.

        A long text of another cell in the row may reach into it.
        """
        read = plain(self.read(frame, element.box))
        if not read or any(read in plain(tree.text_on(each)) for each in tree.row_of(element)):
            return ""
        return ANOTHER_TEXT

    def _others(self, frame: Frame, tree: ElementTree, element: Element, read: str) -> Iterator[str]:
        """Yield the texts of other elements that must not be written on an element.

        An empty field may show a text that tells its use and is also the name of a button. So for a field, the names
        that the picture shows at their own places are left out.
        """
        for name in _others(tree, element):
            is_told = element.role in WRITTEN_INTO and fit(name, read) >= SURE
            if not (is_told and self._are_in_place(frame, tree, element, name)):
                yield name

    def _are_in_place(self, frame: Frame, tree: ElementTree, element: Element, name: str) -> bool:
        """Return whether the picture shows a name on all elements that have it, and an element is apart from these."""
        named = [each.box for each in tree.find(None, name)]
        apart = bool(named) and not any(box.intersects(element.box) for box in named)
        return apart and all(agrees(name, self.read(frame, box)) for box in named)

    def _by_labels(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        if element.role in WRITTEN_INTO:
            return self._label_of_another(frame, tree, element)
        return self._elsewhere(frame, tree, element) if element.role in WRITTEN_ON else ""

    def read(self, frame: Frame, box: Box, *, room: bool = False) -> str:
        """Return the text in a box as one line; empty without OCR. With ``room``, read some space around the box as
        well.
        """
        return _text(self.lines(frame, box, room=room))

    def row(self, frame: Frame, box: Box, text: str) -> Line | None:
        """Return the row of text in a box if it certainly equals ``text``, else ``None`` (then use `lines`).

        This skips text detection, which takes most of the time of OCR.
        """
        if not can_read() or len(plain(text)) < LEAST_READ or "*" in text:
            return None
        pixels, part = pixels_of(frame, box)
        key = _key(pixels, "row")
        known = self._known.get(key)
        if known is None:
            found = row_in(pixels)
            known = self._remember(key, () if found is None else (self._read_row(*found),))
        for line in known:
            if line.score >= SURE_READ and likeness(text, line.text) >= SURE:
                return replace(line, box=line.box.moved(part.left, part.top))
        return None

    def _read_row(self, row: Pixels, place: Box) -> Line:
        text, score = self._reader.read_row(row)
        return Line(text, place, score)

    def _remember(self, key: bytes, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        self._known[key] = lines
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return lines

    def lines(self, frame: Frame, box: Box, *, room: bool = False) -> tuple[Line, ...]:
        """Return the lines in a box, at their places on the screen. With ``room``, read some space around the box as
        well.
        """
        import numpy as np

        if not can_read():
            return ()
        pixels, part = pixels_of(frame, box.grown(ROOM) if room else box)
        if part.width < LEAST_PIXELS or part.height < LEAST_PIXELS:
            return ()
        key = _key(pixels, room)
        known = self._known.get(key)
        if known is None and not room and is_empty(pixels):
            known = self._remember(key, ())
        if known is None:
            # Repeat the edge pixels: OCR needs space around a text, and neighbors must not be read.
            grown = pixels if room else np.pad(pixels, ((ROOM, ROOM), (ROOM, ROOM), (0, 0)), mode="edge")
            inside = box.moved(-part.left, -part.top) if room else Box(0, 0, grown.shape[1], grown.shape[0])
            lines = (line for line in self._reader.read_piece(grown) if inside.contains(line.box.center))
            known = self._remember(key, in_reading_order(lines))
        by = 0 if room else ROOM
        return tuple(replace(line, box=line.box.moved(part.left - by, part.top - by)) for line in known)

    def _label_of_another(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        """Return `ANOTHER_LABEL` if the label left of a field is the name of another field."""
        fields = [each for each in tree.elements if each.role in WRITTEN_INTO and each.id != element.id]
        names = [each.name for each in fields if each.name and each.name != element.name]
        if element.role not in WRITTEN_INTO or not element.name or not names:
            return ""
        box = element.box
        left_of_it = self.lines(frame, Box(max(0, box.left - WIDEST), box.top, min(WIDEST, box.left), box.height))
        above = self.lines(frame, Box(box.left, max(0, box.top - HIGHEST), box.width, min(HIGHEST, box.top)))
        if any(agrees(element.name, line.text) for line in (*left_of_it[-1:], *above)):
            return ""
        for line in left_of_it[-1:]:
            between = Box.of_corners(line.box.right, box.top, max(box.left, line.box.right + 1), box.bottom)
            if any(agrees(name, line.text) for name in names) and not any(
                each.box.intersects(between) and each.on_screen for each in fields
            ):
                return ANOTHER_LABEL
        return ""

    def _elsewhere(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        """Return `ELSEWHERE` if an element has no text, and its name is at a place where no element has that name."""
        from PIL import Image

        if len(plain(element.name)) < LEAST_READ:
            return ""
        size = frame.size
        picture = Image.frombuffer("RGB", (size.width, size.height), frame.rgb, "raw", "RGB", 0, 1)
        known_boxes = [
            other.box for other in tree.elements if other.id != element.id and agrees(element.name, other.name)
        ]
        for line in self._reader.read(picture).sight.lines:
            if element.role in SIGNS and _is_beside(element.box, line.box):
                continue
            if agrees(element.name, line.text) and not any(box.contains(line.box.center) for box in known_boxes):
                return ELSEWHERE
        return ""


class _Unread(Exception):
    """Raised if a text is not in the cache."""


class _ReadsNothing(Reader):
    """Reader that raises `_Unread` instead of reading."""

    def read_piece(self, pixels: Pixels) -> list[Line]:
        raise _Unread

    def read_row(self, pixels: Pixels) -> tuple[str, float]:
        raise _Unread


_UNREAD = _ReadsNothing()


@cache
def shared_check() -> ElementCheck:
    """Return the check of this process, whose cache all callers share."""
    return ElementCheck()


def _key(pixels: Pixels, how: object) -> bytes:
    """Return the cache key of some pixels and the way in which they were read."""
    return hashlib.blake2b(pixels.tobytes(), digest_size=16).digest() + repr((pixels.shape, how)).encode()


def _is_beside(sign: Box, text: Box) -> bool:
    """Return whether a text is right next to the sign of a check box or a radio button, or right above its left edge.

    In a list of signs, the text of the sign above begins at that sign's right edge. The box that OCR reports is larger
    than the letters, by about a quarter of its height on each side.
    """
    if not on_row(sign, text):
        is_aligned = abs(text.left + text.height // 4 - sign.left) <= sign.width // 2
        return is_aligned and sign.height // -2 <= sign.top - text.bottom <= FARTHEST_LABEL
    return max(text.left - sign.right, sign.left - text.right) <= FARTHEST_LABEL


def is_bare(frame: Frame, box: Box) -> bool:
    """Return whether a place, with three pixels around it, has one color: then no control is drawn there."""
    pixels, part = pixels_of(frame, box.grown(AROUND))
    if part.width < 1 or part.height < 1:
        return True
    highest, lowest = pixels.max(axis=0).max(axis=0), pixels.min(axis=0).min(axis=0)  # one axis at a time: 10 x faster
    return bool((highest.astype(int) - lowest <= GROUND).all())


def is_framed(frame: Frame, box: Box, *, with_text: bool = False) -> bool:
    """Return whether a box has a line or a color change along most of its upper or lower end, and none inside.

    ``with_text`` allows changes inside. The letters of a text that fills a box have an edge along most of the box.
    """
    import numpy as np

    strip, part = pixels_of(frame, box.grown(AROUND + 1))
    if part.height <= 2 * LEAST_PIXELS or part.width < LEAST_PIXELS:
        return False
    inner = strip[:, AROUND + 1 : -AROUND - 1] if part.width > 4 * AROUND else strip
    lines = (np.abs(np.diff(inner.astype(int), axis=0)).max(axis=2) > GROUND).mean(axis=1) >= MOST_OF
    ends = 2 * AROUND + 2
    framed = bool(lines[:ends].any() or lines[-ends:].any())
    return framed and (with_text or not (box.height <= HIGH and lines[ends:-ends].any()))


def _is_own_text(tree: ElementTree, element: Element, read: str) -> bool:
    """Return whether a read text is the only one that a control reports inside, and words of its name.

    The name may have the words of a label elsewhere, too, as in *Express Urgent* for a check box *Urgent*.
    """
    inside = {each.name for each in tree.below(element) if each.role in TEXTS and each.name and each.on_screen}
    said = inside.pop() if len(inside) == 1 and element.role in PRESSED else ""
    return bool(said) and {*said.split()} <= {*element.name.split()} and fit_pressed(said, read) >= SURE


def is_another_there(tree: ElementTree, element: Element) -> bool:
    """Return whether the tree has another control at the point where a press on an element would go."""
    at, window = element.box.center, tree.window_of(element)
    kin = {each.id for each in (element, *tree.ancestors(element), *tree.below(element))}
    top = tree.at(at)
    others = (each for each in tree.elements if each.id not in kin and each.role in PRESSED | WRITTEN_INTO)
    others = (each for each in others if not _is_text_below(each, element))
    found = [
        each
        for each in others
        if each == top or (each.on_screen and each.box.contains(at) and tree.window_of(each) == window)
    ]
    return any(not _is_one_field(tree, each, element) for each in found)


def _is_one_field(tree: ElementTree, one: Element, other: Element) -> bool:
    """Return whether two text fields of one part of a page are in the same place, as the two inputs of a list field."""
    around = {each.parent for each in (one, other)} & {
        up.id for each in (one, other) for up in tree.ancestors(each)[1:3]
    }
    is_same_place = one.box.encloses(other.box, slack=SAME_PLACE) and other.box.encloses(one.box, slack=SAME_PLACE)
    return one.role == other.role == "text field" and is_same_place and bool(around)


def _is_text_below(other: Element, element: Element) -> bool:
    """Return whether ``other`` is the text area of an editor over which a field is drawn, as a bar for a search.

    The frame of the field on the picture shows that it is really there.
    """
    is_area = other.role == "text field" and MULTI_LINE in other.states and other.id < element.id
    return is_area and element.role in WRITTEN_INTO and other.box.encloses(element.box)


def contradicts_name(element: Element, read: str, others: Iterable[str], also: str = "") -> bool:
    """Return whether the text read on an element clearly differs from its name.

    ``also`` is a text that may be written on it instead. ``others`` are the texts of other elements: a better fit with
    any such text is a contradiction. A field may contain any text. OCR may read the text of the next cell after the
    ellipsis of a cell whose column is too narrow.
    """
    if element.role == "cell":
        read = _AFTER_ELLIPSIS.split(read)[0]
    shows = element.role in WRITTEN_ON and bool(element.name)
    fits = fit_pressed if element.role in PRESSED else fit
    is_cut = element.role in IN_LISTS and is_cut_off(read)
    texts = (*_texts(element), also)
    own = max((fit_cut_off if is_cut and not is_cut_off(text) else fits)(text, read) for text in texts)
    if own >= LIKENESS:
        return own < 1.0 and any(fit(other, read) > own for other in others)
    return shows or any(fit(other, read) >= SURE for other in others)


def _space_around(tree: ElementTree, element: Element) -> Iterator[Box]:
    """Yield the box of a field and of close containers, since the visible edge may be theirs."""
    yield element.box
    for above in tree.ancestors(element)[:CLOSE]:
        is_close = above.box.height <= LOW * element.box.height and above.box.width <= 1.6 * element.box.width
        if is_close or _is_of_parts(tree, above):
            yield above.box


def _is_of_parts(tree: ElementTree, container: Element) -> bool:
    """Return whether a container is one field in parts, as of a day, a month and a year, which have no edges."""
    fields = [each for each in tree.below(container) if each.role in WRITTEN_INTO]
    are_parts = len(fields) > 1 and all(each.role == "spin button" for each in fields)
    one = fields[0].box if fields else container.box
    return are_parts and container.box.height <= 4 * one.height and all(on_row(each.box, one) for each in fields)


def _texts(element: Element) -> tuple[str, ...]:
    """Return the texts that may be written on an element. A spreadsheet's cell is named by its place and shows its
    value.
    """
    if element.role not in WRITTEN_ON or not element.name:
        return element.name, element.value
    in_sheet = element.role == "cell" and element.value and PLACE_NAME.fullmatch(element.name)
    return (element.name, element.value) if in_sheet else (element.name,)


def _names_around(tree: ElementTree, element: Element) -> Iterator[str]:
    """Yield the texts that a page draws in place of a field's value, such as the chosen option of a list.

    They name the area that the field fills, or are in the field's area and drawn over the field.
    """
    if element.role not in WRITTEN_INTO:
        return
    above = tree.ancestors(element)
    yield from (each.name for each in above if each.name and each.box == element.box)
    area = _own_area(tree, element)
    inside = tree.below(area) if area is not None else tree.children(above[0]) if above else ()
    texts = (each for each in inside if each.role in TEXTS and each.name and each.on_screen)
    yield from (each.name for each in texts if element.box.encloses(each.box))


def _own_area(tree: ElementTree, element: Element) -> Element | None:
    """Return the largest close container of a field that has no other control, or ``None``."""
    area = None
    for above in tree.ancestors(element)[:CLOSE]:
        controls = (each for each in tree.below(above) if each.role in PRESSED | WRITTEN_INTO)
        if above.box.height > LOW * element.box.height or any(each.id != element.id for each in controls):
            break
        area = above
    return area


def _is_near(lines: Sequence[Line], box: Box) -> bool:
    """Return whether a line is vertically near the middle of a box. Otherwise the box is far too large."""
    middle = box.center.y
    return any(each.box.top - 2 * each.box.height <= middle <= each.box.bottom + 2 * each.box.height for each in lines)


def _text(lines: Sequence[Line]) -> str:
    return " ".join(line.text for line in lines)


def _others(tree: ElementTree, element: Element) -> Iterator[str]:
    """Yield the texts of other elements, without ancestors and descendants, which share the element's text.

    For a field these are the names of all other elements.
    """
    kin = {each.id for each in (element, *tree.ancestors(element), *tree.below(element))}
    seen: set[str] = set()
    field = element.role in WRITTEN_INTO
    for other in tree.elements:
        if (field or other.role in WRITTEN_ON) and other.id not in kin and other.name not in seen:
            seen.add(other.name)
            yield other.name

"""Whether an element that a program tells of agrees with the picture: a tree may lie, lag behind, or be misplaced.

Pixels are what a person sees and a press hits, so they have the last word. A place without anything on it is no
element, and where something else is written than the element is called, nobody can say which of the two is right.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.ocr_reader import Reader, shared_reader
from holo_tasks.vision.screen_text import LIKENESS, Line, digits, in_reading_order, likeness, plain
from holo_tasks.vision.template_match import pixels_of
from holo_tasks.vision.text_row import is_empty, row_in

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
"""Roles whose name is what is written on them; a field's is written beside it."""
WRITTEN_INTO = frozenset({"text field", "password field", "spin button", "combo box", "date editor"})
"""Roles of fields; these have an edge."""
PRESSED = frozenset(
    {"button", "toggle button", "check box", "radio button", "menu item", "check menu item", "radio menu item", "tab"}
)
"""Roles of what is no larger than what is written or drawn on it, give or take."""
WIDEST, HIGHEST = 400, 40
"""How far a label may be from its field, in pixels."""
TOO_SMALL = "it is too small there to be seen"
NOTHING_THERE = "the picture shows nothing there"
TOO_LARGE = "the text on it is far from its middle"
ANOTHER_TEXT = "the picture shows another text there"
ANOTHER_ELEMENT = "another element is told to be there as well"
ANOTHER_LABEL = "the label beside it is that of another field"
ELSEWHERE = "nothing is written there, and its name stands elsewhere on the picture"
LEAST_PIXELS = 4
"""What is narrower or lower is there for others than those who see."""
GROUND = 6
"""How far the colors of bare ground may differ, of 255."""
LEAST_READ = 2
"""Of fewer letters nobody can say that they are no sign."""
SHORT, SHORT_LIKENESS = 4, 0.6
SURE = 0.99
SURE_READ = 0.9
"""How sure a reader must be of a row that it was shown alone."""
ROOM, AROUND = 8, 3
MOST_OF, HIGH = 0.6, 60
KEPT = 2048
"""So many places are remembered by their pixels, with what is written on them."""
_PLACE = re.compile(r"[A-Z]{1,3}[1-9]\d{0,6}")
"""What a cell of a spreadsheet is called."""
_SHORTCUT = re.compile(r"(?:ctrl|shift|alt|super|meta|cmd|f\d+|.*\+.*|\W+|\d+)", re.IGNORECASE)


class ElementCheck:
    """Compares elements with a picture. What is written on a place is read once, and known by its pixels after that.

    Without OCR (the extra ``rehearsal``) only bare ground speaks against an element.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        self._reader = reader or shared_reader()
        self._known: OrderedDict[bytes, tuple[Line, ...]] = OrderedDict()

    def why_not(self, frame: Frame, tree: ElementTree, element: Element, also: str = "", *, whole: bool = True) -> str:
        """Return why tree and picture disagree about an element; empty if nothing says that they do.

        ``also`` is what may be written on it instead of its name. ``whole`` has the name of one with nothing written on
        it looked for on the whole picture, which takes as long as to read that. No text of the screen is in the reason:
        it may be one that is masked.
        """
        if min(element.box.width, element.box.height) < LEAST_PIXELS:
            return TOO_SMALL
        if element.role in WRITTEN_INTO:
            if not any(is_framed(frame, box) for box in _around(tree, element)):
                return NOTHING_THERE
        elif is_bare(frame, element.box):
            return NOTHING_THERE
        if element.role in WRITTEN_ON and (line := self.row(frame, element.box, element.name)):
            return TOO_LARGE if element.role in PRESSED and not _is_near([line], element.box) else ""
        lines = self.lines(frame, element.box)
        read = _text(lines)
        if len(plain(read)) < LEAST_READ or element.role in WRITTEN_INTO:  # no text of its own says that it is there
            if is_another_there(tree, element):
                return ANOTHER_ELEMENT
            if whole and can_read() and (against := self._by_labels(frame, tree, element)):
                return against
        return "" if len(plain(read)) < LEAST_READ else self._by_text(frame, tree, element, also, lines)

    def at_once(self, frame: Frame, tree: ElementTree, element: Element, also: str = "") -> str | None:
        """Return what `why_not` does, but for the whole picture; None where something would have to be read first."""
        known = ElementCheck(_UNREAD)
        known._known = self._known
        try:
            return known.why_not(frame, tree, element, also, whole=False)
        except _Unread:
            return None

    def _by_text(self, frame: Frame, tree: ElementTree, element: Element, also: str, lines: tuple[Line, ...]) -> str:
        """Return what is said against an element by what is written in its box."""
        if contradicted(element, _text(lines), _others(tree, element), also):
            lines = self.lines(frame, element.box, room=True)  # a text at the very edge is read better with room
            read = _text(lines)
            if not any(agrees(text, read) for text in _texts(element)) or contradicted(
                element, read, _others(tree, element), also
            ):
                return ANOTHER_TEXT
        return TOO_LARGE if element.role in PRESSED and not _is_near(lines, element.box) else ""

    def _by_labels(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        if element.role in WRITTEN_INTO:
            return self._label_of_another(frame, tree, element)
        return self._elsewhere(frame, tree, element) if element.role in WRITTEN_ON else ""

    def read(self, frame: Frame, box: Box, *, room: bool = False) -> str:
        """Return what is written in a box, in one line, read with ``room`` around it if wanted; empty without OCR."""
        return _text(self.lines(frame, box, room=room))

    def row(self, frame: Frame, box: Box, text: str) -> Line | None:
        """Return the row of text in a box if it says just this, beyond doubt; else it takes a closer look (`lines`).

        That is read at once, where no search for texts is needed: most of what takes time is that.
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
        said, score = self._reader.read_row(row)
        return Line(said, place, score)

    def _remember(self, key: bytes, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        self._known[key] = lines
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return lines

    def lines(self, frame: Frame, box: Box, *, room: bool = False) -> tuple[Line, ...]:
        """Return the lines in a box, at their places on the screen, read with ``room`` around it if wanted."""
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
            # Its own edges go on around it: a text is read better with some room, and neighbors are not to be read.
            grown = pixels if room else np.pad(pixels, ((ROOM, ROOM), (ROOM, ROOM), (0, 0)), mode="edge")
            inside = box.moved(-part.left, -part.top) if room else Box(0, 0, grown.shape[1], grown.shape[0])
            lines = (line for line in self._reader.read_piece(grown) if inside.contains(line.box.center))
            known = self._remember(key, in_reading_order(lines))
        by = 0 if room else ROOM
        return tuple(replace(line, box=line.box.moved(part.left - by, part.top - by)) for line in known)

    def _label_of_another(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        """Return `ANOTHER_LABEL` if the label beside a field is that of another one."""
        fields = [each for each in tree.elements if each.role in WRITTEN_INTO and each.id != element.id]
        names = [each.name for each in fields if each.name and each.name != element.name]
        if element.role not in WRITTEN_INTO or not element.name or not names:
            return ""
        box = element.box
        beside = self.lines(frame, Box(max(0, box.left - WIDEST), box.top, min(WIDEST, box.left), box.height))
        above = self.lines(frame, Box(box.left, max(0, box.top - HIGHEST), box.width, min(HIGHEST, box.top)))
        if any(agrees(element.name, line.text) for line in (*beside[-1:], *above)):
            return ""
        for line in beside[-1:]:
            between = Box.of_corners(line.box.right, box.top, max(box.left, line.box.right + 1), box.bottom)
            if any(agrees(name, line.text) for name in names) and not any(
                each.box.intersects(between) and each.on_screen for each in fields
            ):
                return ANOTHER_LABEL
        return ""

    def _elsewhere(self, frame: Frame, tree: ElementTree, element: Element) -> str:
        """Return `ELSEWHERE` if the name of an element with nothing written on it stands where no element is told."""
        from PIL import Image

        if len(plain(element.name)) < LEAST_READ:
            return ""
        size = frame.size
        picture = Image.frombuffer("RGB", (size.width, size.height), frame.rgb, "raw", "RGB", 0, 1)
        told = [other.box for other in tree.elements if other.id != element.id and agrees(element.name, other.name)]
        for line in self._reader.read(picture).sight.lines:
            if agrees(element.name, line.text) and not any(box.contains(line.box.center) for box in told):
                return ELSEWHERE
        return ""


class _Unread(Exception):
    """Something has not been read yet."""


class _ReadsNothing(Reader):
    """A reader for what has been read."""

    def read_piece(self, pixels: Pixels) -> list[Line]:
        raise _Unread

    def read_row(self, pixels: Pixels) -> tuple[str, float]:
        raise _Unread


_UNREAD = _ReadsNothing()


@cache
def shared_check() -> ElementCheck:
    """Return the one of this process: what one part of it has read on an element, the others need not read again."""
    return ElementCheck()


def _key(pixels: Pixels, how: object) -> bytes:
    """Return what is known of some pixels by, that were read in some way."""
    return hashlib.blake2b(pixels.tobytes(), digest_size=16).digest() + repr((pixels.shape, how)).encode()


def is_bare(frame: Frame, box: Box) -> bool:
    """Say whether a place of a picture, with a little around it, is of one color: then there is nothing to press."""
    pixels, part = pixels_of(frame, box.grown(AROUND))
    if part.width < 1 or part.height < 1:
        return True
    highest, lowest = pixels.max(axis=0).max(axis=0), pixels.min(axis=0).min(axis=0)  # row by row: ten times as fast
    return bool((highest.astype(int) - lowest <= GROUND).all())


def is_framed(frame: Frame, box: Box) -> bool:
    """Say whether a line or another color begins along most of the upper or the lower end of a box, and none in it."""
    import numpy as np

    strip, part = pixels_of(frame, box.grown(AROUND + 1))
    if part.height <= 2 * LEAST_PIXELS or part.width < LEAST_PIXELS:
        return False
    inner = strip[:, AROUND + 1 : -AROUND - 1] if part.width > 4 * AROUND else strip
    lines = (np.abs(np.diff(inner.astype(int), axis=0)).max(axis=2) > GROUND).mean(axis=1) >= MOST_OF
    ends = 2 * AROUND + 2
    framed = bool(lines[:ends].any() or lines[-ends:].any())
    return framed and not (box.height <= HIGH and lines[ends:-ends].any())


def is_another_there(tree: ElementTree, element: Element) -> bool:
    """Say whether something else to press or to write into is told to be where a press on an element would go."""
    at, window = element.box.center, tree.window_of(element)
    kin = {each.id for each in (element, *tree.ancestors(element), *tree.below(element))}
    top = tree.at(at)
    others = (each for each in tree.elements if each.id not in kin and each.role in PRESSED | WRITTEN_INTO)
    return any(
        each == top or (each.on_screen and each.box.contains(at) and tree.window_of(each) == window) for each in others
    )


def contradicted(element: Element, read: str, others: Iterable[str], also: str = "") -> bool:
    """Say whether what is read on an element is plainly something else than it is called.

    ``also`` is what may be written on it instead of its name, ``others`` is what is written on other elements: it must
    not be one of these rather than this one. What is in a field may be anything else.
    """
    shows = element.role in WRITTEN_ON and bool(element.name)
    own = max(fit(text, read) for text in (*_texts(element), also))
    if own >= LIKENESS:
        return own < 1.0 and any(fit(other, read) > own for other in others)
    return shows or any(fit(other, read) >= SURE for other in others)


def agrees(name: str, read: str) -> bool:
    """Say whether a text that was read may be this name."""
    return fit(name, read) >= LIKENESS


def fit(name: str, read: str) -> float:
    """Rate from 0 to 1 how well what was read is a name, as it is written on a control.

    Letters may differ a little and digits not at all, except those that look like a letter. A keyboard shortcut, a
    count or a sign may stand behind the name, a sign before it; an ellipsis stands for the rest of it.
    """
    wanted, seen = plain(name), plain(read)
    if not wanted or not seen:
        return 0.0
    if wanted == seen:
        return 1.0
    if _alike(wanted) == _alike(seen):
        return SURE
    if read.rstrip().endswith(("…", "...")) and len(seen) >= SHORT and wanted.startswith(seen):
        return 0.95
    if _with_shortcut(name, read) or (len(wanted) >= SHORT and not digits(wanted) and seen[1:] == wanted):
        return 0.95
    if digits(wanted) != digits(seen):
        return 0.0
    matcher = SequenceMatcher(None, wanted, seen, autojunk=False)
    if matcher.real_quick_ratio() < SHORT_LIKENESS:
        return 0.0
    ratio = min(0.98, matcher.ratio())
    if min(len(wanted), len(seen)) >= SHORT:
        return ratio
    return max(ratio, LIKENESS) if ratio >= SHORT_LIKENESS and len(wanted) == len(seen) else 0.0


def _alike(text: str) -> str:
    """Write letters and digits that look the same as one of them."""
    return text.translate(str.maketrans("01il5s8b", "olllssbb"))


def _with_shortcut(name: str, read: str) -> bool:
    words, count = read.split(), len(name.split())
    return (
        len(words) > count
        and plain(" ".join(words[:count])) == plain(name)
        and all(_SHORTCUT.fullmatch(word) for word in words[count:])
    )


def _around(tree: ElementTree, element: Element) -> Iterator[Box]:
    """Yield the box of a field and those close around it: its edge may be that of what it is in."""
    yield element.box
    for above in tree.ancestors(element)[:3]:
        if above.box.height <= 2.5 * element.box.height and above.box.width <= 1.6 * element.box.width:
            yield above.box


def _texts(element: Element) -> tuple[str, ...]:
    """Return what may be written on an element: a spreadsheet's cell is called by its place, and shows its value."""
    if element.role not in WRITTEN_ON or not element.name:
        return element.name, element.value
    in_sheet = element.role == "cell" and element.value and _PLACE.fullmatch(element.name)
    return (element.name, element.value) if in_sheet else (element.name,)


def _is_near(lines: Sequence[Line], box: Box) -> bool:
    """Say whether some line is not far above or below the middle of a box: else it is far too large."""
    middle = box.center.y
    return any(each.box.top - 2 * each.box.height <= middle <= each.box.bottom + 2 * each.box.height for each in lines)


def _text(lines: Sequence[Line]) -> str:
    return " ".join(line.text for line in lines)


def _others(tree: ElementTree, element: Element) -> Iterator[str]:
    """Yield what is written on other elements, leaving out what one is in and what is in it: that is one text.

    A field holds none of the other elements' texts, whatever these are.
    """
    kin = {each.id for each in (element, *tree.ancestors(element), *tree.below(element))}
    seen: set[str] = set()
    field = element.role in WRITTEN_INTO
    for other in tree.elements:
        if (field or other.role in WRITTEN_ON) and other.id not in kin and other.name not in seen:
            seen.add(other.name)
            yield other.name

"""Hold the texts read on a picture, and answer where a label, its value or its field is.

`Sight` is the main class. `matches`, `likeness` and `plain` compare labels with read text. Playbooks, their compiler
and the recognizer of states use them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.failure_words import says_failure
from holo_tasks.core.texts.meaningful_signs import keeps_signs, signs_differ
from holo_tasks.vision.template_match import FoundPicture

LIKENESS = 0.84
"""Least likeness of two labels, from 0 to 1. One wrong letter in seven passes; a wrong digit never does."""

ALIKE = tuple(map(frozenset, ("il1jtfr", "oc0eaqdg", "nmhru", "vwyu", "sz52", "b86h", "gq9y", "kx")))
MERGED = ({"rn", "m"}, {"nn", "m"}, {"vv", "w"}, {"cl", "d"}, {"ri", "n"}, {"li", "h"}, {"ii", "u"}, {"il", "u"})
THIN = frozenset("il1jtfr")
"""Groups of letters that OCR confuses, pairs that it merges into one letter, and thin letters that it misses."""
NEGATIONS = frozenset({"un", "in", "im", "ir", "il", "dis", "de", "non", "no", "not", "nicht", "kein", "keine"})
"""Words and syllables at the start of a text that reverse its meaning."""
WIDTHS = {
    sign: width
    for signs, width in (("ijlI|'.,:;!", 0.43), ("ftr()[]- /", 0.56), ("cksvxyzJ", 0.9), ("w", 1.35), ("mMW@%", 1.55))
    for sign in signs
}
CAPITAL = 1.22
"""Widths of letters in the usual fonts of programs, as multiples of the width of a digit."""
SURE_EDGE = 0.3
"""Distance in digits from which the edge of a field certainly lies in a number, although widths are estimates."""
_MARK = re.compile(r"^(?:[oO©®] |[○●◉◎•☐☑☒□■]+ ?)(?=[^\W\d_])")
_ICON = re.compile(r"^[\u2e80-\u9fff] ?(?=[A-Za-zÀ-ÿ]{2})|(?<=[A-Za-zÀ-ÿ]{2}) ?[\u2e80-\u9fff]$")
"""A Chinese sign at the end of a Latin word."""
_SIGN = re.compile("[\u2e80-\u9fff\uac00-\ud7a3]")
"""A Chinese, Japanese or Korean sign."""
WORDS_APART = 0.9
"""Largest distance between words of one text, in heights of the line. Typewriter fonts have wide gaps."""
LEAST_BEFORE_DOTS = 3
"""Fewest letters that OCR must read before the dots of a label if it lost one letter there."""
MOST_JOINED = 8
"""Most lines in which a label is searched as a piece. The rows of a table may have it, too."""
OVERLAP = 0.5
"""Share of the height by which boxes of two words may overlap, because OCR adds space around each word."""


class FilledLabel(str):
    """A label with ``values`` filled in, such as an item's name. The values must be on the screen word for word.

    A similar name would be another item's.
    """

    values: tuple[str, ...] = ()
    is_effect: bool = False
    """Whether a message of a failure does not match, because the ``*`` of an effect matches other words only."""

    def __new__(cls, label: str, values: Iterable[str]) -> FilledLabel:
        made = super().__new__(cls, label)
        made.values = tuple(values)
        return made


@dataclass(frozen=True)
class Line:
    """A piece of text on one row, in pixels of the picture; ``score`` is the OCR confidence."""

    text: str
    box: Box
    score: float = 1.0


@dataclass(frozen=True)
class Sight:
    """The result of reading a picture: its lines in reading order and the light boxes that look like fields.

    ``colored_fields`` are further certain fields of other colors. ``pictures`` finds a smaller picture. ``shown`` is
    the redacted version for values that leave this machine, or ``None`` if nothing is hidden. ``elements`` is the
    accessibility tree in pixels of the picture, or ``None`` if it was not requested.

    ``disagrees`` returns why the picture contradicts an element, or an empty string. ``written`` returns the text in a
    box, or ``None`` without OCR. ``reported`` returns whether a text is visible, and ``row`` the lines in a label's
    row. Both use the places in the tree, and return ``None`` if only ``lines`` can answer. ``at_place`` returns whether
    a text is read at a place where the tree has it. It finds texts that were misread in the whole picture.

    ``pieces`` returns the texts of a line that wide gaps separate, or none if the line is whole.

    ``windows`` are the titles of visible windows. ``state`` is the name of the program's state, empty for an unknown
    state. Both are ``None`` if they were not determined.
    """

    lines: Sequence[Line]
    size: Size
    fields: Sequence[Box] = ()
    colored_fields: Sequence[Box] = ()
    pictures: Callable[[Path], Sequence[FoundPicture]] = field(default=lambda picture: (), compare=False, repr=False)
    shown: Sight | None = None
    elements: ElementTree | None = None
    disagrees: Callable[[Element, str], str] = field(default=lambda element, also: "", compare=False, repr=False)
    written: Callable[[Box], str | None] = field(default=lambda box: None, compare=False, repr=False)
    reported: Callable[[str], bool | None] = field(default=lambda label: None, compare=False, repr=False)
    row: Callable[[str], Sequence[Line] | None] = field(default=lambda label: None, compare=False, repr=False)
    at_place: Callable[[str], bool] = field(default=lambda label: False, compare=False, repr=False)
    pieces: Callable[[Line], Sequence[Line]] = field(default=lambda line: (), compare=False, repr=False)
    windows: Sequence[str] | None = None
    state: str | None = None

    @cached_property
    def as_read(self) -> Sight:
        """Return the same sight without shortcuts through the accessibility tree."""
        return replace(self, reported=lambda label: None, row=lambda label: None, at_place=lambda label: False)

    def find(self, label: str) -> list[Line]:
        """Return the lines that are this label, best match first (`matches`).

        The result may be pressed or used as an anchor. So a line that is a different word does not count, however
        similar it is.
        """
        is_filled = isinstance(label, FilledLabel) and label.values
        ways = (str, without_mark) if is_filled or self._has_signs else (str, without_mark, without_icon)
        texts = ((text, line) for line in self.lines for text in dict.fromkeys(way(line.text) for way in ways))
        rated = [(likeness(label, text), text, line) for text, line in texts]
        good = [
            (score, line)
            for score, text, line in rated
            if score >= LIKENESS and may_be_misread(label, text) and holds_values(label, text)
        ]
        return [*dict.fromkeys(line for _, line in sorted(good, key=lambda pair: -pair[0]))]

    def find_in_lines(self, label: str) -> list[Line]:
        """Return the pieces of longer lines that are this label. OCR may join the options of a row.

        Such a piece may be pressed. It does not count as an anchor, because its line continues. A label that is in many
        lines is not searched, because OCR reads each piece again.
        """
        if not plain(label) or "*" in label:
            return []
        joined = [line for line in self.lines if plain(label) in plain(line.text) != plain(label)]
        if len(joined) > MOST_JOINED:
            return []
        pieces = tuple(piece for line in joined for piece in self.pieces(line))
        return replace(self, lines=pieces).find(label) if pieces else []

    @cached_property
    def _has_signs(self) -> bool:
        """Return whether the lines have Chinese, Japanese or Korean words, so that such a sign may be a word.

        One sign may still be an icon, as may a sign next to a Latin word.
        """
        read = "".join(without_icon(line.text) for line in self.lines)
        return sum(map(str.isalpha, _SIGN.findall(read))) > 1

    def has(self, label: str) -> bool:
        """Return whether a line, or neighboring words joined to a phrase, is this label."""
        answer = self.reported(label)
        if answer is not None:
            return answer
        return (
            any(matches(label, line.text) for line in self.lines)
            or any(matches(label, phrase) for phrase, _ in self._phrases)
            or self.at_place(label)
        )

    def count(self, text: str) -> int:
        """Return how often the lines have a text, alone or in a longer word."""
        return sum(plain(line.text).count(plain(text)) for line in self.lines)

    def places(self, label: str) -> list[Box]:
        """Return the boxes of the lines and phrases that are this label."""
        read = (*((line.text, line.box) for line in self.lines), *self._phrases)
        return [box for text, box in read if matches(label, text)]

    def match_phrases(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """Return the matches of a pattern with neighboring lines, joined to a phrase without another neighbor.

        A part of a longer phrase may be a part of its number, or have the end of its label.
        """
        matched = [(found, box) for text, box in self._phrases if (found := pattern.fullmatch(text))]
        return [
            found
            for found, box in matched
            if not any(other != box and other.encloses(box) for _, other in self._phrases)
        ]

    @cached_property
    def _phrases(self) -> tuple[tuple[str, Box], ...]:
        """Return the phrases made of neighboring lines no further apart than words, with their boxes."""
        found = []
        for place, line in enumerate(self.lines):
            text, last, boxes = line.text, line.box, [line.box]
            for other in self.lines[place + 1 :]:
                apart = other.box.left - last.right
                if not (on_row(last, other.box) and -OVERLAP * last.height <= apart <= WORDS_APART * last.height):
                    break
                text, last = f"{text} {other.text}", other.box
                boxes.append(last)
                found.append((text, Box.around(boxes)))
        return tuple(found)

    def shows_part_of(self, text: str) -> bool:
        """Return whether a line is a piece of a longer text, as in a field that wraps or scrolls."""
        whole = plain(text)
        enough = min(len(whole), 8)
        return any(
            len(piece) >= enough and _inside(piece, whole) for piece in (plain(line.text) for line in self.lines)
        )

    def right_of(self, label: str) -> str | None:
        """Return the text on the same row, right of a label; ``None`` unless the label is unique and has text there."""
        read = self.row(label)
        if read is None and self.reported(label) is False:
            return None
        found = None if read is None else replace(self.as_read, lines=read).right_of(label)
        return self._right_of(label) if found is None else found

    def in_row(self, label: str, heading: str) -> str | None:
        """Return the text in the row of a label and below a heading; ``None`` unless there is exactly one.

        A heading is above the row, and overlaps the text's column.
        """
        rows = [row for row in self.lines if matches(label, row.text)]
        tops = self.find(heading)
        found = {
            cell
            for row in rows
            for top in tops
            if top.box.bottom <= row.box.center.y
            for cell in self.lines
            if cell is not row and on_row(row.box, cell.box) and overlap(cell.box, top.box)
        }
        return found.pop().text if len(found) == 1 else None

    def _right_of(self, label: str) -> str | None:
        anchor = self.anchor(label)
        if anchor is None:
            return None
        row = sorted(
            (line for line in self.lines if on_row(anchor, line.box) and line.box.left >= anchor.right - 2),
            key=lambda line: line.box.left,
        )
        if not row:
            return None
        joined, edge = [row[0].text], row[0].box.right
        for line in row[1:]:
            # Words of one value are closer together than columns.
            if line.box.left - edge > 1.5 * line.box.height:
                break
            joined.append(line.text)
            edge = line.box.right
        return " ".join(joined)

    def anchor(self, label: str) -> Box | None:
        """Return the box of a label; ``None`` if it is missing or ambiguous."""
        found = self.find(label)
        return found[0].box if len(found) == 1 or (found and _clearly_first(label, found)) else None

    def field_at(self, label: str) -> Box | None:
        """Return the input field of a label: on its row to the right, or directly below it.

        OCR may read the label and the text of the field as one line.
        """
        anchor = self.anchor(label)
        if anchor is None:
            fields = (*self.fields, *self.colored_fields)
            found = [box for box in fields if any(_leads_into(label, line, box) for line in self.lines)]
            return found[0] if len(found) == 1 and not self.find(label) else None
        return _field_of(anchor, self.fields) or _field_of(anchor, self.colored_fields)


def _leads_into(label: str, line: Line, field: Box) -> bool:
    """Return whether a line begins with a label on the left of a field, and goes on with the text in the field."""
    head = next((head for head in _heads(line.text) if matches(label, head)), None)
    return head is not None and _may_end_at(head, line, field) and not _is_edge_in_number(head, line, field)


def _may_end_at(head: str, line: Line, field: Box) -> bool:
    """Return whether the beginning of a line may end at the left edge of a field."""
    apart = field.left - line.box.left
    if not (on_row(line.box, field) and 0 < apart < line.box.width and line.box.right <= field.right + apart):
        return False
    width = _width(head, line)
    return abs(width - apart) <= max(0.25 * width, 2 * line.box.height)


def _is_edge_in_number(head: str, line: Line, field: Box) -> bool:
    """Return whether the edge of a field lies in the number at the end of a label, or in the number behind the label.

    OCR joins *Line 1* and *20 High St* to ``Line 120 High St``. The label is then neither *Line* nor *Line 120*.
    """
    apart, begin, sure = field.left - line.box.left, f"{head} ", SURE_EDGE * _width("0", line)
    is_before_number = line.text.startswith(begin) and line.text[len(begin)].isdigit()
    is_over_number = head[-1].isdigit() and _width(head, line) - apart > sure
    return is_over_number or (is_before_number and apart - _width(begin, line) > sure)


def _width(head: str, line: Line) -> float:
    """Return about the width in pixels of the beginning of a line. Letters differ in width."""
    return _drawn(head) * line.box.width / _drawn(line.text)


def _drawn(text: str) -> float:
    """Return about the width of a text in digits."""
    return sum(WIDTHS.get(sign, CAPITAL if sign.isupper() else 1) for sign in text)


_HEAD_END = re.compile(r"(?<=\S)(?:\s+|(?<=[^\W\d_])(?=-?\d))(?=\S)")
"""The end of a label before the text of its field: a space, or a digit right after a letter, as in ``Amount10.00``."""


def _heads(text: str) -> list[str]:
    """Return the beginnings of a line that may be the label of the field that the line goes on in."""
    return [" ".join(text[: end.start()].split()) for end in _HEAD_END.finditer(text)]


def label_before(line: Line, field: Box) -> str:
    """Return the label of a field that OCR read as one line with the text of the field; empty if it did not.

    At least half of the line's rest is in the field. OCR's box of a label alone reaches less far over the edge.
    """
    heads = [head for head in _heads(line.text) if _may_end_at(head, line, field)]

    def is_rest_inside(head: str) -> bool:
        return line.box.right - field.left > max(line.box.width - _width(head, line), line.box.height) / 2

    def distance(head: str) -> float:
        return abs(_width(head, line) - (field.left - line.box.left))

    found = min(filter(is_rest_inside, heads), key=distance, default="")
    return "" if found and _is_edge_in_number(found, line, field) else found


def _field_of(label: Box, fields: Sequence[Box]) -> Box | None:
    """Return the field right of a label or, without one, directly below it.

    OCR's box of a label may reach over the edge of the neighboring field, and then lies over a part of the field below.
    """
    middle = label.center
    level = [box for box in fields if box.top <= middle.y < box.bottom and box.right > label.right]
    if on_the_right := [box for box in level if box.left >= label.right - 4 or box.left > middle.x]:
        return min(on_the_right, key=lambda box: box.left)
    reach, within = 2 * label.height, label.height // 4  # the box that OCR reports reaches a little beyond the letters
    below = [
        box
        for box in fields
        if -within <= box.top - label.bottom <= reach and box.left <= middle.x and label.left < box.right
    ]
    return min(below, key=lambda box: box.top, default=None)


def without_mark(text: str) -> str:
    """Return a text without the circle or the box of a radio button or a check box that OCR read before it."""
    return _MARK.sub("", text)


def without_icon(text: str) -> str:
    """Return a Latin text without an icon that OCR took for a Chinese sign, the only one of the text."""
    bare = _ICON.sub("", text, count=1)
    return text if re.search("[\u2e80-\u9fff]", bare) else bare


def matches(label: str, text: str) -> bool:
    """Return whether a text on the screen is this label."""
    return likeness(label, text) >= LIKENESS and holds_values(label, text)


def holds_values(label: str, text: str, *, reported: bool = False) -> bool:
    """Return whether the values filled into a label are in a text, word for word.

    Capital I equals l, because most fonts draw them alike. OCR may miss an accent. With ``reported`` the text comes
    from the program itself, so accents must match.
    """
    values = label.values if isinstance(label, FilledLabel) else ()
    if isinstance(label, FilledLabel) and label.is_effect and says_failure(text):
        return False
    if any(f"{value}*" in label and is_longer_name(value, text) for value in values):
        return False
    if "*" in label and not all(keeps_signs(value, label, text) for value in values):
        return False
    return not values or any(_holds(label, values, text, reported, fold) for fold in (str.casefold, _as_drawn))


GOES_ON = r"[-_/\\@]\w|\.[a-z0-9]"
"""What makes a longer name of a value, such as ``R-1-A`` of ``R-1`` and ``a.txt.old`` of ``a.txt``."""


def name_end(rest: str) -> str:
    """Return the end of a longer name after a value, such as that of a file; empty without one."""
    return rest.split()[0] if re.match(GOES_ON, rest) else ""


def is_longer_name(value: str, text: str) -> bool:
    """Return whether a text has a value only as the beginning of longer names, which are those of other items."""
    words = map(re.escape, re.findall(r"[^\W_]+", unicodedata.normalize("NFC", value)))
    text = unicodedata.normalize("NFC", text)
    ends = [found.end() for found in re.finditer(r"[\W_]*".join(words), text, re.IGNORECASE)] if value else []
    return bool(ends) and all(re.match(GOES_ON, text[end:]) for end in ends)


def _holds(label: str, values: Sequence[str], text: str, reported: bool, fold: Callable[[str], str]) -> bool:
    """Return whether folded words contain all values. The rest of the two texts must be alike as well."""
    seen, wanted = _words(text, fold), _words(label, fold)
    if _are("".join(seen), "".join(wanted), reported):
        return True
    for value in values:
        words = _words(value, fold)
        here, there = _place(seen, words, reported), _place(wanted, words, True)
        if here is None or there is None:
            return False
        seen, wanted = (*seen[:here], *seen[here + len(words) :]), (*wanted[:there], *wanted[there + len(words) :])
    return "*" in label or may_be_misread("".join(wanted), "".join(seen))


def _as_drawn(text: str) -> str:
    """Return a text with capital I replaced by l, because most fonts draw them alike."""
    return text.replace("I", "l").casefold()


def _words(text: str, fold: Callable[[str], str]) -> tuple[str, ...]:
    """Return the words of a text after ``fold``."""
    return tuple(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", fold(text))))


def _place(seen: Sequence[str], wanted: Sequence[str], reported: bool) -> int | None:
    """Return the index at which ``wanted`` follows as consecutive words in ``seen``, or ``None``."""
    places = range(len(seen) - len(wanted) + 1)
    same = (all(_are(*pair, reported) for pair in zip(seen[place:], wanted, strict=False)) for place in places)
    return next((place for place, found in zip(places, same, strict=True) if found), None)


def _are(seen: str, wanted: str, reported: bool) -> bool:
    return seen == wanted or (not reported and seen == _without_accents(wanted))


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


_SMALL_CAPITALS = str.maketrans("cjkopsuvwxyz", "CJKOPSUVWXYZ")
"""Small letters that look like their capitals. OCR takes one for the other in a short text such as ``J-2012``."""


@lru_cache(maxsize=16_384)
def likeness(label: str, text: str) -> float:
    """Return from 0 to 1 how well a text fits a label.

    ``*`` matches any text. Spaces and punctuation are ignored, but not the signs of *A+* and *-5*. A label in capitals
    matches capitals only, but one with digits also small letters that look like capitals. Other labels match any case.
    Letters may differ a little, digits may not.
    """
    capitals = label.upper() == label
    drawn = text.translate(_SMALL_CAPITALS) if capitals and digits(label) else text
    if "*" in label:
        pieces = [plain(piece, capitals) for piece in label.split("*")]
        return 1.0 if _with_gaps(pieces).fullmatch(plain(drawn, capitals)) else 0.0
    if capitals and drawn.upper() != drawn:
        return 0.0
    wanted, seen = plain(label), plain(text)
    if not wanted or digits(wanted) != digits(seen) or signs_differ(label, text):
        return 0.0
    if wanted == seen:
        return 1.0 if label.strip() == text.strip() else 0.99
    if plain(label.replace("I", "l")) == plain(text.replace("I", "l")):
        return 0.98  # most fonts draw I and l alike
    if min(len(wanted), len(seen)) < 4:
        return 0.95 if _lost_before_dots(label, text) else 0.0
    rated = SequenceMatcher(None, wanted, seen, autojunk=False)
    return 0.0 if _adds_word(wanted, seen, rated.get_opcodes()) else min(0.98, rated.ratio())


def _lost_before_dots(label: str, text: str) -> bool:
    """Return whether OCR lost one thin letter of a label to the dots behind it, as in *Edi...* for *Edit...*."""
    dots = all(said.rstrip().endswith(("..", "…")) for said in (label, text))
    wanted, seen = plain(label), plain(text)
    return dots and wanted[:-1] == seen and len(seen) >= LEAST_BEFORE_DOTS and wanted[-1] in THIN


def _adds_word(one: str, other: str, steps: Sequence[tuple[str, int, int, int, int]]) -> bool:
    """Return whether one text has letters more that OCR does not invent, such as *unpaid*, *not saved* or *stored*.

    The differences are one lost or added letter at the end, or several in any other place. At the start an icon may
    have been read as letters, but not as a negation.
    """
    for what, low, high, left, right in steps:
        longer, (start, end) = (one, (low, high)) if high - low > right - left else (other, (left, right))
        more = abs((high - low) - (right - left))
        piece = longer[start:end]
        if what == "equal" or not more or set(piece) <= THIN or {one[low:high], other[left:right]} in MERGED:
            continue
        if end == len(longer) and piece != longer[start - 1 : start]:
            return True
        if more > 1 and (start > 0 or piece in NEGATIONS):
            return True
    return False


def may_be_misread(label: str, text: str) -> bool:
    """Return whether OCR may have read this text for a label: only letters that look alike may differ.

    *Save notes* is not a misread *Save note*, since OCR does not invent an s.
    """
    if "*" in label:
        return True
    one, other = plain(label), plain(text)
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return all(
        what == "equal" or _looks_alike(one, other, (low, high), (left, right))
        for what, low, high, left, right in steps
    )


def _looks_alike(one: str, other: str, here: tuple[int, int], there: tuple[int, int]) -> bool:
    """Return whether OCR may confuse the piece ``here`` of one text with the piece ``there`` of the other."""
    mine, theirs = one[slice(*here)], other[slice(*there)]
    if mine and theirs:
        pairs = zip(mine, theirs, strict=False)
        alike = len(mine) == len(theirs) and all(any({a, b} <= group for group in ALIKE) for a, b in pairs)
        return alike or {mine, theirs} in MERGED
    lost, (start, end), whole = (mine, here, one) if mine else (theirs, there, other)
    neighbors = whole[max(0, start - 1) : start] + whole[end : end + 1]
    return set(lost) <= THIN or (len(lost) == 1 and lost in neighbors)


@lru_cache(maxsize=4096)
def plain(text: str, keep_case: bool = False) -> str:
    """Return a text reduced to the letters, without accents or case, and the digits.

    Two numbers side by side stay separated by a space.
    """
    split = unicodedata.normalize("NFKD", text if keep_case else text.casefold())
    letters = "".join(c if c.isalnum() else " " for c in split if not unicodedata.combining(c))
    return re.sub(r"(?<!\d) +| +(?!\d)", "", re.sub(r" +", " ", letters).strip())


@lru_cache(maxsize=1024)
def label_pattern(label: str) -> re.Pattern[str]:
    """Return a pattern for a label reduced by `plain`, whose ``*`` match any text."""
    return _with_gaps([plain(piece) for piece in label.split("*")])


def _with_gaps(pieces: list[str]) -> re.Pattern[str]:
    """Return a pattern for pieces with any text between them. It never cuts a number in two."""
    pattern = re.escape(pieces[0])
    for before, after in pairwise(pieces):
        pattern += (r"(?!\d)" if before[-1:].isdigit() else "") + ".*"
        pattern += (r"(?<!\d)" if after[:1].isdigit() else "") + re.escape(after)
    return re.compile(pattern)


def digits(text: str) -> str:
    """Return the digits of a text, in order."""
    return "".join(c for c in text if c.isdigit())


def on_row(one: Box, other: Box) -> bool:
    """Return whether two boxes are on one row: the middle of the less high box is within the other's height."""
    low, high = sorted((one, other), key=lambda box: box.height)
    return high.top <= low.center.y < high.bottom


def overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes have a column of pixels in common."""
    return one.left < other.right and other.left < one.right


def in_reading_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return lines from top to bottom, and from left to right within a row."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.box.center.y, line.box.left)):
        if rows and on_row(rows[-1][0].box, line.box):
            rows[-1].append(line)
        else:
            rows.append([line])
    return tuple(line for row in rows for line in sorted(row, key=lambda line: line.box.left))


def _inside(piece: str, whole: str) -> bool:
    if piece in whole:
        return True
    best = SequenceMatcher(None, piece, whole, autojunk=False)
    same = sum(block.size for block in best.get_matching_blocks() if block.size > 2)
    return digits(piece) in digits(whole) and same >= LIKENESS * len(piece)


def _clearly_first(label: str, found: list[Line]) -> bool:
    first, second = likeness(label, found[0].text), likeness(label, found[1].text)
    return first == 1.0 and second < 1.0

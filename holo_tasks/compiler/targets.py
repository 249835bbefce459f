"""Describe the control at a point of a recorded picture by texts, never by coordinates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.value_formats import format_of, with_words_of
from holo_tasks.scripts.values import PLACEHOLDER, Value
from holo_tasks.vision.screen_text import (
    Line,
    Sight,
    digits,
    label_before,
    matches,
    on_row,
    plain,
    without_icon,
    without_mark,
)

REACH, HEIGHT = 24, 8
"""Distances in pixels, across and down, up to which a text belongs to the control that was pressed."""
CENTERED = 3
"""Distance in pixels up to which a text counts as centered in a button."""
SAME_HEIGHT, JOINED = 4, 2
"""Largest difference in height of two controls in a row, and largest distance of two that are one, in pixels."""
TELLING, TELLING_NUMBER = 8, 3
"""Fewest characters of a value that does not occur in a label by chance.

The second number holds for a value with a digit, as a word of its own.
"""
FEWEST_LETTERS = 2
MOST_ICONS = 3
"""The most letters of a picture that may be icons that OCR took for letters."""
ELLIPSIS = re.compile(r"\.\.\.?|…")
GOES_ON = re.compile(r"(?:\.\.\.|…)\s*\w")
CUT_OFF = re.compile(rf"{GOES_ON.pattern}|^\w+\.{{1,2}}$")
LEAST_SHOWN = 3
LATIN = frozenset({"LATIN"})
JAPANESE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
NUMBER = re.compile(
    r"(?<![\d}][.,])\d{1,3}(?:[.,']\d{3})+(?:[.,]\d\d?)?(?![.,]?[\d{])|(?<![\d}][.,])\d+[.,]\d\d?(?![.,]?[\d{])|\d+"
)
"""A number with its decimals and groups. The parts of a date, as in ``24.12.{year}``, are numbers of their own."""
POSITION = re.compile(r"(?<=[\[(])\d+ ?(?:/|of|von|de|sur|di|van) ?\d+(?=[\])])")
"""A position among several in brackets, in the words of some languages."""
COLUMNS_APART = 2
"""Least distance of two columns of a list, in heights of its text."""
AMOUNT = re.compile(r"(?<!\S)[$€£]?\d[\d.,']*(?!\S)")
"""A number that is a word of its own."""
PORT = re.compile(r"\b(localhost|(?:\d+\.){3}\d+|(?:[\w-]+\.)+[A-Za-z][\w-]*):\d{2,5}\b")
"""An address with its port, as in the title of a page's message."""
FOLDER = re.compile(r"(?<=\()~?/[^)]*(?=\))|(?<![\w.~}])(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s)]+)*[/\\](?=[^\s/\\])")
"""The folder of a file in a title, in brackets or before the file's name. It differs between machines."""
CUT_PATH = re.compile(r"(?<![\w.~}/\\])(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s){}]+)+[/\\][\w-]+(?=\W*$)")
"""A path at the end of a text, whose last part has no ending. OCR may have cut the path off in a folder's name."""
TITLE_PARTS, PATH = re.compile(r"( [-–—] )"), re.compile(r"(?:~|[A-Za-z]:)?[/\\]\S")
FILE = re.compile(r"\w\.[A-Za-z]\w{0,4}")
CAPTIONS = 3
"""The fewest texts in a row that make an apparent field a bar of buttons. OCR may split the text of a field in two."""
OWN, FAR = 0.25, 6
"""By how many of its heights OCR's box of a field's own text may begin left of the field, and how many heights away
from its field a text is surely no label if another text begins there."""
MOST_CHANGED = 0.9
"""The share of a box that changes if a press closes it."""
AREA_LINES = 3
"""The least height of a text area, in heights of its label."""
MOST_ANCHORS = 12
"""The most texts around a target that are tried as its neighbor."""

Shown = Sequence[tuple[Sight, Mapping[str, Value]]]
"""Read pictures with the parameter values of their recordings."""


def target_at(
    point: Point,
    sight: Sight,
    values: Mapping[str, Value],
    also: Shown = (),
    *,
    typed: bool = True,
    changed: Box | None = None,
    words: str = "",
) -> Target | None:
    """Return the first description of a control at a point that finds only this control on the picture.

    A field is described by its label, and any other control by its text. A text that occurs several times is
    described with a neighboring text. ``values`` are parameter values: the target has the parameters in their place.
    ``also`` are other pictures of the screen. If the text occurs twice on such a picture, a neighboring parameter is
    preferred. Without ``typed`` nothing was typed after the press, so a text among several in one box is a row of a
    list or a button, and not the text of a field. The same holds if all of the box ``changed`` with the press, as a
    menu that closes. ``words`` are the model's description of the control. Returns ``None`` if the control
    has no text.
    """
    found = (
        way for way in _descriptions(point, sight, values, typed, changed, words) if finds(way, point, sight, values)
    )
    first = next(found, None)
    if first is None or not _is_doubled(first, also):
        return first
    # Other neighboring texts may belong to this item, and differ for the next one.
    beside = (way for way in found if any("{" in label for label in way.relations.values()))
    return next((way for way in beside if not _is_doubled(way, also)), first)


def finds(target: Target, point: Point, sight: Sight, values: Mapping[str, Value]) -> bool:
    """Return whether a target finds the control at a point of a picture, and no other."""
    is_box = target.field is not None or (target.picture is not None and target.text is None)
    try:
        return hits(find(target, values, sight), point, of_field=is_box)
    except NotFound:
        return False


def _is_doubled(target: Target, shown: Shown) -> bool:
    """Return whether a target matches several controls on one of the pictures."""
    for sight, values in shown:
        try:
            find(target, values, sight)
        except AmbiguousTarget:
            return True
        except NotFound:
            continue
    return False


def is_readable(text: str) -> bool:
    """Return whether a text has words of one script, and is not an icon that OCR took for letters."""
    scripts = _scripts_of(text)
    return sum(map(str.isalpha, text)) >= FEWEST_LETTERS and (len(scripts) == 1 or scripts <= JAPANESE)


def has_words(line: Line, lines: Sequence[Line]) -> bool:
    """Return whether a text has words of one script.

    A few Chinese letters are icons that OCR took for letters, if the picture has Latin words and no more such letters.
    Letters that stand alone do not count, because each icon of a tool bar may be one.
    """
    if not is_readable(line.text) or not _scripts_of(line.text) <= JAPANESE:
        return is_readable(line.text)
    is_latin = any(_letters(each.text, LATIN) >= FEWEST_LETTERS for each in lines)
    chinese = [_letters(each.text, JAPANESE) for each in lines if _scripts_of(each.text) <= JAPANESE]
    return not is_latin or sum(count for count in chinese if count > 1) > MOST_ICONS


def _letters(text: str, scripts: frozenset[str]) -> int:
    """Return the number of letters of some scripts in a text."""
    return sum(not scripts.isdisjoint(_scripts_of(sign)) for sign in text)


def _scripts_of(text: str) -> frozenset[str]:
    """Return the scripts of the letters of a text, such as LATIN."""
    return frozenset(unicodedata.name(each, "?").partition(" ")[0] for each in text if each.isalpha())


def has_cut_off_text(text: str) -> bool:
    """Return whether a line goes on after an ellipsis, as a row of a table whose narrow columns cut off their texts.

    Such a text depends on the width of a column and on the item. An ellipsis at the end, as on a button, is a label.
    A word before one or two dots is cut off too: OCR has read a part of an ellipsis.
    """
    return CUT_OFF.search(text) is not None


def shown_part(text: str) -> str:
    """Return the letters and digits before the ellipsis of a text that a narrow column cut off; empty without one.

    Fewer than three identify nothing.
    """
    head, *rest = ELLIPSIS.split(text, maxsplit=1)
    shown = plain(head)
    return shown if rest and len(shown) >= LEAST_SHOWN else ""


def without_ellipsis(text: str) -> str:
    """Return a text without the ellipsis at its end."""
    return text.rstrip(" .…")


def is_of_words(target: Target) -> bool:
    """Return whether a target is found by its own text only."""
    return target.text is not None and not target.is_named and not target.relations


def is_of_item(text: str, values: Iterable[str]) -> bool:
    """Return whether a text equals a value, or contains one that is too long for a coincidence.

    A text that a narrow column cut off, such as “Berg Sh... open”, is of an item whose value begins with it.
    """
    shown = shown_part(text)
    return any(
        matches(value, text) or _holds(text, value) or (shown and plain(value).startswith(shown))
        for value in values
        if value
    )


def _holds(text: str, value: str) -> bool:
    if len(value) >= TELLING:
        return value in text
    return len(value) >= TELLING_NUMBER and bool(digits(value)) and matches(f"*{value}*", text)


def templated(text: str, values: Mapping[str, Value]) -> str:
    """Return a text with parameters in place of their values. The longest values are replaced first.

    A value in the program's format becomes a placeholder with that format, if it is the whole text. The words of a date
    become one each.
    """
    for name, value in sorted(values.items(), key=lambda item: -len(str(item[1]))):
        said = str(value)
        if form := format_of(text.strip(), said):
            return f"{{{name}:{form}}}"
        text = with_words_of(text, name, said) or text
        if len(said) > 1 or said == text:
            text = _replaced(text, said, f"{{{name}}}")
    return text


def _replaced(text: str, value: str, name: str) -> str:
    """Return a text with a name in place of a value, except inside other names and their formats.

    OCR may read the capital of a key such as ``J-2002`` as a small letter. A word without a digit, such as ``open``,
    may be the label of a control if it has a capital. A part of a longer number, such as the 12 of 120 and of 12.50, is
    another number.
    """
    is_key = len(value) >= TELLING_NUMBER and any(map(str.isdigit, value))
    case = re.IGNORECASE if is_key else re.NOFLAG
    numbers = [number.span() for number in NUMBER.finditer(text)]

    def put_in(found: re.Match[str]) -> str:
        is_part = any(start < edge < end for start, end in numbers for edge in found.span())
        return found[0] if found[1] or is_part else name

    return re.sub(f"{PLACEHOLDER.pattern}|{re.escape(value)}", put_in, text, flags=case)


def title_of_item(title: str, values: Mapping[str, Value]) -> str:
    """Return the title of a dialog or container with parameters, and ``*`` for what differs between two starts.

    A title such as ``Edit {title} [6 of 7]`` names the item, so its position may differ. The port of an address may
    differ, too, as in ``localhost:8000 says``, and so may a file's folder. Other numbers are kept.
    """
    words = without_folder(PORT.sub(r"\1:*", templated(title, values)))
    return POSITION.sub("*", words) if PLACEHOLDER.search(words) else words


def without_folder(title: str) -> str:
    """Return a title with ``*`` for the folder of a file. An item's value in the folder is kept.

    A path is the folder alone if another part of the title names the file, as in ``a.ctd - /home/ann - CherryTree``.
    """
    parts = TITLE_PARTS.split(title)
    if any(FILE.search(part) and not PATH.match(part) for part in parts):
        parts = [_values_in(part) if PATH.match(part) else part for part in parts]
    return FOLDER.sub(lambda found: _values_in(found[0]), "".join(parts))


def _values_in(folder: str) -> str:
    """Return ``*`` for a folder, with its placeholders between: another item's file may have the same name."""
    return "*".join(["", *(found[0] for found in PLACEHOLDER.finditer(folder)), ""])


def without_other_values(text: str) -> str:
    """Return a text with parameters, and ``*`` for each later word that may be another value of the item.

    In ``Order {number} of Haas`` that is the name of the customer. Words in small letters, as in a message, are kept.
    So is a label before the parameter, but not a number: in ``Take 4 of {part}?`` it may be an amount of the item.
    """
    found = PLACEHOLDER.search(text)
    if found is None:
        return text
    words = [
        "*" if "{" not in word and any(sign.isupper() or sign.isdigit() for sign in word) else word
        for word in text[found.end() :].split(" ")[1:]
    ]
    runs = [word for number, word in enumerate(words) if word != "*" or words[number - 1 : number] != ["*"]]
    before = AMOUNT.sub("*", text[: found.start()])
    return " ".join([before + found[0] + text[found.end() :].split(" ")[0], *runs])


def _descriptions(
    point: Point, sight: Sight, values: Mapping[str, Value], typed: bool, changed: Box | None, words: str
) -> Iterator[Target]:
    field = next((box for box in (*sight.fields, *sight.colored_fields) if box.contains(point)), None)
    near = sorted(sight.lines, key=lambda line: _distance(line.box, point))
    apart = near if field is None else _without_neighbors(near, field, (*sight.fields, *sight.colored_fields))
    if field is not None and (
        _is_button(field, apart, values)
        or (not typed and _is_named(field, apart, values, words))
        or _is_bar(field, point, near, values)
        or (not typed and _is_row_of_list(field, point, apart, values))
        or _is_one_of_several(field, point, sight.size, near, values, typed and not _is_replaced(field, changed))
    ):
        field = None  # a button, a tool bar, a list, a page, or a frame around several controls looks like a field
    if field is not None:
        near.sort(key=lambda line: _distance(line.box, field.center))
        readable = [line for line in apart if has_words(line, near) and not _is_cut_off(line, field, near)]
        readable.sort(key=lambda line: _distance(line.box, field.center))
        boxes = (*sight.fields, *sight.colored_fields)
        over = [line for line in readable if _is_over_area(line.box, field, boxes)]
        labels = [*over, *sorted(readable[:MOST_ANCHORS], key=lambda line: not _is_left(line.box, field))]
        texts = ((label_before(line, field) or line.text) for line in labels)
        yield from (Target(field=templated(text, values)) for text in texts)
    pressed = [each for line in _pressed_lines(near, point) if (each := _piece_at(line, point, sight)) is not None]
    pressed = [line for line in pressed if without_icon(line.text).isascii() or has_words(line, near)]
    for line in pressed:
        if (
            _is_row_of_captions(line, point, values)
            or _is_row_of_options(line.text, values)
            or _is_beside_middle(line, point, values)
        ):
            continue
        words = templated(without_mark(line.text), values)
        words = words if "{" in words else without_icon(words)
        if typed and not any(map(str.isalpha, words)):
            continue  # a number or an amount is the field's former value
        yield Target(text=words)
        if PLACEHOLDER.fullmatch(words):
            yield Target(text=words, below=words)  # an option under the field with the typed value
        for anchor in _anchors(line, near, values):
            yield from _with_anchor(words, line.box, anchor, values)


def _is_over_area(label: Box, field: Box, boxes: Iterable[Box]) -> bool:
    """Return whether a text is the heading of a text area: right above its left corner, and in no other field.

    The texts at its left may be the captions of buttons there.
    """
    is_above = abs(field.top - label.bottom) < label.height and abs(label.left - field.left) < label.height
    is_value = any(box != field and box.contains(label.center) for box in boxes)
    return is_above and field.height >= AREA_LINES * label.height and not is_value


def _without_neighbors(lines: Sequence[Line], field: Box, boxes: Sequence[Box]) -> list[Line]:
    """Return the texts that are in no other box of a field's row.

    Such a text belongs to that box, as the words on the next button. A box joined to the field may have its label.
    """
    others = [
        box
        for box in boxes
        if on_row(box, field) and abs(box.height - field.height) <= SAME_HEIGHT and box.gap(field) > JOINED
    ]
    return [line for line in lines if not any(box.contains(line.box.center) for box in others)]


def _pressed_lines(near: Sequence[Line], point: Point) -> list[Line]:
    """Return the texts that a press may be meant for. At the height of a text, other rows do not count."""
    there = [line for line in near if hits(line.box, point, of_field=False)]
    level = [line.box for line in there if line.box.top <= point.y < line.box.bottom]
    if not level:
        return there
    row = min(level, key=lambda box: abs(box.center.y - point.y))
    return [line for line in there if on_row(line.box, row)]


def _piece_at(line: Line, point: Point, sight: Sight) -> Line | None:
    """Return the piece of a line at a point if wide gaps separate it from others, else the line.

    Returns ``None`` if the point is between two pieces and not in the middle of the line, where a replay would press.
    """
    pieces = sight.pieces(line)
    if len(pieces) < 2:
        return line
    at, middle = (
        next((piece for piece in pieces if piece.box.left <= x < piece.box.right), None)
        for x in (point.x, line.box.center.x)
    )
    is_middle = middle is None and 4 * abs(point.x - line.box.center.x) <= line.box.width
    return at or (line if is_middle else None)


def _is_button(field: Box, lines: Sequence[Line], values: Mapping[str, Value]) -> bool:
    """Return whether an apparent field is a button: its text is centered, and no label is at its left."""
    inside = [line for line in lines if field.contains(line.box.center)]
    if len(inside) != 1 or any(_is_left(line.box, field) for line in lines if line is not inside[0]):
        return False
    (said,) = inside
    words = sum(map(str.isalpha, said.text)) > 1 and templated(said.text, values) == said.text
    room = min(said.box.left - field.left, field.right - said.box.right)
    return words and room >= 0 and abs(said.box.center.x - field.center.x) <= CENTERED


def _is_named(field: Box, lines: Sequence[Line], values: Mapping[str, Value], words: str) -> bool:
    """Return whether a description names an apparent field by the only text inside, and by no text on its left.

    An arrow or an icon moves the words of a button out of its middle. A chooser has a label of its own.
    """
    inside = [line for line in lines if field.contains(line.box.center)]
    said = without_icon(inside[0].text) if len(inside) == 1 else ""
    if not is_readable(said) or templated(said, values) != said:
        return False
    labels = [line for line in lines if _is_left(line.box, field)]
    return _is_in(said, words) and not any(_is_in(line.text, words) for line in labels)


def _is_in(text: str, words: str) -> bool:
    """Return whether words contain a text, apart from the signs at its ends."""
    bare = text.strip(" :.…")
    return bool(bare) and re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", words, re.IGNORECASE) is not None


def _is_bar(field: Box, point: Point, lines: Sequence[Line], values: Mapping[str, Value]) -> bool:
    """Return whether an apparent field is a bar of buttons: several captions in one row, one at the point."""
    inside = [line for line in lines if field.contains(line.box.center) and is_readable(line.text)]
    captions = [line for line in inside if templated(line.text, values) == line.text]
    pressed = next((line for line in captions if hits(line.box, point, of_field=False)), None)
    if pressed is None:
        return False
    return has_captions(pressed, values) or sum(on_row(line.box, pressed.box) for line in inside) >= CAPTIONS


def _is_row_of_list(field: Box, point: Point, lines: Sequence[Line], values: Mapping[str, Value]) -> bool:
    """Return whether an apparent field is a row of a list with a color of its own, and the press was on its text.

    A row has columns that are further apart than words, or its text is a value of the item. The label of a field is
    on its left, and the text above a row belongs to another item.
    """
    inside = sorted((line for line in lines if field.contains(line.box.center)), key=lambda line: line.box.left)
    pressed = next((line for line in inside if hits(line.box, point, of_field=False)), None)
    if pressed is None or any(_is_left(line.box, field) for line in lines if line not in inside):
        return False
    columns = [line.box for line in inside if _is_word(line.text)]
    apart = any(right.left - left.right > COLUMNS_APART * left.height for left, right in pairwise(columns))
    return apart or PLACEHOLDER.fullmatch(templated(pressed.text.strip(), values)) is not None


def _is_row_of_captions(line: Line, point: Point, values: Mapping[str, Value]) -> bool:
    """Return whether OCR read several captions as one text, as of a menu bar, and the press was on one at its side.

    A replay presses the middle of a text, which would be another caption.
    """
    return has_captions(line, values) and 4 * abs(point.x - line.box.center.x) > line.box.width


def _is_row_of_options(text: str, values: Mapping[str, Value]) -> bool:
    """Return whether OCR joined several options to one word, as in ``PriorityLowNormalHigh``, and one is a value.

    A replay presses the middle of a text, which may be another option. Chinese words have no spaces between them. A
    single letter is in a text by chance.
    """
    words = {str(value) for value in values.values() if not any(map(str.isdigit, str(value)))}
    found = (each for word in words if len(word) > 1 for each in re.finditer(re.escape(word), text))
    beside = (text[: each.start()][-1:] + text[each.end() :][:1] for each in found)
    return any(sign.lower() != sign.upper() for signs in beside for sign in signs)


def _is_beside_middle(line: Line, point: Point, values: Mapping[str, Value]) -> bool:
    """Return whether a press was on a value without digits, and the middle of its text is on other words.

    The value may be one of several options that OCR joined, and a replay presses the middle of a text. A value with
    digits is a key, and its text is a row or a link.
    """
    words = {str(value) for value in values.values() if not any(map(str.isdigit, str(value)))}
    letter = line.box.width / max(1, len(line.text))
    at = (point.x - line.box.left) / letter
    spans = (each.span() for word in words if len(word) > 1 for each in re.finditer(re.escape(word), line.text))
    return any(start - 1 <= at <= end + 1 and not start <= len(line.text) / 2 <= end for start, end in spans)


def has_captions(line: Line, values: Mapping[str, Value]) -> bool:
    """Return whether a text looks like several captions: some words, each with a capital, and no value of the item."""
    words = line.text.split()
    are_captions = len(words) >= CAPTIONS and all(word[0].isupper() for word in words)
    return are_captions and templated(line.text, values) == line.text


def _is_replaced(field: Box, changed: Box | None) -> bool:
    """Return whether nearly all of a box changed with the press. A press in a text only moves the caret."""
    common = None if changed is None else field.intersection(changed)
    return common is not None and common.area >= MOST_CHANGED * field.area


def _is_one_of_several(
    field: Box, point: Point, screen: Size, near: Sequence[Line], values: Mapping[str, Value], typed: bool
) -> bool:
    """Return whether a press in an apparent field hit one of several controls, such as a row of a list.

    After a press in a text of several lines something is typed, unless the pressed line is a value of the item. Texts
    in a box over most of the screen are those of a page with fields that have no frame.
    """
    inside = [line for line in near if field.contains(line.box.center)]
    if not inside or all(on_row(line.box, inside[0].box) for line in inside):
        return False
    if not typed or 2 * field.area > screen.width * screen.height:
        return True
    said = templated(inside[0].text, values)
    return hits(inside[0].box, point, of_field=False) and PLACEHOLDER.fullmatch(said) is not None


def _is_cut_off(label: Line, field: Box, lines: Sequence[Line]) -> bool:
    """Return whether words are between a text and a field, so that the text is not the field's label.

    Words that begin left of a field are its label, even if the outline of the field includes most words.
    If the text is near the field, words that begin up to ``OWN`` heights left of the field are the field's own text.
    """
    if _is_left(label.box, field):
        is_far = field.left - label.box.right > FAR * label.box.height
        own = 0.0 if is_far else OWN
        there = (line for line in lines if label.box.right <= line.box.left < field.left - own * line.box.height)
        return any(field.top <= line.box.center.y <= field.bottom and has_words(line, lines) for line in there)
    return any(
        label.box.center.y < line.box.center.y < field.top
        and not on_row(label.box, line.box)
        and line.box.left < min(label.box.right, field.right)
        and max(label.box.left, field.left) < line.box.right
        for line in lines
    )


def _anchors(line: Line, near: Sequence[Line], values: Mapping[str, Value]) -> list[Line]:
    """Return the texts that may be the neighbor of a target: those of its row, then those above, the nearest first.

    In the row a value of the item comes first, because the other texts of a table's row belong to one item only. OCR
    takes the icon of an arrow for one letter, which does not count as a neighbor.
    """
    others = [other for other in near if other is not line and other.text != line.text]
    others = [other for other in others if _is_word(other.text) or "{" in templated(other.text, values)]
    row = [other for other in others if on_row(other.box, line.box)]
    row.sort(key=lambda other: "{" not in templated(other.text, values))
    above = [other for other in others if other.box.bottom <= line.box.top]
    return [*row, *above][:MOST_ANCHORS]


def _is_word(text: str) -> bool:
    """Return whether a text has more than one letter or digit."""
    return sum(map(str.isalnum, text)) > 1


def _is_left(box: Box, field: Box) -> bool:
    """Return whether a text is left of a field and at the height of its first line, as most labels are."""
    return box.right <= field.left + 2 and field.top - HEIGHT <= box.center.y <= field.bottom


def _with_anchor(words: str, box: Box, anchor: Line, values: Mapping[str, Value]) -> Iterator[Target]:
    said = templated(anchor.text, values)
    if not on_row(box, anchor.box):
        yield Target(text=words, below=said)
    elif box.left >= anchor.box.right - 2:
        yield Target(text=words, right_of=said)
    else:
        yield Target(text=words, left_of=said)


def hits(box: Box, point: Point, *, of_field: bool) -> bool:
    """Return whether a press at a point hits the field, or the control with its text, in a box."""
    around = Box(box.left - REACH, box.top - HEIGHT, box.width + 2 * REACH, box.height + 2 * HEIGHT)
    return (box if of_field else around).contains(point)


def _distance(box: Box, point: Point) -> int:
    across = max(box.left - point.x, 0, point.x - box.right)
    down = max(box.top - point.y, 0, point.y - box.bottom)
    return across + 4 * down

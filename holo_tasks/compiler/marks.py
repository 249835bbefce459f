"""Find the few texts that distinguish one screen of a program from its other screens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from holo_tasks.compiler.answers import is_message
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.targets import GOES_ON, has_cut_off_text, templated
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.values import Value, label_of
from holo_tasks.vision.screen_text import Line, Sight, digits, likeness, matches, on_row, plain, without_mark

MOST_OF_ICONS = 4
"""The most letters that OCR reads in a row of icons."""
ENOUGH = 2
"""The number of texts that identify a screen, if no other screen shows them together."""
SHORTEST, LONGEST = 3, 60
SAME = 0.9
"""Least likeness of a line and of the pieces in which OCR read it on another picture, from 0 to 1."""
FEWEST_MENUS = 4


def marks_of(
    shown: Sequence[tuple[Sight, Mapping[str, Value]]], others: Sequence[Sight], private: Collection[str]
) -> tuple[str, ...]:
    """Return headings and labels that all pictures of a screen show, and no other screen shows together.

    ``shown`` are the pictures of the screen with the parameter values of their recordings. ``others`` are pictures
    of other screens. ``private`` are values of items, which are never used. Returns an empty tuple if no such texts
    exist.
    """
    first, values = shown[0]
    known = [line for line in _by_worth(first) if is_label(line, first, values, private)]
    places = {line.text: line for line in known if all(sight.has(line.text) for sight, _ in shown)}
    common = sorted(
        places, key=lambda text: any(is_on(sight, places[text], first) for sight in others)
    )  # others' come last
    rest = list(others)
    found: list[str] = []
    for text in common:
        left = [sight for sight in rest if is_on(sight, places[text], first)]
        if len(left) < len(rest) or (not found and not rest):
            found.append(text)
            rest = left
        if found and not rest:
            break
    if rest:
        return ()
    # With one item only, a text at the start of a row may belong to that item, or to others in a list.
    several = len({tuple(sorted(told.items())) for _, told in shown}) > 1
    known = [line for line in known if several or is_heading(line)]
    further = dict.fromkeys(line.text for line in known if line.text in places and line.text not in found)
    more = [text for text in further if not any(is_on(sight, places[text], first) for sight in others)]
    return (*found, *more[: max(0, ENOUGH - len(found))])


def is_on(sight: Sight, line: Line, own: Sight) -> bool:
    """Return whether another picture shows a text of a picture, alone or in a longer line of the same row.

    OCR reads a row of texts, such as a menu bar, as one line on one picture and as several on the next.
    """
    if sight.has(line.text):
        return True
    row = sorted((each for each in own.lines if on_row(each.box, line.box)), key=lambda each: each.box.left)
    longer = f"*{line.text}*"
    joined = (each for each in sight.lines if each.box.intersects(line.box) and matches(longer, each.text))
    return any(_is_in_pieces(each, row) for each in joined)


def _is_in_pieces(line: Line, row: Sequence[Line]) -> bool:
    """Return whether the texts of a row are pieces of a line. Two pieces may both have the letter between them."""
    whole = plain(line.text)
    there = [each for each in row if each.box.left < line.box.right and line.box.left < each.box.right]
    pieces = plain("".join(each.text for each in there))
    return whole in plain("".join(each.text for each in row)) or likeness(whole, pieces) >= SAME


def is_new(value: str, sight: Sight, before: Sight) -> bool:
    """Return whether a picture shows a value in a place where an earlier picture did not show it."""
    if len(value) < SHORTEST:
        return False
    label = f"*{value}*"
    pieces = " " in value  # OCR may read them as several lines

    def places(one: Sight) -> list[Box]:
        return one.places(label) if pieces else [line.box for line in one.lines if matches(label, line.text)]

    old, new = places(before), places(sight)
    return any(not any(map(box.intersects, old)) for box in new)


def covering(
    shown: Sequence[tuple[Sight, Mapping[str, Value]]], others: Sequence[Sight], private: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return texts that identify a screen if another screen shows all its texts too, as below a message.

    Returns the texts that the screen shows, and texts of the other screens that it never shows. Both are empty if
    these do not identify it either.
    """
    first, values = shown[0]
    known = [line.text for line in _by_worth(first) if is_label(line, first, values, private)]
    common = [text for text in known if all(sight.has(text) for sight, _ in shown)]
    if not common:
        return (), ()
    # Texts that the fewest other screens show come first, and headings among these.
    worth = sorted(common, key=lambda text: sum(sight.has(text) for sight in others))[:ENOUGH]
    unseen: list[str] = []
    for other in (sight for sight in others if all(sight.has(text) for text in worth)):
        labels = [line.text for line in _by_worth(other) if is_label(line, other, {}, private)]
        telling = [text for text in labels if not any(sight.has(text) for sight, _ in shown)]
        if not telling:
            return (), ()
        if not any(text in unseen for text in telling):
            unseen += telling[:ENOUGH]
    return tuple(worth), tuple(unseen)


def identity_of(shown: Sequence[tuple[Sight, Mapping[str, Value]]], names: Collection[str]) -> tuple[str, ...]:
    """Return the parameters that every picture shows, as texts that are required on the screen.

    A value with other words around it becomes a pattern with ``*``.
    """
    found = []
    for name in names:
        forms = [f"{{{name}}}", f"{{{name}}}*", f"*{{{name}}}*"]
        if any(_is_part_of_number(str(values.get(name, "")), sight) for sight, values in shown):
            forms = forms[:1]
        for form in forms:
            if all(name in values and sight.has(label_of(form, values)) for sight, values in shown):
                found.append(form)
                break
    return tuple(found)


def _is_part_of_number(value: str, sight: Sight) -> bool:
    """Return whether a picture shows one or two digits only inside longer numbers, as 11 in ``11:40``.

    Such a number names no item, and may have another form there for the next one, as 7 in ``07:05``.
    """
    if not value.isdigit() or len(value) >= SHORTEST:
        return False
    texts = [line.text for line in sight.lines if value in line.text]
    alone = re.compile(rf"(?<!\d)(?<!\d[^\w\s]){value}(?![^\w\s]?\d)")
    return bool(texts) and not any(map(alone.search, texts))


def screens_of(seen: Mapping[str, ReadPicture]) -> dict[int, list[str]]:
    """Return the names of the pictures of each screen."""
    found: dict[int, list[str]] = {}
    for name, one in seen.items():
        found.setdefault(one.screen, []).append(name)
    return found


def _by_worth(sight: Sight) -> Iterator[Line]:
    """Yield the texts of a screen: headings in capitals first, then the first text of each row, from the top.

    A menu bar comes last, because OCR reads it in other pieces on other pictures.
    """

    def worth(line: Line) -> tuple[bool, bool, bool, int]:
        return _is_of_menu_bar(line, sight), not is_heading(line), not _begins_row(line, sight), line.box.top

    yield from sorted(sight.lines, key=worth)


def _is_of_menu_bar(line: Line, sight: Sight) -> bool:
    """Return whether a text may be a part of a menu bar: its row has many words, each with one capital."""
    words = " ".join(other.text for other in sight.lines if on_row(line.box, other.box)).split()
    return len(words) >= FEWEST_MENUS and all(each.isalpha() and each.istitle() for each in words)


def is_heading(line: Line) -> bool:
    """Return whether a text is in capitals, as headings are."""
    return line.text.upper() == line.text and sum(map(str.isalpha, line.text)) >= 2 * SHORTEST


def _begins_row(line: Line, sight: Sight) -> bool:
    return not any(on_row(line.box, other.box) and other.box.right <= line.box.left for other in sight.lines)


def is_label(line: Line, sight: Sight, values: Mapping[str, Value], private: Collection[str]) -> bool:
    """Return whether a text is a heading or a label, without a value of an item."""
    text = line.text.strip()
    if not SHORTEST <= len(plain(text)) <= LONGEST or digits(text) or "*" in text or "{" in text:
        return False
    if without_mark(text) != text:
        return False  # OCR may read the mark in another way, or not at all, when another option is chosen
    if GOES_ON.search(text) or (has_cut_off_text(line.text) and not is_message(text)) or _may_be_icons(text):
        return False
    if templated(text, values) != text or any(matches(text, value) or value in text for value in private):
        return False
    return is_heading(line) or _begins_row(line, sight)


def _may_be_icons(text: str) -> bool:
    """Return whether a short text mixes capitals and small letters as no word does, such as ``XAb``."""
    words = re.findall(r"[^\W\d_]+", text)
    is_short = sum(map(len, words)) <= MOST_OF_ICONS
    return is_short and not all(word.islower() or word.isupper() or word.istitle() for word in words)

"""Values of a playbook: given by the task, read from the screen, and put into texts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from holo_tasks.core.elements.elements import TEXTS
from holo_tasks.scripts.element_search import ContradictedTarget, NotFound, text_of
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.steps_and_targets import ElementTarget, Shown
from holo_tasks.scripts.value_formats import formatted
from holo_tasks.vision.name_fit import agrees
from holo_tasks.vision.screen_text import GOES_ON, FilledLabel, Sight, may_be_misread, plain

Value: TypeAlias = str | int | bool | None

PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z_][a-z0-9_]*)(?::([^{}]+))?\}(?!\})")
"""``{name}`` or ``{name:FORMAT}``, but not the ``{{secret:NAME}}`` of the process that owns the keyboard."""


_ENDS_WITH_VALUE = re.compile(rf"(?:{PLACEHOLDER.pattern})$")


def fill(template: str, values: Mapping[str, Value]) -> str:
    """Replace ``{name}`` by values. Unknown names and ``{{secret:NAME}}`` stay unchanged."""
    return PLACEHOLDER.sub(lambda found: _put_in(found, values), template)


def label_of(template: str, values: Mapping[str, Value]) -> str:
    """Replace ``{name}`` in a text that is searched on the screen. The result demands an exact match of the values."""
    put_in = [_put_in(found, values) for found in PLACEHOLDER.finditer(template) if found[1] in values]
    return FilledLabel(fill(template, values), put_in) if put_in else fill(template, values)


def fits_title(pattern: str, values: Mapping[str, Value], title: str) -> bool:
    """Return whether a window title matches a pattern. ``*`` matches any text, and values match themselves.

    A value next to a ``*`` is not a part of a longer word or name, because that would be another item's.
    """
    parts = pattern.split("*")
    every = [
        (r"(?<!\w)" if place and PLACEHOLDER.match(part) else "")
        + re.escape(fill(part, values))
        + (rf"(?!\w|{GOES_ON})" if place < len(parts) - 1 and _ENDS_WITH_VALUE.search(part) else "")
        for place, part in enumerate(parts)
    ]
    return re.fullmatch(".*".join(every), title.strip(), re.IGNORECASE | re.DOTALL) is not None


def _put_in(found: re.Match[str], values: Mapping[str, Value]) -> str:
    """Return the value for a placeholder, in the placeholder's format."""
    if found[1] not in values:
        return found[0]
    text = _as_text(values[found[1]])
    return formatted(text, found[2]) if found[2] else text


def _as_text(value: Value) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def filled_in(wanted: Shown | ElementTarget, values: Mapping[str, Value]) -> dict[str, str]:
    """Return the texts of a target or condition, with values put in."""
    texts = {name: text for name in type(wanted).model_fields if isinstance(text := getattr(wanted, name), str)}
    return {name: label_of(text, values) for name, text in texts.items()}


def fill_all(template: Any, values: Mapping[str, Value]) -> Any:
    """Put values into every text of a JSON value. A text that is only ``{name}`` becomes the value itself."""
    if isinstance(template, str):
        alone = PLACEHOLDER.fullmatch(template)
        return values[alone[1]] if alone and not alone[2] and alone[1] in values else fill(template, values)
    if isinstance(template, Mapping):
        return {key: fill_all(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_all(value, values) for value in template]
    return template


def read_values(
    wanted: Mapping[str, Read], sight: Sight, values: Mapping[str, Value] = MappingProxyType({})
) -> dict[str, Value] | None:
    """Read values from the screen; return ``None`` if one that is not optional cannot be read for certain.

    ``values`` may be used in the labels. Raises `ContradictedTarget` if programs report an element that is not optional
    and the picture shows something else there.
    """
    found: dict[str, Value] = {}
    for name, read in wanted.items():
        text = _text_for(read, values, sight)
        value = None if text is None else convert(text, read.as_)
        if value is None and not read.optional:
            return None
        found[name] = value
    return found


def convert(text: str, kind: str) -> Value:
    """Convert a text to a value; return ``None`` if the text is not certainly a value of this kind."""
    text = " ".join(text.split())
    match kind:
        case "money":
            return _money(text)
        case "int":
            return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
        case "date":
            return _date(text)
        case _:
            return text or None


def _text_for(read: Read, values: Mapping[str, Value], sight: Sight) -> str | None:
    """Return the text of a value if it has the form that ``like`` names."""
    found = _any_text_for(read, values, sight)
    if found is None or read.like is None:
        return found
    return found if _filled_pattern(read.like, values).fullmatch(" ".join(found.split())) else None


def _filled_pattern(pattern: str, values: Mapping[str, Value]) -> re.Pattern[str]:
    """Return a pattern with values of the item in it, each in its written form."""

    def written(name: re.Match[str]) -> str:
        return re.escape(_put_in(name, values)).replace(r"\ ", " ?") if name[1] in values else name[0]

    return re.compile(PLACEHOLDER.sub(written, pattern), re.IGNORECASE)


def _any_text_for(read: Read, values: Mapping[str, Value], sight: Sight) -> str | None:
    reported = None if read.element is None else _told_for(read.element, read.optional, values, sight)
    if read.row is not None and read.column is not None:
        return sight.in_row(label_of(read.row, values), read.column) if reported is None else reported
    if read.right_of is not None:
        return sight.right_of(read.right_of) if reported is None else reported
    if read.line is None or reported == "":
        return reported
    pattern = _filled_pattern(read.line, values)
    texts = [line.text for line in sight.lines] if reported is None else [reported]
    found = {m[1] for m in (pattern.fullmatch(text.strip()) for text in texts) if m}
    if not found and reported is None:  # OCR may read texts that stand close together as one line or as several
        found = {m[1] for m in sight.match_phrases(pattern)} or _reported_matches(pattern, sight)
    # Two different matches: no value is better than a wrong one.
    return found.pop() if len(found) == 1 else None


def _reported_matches(pattern: re.Pattern[str], sight: Sight) -> set[str]:
    """Return the values in texts that programs report, if the picture shows these texts with a misread letter."""
    texts = () if sight.elements is None else (each for each in sight.elements.elements if each.role in TEXTS)
    matched = [(each, found) for each in texts if each.on_screen and (found := pattern.fullmatch(each.name.strip()))]
    return {found[1] for each, found in matched if _is_misread(each.name, sight.written(each.box) or "")}


def _is_misread(text: str, read: str) -> bool:
    """Return whether OCR read a text with one letter more or less, or with letters that look alike.

    More letters may be a word such as *not*. Another letter may make one, as in *now*.
    """
    more = abs(len(plain(text)) - len(plain(read)))
    return agrees(text, read) and (more == 1 or (more == 0 and may_be_misread(text, read)))


def _told_for(wanted: ElementTarget, optional: bool, values: Mapping[str, Value], sight: Sight) -> str | None:
    """Return an element's text: empty if it is uncertain, and ``None`` if programs do not report the element."""
    filled = wanted.model_copy(update=filled_in(wanted, values))
    try:
        return text_of(filled, filled.relations, sight)
    except ContradictedTarget:
        if optional:
            return ""
        raise
    except NotFound:
        return ""


def _money(text: str) -> str | None:
    """Return `1,284.50` as `1284.50`.

    The last separator before two digits is the decimal point, others group digits.
    """
    found = re.fullmatch(r"(-?)(\d{1,3}(?:[,.' ]\d{3})+|\d+)[.,] ?(\d\d)", text)
    if found is None:
        return None
    return found[1] + re.sub(r"\D", "", found[2]) + "." + found[3]


def _date(text: str) -> str | None:
    found = re.fullmatch(r"(\d{4}) ?[-–—.] ?(\d\d) ?[-–—.] ?(\d\d)", text)
    try:
        return str(datetime.date(*(int(part) for part in found.groups()))) if found else None
    except ValueError:
        return None

"""Find keys that chose an entry of a list for the recorded item, and presses on a day or an hour of its date or time.

Another item has another place in the list, and may have another month.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.targets import hits
from holo_tasks.core.elements.element_anchors import numbered
from holo_tasks.core.screen.geometry import Box
from holo_tasks.scripts.value_formats import (
    day_and_month,
    days_of_month,
    format_of,
    formatted,
    forms_of,
    is_part_of,
    months_in,
    with_words_of,
)
from holo_tasks.vision.screen_text import Line, Sight, matches, on_row

CHOOSE = "choose"
"""The tool of a step that replaces the arrow keys which chose an entry."""
TAKE = frozenset({"enter", "return", "space"})
"""Keys that take the entry that is selected."""
ARROWS = frozenset({"up", "down", "left", "right", "pageup", "pagedown", "page_up", "page_down"})
BY_KEYS = "the arrow keys choose an entry by its place, and another item has another place"
BY_PART = "its target names only a part of a date or time, and another item has other parts"
SHORTEST = 2
"""The shortest value, in characters, that does not occur in a row by chance."""
TWO_ROWS = 2


def with_choices(recording: Recording, sights: Mapping[Picture, Sight], named: Sequence[tuple[str, str]]) -> Recording:
    """Return a recording with one step in place of the arrow keys that chose an entry with a value of the item.

    Such a step is also put before a key that takes the first entry, and in place of a press on a part of a date that
    no step uses otherwise. The model does it. The values are the data of the run and those that ``named`` gives.
    """
    given = [*map(str, recording.data.values()), *(value for _, value in named)]
    values = [value for value in given if len(value) >= SHORTEST]
    every = _used(recording.steps, sights)
    said = [text for step in recording.steps for text in (*_named(step, sights), _typed(step))]
    whole = [value for value in values if any(forms_of(_typed(step).strip(), value) for step in recording.steps)]
    apart = [value for value in values if value not in whole and not any(_says(text, value) for text in said)]
    used, steps = "", list[RecordedStep]()
    for series in _series(recording.steps):
        first = series[0]
        used += _used(series, sights)
        if _is_key(first, ARROWS):
            chosen = _chosen(series[-1], sights[series[-1].after], [one for one in values if one not in used])
            steps += [_choice(series, chosen)] if chosen else series
            used += chosen
            continue
        if _is_key(first, TAKE) and not any(value in used for value in values):
            unused = [value for value in values if value not in every]
            shown = next(
                (one for one in unused if any(matches(one, line.text) for line in sights[first.before].lines)), ""
            )
            steps += [_choice([replace(first, after=first.before, changed=None)], shown)] if shown else []
            used += shown
        parts = [value for value in apart if _is_on_part(first, sights, value, values)]
        steps += [_choice(series, parts[0] if len(parts) == 1 else "", BY_PART)] if parts else series
    return replace(recording, steps=tuple(steps))


def _used(steps: Sequence[RecordedStep], sights: Mapping[Picture, Sight]) -> str:
    """Return all texts that steps typed or pressed, with those in the row of a pressed cell."""
    found = []
    for step in steps:
        found.append(_typed(step))
        if step.points:
            found += step.element.values()
            found += (line.text for line in sights[step.before].lines if hits(line.box, step.points[0], of_field=False))
    return "\n".join(found)


def _says(text: str, value: str) -> bool:
    """Return whether a text has a whole value, perhaps in the program's format."""
    return bool(value in text or format_of(text.strip(), value) or with_words_of(text, "date", value))


def _typed(step: RecordedStep) -> str:
    return str(step.arguments.get(TYPING.get(step.tool, ""), ""))


def _named(step: RecordedStep, sights: Mapping[Picture, Sight]) -> list[str]:
    """Return the name of a pressed control; without one, the texts at the point."""
    if not step.points or step.element.get("name"):
        return [step.element.get("name", "")]
    return [line.text for line in sights[step.before].lines if line.box.contains(step.points[0])]


def _is_on_part(step: RecordedStep, sights: Mapping[Picture, Sight], value: str, values: Sequence[str]) -> bool:
    """Return whether a press was on a part of a date or time, such as its day, and not in a row of the item.

    Another value of two digits may be equal to the day by chance.
    """
    if step.tool not in ("click", "double_click") or step.typed_into:
        return False
    if is_day_under_its_month(step.element, sights[step.before], value):
        return False
    known = [*_named(step, sights), *numbered(step.element, "cell")]
    keys = [one for one in values if not one.isdigit() or len(one) > SHORTEST]
    is_part = any(is_part_of(name, value) for name in _named(step, sights))
    return is_part and not any(key in text for key in keys for text in known)


def is_day_under_its_month(facts: Mapping[str, str], sight: Sight, value: str) -> bool:
    """Return whether a pressed element is the day of a date in a calendar of its month, which is written on the screen.

    A replay finds such a day for another date of the same month.
    """
    day, month = day_and_month(facts.get("name", ""), value)
    shown = formatted(value, month) if day else ""
    if not shown or facts.get("day_of") != f"{formatted(value, 'D')} of {days_of_month(shown)}":
        return False
    return any(months == months_in(shown) for months, _ in months_on(sight))


def months_on(sight: Sight) -> Iterator[tuple[list[tuple[str, ...]], Box]]:
    """Yield each month and year that a picture shows in one text, or in two texts of a row, with their box."""
    for one in sight.lines:
        level = (other for other in sight.lines if other is not one and on_row(other.box, one.box))
        for text, box in (
            (one.text, one.box),
            *((f"{one.text} {other.text}", Box.around([one.box, other.box])) for other in level),
        ):
            if months := months_in(text):
                yield months, box


def _series(steps: Sequence[RecordedStep]) -> Iterator[list[RecordedStep]]:
    """Yield consecutive arrow keys together, and each other step alone."""
    series = [*steps[:1]]
    for before, step in pairwise(steps):
        if not (_is_key(before, ARROWS) and _is_key(step, ARROWS)):
            yield series
            series = []
        series.append(step)
    if series:
        yield series


def _is_key(step: RecordedStep, keys: Collection[str]) -> bool:
    pressed = [str(key).casefold() for key in step.arguments.get("keys", ())]
    return step.tool == "hotkey" and len(pressed) == 1 and pressed[0] in keys


def _chosen(last: RecordedStep, after: Sight, values: Sequence[str]) -> str:
    """Return the value of the item in the row that the last arrow key selected; empty without one."""
    rows = _rows_of_change(last, after)
    return next((value for value in values if any(matches(f"*{value}*", line.text) for line in rows)), "")


def _rows_of_change(step: RecordedStep, sight: Sight) -> list[Line]:
    """Return the lines in the part of the screen that an arrow key changed.

    The selection moves from one row to another. Of two rows only the second one counts.
    """
    inside = [line for line in sight.lines if step.changed is not None and step.changed.contains(line.box.center)]
    inside.sort(key=lambda line: line.box.center.y)
    rows = sum(not on_row(one.box, other.box) for one, other in pairwise(inside)) + 1
    end = {"up": 0, "down": -1}.get(str(step.arguments["keys"][0]).casefold())
    if not inside or end is None or rows > TWO_ROWS:
        return inside
    return [line for line in inside if on_row(line.box, inside[end].box)]


def _choice(series: Sequence[RecordedStep], value: str, why: str = BY_KEYS) -> RecordedStep:
    first, last = series[0], series[-1]
    how = "with the arrow keys" if why == BY_KEYS else "in the calendar or clock"
    return replace(
        last,
        number=first.number,
        tool=CHOOSE,
        arguments={"element": f"{value} {how}" if value else ""},
        before=first.before,
        begun_at=first.begun_at,
        element={},
        unsure=why,
        waited=sum(step.waited for step in series),
    )

"""Turn a step of a run into actions of a playbook, with texts as targets and parameters as typed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from holo_tasks.compiler.recording import RecordedStep, is_label_of
from holo_tasks.compiler.targets import (
    Shown,
    finds,
    has_words,
    hits,
    is_of_words,
    is_readable,
    shown_part,
    target_at,
    templated,
    title_of_item,
)
from holo_tasks.core.elements.element_anchors import BESIDE_WORDS, FIELDS, OPTIONS, TWO_STATES, numbered
from holo_tasks.core.elements.elements import CELLS, PLACE_NAME, ROWS
from holo_tasks.core.elements.known_elements import HOLDERS
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.scripts.value_formats import day_and_month, days_of_month, formatted
from holo_tasks.scripts.values import PLACEHOLDER, Value
from holo_tasks.vision.element_check import WRITTEN_INTO, WRITTEN_ON
from holo_tasks.vision.name_fit import fit_pressed
from holo_tasks.vision.screen_text import Sight, matches, plain

Action = dict[str, Any]
NO_TARGETS = (HOLDERS - ROWS) | {"canvas", "drawing area", "terminal", "unknown"}
"""Roles of areas. A press on one means a place in it, so its role and name do not describe the target."""
SHEETS = frozenset({"table", "tree table", "canvas", "drawing area"})
"""Roles of areas whose cells some programs do not report."""
MISREAD = 0.75
"""Least likeness of a name that the program reports and the text that OCR reads on its control, from 0 to 1."""
_BUTTONS = {"left": ("click", "Click"), "right": ("right_click", "Click with the right button on")}


def target_of(
    step: RecordedStep, place: int, sight: Sight, values: Mapping[str, Value], also: Shown = ()
) -> Target | None:
    """Return the best description of a step's target; ``None`` if nothing describes it.

    A role and a name that find exactly one element come first, then the words on the screen, then a picture. ``also``
    are other pictures of the same screen.
    """
    if place >= len(step.points):
        return None
    if step.of_next and _is_on_other_words(step, sight):
        step = replace(step, element={}, of_next=False)
    if place == 0 and (day := _day_of_calendar(step.element, values)) is not None:
        return day
    if place == 0 and (in_row := _in_row(step, sight, values)) is not None:
        return in_row
    if place == 0 and step.typed_into and "in_form" in step.element and not is_key(step.element["name"], values):
        return _by_neighbor(step.element, values)  # the text in the cell is the value of the recorded item
    named = _named(step, sight, values) if place == 0 else None
    if named is not None and step.element.get("alike", "") == "1":
        return named
    if place == 0 and (beside := _by_neighbor(step.element, values)) is not None:
        return beside
    found = target_at(
        pressed_places(step, sight)[place],
        sight,
        values,
        also,
        typed=step.typed_into,
        changed=step.changed,
        words=str(step.arguments.get("element", "")),
    )
    if step.icon is not None and named is None and (found is None or PLACEHOLDER.fullmatch(found.text or "")):
        return _icon_in_row(step.icon, step.points[place], sight, values)
    if named is not None and (found is None or not is_readable(found.field or found.text or "")):
        return named
    if named is not None and found is not None and found.field is not None and named.role in WRITTEN_INTO:
        return named
    if found is None and step.picture is not None:
        return Target(picture=step.picture)
    return found if found is None or place else _with_more_facts(found, step, values)


def _is_on_other_words(step: RecordedStep, sight: Sight) -> bool:
    """Return whether the picture shows words at a click that are not the label of the field with its text."""
    pressed = (line for line in sight.lines if hits(line.box, step.points[0], of_field=False))
    return any(has_words(line, sight.lines) and not is_label_of(line.text, step.element) for line in pressed)


def pressed_places(step: RecordedStep, sight: Sight) -> tuple[Point, ...]:
    """Return the points of a step. A point next to the only text of an area is moved to this text if it is shown.

    The label of a field with a value is above the middle of its area. A page may draw a list of options over the area,
    so a point on other words is not moved to a text at its left or right.
    """
    text = step.element.get("area_text", "")
    others = [line for line in sight.lines if not matches(text, line.text) and has_words(line, sight.lines)]
    is_on_words = any(line.box.contains(at) for line in others for at in step.points[:1])
    lines = [line.box for line in sight.lines if text and matches(text, line.text)]
    level = [box for box in lines for at in step.points[:1] if box.top <= at.y < box.bottom]
    above = [box for box in lines for at in step.points[:1] if 0 <= at.y - box.bottom < box.height]
    written = above if is_on_words else level or above
    return (written[0].center, *step.points[1:]) if len(written) == 1 else step.points


def _in_row(step: RecordedStep, sight: Sight, values: Mapping[str, Value]) -> Target | None:
    """Return the target by the item's key in its row of a table or list; ``None`` without a key.

    The text of a cell belongs to the recorded item, so a cell is found by its column's heading, or else by the key.
    """
    facts, key = step.element, key_of_row(step.element, values)
    role, name, within = facts.get("role", ""), facts.get("name", ""), _within(facts, values)
    if "in_sheet" in facts:
        return cell_of_sheet(facts, values)
    if not key or is_key(name, values) or role in ROWS:
        return None
    if role not in CELLS | {"label"}:
        if not name and role in TWO_STATES:
            return Target(role=role, row=key, column=facts.get("column"), within=within)
        if not name and role in BESIDE_WORDS and facts.get("in_row") == "1":
            return Target(role=role, row=key, within=within)
        words = templated(name, values)
        text = words if role in WRITTEN_ON and sight.has(name) else None
        named = Target(role=role, name=words, text=text, row=key, within=within) if name else None
        return named if facts.get("in_row") == "1" else None
    if facts.get("column") and role in CELLS:
        return Target(role=role, row=key, column=facts["column"], within=within)
    if step.typed_into and "in_form" not in facts:
        raise InvalidUsage("The cell has no heading, and the next item's text belongs in no other cell of its row.")
    return Target(name=key, within=within)


def _day_of_calendar(facts: Mapping[str, str], values: Mapping[str, Value]) -> Target | None:
    """Return the target for the day of a date in a calendar, with the month and year that the calendar must show.

    Raises `InvalidUsage` if the day may be of two dates.
    """
    if "day_of" not in facts:
        return None
    told = {name: (str(value), *day_and_month(facts["name"], str(value))) for name, value in values.items()}
    dates = [(name, day, month) for name, (value, day, month) in told.items() if day and _is_as_long(facts, value)]
    if len(dates) > 1:
        raise InvalidUsage("The pressed day may be of two dates.")
    if not dates:
        return None
    name, day, month = dates[0]
    return Target(role=facts["role"], name=f"{{{name}:{day}}}", month=f"{{{name}:{month}}}")


def _is_as_long(facts: Mapping[str, str], value: str) -> bool:
    """Return whether the calendar of a pressed day has as many days as the month of a date."""
    return facts["day_of"].endswith(f" of {days_of_month(formatted(value, 'MMMM YYYY'))}")


def _icon_in_row(icon: Path, at: Point, sight: Sight, values: Mapping[str, Value]) -> Target | None:
    """Return the target for an icon by its picture and the item's key in its row; ``None`` without a key."""
    keys = dict.fromkeys(key for line in sight.lines if PLACEHOLDER.fullmatch(key := templated(line.text, values)))
    ways = (Target(picture=icon, row=key) for key in keys)
    return next((way for way in ways if finds(way, at, sight, values)), None)


def cell_of_sheet(facts: Mapping[str, str], values: Mapping[str, Value]) -> Target:
    """Return the target for a cell of a spreadsheet.

    It is found by the heading of its column and the item's key in its row, or by the heading in the next free row, or
    else by its place, such as B7, with the label in its row. A cell that was empty must be empty again.
    """
    key, column = key_of_row(facts, values), templated(facts.get("column", ""), values)
    if column and facts.get("next_row"):
        return Target(role=facts["role"], column=column, next_row=True)
    empty = "empty" in facts
    if column and key:
        return Target(role=facts["role"], row=key, column=column, empty=empty)
    label = key or next(iter(numbered(facts, "cell")), "") or None
    return Target(role=facts["role"], name=facts["name"], row=label, empty=empty)


def key_of_row(facts: Mapping[str, str], values: Mapping[str, Value]) -> str:
    """Return the first text in the row of an element that is a value of the item, as a parameter.

    In a form that is a table, the label of a field is its key. Returns an empty string without a key.
    """
    texts = numbered(facts, "cell")
    keys = [templated(text, values) for text in texts if is_key(text, values)]
    labels = [templated(text, values) for text in texts if text.endswith(":") and facts.get("role") in FIELDS]
    return next(iter([*keys, *labels]), "")


def key_beside(facts: Mapping[str, str], values: Mapping[str, Value]) -> str:
    """Return the first text left of one of several controls alike that is a value of the item, as a parameter.

    Other texts there are of the recorded item only. A label that ends with a colon describes a control of a form.
    Returns an empty string without such a value.
    """
    if facts.get("alike") == "1" or facts.get("right_of", "").endswith(":"):
        return ""
    return next((templated(text, values) for text in numbered(facts, "beside") if is_key(text, values)), "")


def is_key(text: str, values: Mapping[str, Value]) -> bool:
    """Return whether a text is one value of the item, and nothing else."""
    return PLACEHOLDER.fullmatch(templated(text.strip(), values)) is not None


def _named(step: RecordedStep, sight: Sight, values: Mapping[str, Value]) -> Target | None:
    """Return the target by role and name, if the program reports a control and the picture shows no other words on it.

    A name with a value of the item and more becomes a pattern if the control is a row, because its other columns
    differ. An option that is the value alone must equal the next item's value as well, and not only begin with it.
    The name of a cell such as *B1* is its place in the table of a letter, whatever its row is for.
    """
    role = step.element.get("role", "")
    name = name_with_parameters(role, step.element.get("name", ""), values)
    within = _within(step.element, values)
    if role in FIELDS and not name and within and step.element.get("alike") == "1":
        return Target(role=role, within=within)  # the only field there
    is_area = role in NO_TARGETS and not is_empty_document(step.element)
    if not role or not name or is_area or step.element.get("alike", "1") != "1":
        return None
    if step.element.get("named_by_value") or (role in CELLS and PLACE_NAME.fullmatch(name)):
        return None
    pressed = [line for line in sight.lines if hits(line.box, step.points[0], of_field=False)]
    words = [name_with_parameters(role, line.text, values) for line in pressed if has_words(line, sight.lines)]
    agrees = any(matches(text, name) for text in words)
    full = step.element["name"]
    if role in WRITTEN_ON and words and not any(_may_be(text, name) or _may_be(text, full) for text in words):
        return None
    if role in ROWS and "{" in name and not PLACEHOLDER.fullmatch(name):
        name = "*".join(["", *(found[0] for found in [*PLACEHOLDER.finditer(name)][:1]), ""])
    text = name if agrees and role in WRITTEN_ON and "*" not in name else None
    return Target(role=role, name=name, within=within, text=text)


def is_empty_document(facts: Mapping[str, str]) -> bool:
    """Return whether an element is the document of a text editor in a frame, which takes text like a field."""
    return facts.get("role") == "document" and "empty" in facts


def name_with_parameters(role: str, name: str, values: Mapping[str, Value]) -> str:
    """Return the name of an element of a role with parameters.

    A program may write an option in other case than the task, such as *food* for *Food*. Such an option also counts as
    the value.
    """
    folded = name.strip().casefold()
    same = [each for each, value in values.items() if len(folded) > 1 and str(value).casefold() == folded]
    if role in OPTIONS and len(same) == 1:
        return f"{{{same[0]}}}"
    return templated(name, values)


def _by_neighbor(facts: Mapping[str, str], values: Mapping[str, Value]) -> Target | None:
    """Return the target by its role and its label, its hint, or its place among equal elements; else ``None``.

    A press on an area means a place in it, such as an option that is not reported yet, so its label does not tell it.
    """
    if facts.get("role") in NO_TARGETS:
        return None
    if key := key_beside(facts, values):
        return Target(role=facts["role"], name=templated(facts["name"], values) or None, right_of=key)
    relation = next((name for name in ("right_of", "below", "holds") if facts.get(name)), "")
    place, group = facts.get("place"), templated(facts.get("group", ""), values) or None
    if not facts.get("role") or not (relation or (place and group)):
        return None
    told: dict[str, Any] = {"role": facts["role"], "within": group, "place": place}
    if place and facts.get("name"):
        told["name"] = templated(facts["name"], values)
    if relation:
        told[relation] = templated(facts[relation], values)
    return Target(**told)


def _within(facts: Mapping[str, str], values: Mapping[str, Value]) -> str | None:
    """Return the name of the container of an element, with parameters in it."""
    return title_of_item(facts.get("within", ""), values) or None


def _may_be(text: str, name: str) -> bool:
    """Return whether a text may be a name that OCR read badly, or one is a part of the other.

    OCR joins a symbol and the word next to it, as in *XCose* for *Close*. A narrow column cuts off a name, and OCR
    joins it to the next column, as in *Berg Sh... open* for *Berg Shop*. A replay compares the two again.
    """
    one, other, shown = plain(text), plain(name), shown_part(text)
    begins = bool(shown) and other.startswith(shown)
    return begins or one in other or other in one or fit_pressed(name, text) >= MISREAD


def actions_of(step: RecordedStep, sight: Sight, values: Mapping[str, Value], also: Shown = ()) -> list[Action]:
    """Return the actions that repeat a step, each with a thought in plain words.

    ``also`` are other pictures of the same screen. Raises `InvalidUsage` if a target has no text, or if no playbook
    action does the same.
    """

    def at(place: int = 0) -> Target:
        found = target_of(step, place, sight, values, also)
        if found is None:
            raise InvalidUsage(
                f"Nothing is written where step {step.number} was done ({step.tool}), so its target has no text."
            )
        return found

    arguments = step.arguments
    match step.tool:
        case "click" if (button := _BUTTONS.get(str(arguments.get("button", "left")))) is not None:
            return [_pointing(button[0], f"{button[1]} {{}}.", at)]
        case "double_click":
            return [_pointing("double_click", "Double-click {}.", at)]
        case "move_to":
            return [_pointing("move_to", "Move to {}.", at)]
        case "write":
            return [_typing(step, values)]
        case "write_at":
            return [_pointing("click", "Click {}.", at), _typing(step, values)]
        case "scroll":
            over = at()
            turn = {"at": short(over), "direction": arguments["direction"], "notches": arguments.get("scroll_size", 3)}
            return [{"scroll": turn, "thought": f"Scroll {arguments['direction']} over {over.words}."}]
        case "drag_and_drop":
            start, end = at(0), at(1)
            if start == end:
                raise InvalidUsage(
                    f"Step {step.number} drags inside {start.words} to select a text: no playbook can do that. "
                    "Select it by a double click, or all of a field by Ctrl+A."
                )
            thought = f"Drag {start.words} to {end.words}."
            return [{"drag": {"start": short(start), "end": short(end)}, "thought": thought}]
        case "hotkey":
            keys = [*arguments["keys"]]
            times = int(arguments.get("repeat_count") or 1)
            return [{"hotkey": keys, "thought": f"Press {'+'.join(keys)}."} for _ in range(times)]
        case "hold_and_tap_key":
            hold, tap = [*arguments["hold_keys"]], [*arguments["tap_keys"]]
            thought = f"Hold {'+'.join(hold)} and press {', '.join(tap)}."
            return [{"hold_and_tap_key": {"hold": hold, "tap": tap}, "thought": thought}]
        case _:
            raise InvalidUsage(f"Step {step.number} ({step.tool}) cannot be repeated by a playbook.")


def _with_more_facts(target: Target, step: RecordedStep, values: Mapping[str, Value]) -> Target:
    """Return a target with more facts to find it by.

    It gets the role and name if the program reports a name that equals the text. Several elements in front may have
    both. It then gets them only if a label tells it apart. Otherwise it gets a picture of its words, if one was cut out
    and the text contains no parameter.
    """
    role, name = step.element.get("role", ""), templated(step.element.get("name", ""), values)
    is_one = step.element.get("alike", "1") == "1" or bool(target.relations)
    if target.text is not None and role and is_one and matches(target.text, name):
        return target.model_copy(update={"role": role, "name": name})
    if step.picture is None or not is_of_words(target) or "{" in str(target.text):
        return target
    return target.model_copy(update={"picture": step.picture})


def short(target: Target) -> Any:
    """Return a target in its shortest form. That is a string if it only has a text."""
    written = target.model_dump(exclude_defaults=True, by_alias=True)
    if target.picture is not None:
        written["picture"] = str(target.picture)
    if target.or_:
        written["or"] = [short(way) for way in target.or_]
    return written["text"] if set(written) == {"text"} else written


def as_written(target: Target) -> Any:
    """Return a target in the form of a playbook's file, with its pictures in the same folder."""
    return _with_file_names(short(target))


def _with_file_names(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    made = {**written, "or": [_with_file_names(way) for way in written["or"]]} if "or" in written else written
    return {**made, "picture": Path(made["picture"]).name} if "picture" in made else made


def _pointing(kind: str, thought: str, at: Callable[[], Target]) -> Action:
    target = at()
    return {kind: short(target), "thought": thought.format(target.words)}


def _typing(step: RecordedStep, values: Mapping[str, Value]) -> Action:
    arguments = step.arguments
    text = templated(str(arguments["content"]), values)
    how: dict[str, Any] = {name: True for name in ("overwrite", "press_enter") if arguments.get(name)}
    if any("\n" in str(value) for name, value in values.items() if f"{{{name}}}" in text):
        how["lines"] = True  # the recorded field took the line break
    if step.field_holds:  # the program may change another item's text differently
        how["shows"] = "*" if "{" in text else step.field_holds
    return {"write": {"text": text, **how}, "thought": f"Type {text}."}


def is_in_empty_cell(step: RecordedStep, sight: Sight) -> bool:
    """Return whether a press was on no text of a table or sheet without cells. Texts around it name other cells."""
    if step.element.get("role") not in SHEETS or not step.points:
        return False
    return not any(line.box.contains(step.points[0]) for line in sight.lines)

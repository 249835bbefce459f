"""Find the parameters of a goal: literals named by the user, the goal's data, and texts typed into fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.elements.element_anchors import numbered
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.outside_text import is_placeholder
from holo_tasks.scripts.file_dialogs import dialog_on
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.value_formats import day_and_month, format_of, with_words_of
from holo_tasks.scripts.values import PLACEHOLDER, Value, convert
from holo_tasks.vision.screen_text import Sight, matches

SHORTEST = 2
"""The shortest value that is looked for in any text. Shorter ones occur in other texts by chance."""
NO_NAME = "{!r} is not a valid parameter name: use small letters, digits and `_`, with a letter first."
FILE = "file"
"""Name of the parameter for a file that was chosen or saved."""
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_FILE_NAME = re.compile(r"[^/\\]*[^/\\. ]\.[A-Za-z][A-Za-z0-9]{0,4}")


Ask: TypeAlias = Callable[[Mapping[str, Value]], Mapping[str, str]]
"""Function that returns new names for parameters. It gets their values. An empty name makes a constant of one."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a goal with their types, and their values in each recording.

    ``short`` are values of one character. Only typed texts get placeholders for them.
    """

    kinds: Mapping[str, Kind]
    values: tuple[Mapping[str, Value], ...]
    short: tuple[Mapping[str, Value], ...] = ()

    @property
    def every(self) -> tuple[Mapping[str, Value], ...]:
        """The values of each recording, with those of one character."""
        none: Mapping[str, Value] = {}
        return tuple({**told, **few} for told, few in zip_longest(self.values, self.short, fillvalue=none))

    def used_in(self, text: str) -> dict[str, Kind]:
        """Return the parameters that a text has placeholders for, with their types."""
        names = {found[1] for found in PLACEHOLDER.finditer(text)}
        return {name: kind for name, kind in self.kinds.items() if name in names}

    def renamed(self, names: Mapping[str, str]) -> Parameters:
        """Return the parameters under other names.

        A parameter with an empty name is dropped, and its value stays a literal.
        """
        kept = {name: names.get(name, name) for name in self.kinds if names.get(name, name)}
        if wrong := next((name for name in kept.values() if not _NAME.fullmatch(name)), None):
            raise InvalidUsage(NO_NAME.format(wrong))
        if len(set(kept.values())) < len(kept):
            raise InvalidUsage("Two parameters cannot have one name.")
        values, short = (
            tuple({kept[name]: value for name, value in one.items() if name in kept} for one in every)
            for every in (self.values, self.short)
        )
        return Parameters({kept[name]: self.kinds[name] for name in kept}, values, short)


def parameters_of(
    recordings: Sequence[Recording], seen: Mapping[str, ReadPicture], named: Sequence[tuple[str, str]] = ()
) -> Parameters:
    """Return the parameters, which are the values that differ from item to item.

    They are the literals of ``named``, the goals' data, and typed text. All typed text of a single recording
    counts. With several recordings, only text that differs counts. Raises `InvalidUsage` for an invalid name, and
    for a literal that no recording contains.
    """
    given = [_scalars(recording.data) for recording in recordings]
    for name, literal in named:
        _take_named(recordings, given, name, literal, seen)
    typed = [_typed(recording, seen) for recording in recordings]
    for name in dict.fromkeys(name for one in typed for name in one):
        _take_typed(given, typed, name)
    known = [name for name in dict.fromkeys(name for one in given for name in one) if _NAME.fullmatch(name)]
    long = {name for name in known if any(len(str(one.get(name, ""))) >= SHORTEST for one in given)}
    values = tuple({name: one[name] for name in known if name in long and name in one} for one in given)
    short = tuple(_typed_short(recording, one, known) for recording, one in zip(recordings, given, strict=True))
    every = {name: [one[name] for one in given if name in one] for name in known}
    names = [name for name in known if name in long or any(name in one for one in short)]
    return Parameters({name: kind_of_values(every[name]) for name in names}, values, short)


def _typed_short(recording: Recording, given: Mapping[str, Value], names: Sequence[str]) -> dict[str, Value]:
    """Return the values of one character that were typed in a recording."""
    texts = [str(step.arguments.get(TYPING[step.tool], "")) for step in recording.steps if step.tool in TYPING]
    one = {name: given[name] for name in names if len(str(given.get(name, ""))) == 1}
    return {name: value for name, value in one.items() if any(is_amount_of(text, str(value)) for text in texts)}


def is_amount_of(text: str, value: str) -> bool:
    """Return whether a typed text is a value of one character, or that digit with a unit, such as ``3h`` or ``€3``."""
    if text == value:
        return True
    return value.isdigit() and re.fullmatch(rf"\W{{0,2}}{value}(?!st|nd|rd|th) ?[a-z]{{0,2}}\W?", text) is not None


def with_short(text: str, short: Mapping[str, Value]) -> str:
    """Return a typed text with a parameter in place of a value of one character. Raises `Ambiguous` for two values."""
    names = [name for name, value in short.items() if is_amount_of(text, str(value))]
    if len(names) > 1:
        raise Ambiguous(f"the typed text equals two values of the item: {', '.join(names)}")
    return text.replace(str(short[names[0]]), f"{{{names[0]}}}") if names else text


class Ambiguous(InvalidUsage):
    """A typed text may be one of several values of the item."""


def _scalars(data: Mapping[str, object]) -> dict[str, Value]:
    return {name: value for name, value in data.items() if isinstance(value, str | int)}


def _take_named(
    recordings: Sequence[Recording],
    given: list[dict[str, Value]],
    name: str,
    literal: str,
    seen: Mapping[str, ReadPicture],
) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidUsage(NO_NAME.format(name))
    holders = [
        n for n, one in enumerate(recordings) if literal and (_holds(one, literal) or _shows(one, literal, seen))
    ]
    if not holders:
        raise InvalidUsage(f"No run contains the value that --param gives {name!r}: use a value that one contains.")
    for number in holders:
        given[number].setdefault(name, literal)


def occurs_in(recordings: Sequence[Recording], literal: str) -> bool:
    """Return whether a recording contains a literal in its goal, data, answer, typed text or a pressed control."""
    return any(_holds(one, literal) for one in recordings)


def _holds(recording: Recording, literal: str) -> bool:
    said = [recording.goal, recording.title, *map(str, recording.data.values()), recording.answer]
    typed = [str(step.arguments.get(TYPING[step.tool], "")) for step in recording.steps if step.tool in TYPING]
    pressed = [
        text for step in recording.steps for text in (str(step.arguments.get("element", "")), *step.element.values())
    ]
    if any(literal in text for text in (*said, *typed, *pressed)):
        return True
    days = (step.element["name"] for step in recording.steps if "day_of" in step.element)
    if any(day_and_month(day, literal)[0] for day in days):
        return True  # it was chosen in a calendar
    return any(format_of(text, literal) or with_words_of(text, "date", literal) for text in typed)


def _shows(recording: Recording, literal: str, seen: Mapping[str, ReadPicture]) -> bool:
    """Return whether a literal was written where the recording pressed. A program may report no names of its rows."""
    points = ((seen[step.before.sha256].sight, step.points[0]) for step in recording.steps if step.points)
    return any(line.text.strip() == literal and line.box.contains(at) for sight, at in points for line in sight.lines)


def _typed(recording: Recording, seen: Mapping[str, ReadPicture]) -> dict[str, str]:
    """Return the texts typed in a recording, by the labels of their fields, and the files that were chosen.

    A typed name of a value, such as the name of a column, is the same for every item.
    """
    found: dict[str, str] = {}
    label = ""
    for step in recording.steps:
        if chosen := _chosen_file(step, seen[step.before.sha256].sight):
            found[_free_name(FILE, chosen, found)] = chosen
        if step.points and step.tool in ("click", "double_click", "write_at"):
            target = target_at(step.points[0], seen[step.before.sha256].sight, {})
            label = (target.field or "") if target is not None else ""
        if step.tool in TYPING:
            text = str(step.arguments.get(TYPING[step.tool], ""))
            is_long = len(text) >= SHORTEST or (text and label and not recording.data)
            if is_long and not is_placeholder(text) and text not in recording.data:
                label = label or _label_of_text(text, seen[step.after.sha256].sight)
                name = name_of(label) or f"text_{len(found) + 1}"
                name = FILE if _is_in_file_dialog(step, seen[step.before.sha256].sight) else name
                found[_free_name(name, text, found)] = text
            label = ""
    return found


def _chosen_file(step: RecordedStep, sight: Sight) -> str:
    """Return the name of the file that a press chose in the list of a file dialog; empty for any other step."""
    if step.tool not in ("click", "double_click") or not _is_in_file_dialog(step, sight):
        return ""
    at = step.points[0]
    pressed = [line.text for line in sight.lines if line.box.contains(at)]
    named = [step.element.get("name", ""), *numbered(step.element, "cell")] if step.element.get("role") else pressed
    return next((text.strip() for text in named if _FILE_NAME.fullmatch(text.strip())), "")


def _is_in_file_dialog(step: RecordedStep, sight: Sight) -> bool:
    return bool(step.element.get("file_dialog") or (not step.element.get("role") and dialog_on(sight)))


def _free_name(name: str, text: str, found: Mapping[str, str]) -> str:
    """Return a name for a text that no other text has.

    Another text in the same field is another parameter. As a constant, it would be typed for every item.
    """
    while found.get(name, text) != text:
        name = _next_name(name)
    return name


def _next_name(name: str) -> str:
    """Return the name with the next number: ``note``, ``note_2``, ``note_3``."""
    words, _, number = name.rpartition("_")
    return f"{words}_{int(number) + 1}" if words and number.isdigit() else f"{name}_2"


def _label_of_text(text: str, after: Sight) -> str:
    """Return the label of the field that shows a text. It is the only clue if the field was reached by keys."""
    shown = [line for line in after.lines if matches(text, line.text)]
    target = target_at(shown[0].box.center, after, {}) if len(shown) == 1 else None
    return "" if target is None else target.field or ""


def _take_typed(given: list[dict[str, Value]], typed: Sequence[Mapping[str, str]], name: str) -> None:
    """Make a parameter of the texts typed under one name, unless another parameter has these values.

    If the data has another value of this name, the texts get a further name. As a constant, the recorded text would be
    typed for every item.
    """
    for given_here, typed_here in zip(given, typed, strict=True):
        text = typed_here.get(name)
        known = [other for other, value in given_here.items() if text is not None and _is_in(text, str(value))]
        if known and known != [name]:
            for one, other in zip(given, typed, strict=True):  # the field holds this parameter for other items too
                if name in other and str(given_here[known[0]]) == text:
                    one.setdefault(known[0], other[name])
            return
    if len(typed) == 1 or len({one.get(name) for one in typed}) > 1:
        texts = [(given_here, one[name]) for given_here, one in zip(given, typed, strict=True) if name in one]
        while any(name in given_here and not _is_in(text, str(given_here[name])) for given_here, text in texts):
            name = _next_name(name)
        for given_here, text in texts:
            given_here.setdefault(name, text)


def _is_in(text: str, value: str) -> bool:
    """Return whether a text has a value in it, or is the value in the program's format or in words.

    A value of one character occurs in other texts by chance. Further words around a date in words may be of the item.
    """
    if len(value) < SHORTEST:
        return bool(value) and is_amount_of(text, value)
    words = with_words_of(text, "date", value)
    is_date = bool(words) and re.search(r"\w", PLACEHOLDER.sub("", words)) is None
    return value in text or bool(format_of(text, value)) or is_date


def is_name(text: str) -> bool:
    """Return whether a text is a valid name of a parameter."""
    return _NAME.fullmatch(text) is not None


def name_of(label: str) -> str:
    """Return the name of a parameter for a label. Returns an empty string if that is not a valid name."""
    name = re.sub(r"[^a-z0-9]+", "_", label.casefold().strip()).strip("_")
    return name if _NAME.fullmatch(name) else ""


def kind_of_values(values: Sequence[Value]) -> Kind:
    """Return the type that represents all values exactly. The default is ``text``."""
    for kind in ("int", "date", "money"):
        if values and all(str(convert(str(value), kind)) == str(value) for value in values):
            return kind
    return "text"

"""What a playbook is told for each item: literals that somebody names, data, and what was typed into fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.recording import Recording
from holo_tasks.compiler.sights import Seen
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.outside import is_placeholder
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.values import Value, convert
from holo_tasks.vision.screen_text import Sight, matches

SHORTEST = 2
"""A value of fewer characters stands in too many texts by chance."""
NO_NAME = "{!r} is no name of a parameter: small letters, digits and `_`, a letter first."
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


Ask: TypeAlias = Callable[[Mapping[str, Value]], Mapping[str, str]]
"""Returns what parameters are to be called, by the names that they would have; empty for one that is none."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a goal by their types, and what each of its recordings was told, in their order."""

    kinds: Mapping[str, Kind]
    values: tuple[Mapping[str, Value], ...]

    def renamed(self, names: Mapping[str, str]) -> Parameters:
        """Return them under other names; what has an empty one is the same for every item, and no parameter."""
        kept = {name: names.get(name, name) for name in self.kinds if names.get(name, name)}
        if wrong := next((name for name in kept.values() if not _NAME.fullmatch(name)), None):
            raise InvalidUsage(NO_NAME.format(wrong))
        if len(set(kept.values())) < len(kept):
            raise InvalidUsage("Two parameters cannot have one name.")
        values = tuple({kept[name]: value for name, value in one.items() if name in kept} for one in self.values)
        return Parameters({kept[name]: self.kinds[name] for name in kept}, values)


def parameters_of(
    recordings: Sequence[Recording], seen: Mapping[str, Seen], named: Sequence[tuple[str, str]] = ()
) -> Parameters:
    """Return what differs from item to item.

    ``named`` are literals of the runs that somebody says are parameters; each must be in one of them. Beside these it
    is the goals' data, and what was typed: all of it in a single recording, of several only what is not the same.
    Raises `InvalidUsage` for a name that is none, and for a literal that no recording has.
    """
    told = [_scalars(recording.data) for recording in recordings]
    for name, literal in named:
        _take_named(recordings, told, name, literal)
    typed = [_typed(recording, seen) for recording in recordings]
    for name in dict.fromkeys(name for one in typed for name in one):
        _take_typed(told, typed, name)
    names = [name for name in dict.fromkeys(name for one in told for name in one) if _is_parameter(told, name)]
    values = tuple({name: one[name] for name in names if name in one} for one in told)
    return Parameters({name: _kind([one[name] for one in values if name in one]) for name in names}, values)


def _scalars(data: Mapping[str, object]) -> dict[str, Value]:
    return {name: value for name, value in data.items() if isinstance(value, str | int)}


def _take_named(recordings: Sequence[Recording], told: list[dict[str, Value]], name: str, literal: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidUsage(NO_NAME.format(name))
    holders = [number for number, one in enumerate(recordings) if literal and _holds(one, literal)]
    if not holders:
        raise InvalidUsage(f"No run speaks of the value that --param gives {name!r}, and none types it.")
    for number in holders:
        told[number].setdefault(name, literal)


def is_spoken_of(recordings: Sequence[Recording], literal: str) -> bool:
    """Say whether a recording speaks of a literal, or types it."""
    return any(_holds(one, literal) for one in recordings)


def _holds(recording: Recording, literal: str) -> bool:
    said = [recording.goal, recording.title, *map(str, recording.data.values()), recording.answer]
    typed = [str(step.arguments.get(TYPING[step.tool], "")) for step in recording.steps if step.tool in TYPING]
    return any(literal in text for text in (*said, *typed))


def _typed(recording: Recording, seen: Mapping[str, Seen]) -> dict[str, str]:
    """Return what was typed in a recording, by the label of the field that it was typed into."""
    found: dict[str, str] = {}
    label = ""
    for step in recording.steps:
        if step.points and step.tool in ("click", "double_click", "write_at"):
            target = target_at(step.points[0], seen[step.before.sha256].sight, {})
            label = (target.field or "") if target is not None else ""
        if step.tool in TYPING:
            text = str(step.arguments.get(TYPING[step.tool], ""))
            if len(text) >= SHORTEST and not is_placeholder(text):
                label = label or _label_beside(text, seen[step.after.sha256].sight)
                found.setdefault(name_of(label) or f"text_{len(found) + 1}", text)
            label = ""
    return found


def _label_beside(text: str, after: Sight) -> str:
    """Return the label of the field that shows what was typed; of one that was come to by keys nothing else is told."""
    shown = [line for line in after.lines if matches(text, line.text)]
    target = target_at(shown[0].box.center, after, {}) if len(shown) == 1 else None
    return "" if target is None else target.field or ""


def _take_typed(told: list[dict[str, Value]], typed: Sequence[Mapping[str, str]], name: str) -> None:
    """Make what was typed under one name a parameter, unless it is told under another name already."""
    for told_here, typed_here in zip(told, typed, strict=True):
        text = typed_here.get(name)
        known = [other for other, value in told_here.items() if text is not None and str(value) in text]
        if known and known != [name]:
            for one, other in zip(told, typed, strict=True):  # the same field says the same of the other items
                if name in other and str(told_here[known[0]]) == text:
                    one.setdefault(known[0], other[name])
            return
    if len(typed) == 1 or len({one.get(name) for one in typed}) > 1:
        for told_here, typed_here in zip(told, typed, strict=True):
            if name in typed_here:
                told_here.setdefault(name, typed_here[name])


def _is_parameter(told: Sequence[Mapping[str, Value]], name: str) -> bool:
    return _NAME.fullmatch(name) is not None and any(len(str(one.get(name, ""))) >= SHORTEST for one in told)


def is_name(text: str) -> bool:
    """Say whether a parameter can be called so."""
    return _NAME.fullmatch(text) is not None


def name_of(label: str) -> str:
    """Return a label as the name of a parameter; empty if there is nothing to make one of."""
    name = re.sub(r"[^a-z0-9]+", "_", label.casefold().strip()).strip("_")
    return name if _NAME.fullmatch(name) else ""


def _kind(values: Sequence[Value]) -> Kind:
    """Return the type that all values are of and are written the same in."""
    for kind in ("int", "date", "money"):
        if values and all(str(convert(str(value), kind)) == str(value) for value in values):
            return kind
    return "text"

"""The way that recorded runs of one goal have in common: what recurs is the path, what differs is a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from holo_tasks.compiler.recording import Done, Recording
from holo_tasks.compiler.sights import Seen
from holo_tasks.compiler.targets import target_at
from holo_tasks.scripts.values import Value

TYPING = {"write": "content", "write_at": "content"}
"""The tools that type, and which of their arguments is what they type."""


@dataclass(frozen=True)
class Visit:
    """A stay on one screen of the program: what was done there until another one came.

    ``kind`` is the same for two stays if the same was done there, whatever item it was about. ``alike`` are those of
    other recordings that are so, by their numbers.
    """

    screen: int
    steps: tuple[Done, ...]
    kind: tuple[object, ...] = ()
    alike: Mapping[int, tuple[Done, ...]] = field(default_factory=dict)


Same = Callable[[Visit, Visit], bool]


def visits(recording: Recording, seen: Mapping[str, Seen], values: Mapping[str, Value]) -> list[Visit]:
    """Return the stays of a recording in order. Of what was done several times without effect the last time counts.

    ``values`` are those of the recording's parameters.
    """
    found: list[list[Done]] = []
    at = -1
    for step in recording.steps:
        screen = seen[step.before.sha256].screen
        if not found or screen != at:
            found.append([])
        at = screen
        if found[-1] and _again(found[-1][-1], step):
            found[-1].pop()  # what came of it came of this one
        found[-1].append(step)
    return [
        Visit(
            seen[steps[0].before.sha256].screen,
            tuple(steps),
            tuple(_kind(step, seen[step.before.sha256], values) for step in steps),
        )
        for steps in found
    ]


def merged(ways: Sequence[Sequence[Visit]], same: Same = lambda one, other: False) -> list[Visit]:
    """Return one way out of those of several recordings; ``same`` says which other stays are one.

    Of screens that all came to only what all did there is kept: the rest was a detour, on which nothing depends, and so
    was where it led. Any other stay on a screen that only some came to is kept for when that comes up again.
    """
    first, *others = ways
    way = list(first)
    for number, other in enumerate(others, start=1):
        way = _with(way, other, number, same)
    shared = {visit.screen for visit in way if len(visit.alike) == len(others)}
    kept: list[Visit] = []
    on_detour = False
    for visit in way:
        in_all = len(visit.alike) == len(others)
        on_detour = not in_all and (on_detour or visit.screen in shared)
        if not on_detour:
            kept.append(visit)
    return kept


def _with(way: Sequence[Visit], other: Sequence[Visit], number: int, same: Same) -> list[Visit]:
    """Return a way with the stays of another recording beside its own, and those that only the other one has."""
    found: list[Visit] = []
    mine, theirs = ([(one.screen, *one.kind) for one in each] for each in (way, other))
    matched = SequenceMatcher(None, mine, theirs, autojunk=False)
    for what, low, high, left, right in matched.get_opcodes():
        pairs = list(zip(way[low:high], other[left:right], strict=False))
        if what == "equal" or (what == "replace" and high - low == right - left and all(same(*pair) for pair in pairs)):
            found += [replace(one, alike={**one.alike, number: two.steps}) for one, two in pairs]
        else:
            found += [*way[low:high], *other[left:right]]
    return found


def _kind(step: Done, seen: Seen, values: Mapping[str, Value]) -> tuple[object, ...]:
    """Return what is the same of a step whatever item it is about: the tool, the keys it presses, and on what."""
    left_out = {"x", "y", "x1", "y1", "x2", "y2", "element", TYPING.get(step.tool, "")}
    told = {name: repr(value) for name, value in step.arguments.items() if name not in left_out}
    targets = (target_at(point, seen.sight, values) or step.picture for point in step.points)
    return (step.tool, *sorted(told.items()), *targets)


def _again(before: Done, step: Done) -> bool:
    """Say whether a step is the one before it once more, which had changed nothing on the screen."""
    same = before.tool == step.tool and before.arguments == step.arguments
    return same and before.before == before.after

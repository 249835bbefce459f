"""Merge recorded runs of one goal into the path that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep, Recording
from holo_tasks.compiler.steps import target_of
from holo_tasks.scripts.values import Value

TYPING = {"write": "content", "write_at": "content"}
"""The tools that type, with the argument that holds the text."""


@dataclass(frozen=True)
class Visit:
    """The steps on one screen of the program, until another screen came.

    ``kind`` is equal for two visits with the same steps, whatever their items are. ``alike`` maps the numbers of
    other recordings to their steps of the same visit.
    """

    screen: int
    steps: tuple[RecordedStep, ...]
    kind: tuple[object, ...] = ()
    alike: Mapping[int, tuple[RecordedStep, ...]] = field(default_factory=dict)


Same = Callable[[Visit, Visit], bool]


def visits(recording: Recording, seen: Mapping[str, ReadPicture], values: Mapping[str, Value]) -> list[Visit]:
    """Return the visits of a recording in order.

    If a step was repeated because it had no effect, only the last repetition is kept. ``values`` are the parameter
    values of the recording.
    """
    found: list[list[RecordedStep]] = []
    at = -1
    for step in recording.steps:
        screen = seen[step.before.sha256].screen
        if not found or screen != at:
            found.append([])
        at = screen
        if found[-1] and _is_repetition(found[-1][-1], step):
            found[-1].pop()  # the result belongs to the repetition
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
    """Return one path for those of several recordings. ``same`` decides whether two different visits are one.

    On screens that all recordings reached, only the shared steps are kept. Other steps there are detours and are
    dropped, with the screens that they led to. Visits to a screen that only some recordings reached are kept, in
    case the screen comes again.
    """
    first, *others = ways
    way = list(first)
    for number, other in enumerate(others, start=1):
        way = _joined(way, other, number, same)
    shared = {visit.screen for visit in way if len(visit.alike) == len(others)}
    kept: list[Visit] = []
    on_detour = False
    for visit in way:
        in_all = len(visit.alike) == len(others)
        on_detour = not in_all and (on_detour or visit.screen in shared)
        if not on_detour:
            kept.append(visit)
    return kept


def _joined(way: Sequence[Visit], other: Sequence[Visit], number: int, same: Same) -> list[Visit]:
    """Return a path with the visits of another recording. Equal visits are joined, and the other ones are added."""
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


def _kind(step: RecordedStep, seen: ReadPicture, values: Mapping[str, Value]) -> tuple[object, ...]:
    """Return the parts of a step that do not depend on the item: the tool, the keys and the targets."""
    left_out = {"x", "y", "x1", "y1", "x2", "y2", "element", TYPING.get(step.tool, "")}
    told = {name: repr(value) for name, value in step.arguments.items() if name not in left_out}
    targets = (target_of(step, place, seen.sight, values) for place in range(len(step.points)))
    return (step.tool, *sorted(told.items()), *targets)


def _is_repetition(before: RecordedStep, step: RecordedStep) -> bool:
    """Return whether a step repeats the step before it, which had changed nothing on the screen."""
    same = before.tool == step.tool and before.arguments == step.arguments
    return same and before.before == before.after


def is_linear(way: Sequence[Visit], recordings: Sequence[Recording], screens: set[int]) -> bool:
    """Return whether all recordings did the same steps, and answered on the same screen."""
    return bool(way) and len(screens) == 1 and all(len(visit.alike) == len(recordings) - 1 for visit in way)

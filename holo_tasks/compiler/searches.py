"""Find the texts that a program must show for a search by keys alone: its prompt, and the row that it searches for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from holo_tasks.compiler.marks import is_label
from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.compiler.targets import is_readable, templated
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.values import PLACEHOLDER, Value, fill
from holo_tasks.vision.screen_text import Sight, matches

SHORTEST = 3
"""Fewest characters of such a value. A shorter one may be on the screen by chance."""
PROMPT = (":", "?", ">")
"""The ends of a prompt."""
OF_MACHINE = frozenset("@/\\~")
"""Characters of a shell's prompt, which names the user, the machine or the folder."""
LONGEST_COMMAND = 2
"""Most characters of a command before the text that it searches for."""


def searched_value(
    step: RecordedStep, shown: Sequence[tuple[Sight, Sight, Mapping[str, Value]]], kinds: Mapping[str, Kind]
) -> list[str]:
    """Return the value that was typed by keys alone to go to its place on the screen, such as a row of a list.

    Without such a place, the next keys would change the row of another item. A text typed into a field that
    the program reports does not count. ``shown`` has the screens before and after the step, and the values, of each
    recording.
    """
    said = templated(str(step.arguments.get("content", "")), shown[0][2])
    found = PLACEHOLDER.search(said)
    if step.tool != "write" or found is None or step.element.get("role", "terminal") != "terminal":
        return []
    if kinds.get(found[1]) not in ("text", "int") or len(said) - len(found[0]) > LONGEST_COMMAND:
        return []
    is_there = all(_is_in_place(str(told.get(found[1], "")), before, after) for before, after, told in shown)
    return [found[0]] if is_there else []


def searched_once(
    step: RecordedStep, shown: Sequence[tuple[Sight, Sight, Mapping[str, Value]]], kinds: Mapping[str, Kind]
) -> list[str | dict[str, str | int]]:
    """Return the conditions before a search: the value is a text on the screen, in no more places than recorded.

    Without them the search ends at a longer value, at one of two rows, or nowhere. The search itself writes the value
    on the screen, so the screen after it does not tell. A value typed as the name of a new thing would meet a
    condition of after the step as well. A list that hides the other rows has none: it may show the row elsewhere.
    """
    found: list[str | dict[str, str | int]] = []
    for value in searched_value(step, shown, kinds):
        if any(_hides_rows(fill(value, told), before, after) for before, after, told in shown):
            continue
        most = max(1, *(before.count(fill(value, told)) for before, _, told in shown))
        found += [value, {"shown": value, "at_most": most}]
    return found


def prompt_of(
    step: RecordedStep,
    earlier: Sequence[Sight],
    shown: Sequence[tuple[Sight, Mapping[str, Value]]],
    private: Collection[str],
) -> list[str]:
    """Return the prompt for a text that is typed by keys alone, such as ``search regex:``.

    It came with the keys before. Without it another prompt or a cell is open, which would take the text and those keys,
    or the program would take the text for commands. It is the last one, as other lines of a terminal are above it. A
    shell's prompt is not required, because another machine has another one. ``earlier`` are the screens before those
    keys, and ``shown`` those before the text, with the values of each recording.
    """
    if step.tool != "write" or step.points or step.element.get("role", "terminal") != "terminal":
        return []
    first, values = shown[0]
    labels = [line.text.strip() for line in first.lines if is_label(line, first, values, private)]
    return [
        text
        for text in labels
        if text.endswith(PROMPT)
        and OF_MACHINE.isdisjoint(text)
        and is_readable(text)
        and all(sight.has(text) for sight, _ in shown)
        and not any(sight.has(text) for sight in earlier)
    ][-1:]


def _is_in_place(value: str, before: Sight, after: Sight) -> bool:
    """Return whether a text is on a screen and, at the same place, on a later one."""
    if len(value) < SHORTEST:
        return False
    old = [line.box for line in before.lines if matches(value, line.text)]
    new = [line.box for line in after.lines if matches(value, line.text)]
    return any(one.contains(box.center) for one in new for box in old)


def _hides_rows(value: str, before: Sight, after: Sight) -> bool:
    """Return whether the two texts below a row are gone: the list shows only rows with the value."""
    row = next(line.box for line in before.lines if matches(value, line.text))
    below = [line for line in before.lines if line.box.top >= row.bottom and row.left < line.box.right]
    near = [line for line in below if line.box.left < row.right][:2]
    stay = (matches(old.text, new.text) and new.box.contains(old.box.center) for old in near for new in after.lines)
    return len(near) > 1 and not any(stay)

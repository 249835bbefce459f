"""Find conditions for the screen after a step, by a comparison of the pictures before and after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from holo_tasks.compiler.marks import SHORTEST, identity_of, is_label, marks_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight

MOST = 2
"""The most texts that are required after a step."""


def new_texts(
    before: Sequence[ReadPicture],
    after: Sequence[ReadPicture],
    values: Sequence[Mapping[str, Value]],
    others: Sequence[Sight],
    private: Collection[str],
    names: Collection[str],
) -> list[str]:
    """Return texts that every recording shows after a step and none shows before it.

    Returns an empty list if the recordings reached different screens. Labels come first. Parameters follow if runs
    of several items show that their values have appeared.

    ``before`` and ``after`` are the pictures in all recordings, in their order, with ``values`` as the parameter
    values. ``others`` are pictures of other screens. ``private`` are values of items, and ``names`` the parameters.

    If the screen stays the same, labels are only returned for several recordings. A single one may show a new label
    by chance.
    """
    if len({one.screen for one in after}) != 1:
        return []
    if after[0].screen != before[0].screen:
        found = list(marks_of([(one.sight, told) for one, told in zip(after, values, strict=True)], others, private))
    elif len(after) > 1:
        first = after[0].sight
        labels = [line.text for line in first.lines if is_label(line, first, values[0], private)]
        found = [text for text in labels if all(one.sight.has(text) for one in after)]
    else:
        found = []
    new = [text for text in found if not any(one.sight.has(text) for one in before)][:MOST]
    # A value that is short, or the same in all runs, may be there by chance.
    said = {name: [str(told.get(name, "")) for told in values] for name in names}
    long = [name for name, texts in said.items() if len({*texts}) > 1 and min(map(len, texts)) >= SHORTEST]
    items = identity_of([(one.sight, told) for one, told in zip(after, values, strict=True)], long)
    pairs = list(zip(before, values, strict=True))
    return [*new, *(text for text in items if not any(one.sight.has(fill(text, told)) for one, told in pairs))]


def state_of(steps: Sequence[RecordedStep]) -> str:
    """Return the state after a step, if all recordings reached the same new state.

    Otherwise returns an empty string.
    """
    came = {step.came_to for step in steps}
    return min(came) if len(came) == 1 and not came & {step.begun_at for step in steps} else ""

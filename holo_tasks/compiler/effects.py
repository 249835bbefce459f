"""Find conditions for the screen after a step, by a comparison of the pictures before and after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from holo_tasks.compiler.marks import SHORTEST, identity_of, is_label, marks_of
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import RecordedStep
from holo_tasks.compiler.targets import is_of_item, templated
from holo_tasks.core.screen.window_titles import CUT
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight

MOST = 2
"""The most texts that are required after a step."""
_PATTERNS = frozenset(f"*{{}}{CUT}")
"""Characters with a meaning in a title pattern. A shortened title may end in a part of an item's value."""


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


def windows_of(
    steps: Sequence[RecordedStep], values: Sequence[Mapping[str, Value]], private: Collection[str]
) -> list[str]:
    """Return the titles of windows that every recording shows after a step and none before it.

    Parameters replace their values. Titles with a value of ``private`` are left out. Returns an empty list if
    all recordings have the same item, because the item's part of a title is unknown then.
    """
    if len({tuple(sorted(told.items())) for told in values}) < 2:
        return []
    new = [
        [
            templated(title, told)
            for title in step.after.windows
            if title not in step.before.windows and not _PATTERNS & {*title}
        ]
        for step, told in zip(steps, values, strict=True)
    ]
    common = (title for title in new[0] if all(title in other for other in new))
    return [title for title in common if not is_of_item(title, private)][:MOST]


def state_of(steps: Sequence[RecordedStep]) -> str:
    """Return the state after a step, if all recordings reached the same new state.

    Otherwise returns an empty string.
    """
    came = {step.came_to for step in steps}
    return min(came) if len(came) == 1 and not came & {step.begun_at for step in steps} else ""

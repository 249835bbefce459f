"""Conditions on the titles of windows, which are exact, in place of texts that OCR read in title bars."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from holo_tasks.compiler.marks import SHORTEST
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.targets import CUT_PATH, is_of_item, title_of_item, without_folder, without_other_values
from holo_tasks.core.screen.window_titles import CUT
from holo_tasks.scripts.values import PLACEHOLDER, Value, fits_title, label_of
from holo_tasks.vision.screen_text import Sight, matches

LONGEST_TITLE = 79
"""Traces cut longer names off."""
MOST_TITLES = 2
"""The most titles that are required after a step."""
PATTERN = frozenset(f"*{{}}{CUT}")
"""Characters with a meaning in the pattern of a title. A shortened title may end in a part of an item's value."""


def dialog_title(title: str, values: Mapping[str, Value], private: Iterable[str]) -> str:
    """Return a pattern for the title of a dialog, with ``*`` for hidden values and for an end that was cut off."""
    title = title_of_item(title, values)
    for value in sorted((value for value in private if len(value) >= SHORTEST), key=len, reverse=True):
        title = title.replace(value, "*")
    is_cut = len(title) >= LONGEST_TITLE or title.endswith(CUT)
    return f"{title[: LONGEST_TITLE - 1].removesuffix(CUT)}*" if is_cut else title


def windows_of(
    steps: Sequence[RecordedStep], values: Sequence[Mapping[str, Value]], private: Collection[str]
) -> list[str]:
    """Return the titles of windows that every recording shows after a step and none before it.

    Parameters replace their values. Titles with a value of ``private`` are left out. Returns an empty list if
    all recordings have the same item, because the item's part of a title is unknown then.
    """
    if len({tuple(sorted(told.items())) for told in values}) < 2:
        return []
    pairs = list(zip(steps, values, strict=True))
    new = [[_window_title(title, told, private) for title in step.after.windows] for step, told in pairs]
    common = (title for title in dict.fromkeys(new[0]) if title and all(title in other for other in new))
    return [title for title in common if not any(shows_title(title, step.before, told) for step, told in pairs)][
        :MOST_TITLES
    ]


def with_titles(
    conditions: Iterable[Any],
    shown: tuple[Picture, Sight],
    earlier: tuple[Picture, Sight],
    values: Mapping[str, Value],
    private: Collection[str],
) -> list[Any]:
    """Return conditions in which windows replace the texts that the picture ``shown`` has only in title bars.

    A text stays if it distinguishes the picture from the one ``earlier`` and the title's pattern does not. It is left
    out if OCR only failed to read the same title there. The folder of a file in any other text, such as a message,
    becomes ``*``.
    """
    found: list[Any] = []
    for one in conditions:
        condition = one
        if isinstance(one, str):
            title = _title_of_text(one, *shown, values)
            pattern = _window_title(title, values, private)
            is_new = not earlier[1].has(label_of(one, values))
            if is_new and title in earlier[0].windows:
                continue
            was_there = pattern and shows_title(pattern, earlier[0], values)
            condition = {"window": pattern} if pattern and not (was_there and is_new) else _without_path(one)
        if condition not in found:
            found.append(condition)
    return found


def _without_path(text: str) -> str:
    """Return a text with ``*`` for the folder of a file, and for the last part of a path that may have been cut off."""
    short = CUT_PATH.sub("*", text)
    return without_folder(short if any(map(str.isalpha, short)) else text)


def shows_title(pattern: str, picture: Picture, values: Mapping[str, Value]) -> bool:
    """Return whether a picture has a window whose title matches a pattern."""
    return any(fits_title(pattern, values, title) for title in picture.windows)


def title_after(recordings: Sequence[Recording], every: Sequence[Mapping[str, Value]], private: Collection[str]) -> str:
    """Return the pattern of a title that came with the last step of all recordings. Returns "" without one.

    The title names the item, or an earlier picture had it, as the list that a form was opened from. Another title may
    be of the recorded item.
    """
    first, values = recordings[0], every[0]
    for title in first.last.windows:
        pattern = _window_title(title, values, private)
        if pattern and all(_came_last(pattern, one, told) for one, told in zip(recordings, every, strict=True)):
            return pattern
    return ""


def _came_last(pattern: str, recording: Recording, values: Mapping[str, Value]) -> bool:
    *earlier, before = (step.before for step in recording.steps)
    was_known = PLACEHOLDER.search(pattern) or any(shows_title(pattern, one, values) for one in earlier)
    is_there = shows_title(pattern, recording.last, values)
    return bool(was_known) and is_there and bool(before.windows) and not shows_title(pattern, before, values)


def _title_of_text(text: str, picture: Picture, sight: Sight, values: Mapping[str, Value]) -> str:
    """Return the title that all lines with a text show. Returns an empty string if a line shows something else."""
    label = label_of(text, values)
    shown = [line.text for line in sight.lines if matches(label, line.text)]
    titles = (title for title in picture.windows if shown and all(matches(title, line) for line in shown))
    return next(titles, "")


def _window_title(title: str, values: Mapping[str, Value], private: Collection[str]) -> str:
    """Return a title with parameters. Returns an empty string if it cannot be a pattern or has a value of an item."""
    if PATTERN & {*title}:
        return ""
    words = title_of_item(title, values).split(" ")
    pattern = without_other_values(" ".join("*" if _may_differ(word, values) else word for word in words))
    has_words = PLACEHOLDER.search(pattern) or any(map(str.isalpha, pattern))
    return pattern if has_words and not is_of_item(pattern, private) else ""


def _may_differ(word: str, values: Mapping[str, Value]) -> bool:
    """Return whether a word of a title has a digit, or is a part of an item's value, such as the name of its file."""
    if "{" in word:
        return False
    is_part = len(word) > SHORTEST and any(word.casefold() in str(value).casefold() for value in values.values())
    return is_part or any(map(str.isdigit, word))

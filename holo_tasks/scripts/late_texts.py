"""Find out that a program shows a typed text only after its step was counted as failed, as on a slow machine.

The text is then not typed again, which would be twice in the field or a second failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import Element
from holo_tasks.core.elements.typed_field import is_same, same_field_in
from holo_tasks.core.screen.geometry import Box
from holo_tasks.vision.screen_text import Sight, matches, on_row

NOT_TYPED = "Nothing changed on the screen."
"""Said of a step that typed a text which left no trace."""
SHORTEST = 4
"""Fewest characters of a text that is recognized on a picture."""
PAUSE_S = 1.0
"""Seconds that a program gets to show a typed text, before the text is typed again."""
WAIT_FOR_TEXT = "Wait for the typed text."


@dataclass
class LateTexts:
    """Compares the screen before a text was typed with later ones."""

    _before: Sight | None = None
    _awaited: int | None = None

    def is_missing(self, past: Sequence[Turn]) -> bool:
        """Return whether a text was typed and not seen yet."""
        return _missing(past) is not None

    def wait(self, past: Sequence[Turn]) -> dict[str, Any] | None:
        """Return a wait for a text that was typed and not seen, once for each typing; ``None`` otherwise."""
        place = _missing(past)
        if place is None or place == self._awaited:
            return None
        self._awaited = place
        return wait_call(WAIT_FOR_TEXT, PAUSE_S)

    def aim(self, sight: Sight, past: Sequence[Turn]) -> None:
        """Keep the screen on which a text is about to be typed, unless the same text was typed and not seen yet."""
        if _missing(past) is None:
            self._before = sight

    def without_failure(self, past: list[Turn], sight: Sight) -> list[Turn]:
        """Return the earlier steps, with the typing as done if the screen shows its text now."""
        place = _missing(past)
        if place is None or self._before is None:
            return past
        typed = past[place]
        if not _appeared(str(typed.call.get("content", "")), _clicked(past[:place], sight), self._before, sight):
            return past
        return [*past[:place], replace(typed, failed=False)]


def wait_call(thought: str, seconds: float) -> dict[str, Any]:
    """Return a step that waits."""
    return {"note": None, "thought": thought, "tool_call": {"tool_name": "wait", "seconds": seconds}}


def _missing(past: Sequence[Turn]) -> int | None:
    """Return the index of the last typing if it left no trace; ``None`` otherwise. A repetition may have been withheld.

    Waits do not count.
    """
    acted = [place for place, turn in enumerate(past) if turn.tool != "wait"]
    for number, place in enumerate(reversed(acted[-2:])):
        turn = past[place]
        if turn.failed and turn.told.endswith(NOT_TYPED):
            return place if number == 0 or past[acted[-1]].call == turn.call else None
        if not turn.failed:
            return None
    return None


def _clicked(past: Sequence[Turn], sight: Sight) -> Box | None:
    """Return the pixel of the click right before a typing."""
    acted = [turn for turn in past if turn.tool != "wait"]
    call = acted[-1].call if acted else {}
    if "x" not in call or "y" not in call:
        return None
    return Box(int(float(call["x"]) * sight.size.width / 1000), int(float(call["y"]) * sight.size.height / 1000), 1, 1)


def _appeared(text: str, place: Box | None, before: Sight, now: Sight) -> bool:
    """Return whether the focused field took the text, or an equal text is new at the height of the last click.

    Without a click, as in a sheet that was entered by keys, one more text on the whole screen has to be equal.
    """
    focused = None if now.elements is None else now.elements.focused()
    if focused is not None and focused.value:
        return focused.value == text and not _held(text, focused, before)
    if place is None:
        return _count(text, now) > _count(text, before)
    if len(text.strip()) < SHORTEST:
        return False
    return _shows(text, place, now) and not _shows(text, place, before)


def _held(text: str, field: Element, before: Sight) -> bool:
    """Return whether a field may have held the text before it was typed: it did, or it is not known."""
    if before.elements is None:
        return _shows(text, field.box, before)
    same = (each for each in before.elements.elements if is_same(field, each))
    was = next(same, None) or same_field_in(field, before.elements)
    return was is None or was.value == text


def _count(text: str, sight: Sight) -> int:
    """Return how many lines of a screen are a text. A short one has to be equal."""
    is_short = len(text.strip()) < SHORTEST
    return sum(line.text.strip() == text.strip() if is_short else matches(text, line.text) for line in sight.lines)


def _shows(text: str, place: Box, sight: Sight) -> bool:
    return any(on_row(line.box, place) and matches(text, line.text) for line in sight.lines)

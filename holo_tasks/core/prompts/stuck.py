"""Detect an agent that repeats itself: the same action, or the same few screens, several times in a row."""

from __future__ import annotations

from collections.abc import Sequence

from holo_tasks.core.prompts.tool_calls import WaitCall
from holo_tasks.core.prompts.transcript import Turn

SAME_ACTIONS = 4
LAPS = 3
LONGEST_LAP = 3


def stuck(turns: Sequence[Turn]) -> str:
    """Return a short reason why the last turns look stuck, or an empty string.

    Repeated waits do not count as stuck, because the program is busy.
    """
    last = turns[-SAME_ACTIONS:]
    if len(last) == SAME_ACTIONS and not isinstance(last[-1].step.tool_call, WaitCall):
        same = all(turn.step.tool_call == last[0].step.tool_call for turn in last)
        if same and all(turn.before.frame_digest == turn.after.frame_digest for turn in last):
            return f"the same action {SAME_ACTIONS} times, and nothing changed"
    for lap in range(2, LONGEST_LAP + 1):
        run = turns[-lap * LAPS :]
        if all(isinstance(turn.step.tool_call, WaitCall) for turn in run):
            continue
        if len(run) == lap * LAPS and all(_is_same_turn(run[n], run[n - lap]) for n in range(lap, len(run))):
            return f"the same {lap} screens and actions {LAPS} times over"
    return ""


def _is_same_turn(one: Turn, other: Turn) -> bool:
    return one.step.tool_call == other.step.tool_call and one.before.frame_digest == other.before.frame_digest

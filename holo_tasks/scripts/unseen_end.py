"""Look once more before an answer that no condition proves, because a slow program may show an error late.

The program also gets the time to do the last step, such as a save by a key. A run may close it right after the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.scripts.late_texts import wait_call
from holo_tasks.scripts.playbook import ListStep, Rule

PAUSE_S = 1.0
"""Seconds between the last step and the answer."""
LET_FINISH = "Let the program finish the last step."


class UnseenEnd:
    """Gives one wait before an answer whose rule has no condition on the screen."""

    def __init__(self) -> None:
        self._has_waited = False

    def wait(self, rule: Rule | None, last: Rule | None, past: Sequence[Turn]) -> dict[str, Any] | None:
        """Return a wait before the answer of a list of steps if neither its rule nor the ``last`` has a condition."""
        if rule is None or not isinstance(rule.do[0], ListStep) or rule.do[0].answer is None or rule.is_seen:
            return None
        if self._has_waited or not past or past[-1].tool == "wait":
            return None
        if last is not None and any(each.then for each in last.do):
            return None
        self._has_waited = True
        return wait_call(LET_FINISH, PAUSE_S)

"""Decides how long a screen that does not match yet is looked at again."""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core.screen.frame import Frame

REST_S = 4.0
"""Seconds for which a program must be at rest. A program that sleeps before it draws shows no sign of work."""
UNKNOWN_SCREEN_S = 8.0
"""Default of the longest wait after the last sign of work, for programs that are not seen to be at rest."""


@dataclass
class Rest:
    """The time since a program showed its last sign of work, counted from ``since_s``.

    Call `look_at` with each new frame. The wait is over ``limit_s`` after the last work on the input. It is over after
    `REST_S` if the desktop observes work, and the screen stayed the same for that time. Frames show work on an input
    only until the desktop's patience is over, so each wait ends.
    """

    limit_s: float
    since_s: float
    _worked_s: float = field(init=False)
    _moved_s: float = field(init=False)
    _observed: bool = False
    _digest: str = ""

    def __post_init__(self) -> None:
        self._worked_s = self._moved_s = self.since_s

    def look_at(self, frame: Frame, now_s: float) -> None:
        """Note the signs of work in a new frame."""
        if frame.activity.works:
            self._worked_s = self._moved_s = now_s
        if frame.hung or not frame.settled or self._digest not in ("", frame.digest):
            self._moved_s = now_s
        self._digest, self._observed = frame.digest, frame.activity.known

    def is_over(self, now_s: float) -> bool:
        """Return whether the screen is not looked at again."""
        return now_s - self._worked_s >= self.limit_s or (self._observed and now_s - self._moved_s >= REST_S)

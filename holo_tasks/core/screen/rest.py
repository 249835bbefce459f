"""Decides how long a screen that does not match yet is looked at again."""

from __future__ import annotations

from holo_tasks.core.screen.frame import Frame

UNKNOWN_SCREEN_S = 8.0
"""Default of the longest wait after the last sign of work."""
LEAST_LOOKS = 4
"""Fewest frames before a wait is over. On a busy machine each takes seconds."""


class Rest:
    """The time since a program showed its last sign of work, counted from ``since_s``.

    Call `look_at` with each new frame. The wait is over ``limit_s`` after the last work on the input. Frames show work
    on an input only until the desktop's patience is over, so each wait ends. The limit is not shortened for a program
    that is seen to be at rest, because a program with a timer sleeps before it draws. Without a limit of zero, at least
    `LEAST_LOOKS` frames are looked at.
    """

    def __init__(self, limit_s: float, since_s: float) -> None:
        self.limit_s = limit_s
        self._worked_s = since_s
        self._frame: Frame | None = None
        self._looks = 0

    def look_at(self, frame: Frame, now_s: float) -> None:
        """Note the signs of work in a new frame."""
        self._looks += frame is not self._frame
        self._frame = frame
        if frame.activity.works:
            self._worked_s = now_s

    def is_over(self, now_s: float) -> bool:
        """Return whether the screen is not looked at again."""
        looked = self._looks >= LEAST_LOOKS or not self.limit_s
        return looked and now_s - self._worked_s >= self.limit_s

"""Arrange windows for a playbook, and look at the screen again.

Windows of other programs, such as tips, go behind the program. A window that reaches beyond the screen comes into it.
"""

from __future__ import annotations

from holo_tasks.core import events
from holo_tasks.loop.walk import Walk

FOREIGN = "window of another program"
BEYOND = "edge of the screen"
"""Names of the interruptions in the trace."""


async def put_foreign_behind(walk: Walk, times: int, *, covering: bool) -> bool:
    """Put small windows of other programs behind the desktop's own if one is in the way; return whether one was.

    One that has the keyboard is in the way and, with ``covering``, one that lies over a program. Then the walk has a
    new screen. ``times`` is the number of this interruption for the trace.
    """
    arranges = walk.services.arranges
    if arranges is None or not await arranges.put_foreign_behind(covering=covering):
        return False
    await _look(walk, FOREIGN, times)
    return True


async def fit_window(walk: Walk, times: int) -> bool:
    """Bring the active window into the screen; return whether it reached beyond the edge.

    Then the walk has a new screen. ``times`` is the number of this interruption for the trace.
    """
    arranges = walk.services.arranges
    if arranges is None or not await arranges.fit_window():
        return False
    await _look(walk, BEYOND, times)
    return True


async def _look(walk: Walk, name: str, times: int) -> None:
    await walk.record(events.Interrupted(name=name, times=times))
    await walk.look()
    walk.show()

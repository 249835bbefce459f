"""Put windows of other programs, such as tips, behind the program that is automated, and look at the screen again."""

from __future__ import annotations

from holo_tasks.core import events
from holo_tasks.loop.walk import Walk

FOREIGN = "window of another program"
"""Name of the interruption in the trace."""


async def put_foreign_behind(walk: Walk, times: int, *, covering: bool) -> bool:
    """Put small windows of other programs behind the desktop's own if one is in the way; return whether one was.

    One that has the keyboard is in the way and, with ``covering``, one that lies over a program. Then the walk has a
    new screen. ``times`` is the number of this interruption for the trace.
    """
    in_front = walk.services.in_front
    if in_front is None or not await in_front.put_foreign_behind(covering=covering):
        return False
    await walk.record(events.Interrupted(name=FOREIGN, times=times))
    await walk.look()
    walk.show()
    return True

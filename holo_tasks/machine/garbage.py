"""How often a process looks for garbage."""

from __future__ import annotations

import gc

EVERY, OLDER, OLDEST = 50_000, 30, 100
"""So many objects more than there were; every so many of such looks at what was left then, and at all there is."""


def collect_seldom() -> None:
    """Look for garbage less often than Python does by itself, which looks hundreds of times while libraries load.

    Nothing of what is loaded is garbage, and looking through it takes a fifth of the time. It costs no memory to speak
    of: most of what is left over goes without being looked for.
    """
    gc.set_threshold(EVERY, OLDER, OLDEST)

"""Decide when a screen has settled, from times alone, without a clock or a display.

`judge` is the main function; `settled_screen` calls it. `Settle` holds the limits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from itertools import pairwise

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.activity import PATIENCE_S
from holo_tasks.core.screen.geometry import Box, Size

# A caret or a small spinner: at least BLINKS repaints, BLINK_GAP_NS apart and over BLINK_SPAN_NS, all inside one area
# of at most a BLINK_PART-th of the screen.
BLINKS = 5
BLINK_GAP_NS = 10_000_000
BLINK_SPAN_NS = 200_000_000
BLINK_PART = 64


@dataclass(frozen=True, slots=True)
class Settle:
    """Limits in seconds for waiting until a screen has settled.

    A screen has settled when nothing was repainted for ``quiet_s`` and no work on the last input is in flight. After a
    gesture the first repaint is awaited for ``first_change_s``. A screen that never settles is captured ``cap_s`` after
    the wait began or the program answered, or a quarter of ``cap_s`` after work in flight ended: at the latest of
    these.

    Work in flight, such as a request without an answer, is awaited for at most ``patience_s`` after the gesture. A
    program that is too busy to answer its window manager gets the same time. Some old programs (xterm, Motif) answer no
    pings: after a gesture their screen must be quiet for ``unasked_quiet_s``.

    If all programs are known to sleep until after the capture, the screen is captured as soon as they have slept for
    ``asleep_s``.
    """

    quiet_s: float = 0.05
    unasked_quiet_s: float = 0.15
    first_change_s: float = 0.3
    cap_s: float = 2.0
    patience_s: float = PATIENCE_S
    asleep_s: float = 0.01
    busy_cap_s: InitVar[float | None] = None

    def __post_init__(self, busy_cap_s: float | None) -> None:
        if busy_cap_s is not None:
            warnings.warn("busy_cap_s is deprecated: use patience_s", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "patience_s", busy_cap_s)
        for name in ("quiet_s", "unasked_quiet_s", "first_change_s", "cap_s", "patience_s", "asleep_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InvalidUsage(f"{name} is a number of seconds from 0 up, not {value!r}")


@dataclass(frozen=True, slots=True)
class Repaint:
    """An area that was repainted, and the time (monotonic nanoseconds)."""

    at_ns: int
    box: Box


@dataclass(frozen=True, slots=True)
class ScreenTimes:
    """The facts on which `judge` decides; times are monotonic nanoseconds.

    ``acted_ns`` is the time of the last input event whose effect is awaited. ``was_pinged`` is true if the program was
    pinged after it, and ``answered_ns`` is the time of the answer. ``worked_until_ns`` is the end of the last work in
    flight that was awaited, zero without such work. ``repaints`` holds the latest repaints, oldest first.
    ``asleep_ns`` is the time since which all programs are known to sleep. ``until_ns`` is the time at which the first
    program may wake by itself.
    """

    now_ns: int
    began_ns: int
    size: Size
    repaints: Sequence[Repaint] = ()
    acted_ns: int | None = None
    was_pinged: bool = False
    answered_ns: int | None = None
    worked_until_ns: int = 0
    asleep_ns: int | None = None
    until_ns: float = 0

    @property
    def busy_until_ns(self) -> int:
        """Return the time until which the program was busy, by its answer or the end of its work; zero if unknown."""
        return max(self.answered_ns or 0, self.worked_until_ns)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of `judge`: capture now (``ready``), or judge again after ``wait_ns`` or at the next repaint."""

    ready: bool
    settled: bool = True
    wait_ns: int = 0
    last_repaint_ns: int | None = None


def judge(settle: Settle, seen: ScreenTimes) -> Verdict:
    """Decide whether to capture the screen now, and whether it has settled."""
    quiet, first, cap, patience = (
        round(seconds * 1e9) for seconds in (settle.quiet_s, settle.first_change_s, settle.cap_s, settle.patience_s)
    )
    if seen.acted_ns is not None and not seen.was_pinged:
        quiet = max(quiet, round(settle.unasked_quiet_s * 1e9))
    now = seen.now_ns
    since = max(seen.acted_ns or 0, seen.busy_until_ns)
    restless = blinking_area(seen.repaints, since_ns=since, size=seen.size)
    counted = [
        repaint.at_ns
        for repaint in seen.repaints
        if repaint.at_ns >= (seen.acted_ns or 0) and not (restless and restless.encloses(repaint.box))
    ]
    last = counted[-1] if counted else None

    if seen.was_pinged and seen.answered_ns is None:
        # The program has not returned to its event loop, so its repaints are still to come.
        left = seen.began_ns + patience - now
        return Verdict(left <= 0, settled=False, wait_ns=max(left, 0), last_repaint_ns=last)

    left = 0
    if last is not None:
        left = last + quiet - now
    elif seen.acted_ns is not None:
        left = seen.acted_ns + first - now
    if seen.busy_until_ns:
        # Toolkits draw when idle, which comes after the answer.
        left = max(left, seen.busy_until_ns + quiet - now)
    if seen.asleep_ns is not None and now + left <= seen.until_ns:
        # No program can draw before that time, so a later picture would be the same.
        since = max(since, last or 0, seen.asleep_ns)
        left = min(left, since + round(settle.asleep_s * 1e9) - now)
    if left <= 0:
        return Verdict(True, last_repaint_ns=last)
    ends = (seen.began_ns + cap, (seen.answered_ns or 0) + cap, seen.worked_until_ns + cap // 4)
    cap_left = max(ends) - now
    if cap_left <= 0:
        return Verdict(True, settled=False, last_repaint_ns=last)
    return Verdict(False, wait_ns=min(left, cap_left), last_repaint_ns=last)


def blinking_area(repaints: Sequence[Repaint], *, since_ns: int, size: Size) -> Box | None:
    """Return the small area that keeps repainting itself, or ``None``.

    Only repaints from ``since_ns`` on count, because earlier ones may be effects of the last gesture. The latest ones
    decide, so that a window drawn a while ago does not hide a caret.
    """
    area: Box | None = None
    bursts: list[int] = []
    for repaint in reversed(repaints):
        if repaint.at_ns < since_ns:
            break
        grown = repaint.box if area is None else Box.around((area, repaint.box))
        if grown.width * grown.height * BLINK_PART > size.width * size.height:
            break
        area = grown
        bursts.append(repaint.at_ns)
    apart = 1 + sum(later - earlier >= BLINK_GAP_NS for later, earlier in pairwise(bursts))
    if area is None or apart < BLINKS or bursts[0] - bursts[-1] < BLINK_SPAN_NS:
        return None
    return area

"""Waits until a screen has settled, then takes a picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.activity import UNKNOWN, Activity
from holo_tasks.core.screen.frame import OnScreen
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop.capture.liveness_ping import Ping, Pinger
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.capture.screen import Picture, Screen
from holo_tasks.desktop.capture.settle import ScreenTimes, Settle, Verdict, judge
from holo_tasks.desktop.programs.sleeping_clients import SleepInterval
from holo_tasks.desktop.readiness.work_in_flight import PendingWork, WorkInFlight
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11.stacking import Stacked, windows_between

LONGEST_NAP_NS = 50_000_000
WORK_NAP_NS = 25_000_000
"""Nanoseconds between two checks whether work is still in flight."""
FIRST_NAP_NS = 2_000_000
"""Nanoseconds between the first two checks whether all clients sleep. It doubles each time, so that a busy program is
not polled all the time.
"""


@dataclass(frozen=True, slots=True)
class TakenPicture:
    """A picture, and how it was taken. Times are in nanoseconds, as in `Frame`."""

    picture: Picture
    settled: bool
    hung: bool
    taken_at_ns: int
    settle_ns: int
    quiet_ns: int
    capture_ns: int
    windows: tuple[OnScreen, ...] | None
    activity: Activity = UNKNOWN

    def to_message(self) -> dict[str, Any]:
        """Return all but the pixels, as the host sends it."""
        return {
            "size": asdict(self.picture.size),
            "settled": self.settled,
            "hung": self.hung,
            "taken_at_ns": self.taken_at_ns,
            "settle_ns": self.settle_ns,
            "quiet_ns": self.quiet_ns,
            "capture_ns": self.capture_ns,
            "windows": None if self.windows is None else [asdict(window) for window in self.windows],
            "activity": asdict(self.activity),
        }


class SettledScreen:
    """Takes pictures of one screen, and remembers the last input to it."""

    def __init__(
        self,
        screen: Screen,
        repaints: Repaints,
        pulse: Pinger,
        settle: Settle,
        interrupt: Interrupt,
        windows: Callable[[], Stacked],
        asleep: Callable[[], SleepInterval | None] = lambda: None,
        work: WorkInFlight | None = None,
        unseen: Sequence[str] = (),
        repeats: Callable[[], Sequence[Box]] = tuple,
        note_runs: Callable[[], None] = lambda: None,
    ) -> None:
        """``work`` detects work in flight.

        It is ``None`` if work cannot be detected, and ``unseen`` then gives the reasons.

        ``repeats`` returns the areas that repaint at a pace of their own, independently of the agent. ``note_runs``
        records before an input which threads have run, for the next call of ``asleep``.
        """
        self._screen = screen
        self._windows = windows
        self._asleep = asleep
        self._repaints = repaints
        self._pulse = pulse
        self._settle = settle
        self._interrupt = interrupt
        self._acted_ns: int | None = None
        self._ping: Ping | None = None
        self._sees_sleep, self._awake, self._nap_ns = True, False, FIRST_NAP_NS
        self._work = work
        self._unseen = tuple(unseen)
        self._repeats, self._note_runs = repeats, note_runs
        self._input_ns: int | None = None
        self._wait: PendingWork | None = None
        self._wait_began_ns = 0
        self._waited_ns = 0

    def acts(self, at: Point | None) -> None:
        """Record the state before an input at a point, or of keys: which threads ran, and which work is in flight."""
        self._note_runs()
        self._begin_work(at, starting=False)

    def starts(self) -> None:
        """Record that a program is starting."""
        self._begin_work(None, starting=True)

    def _begin_work(self, at: Point | None, *, starting: bool) -> None:
        self._input_ns = time.monotonic_ns()
        if self._work is not None:
            self._work.begin(at, starting=starting)

    def acted(self, at_ns: int | None) -> None:
        """Record when the last input event was sent, and ask the program to answer when it has processed it.

        ``None`` says that the last gesture sent no event, so that no change is awaited.
        """
        self._acted_ns = at_ns
        self._ping = self._pulse.ask() if at_ns is not None else None

    def drawn(self, since_ns: int) -> list[Box]:
        """Return the areas that were repainted since a time, even if they look as before."""
        return [repaint.box for repaint in self._repaints.latest() if repaint.at_ns >= since_ns]

    def program_started(self) -> None:
        """Record that a program has just started, and ask it to answer when it has drawn its window."""
        self._acted_ns, self._ping = None, self._pulse.ask()

    def look(
        self,
        *,
        after_action: bool,
        windows: bool = False,
        first: Callable[[], None] | None = None,
        asks: Callable[[], None] = lambda: None,
    ) -> TakenPicture:
        """Wait as `Settle` says, then take a picture. With ``windows``, list the windows in it.

        ``first`` is called right before each picture. ``asks`` sends queries to programs. Queries wake the programs, so
        they are sent after the screen has settled, unless nothing shows which clients sleep.
        """
        began = time.monotonic_ns()
        acted = self._acted_ns if after_action else None
        self._wait, self._waited_ns = None, 0
        self._sees_sleep, self._awake, self._nap_ns = self._repaints.exact, False, FIRST_NAP_NS
        while True:
            verdict = self._await_rest(began, acted, asks)
            asks()
            before = self._windows() if windows else {}
            if first is not None:
                first()
            at = time.monotonic_ns()
            picture = self._screen.take()
            took = time.monotonic_ns() - at
            # The windows are read before and after the picture, so that a window that moves meanwhile is in the list.
            shown = windows_between(before, self._windows()) if windows else None
            self._repaints.compare()
            self._repaints.catch_up()
            # Repeated if the screen was drawn on meanwhile: then the picture does not show a settled screen. Whether
            # the clients sleep matters only then, and takes longest to find out.
            if not verdict.settled or self._by_times(began, acted)[1].last_repaint_ns == verdict.last_repaint_ns:
                break
            after = self._judge(began, acted)
            if not after.wait_ns or after.last_repaint_ns == verdict.last_repaint_ns:
                break
        if self._work is not None:
            self._work.looked(gave_up=self._wait)
        quiet = at - verdict.last_repaint_ns if verdict.last_repaint_ns is not None else 0
        hung = not verdict.settled and self._ping is not None and self._pulse.answered(self._ping) is None
        activity = self._activity()
        return TakenPicture(
            picture, verdict.settled, hung, time.time_ns(), at - began, max(quiet, 0), took, shown, activity
        )

    def _activity(self) -> Activity:
        work, wait = self._work, self._wait
        if work is None or self._input_ns is None:
            return Activity(unseen=self._unseen)
        since, steady = self._input_ns, self._repeats()
        drawn = any(not any(box.encloses(each) for box in steady) for each in self.drawn(since))
        return Activity(
            known=self._repaints.exact and not work.unseen,
            sent=work.sent,
            computed=work.computed,
            repainted=drawn,
            waiting_for=wait.kind if wait else "",
            detail=wait.detail if wait else "",
            waited_ns=self._waited_ns,
            unseen=tuple(f"{sign}: {why}" for sign, why in sorted(work.unseen.items())),
        )

    def _awaits_work(self) -> bool:
        """Return whether to wait for work in flight although the screen has settled."""
        work, began, before = self._work, time.monotonic_ns(), self._wait
        if work is None or self._input_ns is None:
            return False
        if before is not None:
            self._waited_ns += began - self._wait_began_ns
        self._wait_began_ns = began
        if began - self._input_ns >= round(self._settle.patience_s * 1e9):
            if before is None:
                work.sample()
            return False  # `_wait` keeps the work that was awaited last, for the report
        self._wait = work.waits_for(self._settle.patience_s)
        # The end of work is followed by a wait for repaints, as an input is: `judge` counts from that end.
        return before is not None or self._wait is not None

    def _by_times(self, began: int, acted: int | None) -> tuple[ScreenTimes, Verdict]:
        """Decide by the times of repaints and answers whether the screen is ready; return these times, too."""
        ping = self._ping
        seen = ScreenTimes(
            now_ns=time.monotonic_ns(),
            began_ns=began,
            size=self._screen.size,
            repaints=self._repaints.latest(),
            acted_ns=acted,
            was_pinged=ping is not None,
            answered_ns=self._pulse.answered(ping) if ping else None,
            worked_until_ns=self._work.ended_ns if self._work is not None else 0,
        )
        return seen, judge(self._settle, seen)

    def _judge(self, began: int, acted: int | None) -> Verdict:
        """Decide whether the screen is ready.

        If no program is known to be busy, also check whether all clients sleep.
        """
        seen, verdict = self._by_times(began, acted)
        if verdict.ready or (seen.was_pinged and seen.answered_ns is None) or not self._sees_sleep:
            return verdict
        asleep = self._asleep()
        self._sees_sleep, self._awake = asleep is not None, asleep is not None and not asleep.until_ns
        if asleep is None:
            return verdict
        now = time.monotonic_ns()
        seen = replace(
            seen, now_ns=now, repaints=self._repaints.latest(), asleep_ns=asleep.since_ns, until_ns=asleep.until_ns
        )
        return judge(self._settle, seen)

    def _await_rest(self, began: int, acted: int | None, asks: Callable[[], None]) -> Verdict:
        self._repaints.compare()
        asked = not self._repaints.exact
        while True:
            self._interrupt.check()
            if self._repaints.gone:
                raise DesktopFailed("The X server has ended: start the desktop again.")
            verdict = self._judge(began, acted)
            ping = self._ping
            busy = ping is not None and self._pulse.answered(ping) is None
            if verdict.ready:
                if busy and ping is not None:
                    self._pulse.give_up(ping)
                if busy or not self._awaits_work():
                    return verdict
                if not asked:
                    asks()
                    asked = True
                self._repaints.wait(WORK_NAP_NS)
                continue
            if not (asked or busy or self._sees_sleep or verdict.last_repaint_ns is None):
                asks()
                asked = True
                continue  # that took a moment
            # During the quiet time a repaint only delays the end, so it need not wake this thread. A window may close
            # instead of answering, which only a request shows.
            nap = min(verdict.wait_ns, LONGEST_NAP_NS)
            if self._awake and not busy:
                nap, self._nap_ns = min(nap, self._nap_ns), 2 * self._nap_ns
            self._repaints.wait(
                nap,
                repaint=verdict.last_repaint_ns is None,
                serial=ping.serial if busy and ping else None,
            )

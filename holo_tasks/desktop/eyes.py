"""Waits until a screen has come to rest, then takes its picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.frame import OnScreen
from holo_tasks.core.geometry import Box
from holo_tasks.desktop.interrupt import Interrupt
from holo_tasks.desktop.liveness_ping import Ping, Pulse
from holo_tasks.desktop.repaints import Repaints
from holo_tasks.desktop.screen import Picture, Screen
from holo_tasks.desktop.settle import Settle, Situation, Verdict, judge
from holo_tasks.desktop.sleeping_clients import Asleep
from holo_tasks.desktop.stacking import Stacked, between

LONGEST_NAP_NS = 50_000_000
FIRST_NAP_NS = 2_000_000
"""Between two looks whether all sleep, doubled each time: who keeps working is not asked over and over."""


@dataclass(frozen=True, slots=True)
class Look:
    """A picture, and how it came about; times in nanoseconds as in `Frame`."""

    picture: Picture
    settled: bool
    hung: bool
    taken_at_ns: int
    settle_ns: int
    quiet_ns: int
    capture_ns: int
    windows: tuple[OnScreen, ...] | None


class Eyes:
    """Looks at one screen, and remembers when hands last touched it."""

    def __init__(
        self,
        screen: Screen,
        repaints: Repaints,
        pulse: Pulse,
        settle: Settle,
        interrupt: Interrupt,
        windows: Callable[[], Stacked],
        asleep: Callable[[], Asleep | None] = lambda: None,
    ) -> None:
        self._screen = screen
        self._windows = windows
        self._asleep = asleep
        self._repaints = repaints
        self._pulse = pulse
        self._settle = settle
        self._interrupt = interrupt
        self._acted_ns: int | None = None
        self._ping: Ping | None = None
        self._telling, self._awake, self._nap_ns = True, False, FIRST_NAP_NS

    def acts(self) -> None:
        """Note who sleeps before hands wake them: how long they sleep is counted from then on."""
        self._asleep()

    def acted(self, at_ns: int | None) -> None:
        """Note when the last input event was sent, and ask the program to say when it is done with it.

        None says that the last gesture sent no event, so no change is to be awaited.
        """
        self._acted_ns = at_ns
        self._ping = self._pulse.ask() if at_ns is not None else None

    def drawn(self, since_ns: int) -> list[Box]:
        """Return what was repainted since a time, also where the same is drawn as before."""
        return [repaint.box for repaint in self._repaints.latest() if repaint.at_ns >= since_ns]

    def met(self) -> None:
        """Note that a program has just come up, and ask it to say when it has drawn itself."""
        self._acted_ns, self._ping = None, self._pulse.ask()

    def look(
        self,
        *,
        after_action: bool,
        windows: bool = False,
        first: Callable[[], None] | None = None,
        asks: Callable[[], None] = lambda: None,
    ) -> Look:
        """Wait as `Settle` says, then take the picture; with ``windows``, say which are in it.

        ``first`` is called right before the picture is taken, each time it is. ``asks`` is for what programs are asked
        meanwhile: that keeps them from sleeping, so rest is waited for first unless nobody can tell who sleeps.
        """
        began = time.monotonic_ns()
        acted = self._acted_ns if after_action else None
        self._telling, self._awake, self._nap_ns = self._repaints.exact, False, FIRST_NAP_NS
        while True:
            verdict = self._await_rest(began, acted, asks)
            asks()
            before = self._windows() if windows else {}
            if first is not None:
                first()
            at = time.monotonic_ns()
            picture = self._screen.take()
            took = time.monotonic_ns() - at
            # Looked at on either side of the picture: a window that moves as it is taken is known wherever it was.
            shown = between(before, self._windows()) if windows else None
            self._repaints.compare()
            after = self._judge(began, acted)
            # Drawn on while it was taken: not yet the picture of a screen at rest.
            if not (verdict.settled and after.wait_ns) or after.last_repaint_ns == verdict.last_repaint_ns:
                break
        quiet = at - verdict.last_repaint_ns if verdict.last_repaint_ns is not None else 0
        hung = not verdict.settled and self._ping is not None and self._pulse.answered(self._ping) is None
        return Look(picture, verdict.settled, hung, time.time_ns(), at - began, max(quiet, 0), took, shown)

    def _judge(self, began: int, acted: int | None) -> Verdict:
        """Decide whether the screen is ready; if nobody is known to be busy, also by whether all sleep."""
        ping = self._ping
        seen = Situation(
            now_ns=time.monotonic_ns(),
            began_ns=began,
            size=self._screen.size,
            repaints=self._repaints.latest(),
            acted_ns=acted,
            asked=ping is not None,
            answered_ns=self._pulse.answered(ping) if ping else None,
        )
        verdict = judge(self._settle, seen)
        if verdict.ready or (seen.asked and seen.answered_ns is None) or not self._telling:
            return verdict
        asleep = self._asleep()
        self._telling, self._awake = asleep is not None, asleep is not None and not asleep.until_ns
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
                raise DesktopFailed("The X server is gone: start the desktop again.")
            verdict = self._judge(began, acted)
            ping = self._ping
            busy = ping is not None and self._pulse.answered(ping) is None
            if verdict.ready:
                if busy and ping is not None:
                    self._pulse.give_up(ping)
                return verdict
            if not (asked or busy or self._telling or verdict.last_repaint_ns is None):
                asks()
                asked = True
                continue  # that took a moment
            # While quiet is being counted a repaint only puts the end off: no need to wake up for
            # it. A window may close instead of answering, which is seen only by asking.
            nap = min(verdict.wait_ns, LONGEST_NAP_NS)
            if self._awake and not busy:
                nap, self._nap_ns = min(nap, self._nap_ns), 2 * self._nap_ns
            self._repaints.wait(
                nap,
                repaint=verdict.last_repaint_ns is None,
                serial=ping.serial if busy and ping else None,
            )

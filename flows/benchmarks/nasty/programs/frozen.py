"""A window that freezes: its main loop stops, so it repaints nothing and answers no _NET_WM_PING.

Clicks made meanwhile arrive when it thaws, at the form that is still there. It freezes once: started again with the
same store it works.
"""

from __future__ import annotations

import math
import time

from benchmarks.nasty.programs.common import Cashbook
from benchmarks.nasty.programs.seeds import Entry


class Frozen(Cashbook):
    title = "Cedar Cashbook"

    def open_form(self) -> None:
        super().open_form()
        if self.plan.variant == "blink":
            self.later(0.05, self._freeze, min(self.plan.delay_s, 1.0))

    def submit(self, entry: Entry) -> None:
        variant = self.plan.variant
        if variant == "blink" or "froze" in self.store.notes():
            super().submit(entry)
            return
        seconds = math.inf if "for ever" in variant else self.plan.delay_s
        if variant in ("after filing", "for ever, filed"):
            number = self.store.submit(entry)
            self._freeze(seconds)
        else:
            self._freeze(seconds)
            number = self.store.submit(entry)
        # Let the queued clicks reach the form before it closes.
        self.later(0.05, self.confirm, entry, number)

    def _freeze(self, seconds: float) -> None:
        self.store.note("froze")
        self.write_state(busy=True)
        while seconds > 0:
            time.sleep(min(seconds, 3600))
            seconds -= 3600
        self.note_state()

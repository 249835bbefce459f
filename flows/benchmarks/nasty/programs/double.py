"""A submit button that shows nothing for some seconds and takes a second click as a second submission.

A guarded one takes no entry twice, also not from who clicks again, lands on the confirmation and starts all over.
"""

from __future__ import annotations

from benchmarks.nasty.programs.common import Cashbook
from benchmarks.nasty.programs.seeds import Entry


class Double(Cashbook):
    title = "Birch Cashbook"
    _submitting = False
    _number = 0  # of the entry's submission

    def open_form(self) -> None:
        self._submitting = False
        super().open_form()

    def submit(self, entry: Entry) -> None:
        guarded = self.plan.variant == "guarded"
        if self._submitting and guarded:
            return
        self._submitting = True
        self.put_off()
        if not (guarded and self._number):
            self._number = self.store.submit(entry)
        self.later(self.plan.delay_s, self.confirm, entry, self._number)

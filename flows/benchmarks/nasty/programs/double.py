"""A submit button that shows no reaction for some seconds, and counts a second click as a second submission.

A guarded one accepts no entry twice, even if the user clicks again, lands on the confirmation and starts over.
"""

from __future__ import annotations

from benchmarks.nasty.programs.common import Cashbook
from benchmarks.nasty.programs.seeds import Entry


class Double(Cashbook):
    title = "Birch Cashbook"
    _submitting = False
    _number = 0  # number of the entry's submission

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

"""A submit button that shows nothing for some seconds and takes a second click as a second submission."""

from __future__ import annotations

from nasty_common import Cashbook
from nasty_seeds import Entry


class Double(Cashbook):
    title = "Birch Cashbook"
    _submitting = False

    def open_form(self) -> None:
        self._submitting = False
        super().open_form()

    def submit(self, entry: Entry) -> None:
        if self._submitting and self.plan.variant == "guarded":
            return
        self._submitting = True
        self.put_off()
        self.later(self.plan.delay_s, self.confirm, entry, self.store.submit(entry))

"""Hold the values of secrets in the process that owns the keyboard. `SecretStore` is the main class."""

from __future__ import annotations

import time
from collections.abc import Mapping

from holo_tasks.core.secrets.codes import Codes
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret, by_name, parts_of


class SecretStore:
    """The secrets of one desktop: it fills in ``{{secret:NAME}}`` and removes the values from other texts."""

    def __init__(self, secrets: Mapping[str, Secret | str]) -> None:
        self._secrets = by_name(secrets)
        self._codes = Codes(self._secrets.values(), time.time)
        self._scrubber = Scrubber(self._secrets.values(), self._codes)

    def __repr__(self) -> str:
        return f"SecretStore({sorted(self._secrets)})"

    @property
    def any(self) -> bool:
        """Return whether the store has any secret."""
        return bool(self._secrets)

    def parts(self, text: str) -> list[str | Secret]:
        """Split a text into plain parts and secrets, in order. Raises `InvalidUsage` for an unknown name."""
        return list(parts_of(text, self._secrets))

    def held_in(self, text: str) -> list[Secret]:
        """Return the secrets whose values are in a text, in any spelling that the scrubber finds."""
        if not self._scrubber.may_hold(text):
            return []
        return [secret for secret in self._secrets.values() if self._scrubber_of(secret).holds(text)]

    def _scrubber_of(self, secret: Secret) -> Scrubber:
        return Scrubber([secret], Codes([secret], time.time))

    def typed(self) -> None:
        """Keep the one-time codes of this moment hidden for good, because one was just typed."""
        self._codes.keep()

    def hide(self, text: str) -> str:
        """Return the text with every value replaced by its name."""
        return self._scrubber.text(text)

"""Secret values, known only to the process that owns the keyboard."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holo_tasks.core.errors import InvalidUsage

PLACEHOLDER = re.compile(r"\{\{secret:([^{}]*)\}\}")


class Vault:
    """Puts values in place of ``{{secret:NAME}}`` and keeps them out of everything else."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __repr__(self) -> str:
        return f"Vault({sorted(self._values)})"

    def fill(self, text: str) -> str:
        """Return the text with the values put in."""

        def value(found: re.Match[str]) -> str:
            name = found[1].strip()
            if name not in self._values:
                known = ", ".join(sorted(self._values)) or "none"
                raise InvalidUsage(f"There is no secret called {name!r}: this desktop was given {known}.")
            return self._values[name]

        if len(PLACEHOLDER.findall(text)) != text.count("{{secret:"):
            raise InvalidUsage("A secret is written {{secret:NAME}}: one in this text is cut off.")
        return PLACEHOLDER.sub(value, text)

    def hide(self, text: str) -> str:
        """Return the text with every value painted over."""
        for value in sorted(self._values.values(), key=len, reverse=True):
            if value:
                text = text.replace(value, "•••")
        return text

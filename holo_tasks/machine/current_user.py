"""Who uses the command line."""

from __future__ import annotations

import getpass


def whoever() -> str:
    """Return the name of the user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"

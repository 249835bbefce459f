"""The user name of this process."""

from __future__ import annotations

import getpass


def user_name() -> str:
    """Return the user name, or "somebody" if it is unknown."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"

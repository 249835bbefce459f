"""Menu entries of the test programs with menus, for every toolkit: commands with and without a shortcut."""

import sys
from pathlib import Path

MENUS = {
    "File": {"New report": "Ctrl+N", "Print invoice": "Ctrl+P", "Archive year": ""},
    "Entries": {"Reverse booking": "Ctrl+R", "Split amount": "", "Attach receipt": "Ctrl+T"},
    "Ledger": {"Check balance": "F9", "Close month": "", "Send reminder": "Ctrl+M"},
}
"""Entries by menu, each with its shortcut."""
BUTTON = "Refresh all"
"""The button in the window itself."""
FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def done(what: str) -> None:
    """Append a performed command to the file."""
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")

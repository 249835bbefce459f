"""What the programs with menus have in them, of whatever toolkit: commands with and without a shortcut."""

import sys
from pathlib import Path

MENUS = {
    "File": {"New report": "Ctrl+N", "Print invoice": "Ctrl+P", "Archive year": ""},
    "Entries": {"Reverse booking": "Ctrl+R", "Split amount": "", "Attach receipt": "Ctrl+T"},
    "Ledger": {"Check balance": "F9", "Close month": "", "Send reminder": "Ctrl+M"},
}
"""By menu, what is in it and the keys that do it."""
BUTTON = "Refresh all"
"""What is on the window itself."""
FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def done(what: str) -> None:
    """Write down that a command was given."""
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")

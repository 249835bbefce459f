"""Puts a borrowed X server right after its host was killed: `python -m holo_tasks.desktop.mend :7 KEY...`."""

from __future__ import annotations

import sys

from holo_tasks.desktop.keyboard import let_go, let_go_of_buttons, restore
from holo_tasks.desktop.xlink import XLink


def main() -> None:
    """Release what is pressed and make the lent keys produce nothing again."""
    display, *keys = sys.argv[1:]
    link = XLink(display)
    let_go(link)
    let_go_of_buttons(link)
    restore(link, map(int, keys))


if __name__ == "__main__":
    main()

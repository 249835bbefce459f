"""Puts a borrowed X server right after its host was killed: `python -m holo_tasks.desktop.mend :7 KEY...`."""

from __future__ import annotations

import sys

import xcffib.xtest

from holo_tasks.desktop.keyboard import RELEASE_BUTTON, let_go, restore
from holo_tasks.desktop.xlink import XLink


def main() -> None:
    """Release what is pressed and make the lent keys produce nothing again."""
    display, *keys = sys.argv[1:]
    link = XLink(display)
    let_go(link)
    test = link.conn(xcffib.xtest.key)
    held = link.conn.core.QueryPointer(link.root).reply().mask
    for button in range(1, 6):
        if held >> (7 + button) & 1:
            test.FakeInput(RELEASE_BUTTON, button, 0, 0, 0, 0, 0)
    restore(link, map(int, keys))


if __name__ == "__main__":
    main()

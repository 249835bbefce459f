"""Puts a borrowed X server right when its host is no more: `python -m holo_tasks.desktop.restore_keymap :7`.

It is started with the host and waits, in a session of its own, for the end of a pipe that the host alone holds open: so
it knows of any end, also when the process that uses the desktop ends in the same moment. The host writes there which
keys it may lend, and ``done`` once it has put all right itself.
"""

from __future__ import annotations

import signal
import sys
import time

from holo_tasks.machine.closed import close_process

LENDS, DONE = "lends", "done"
LONGEST_S = 3600
"""An X server that is frozen may go on; nobody waits for it longer than this."""
TIMES, PAUSE_S = 3, 0.1
"""What a process sent before it was killed may be carried out after what others sent since."""


def main() -> None:
    """Release what is pressed, and make the lent keys produce nothing again."""
    close_process()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # who ends the others so needs this one
    told = sys.stdin.read().split()
    if told[:1] != [LENDS] or told[-1] == DONE:
        return
    signal.alarm(LONGEST_S)
    from holo_tasks.desktop.keyboard import let_go, let_go_of_buttons, restore
    from holo_tasks.desktop.xlink import XLink

    link = XLink(sys.argv[1])
    for _ in range(TIMES):
        let_go(link)
        let_go_of_buttons(link)
        restore(link, map(int, told[1:]))
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()

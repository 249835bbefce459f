"""Restore a borrowed X server when its host has ended: `python -m holo_tasks.desktop.session.restore_keymap :7`.

This process starts with the host and runs in a session of its own. It waits for the end of a pipe that only the host
holds open. So it notices any end of the host, even if the process that uses the desktop ends at the same moment. The
host writes to the pipe the keys that it may remap, and ``done`` once it has restored everything itself.
"""

from __future__ import annotations

import signal
import sys
import time

from holo_tasks.machine.process_protection import close_process

LENDS, DONE = "lends", "done"
LONGEST_S = 3600
"""Longest time in seconds to wait for a frozen X server, which may go on again."""
TIMES, PAUSE_S = 3, 0.1
"""Repetitions and their pause: an X server may process a killed client's requests after later ones of other clients."""


def main() -> None:
    """Release pressed keys and buttons, and make the remapped keys produce nothing again."""
    close_process()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # these signals end the other processes, whose work is restored here
    words = sys.stdin.read().split()
    if words[:1] != [LENDS] or words[-1] == DONE:
        return
    signal.alarm(LONGEST_S)
    from holo_tasks.desktop.input.keyboard import let_go, let_go_of_buttons, restore
    from holo_tasks.desktop.x11.x_connection import XConnection

    link = XConnection(sys.argv[1])
    for _ in range(TIMES):
        let_go(link)
        let_go_of_buttons(link)
        restore(link, map(int, words[1:]))
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()

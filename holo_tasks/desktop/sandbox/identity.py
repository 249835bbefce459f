"""Who a closed program is: its user, as outside, with no right over anything but what is its own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_USER = 0x10000000
"""CLONE_NEWUSER of <linux/sched.h>."""
ANYBODY = ("--unshare-user", "--cap-drop", "ALL")
ROOT = ("--cap-drop", "ALL", "--cap-add", "CAP_SETGID")
"""Of root's rights the one that lets it leave groups: many a program of root's ends if it cannot."""


def root_alone() -> int:
    """Return a descriptor of a user namespace in which there is root and nobody else. Raises `OSError`.

    In one of bubblewrap's making no process can leave a group, which xterm, for example, insists on if it is root's.
    """
    ready, tell = os.pipe()
    held, go = os.pipe()
    child = os.fork()
    if not child:
        failed = ctypes.CDLL(None, use_errno=True).unshare(NEW_USER)
        os.write(tell, bytes([ctypes.get_errno() if failed else 0]))
        os.read(held, 1)
        os._exit(0)
    try:
        if number := os.read(ready, 1)[0]:
            raise OSError(number, f"No permission to create a user namespace: {os.strerror(number)}")
        for kind in ("uid", "gid"):
            Path(f"/proc/{child}/{kind}_map").write_text("0 0 1\n", encoding="ascii")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    finally:
        os.write(go, b"!")
        os.waitpid(child, 0)
        for descriptor in (ready, tell, held, go):
            os.close(descriptor)

"""Choose the user of a sandboxed program: the same as outside, but without root's capabilities."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_USER = 0x10000000
"""CLONE_NEWUSER of <linux/sched.h>."""
ANYBODY = ("--unshare-user", "--cap-drop", "ALL")
ROOT = ("--cap-drop", "ALL", "--cap-add", "CAP_SETGID")
"""Root keeps only the capability to leave groups, because many programs of root end if they cannot."""


def root_alone() -> int:
    """Return a descriptor of a new user namespace with root as its only user. Raises `OSError`.

    In a namespace of bubblewrap no process can leave a group. xterm, for example, ends as root if it cannot.
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

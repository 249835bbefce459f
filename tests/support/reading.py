"""Check whether another process of the same user can read a process's environment."""

from __future__ import annotations

import os
import subprocess

PLAIN = ("setpriv", "--bounding-set", "-sys_ptrace,-perfmon,-sys_admin") if os.geteuid() == 0 else ()
"""Command prefix that starts a program without root's rights to read all processes. For the reading and the read
process.
"""


def can_be_read(pid: int) -> bool:
    """Return whether another process of this user can read the environment of a process."""
    return subprocess.run([*PLAIN, "cat", f"/proc/{pid}/environ"], capture_output=True).returncode == 0

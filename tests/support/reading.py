"""What another process of the same user can read of one."""

from __future__ import annotations

import os
import subprocess

PLAIN = ("setpriv", "--bounding-set", "-sys_ptrace,-perfmon,-sys_admin") if os.geteuid() == 0 else ()
"""Starts a program without root's rights to read all processes: both that which is read and that which reads."""


def can_be_read(pid: int) -> bool:
    """Say whether another process of this user can read what one was started with."""
    return subprocess.run([*PLAIN, "cat", f"/proc/{pid}/environ"], capture_output=True).returncode == 0

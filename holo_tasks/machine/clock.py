"""The clock that leases go by."""

from __future__ import annotations

import time
from pathlib import Path

FIRST_NAMESPACE = "time:[4026531834]"
"""What the kernel calls the time namespace that a machine starts with."""


def boot_s() -> float:
    """Return seconds on a clock that nobody sets back, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def era() -> str:
    """Name what the clocks of this process count from: times of another era cannot be compared with its own.

    That is this start of the machine, but in a time namespace of its own a process counts from where it was told to.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    try:
        namespace = str(Path("/proc/self/ns/time").readlink())
    except OSError:  # a kernel without them
        return boot
    return boot if namespace == FIRST_NAMESPACE else f"{boot}/{namespace}"

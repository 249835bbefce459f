"""The clock for leases, and the identity of its epoch."""

from __future__ import annotations

import time
from pathlib import Path

FIRST_NAMESPACE = "time:[4026531834]"
"""Link target of the kernel's initial time namespace."""


def boot_s() -> float:
    """Return seconds on the boot-time clock, which cannot be set and also runs while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def era() -> str:
    """Return the identity of the epoch of this process's clocks. Times with different eras cannot be compared.

    It is the boot id, and also the time namespace if this process is not in the initial one.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    try:
        namespace = str(Path("/proc/self/ns/time").readlink())
    except OSError:  # this kernel has no time namespaces
        return boot
    return boot if namespace == FIRST_NAMESPACE else f"{boot}/{namespace}"

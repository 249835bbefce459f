"""What one input may take of the machine, and how much it took."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

AFTER_S = 2
"""Code that cannot be interrupted, such as a regular expression, is killed so many seconds of the processor later."""


class TooSlow(BaseException):
    """An input took too much of the processor. No handler of the code that is tried takes it for its own error."""


def prepare() -> None:
    """Have the process say where it was when it is killed for its limits, and slow code interrupted."""
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, late)


def bound_memory(megabytes: int) -> None:
    """Give the process so much more than it has."""
    most = status("VmSize") + megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextlib.contextmanager
def bound_cpu(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` when what is inside takes more of the processor; kill it if that is of no use."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + AFTER_S, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def unbind() -> None:
    """Take the limits off again."""
    for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (hard, hard))


def resident() -> int:
    """Return the bytes that the process has in memory, after what nobody needs is given back."""
    gc.collect()
    return status("VmRSS")


def peak() -> int:
    """Return the most bytes that the process has had in memory."""
    return status("VmHWM")


def status(name: str) -> int:
    """Return a figure of /proc/self/status in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024

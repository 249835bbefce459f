"""Limits on the resources of one input, and measurements of their use."""

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
"""Extra CPU seconds before code that cannot be interrupted, such as a regular expression, is killed."""


class TooSlow(BaseException):
    """An input used too much CPU time. A BaseException, so that the tested code does not handle it as its own error."""


def prepare() -> None:
    """Let the process print its position when a limit kills it, and interrupt slow code."""
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, late)


def bound_memory(megabytes: int) -> None:
    """Limit the process to its current memory plus ``megabytes``."""
    most = status("VmSize") + megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextlib.contextmanager
def bound_cpu(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` if the body uses more CPU time. Kill the process if that has no effect."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + AFTER_S, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def unbind() -> None:
    """Remove the limits."""
    for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (hard, hard))


def resident() -> int:
    """Return the resident bytes of the process after a garbage collection."""
    gc.collect()
    return status("VmRSS")


def peak() -> int:
    """Return the maximal resident bytes of the process."""
    return status("VmHWM")


def status(name: str) -> int:
    """Return a value of /proc/self/status in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024

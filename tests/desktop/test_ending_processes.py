"""What a desktop started ends with it: politely, else without asking, and without looking for it all the time."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from holo_tasks.desktop import processes

POLITE = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(7)))\n"
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
READY = "print('ready', flush=True)\nsignal.pause()\n"
Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def one(lines: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", lines + READY], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield one
    for process in started:
        process.kill()
        process.communicate()


class Looks:
    """Finds those of some processes that have not ended, and counts how often it was asked."""

    def __init__(self, *among: subprocess.Popen[bytes]) -> None:
        self.among, self.count = list(among), 0

    def __call__(self) -> list[int]:
        self.count += 1
        return [process.pid for process in self.among if process.poll() is None]


def test_what_ends_by_itself_is_waited_for_and_looked_for_twice(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LOOK_S", 60.0)
    look = Looks(start(POLITE), start(POLITE))
    processes.end(look, grace_s=60)
    assert [process.returncode for process in look.among] == [7, 7]
    assert look.count == 2


def test_what_does_not_heed_is_killed_once_its_time_is_over(start: Start) -> None:
    look = Looks(start(DEAF), start(POLITE))
    processes.end(look, grace_s=1.0)
    assert look.among[0].returncode == -signal.SIGKILL


def test_what_comes_up_meanwhile_ends_too(start: Start) -> None:
    look = Looks(start(POLITE))

    def find() -> list[int]:
        if look.count == 1:
            look.among.append(start(POLITE))
        return look()

    processes.end(find, grace_s=60)
    assert [process.returncode for process in look.among] == [7, 7]


@pytest.mark.parametrize("reason", [errno.EMFILE, errno.ENOSYS, errno.EPERM])
def test_all_ends_where_nothing_can_be_waited_for(start: Start, monkeypatch: pytest.MonkeyPatch, reason: int) -> None:
    def refused(pid: int) -> int:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "pidfd_open", refused)
    look = Looks(start(POLITE))
    processes.end(look, grace_s=60)
    assert look.among[0].returncode == 7

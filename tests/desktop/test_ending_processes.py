"""Processes started by a desktop end with it: on request, otherwise by force, and without polling."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holo_tasks.desktop import processes

ROOT = Path(__file__).parents[2]
POLITE = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(7)))\n"
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
READY = """
import time
print("ready", flush=True)
while True:
    time.sleep(0.05)  # signal.pause() would miss a signal that comes just before it
"""
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
    """Returns the processes that have not ended, and counts its calls."""

    def __init__(self, *among: subprocess.Popen[bytes]) -> None:
        self.among, self.count = list(among), 0

    def __call__(self) -> list[int]:
        self.count += 1
        return [process.pid for process in self.among if process.poll() is None]


def test_processes_that_end_on_request_are_awaited_with_two_searches(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOOK_S", 60.0)
    look = Looks(start(POLITE), start(POLITE))
    processes.end(look, grace_s=60)
    assert [process.returncode for process in look.among] == [7, 7]
    assert look.count == 2


def test_processes_that_ignore_the_request_are_killed_after_the_grace_time(start: Start) -> None:
    look = Looks(start(DEAF), start(POLITE))
    processes.end(look, grace_s=1.0)
    assert look.among[0].returncode == -signal.SIGKILL


def test_processes_started_meanwhile_end_too(start: Start) -> None:
    look = Looks(start(POLITE))

    def find() -> list[int]:
        if look.count == 1:
            look.among.append(start(POLITE))
        return look()

    processes.end(find, grace_s=60)
    assert [process.returncode for process in look.among] == [7, 7]


@pytest.mark.parametrize("reason", [errno.EMFILE, errno.ENOSYS, errno.EPERM])
def test_all_processes_end_without_pidfd_support(start: Start, monkeypatch: pytest.MonkeyPatch, reason: int) -> None:
    def refused(pid: int) -> int:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "pidfd_open", refused)
    look = Looks(start(POLITE))
    processes.end(look, grace_s=60)
    assert look.among[0].returncode == 7


STARTER = """
import os, signal
from holo_tasks.desktop import processes
print(processes.start_tied(signal.SIGTERM, ["sleep", "600"]).pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["with setpriv", "without"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search path with setpriv, or without."""
    if request.param == "without":
        program = shutil.which("sleep")
        assert program is not None
        (tmp_path / "sleep").symlink_to(program)
        monkeypatch.setenv("PATH", str(tmp_path))
    assert (shutil.which("setpriv") is not None) == (request.param == "with setpriv")


@pytest.mark.usefixtures("path")
def test_a_tied_process_ends_with_its_parent() -> None:
    ran = subprocess.run([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, cwd=ROOT, timeout=60)
    assert ran.returncode == -signal.SIGKILL
    try:
        left = os.pidfd_open(int(ran.stdout))
    except ProcessLookupError:
        return
    try:
        assert select.select([left], [], [], 60)[0], "the process did not end"
    finally:
        os.close(left)


@pytest.mark.usefixtures("path")
def test_a_process_tied_to_an_ended_parent_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(os, "getpid", lambda: ended.pid)
    assert processes.start_tied(signal.SIGTERM, ["sleep", "600"]).wait(timeout=60) == 1


@pytest.mark.usefixtures("path")
def test_a_tied_program_that_is_missing_is_reported_at_once() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        processes.start_tied(signal.SIGTERM, ["no-such-program"])

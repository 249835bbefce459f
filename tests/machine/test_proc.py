"""Any process name, however odd, is handled by the readers of `/proc`."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holo_tasks.desktop.processes import ancestry, descendants, processes_of_desktop
from holo_tasks.desktop.readiness.process_tree import parent_pid
from holo_tasks.machine.proc import OURS, cpu_waits_ns, process, stat_of, status_of
from holo_tasks.machine.umask import users_umask
from holo_tasks.safety.records import ledger

NAMES = (b"pr\xfcfen", "größe".encode()[:3], b"a) S 1 2 (b", b"two\nlines")
WAITS = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
print("named", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=NAMES, ids=repr)
def named(request: pytest.FixtureRequest) -> Iterator[int]:
    """Return a child process with this name."""
    command = [sys.executable, "-c", WAITS, request.param.hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"named\n"
        yield process.pid
        process.stdin.close()


def test_stat_is_parsed_for_any_process_name(named: int) -> None:
    assert stat_of(process(named))[1] == str(os.getpid())
    assert status_of(process(named))["PPid"] == str(os.getpid())
    assert parent_pid(named) == os.getpid()
    assert named in descendants(os.getpid())
    assert ancestry(named)[:2] == [named, os.getpid()]
    assert processes_of_desktop("nobody's", os.getsid(named))
    assert int(ledger._started(named) or "0") > 0


def test_a_process_that_shares_a_core_has_waited_for_it_and_a_sleeping_one_has_not() -> None:
    core, sleeper = min(os.sched_getaffinity(0)), subprocess.Popen(["sleep", "60"])
    spin = f"import os, time; os.sched_setaffinity(0, {{{core}}})\nwhile time.process_time() < 0.2: pass\nprint()"
    loops = [subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) for _ in range(2)]
    for loop in loops:
        assert loop.stdout is not None
        loop.stdout.readline()
    waited_ns = max(sum(cpu_waits_ns(loop.pid).values()) for loop in loops)
    for loop in loops:
        loop.communicate()
    assert waited_ns > 50_000_000
    assert sum(cpu_waits_ns(sleeper.pid).values()) < 50_000_000
    sleeper.kill()
    sleeper.wait()
    assert cpu_waits_ns(loops[0].pid) == {}, "it has ended"


def test_a_thread_that_has_just_ended_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: ["0", *listed(path)])
    assert cpu_waits_ns(os.getpid()).keys() >= {str(os.getpid())}


def test_our_own_odd_process_name_is_harmless() -> None:
    prctl, name = ctypes.CDLL(None).prctl, ctypes.create_string_buffer(16)
    prctl(16, name, 0, 0, 0)
    try:
        prctl(15, b"pr\xfcfen", 0, 0, 0)
        assert "Name" in status_of(OURS)
        assert users_umask() >= 0
    finally:
        prctl(15, name, 0, 0, 0)

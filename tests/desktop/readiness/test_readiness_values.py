"""The other signs of work (CPU time, processes, the pointer, documents), and their combination."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop import processes
from holo_tasks.desktop.capture.settle import Repaint
from holo_tasks.desktop.readiness import process_tree, work_in_flight
from holo_tasks.desktop.readiness.cpu_use import CpuSample, CpuUse, awake, cpu_sample
from holo_tasks.desktop.readiness.programs import Programs
from holo_tasks.desktop.readiness.tcp_table import TableUnavailable, TcpSocket
from holo_tasks.desktop.readiness.work_in_flight import CHILD, CPU, DOCUMENT, POINTER, PendingWork, WorkInFlight

BUSY = "while True: pass"
ASLEEP = "print(flush=True); input()"
THREADED = """
import subprocess, sys, threading
wait = threading.Event()
threading.Thread(target=wait.wait, daemon=True).start()
with subprocess.Popen(["sleep", "60"]) as child:
    print(threading.enumerate()[-1].native_id, child.pid, flush=True)
    sys.stdin.read()
    child.kill()
"""


def sample(at_s: float, used_s: float, **more: Any) -> CpuSample:
    return CpuSample(at_s, {7: used_s}, **more)


def test_programs_with_more_cpu_time_than_usual_are_computing():
    cpu = CpuUse()
    cpu.begin(sample(10.0, 3.0))
    cpu.update(sample(10.05, 3.05))
    cpu.update(sample(10.10, 3.10))
    assert cpu.is_busy()
    assert cpu.computed
    cpu.update(sample(10.15, 3.10))
    cpu.update(sample(10.20, 3.10))
    assert not cpu.is_busy()


def test_the_usual_cpu_time_is_measured_between_inputs():
    cpu = CpuUse()
    for number in range(20):
        cpu.rest(sample(number * 0.25, number * 0.2))
    assert cpu.usual == pytest.approx(0.8, abs=0.01)
    cpu.begin(sample(10.0, 8.0))
    cpu.update(sample(10.05, 8.05))
    cpu.update(sample(10.10, 8.10))
    assert not cpu.is_busy()
    assert not cpu.computed


def test_a_new_process_counts_from_its_start_and_an_ended_one_not_at_all():
    before, after = CpuSample(1.0, {7: 5.0, 8: 2.0}), CpuSample(2.0, {8: 2.5, 9: 1.0})
    assert after.since(before) == pytest.approx(1.5)


def test_a_process_that_waits_for_a_disk_in_two_samples_is_blocked():
    cpu = CpuUse()
    cpu.begin(sample(10.0, 3.0, blocked=frozenset({7})))
    assert not cpu.is_blocked()
    cpu.update(sample(10.05, 3.0, blocked=frozenset({7})))
    assert cpu.is_blocked()
    cpu.update(sample(10.10, 3.0))
    assert not cpu.is_blocked()


def test_the_kernel_reports_awake_processes_and_their_cpu_time():
    with (
        subprocess.Popen([sys.executable, "-c", BUSY]) as busy,
        subprocess.Popen([sys.executable, "-c", ASLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asleep,
    ):
        assert asleep.stdout is not None
        assert asleep.stdout.readline()
        end = time.monotonic() + 30
        while awake([asleep.pid]) and time.monotonic() < end:
            time.sleep(0.01)  # it has not reached its read call yet
        assert not awake([asleep.pid])
        while not cpu_sample([busy.pid], 0.0).used_s[busy.pid] and time.monotonic() < end:
            time.sleep(0.01)
        assert awake([busy.pid, asleep.pid])
        assert cpu_sample([busy.pid], 0.0).used_s[busy.pid] > 0
        busy.kill()
        asleep.communicate()
    assert not awake([busy.pid])
    assert not cpu_sample([busy.pid], 0.0).used_s


def test_processes_started_by_helpers_and_the_message_bus_do_not_belong_to_the_programs():
    starts = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print(flush=True); input()"
    command = [sys.executable, "-c", starts]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as program, subprocess.Popen(command, **pipes) as bus:
        for each in (program, bus):
            assert each.stdout is not None
            assert each.stdout.readline()
        programs = Programs(lambda: {bus.pid}, bus.pid)
        found = programs.pids()
        assert program.pid in found
        assert bus.pid not in found
        assert len([pid for pid in found if command_of(pid).startswith("sleep")]) == 1
        assert len([pid for pid in Programs(set).pids() if command_of(pid).startswith("sleep")]) == 2
        for pid in Programs(set).pids():
            if command_of(pid).startswith("sleep"):
                os.kill(pid, 9)
        program.communicate()
        bus.communicate()


def command_of(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as told:  # noqa: PTH123
        return told.read().decode()


def test_on_a_borrowed_display_the_touched_program_is_watched():
    with subprocess.Popen(["sleep", "60"]) as there:
        owners = {Point(1, 1): there.pid, Point(2, 2): 0}
        programs = Programs(owner_at=lambda at: owners[at or Point(2, 2)])
        assert programs.is_target_unknown
        programs.touch(Point(1, 1))
        assert there.pid in programs.pids()
        assert not programs.is_target_unknown
        programs.touch(Point(2, 2))
        assert programs.is_target_unknown
        there.kill()


class Pointer:
    seen, shown = True, ""

    def is_busy(self) -> bool:
        return self.shown == "watch"

    def name(self) -> str:
        return self.shown


class Repaints:
    def __init__(self) -> None:
        self.drawn: list[Repaint] = []

    def latest(self) -> list[Repaint]:
        return self.drawn


class Watched:
    """Programs whose processes, pointer and documents a test sets. The kernel reports no connections."""

    is_target_unknown = False

    def __init__(self) -> None:
        self.pointer, self.documents, self.processes = Pointer(), frozenset[object](), list[int]()
        self.clients: set[int] | None = set()
        self.another = False
        self.work = WorkInFlight(
            self,  # type: ignore[arg-type]
            Repaints(),  # type: ignore[arg-type]
            self.pointer,  # type: ignore[arg-type]
            _refused,
            clients=lambda: self.clients,
            busy=lambda: self.documents,
        )

    def touch(self, at: Point | None) -> bool:
        return self.another

    def pids(self) -> list[int]:
        return list(self.processes)


class NoConnections:
    """A connection table without connections of these processes."""

    unreadable: frozenset[int] = frozenset()

    def read(self, pids: Collection[int]) -> list[TcpSocket]:
        return []


def _refused() -> Any:
    raise TableUnavailable("Operation not permitted")


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_refused_connection_query_is_reported_and_the_other_signs_count(watched):
    watched.work.begin()
    assert watched.work.waits_for(15) is None
    assert watched.work.unseen == {"connections": "Operation not permitted"}
    watched.pointer.shown = "watch"
    assert watched.work.waits_for(15) == PendingWork(POINTER, "watch")
    watched.documents = frozenset({"page"})
    watched.pointer.shown = ""
    assert watched.work.waits_for(15) == PendingWork(DOCUMENT)
    assert not watched.work.ended_ns
    watched.documents = frozenset()
    assert watched.work.waits_for(15) is None
    assert watched.work.ended_ns > 0


def test_work_from_before_the_input_is_not_awaited(watched):
    watched.pointer.shown, watched.documents = "watch", frozenset({"page"})
    watched.work.begin()
    assert watched.work.waits_for(15) is None
    watched.documents = frozenset({"page", "frame"})
    assert watched.work.waits_for(15) == PendingWork(DOCUMENT)


def test_a_process_started_by_the_input_is_awaited_once_if_it_stays(watched):
    for lasts in (False, True):
        watched.processes = []
        watched.work.begin()
        with subprocess.Popen(["sleep", "60"]) as child:
            watched.processes = [child.pid]
            found = watched.work.waits_for(15)
            while found is not None and found.kind == CPU:  # it has not fallen asleep yet
                found = watched.work.waits_for(15)
            assert found == (None if lasts else PendingWork(CHILD, "sleep"))
            child.kill()
        watched.work.looked(gave_up=found)


def test_during_a_programs_start_only_requests_are_awaited(watched):
    watched.work.begin(starting=True)
    watched.pointer.shown = "watch"
    assert watched.work.waits_for(15) is None


def test_a_sleeping_child_is_done_and_a_grandchilds_window_is_its_own(monkeypatch):
    monkeypatch.setattr(work_in_flight, "CHILD_S", 0.0)
    watched = Watched()
    watched.work.begin()
    with subprocess.Popen(["/bin/sh", "-c", "sleep 60; true"]) as shell:
        watched.processes = [shell.pid]
        end = time.monotonic() + 30
        while watched.work.waits_for(15) is not None and time.monotonic() < end:
            time.sleep(0.01)
        below = [Path(f"/proc/{pid}/stat").read_text() for pid in processes.descendants(shell.pid)]
        waits_in = Path(f"/proc/{shell.pid}/wchan").read_text()
        assert watched.work.waits_for(15) is None, (waits_in, below)
        monkeypatch.setattr(work_in_flight, "CHILD_S", 60.0)
        assert watched.work.waits_for(15) == PendingWork(CHILD, Path(f"/proc/{shell.pid}/exe").readlink().name)
        (child,) = processes.descendants(shell.pid)
        watched.clients = {child}
        assert watched.work.waits_for(15) is None
        watched.clients = None
        assert watched.work.waits_for(15) is None
        os.kill(child, 9)
        shell.kill()


def test_input_to_another_program_restarts_the_wait(watched):
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["/bin/sh", "-c", "sleep 60; true"]) as other:
        watched.processes = [one.pid]
        watched.work.begin()
        watched.processes, watched.another = [other.pid], True
        watched.work.begin()
        found = watched.work.waits_for(15)
        assert found is None or found.kind != CHILD
        for pid in (*processes.descendants(other.pid), one.pid, other.pid):
            os.kill(pid, 9)


def test_carets_and_self_repainting_areas_do_not_count_as_answers():
    clock = Box(500, 0, 80, 20)
    repaints = Repaints()
    work = WorkInFlight(Programs(), repaints, Pointer(), _refused, steady=lambda: [clock])  # type: ignore[arg-type]
    work.begin(Point(60, 60))
    drawn = {
        Box(100, 100, 2, 18): (False, False),
        Box(510, 4, 20, 10): (False, False),
        Box(40, 40, 100, 30): (True, False),
        Box(40, 400, 100, 30): (True, True),
    }
    for box, (anywhere, elsewhere) in drawn.items():
        repaints.drawn = [Repaint(2_000_000_000, box)]
        assert (work._drawn_between(1.0, 3.0, False), work._drawn_between(1.0, 3.0, True)) == (anywhere, elsewhere)


def test_a_hidden_process_list_is_read_in_full(monkeypatch, tmp_path):
    monkeypatch.setattr(process_tree, "PROC", str(tmp_path / "not there"))
    assert process_tree.newest_process() is None
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in process_tree.ProcessTree().pids()
        child.kill()


@pytest.mark.parametrize("kernel", ["as it is", "without pidfd_open"])
def test_new_processes_are_found_by_their_numbers_without_threads(monkeypatch, kernel):
    if kernel != "as it is":
        monkeypatch.setattr(process_tree.os, "pidfd_open", lambda pid: os.open("/not/there", os.O_RDONLY))
    tree = process_tree.ProcessTree()
    tree.pids(), tree.pids()
    with subprocess.Popen([sys.executable, "-c", THREADED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        thread, child = map(int, parent.stdout.readline().split())
        found = tree.pids()
        assert {parent.pid, child} <= set(found)
        assert thread not in found
        parent.communicate()
    assert not {parent.pid, child} & set(tree.pids())


def test_a_process_has_ended_before_it_is_waited_for_and_its_number_may_be_used_again():
    ends = process_tree.ProcessEnds()
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        pids = [one.pid, other.pid]
        assert ends.without_ended(pids) == pids
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        ends._open[other.pid] = os.dup(ends._open[one.pid])  # as if its number was that of an ended process
        ends._poll.register(ends._open[other.pid], select.POLLIN)
        assert ends.without_ended(pids) == [other.pid]
        assert not ends._open, "no descriptor is left of the ended one"
        assert ends.without_ended([other.pid]) == [other.pid]
        other.kill()


@pytest.mark.parametrize(("seconds", "searches"), [(0.1, 0), (60, 1)])
def test_many_new_numbers_are_a_reason_to_search_all_processes_only_after_a_long_time(monkeypatch, seconds, searches):
    clock, newest, searched = [100.0], [os.getpid() + 1000], []
    monkeypatch.setattr(process_tree, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(process_tree, "newest_process", lambda: newest[0])
    monkeypatch.setattr(process_tree, "descendants", lambda root: searched.append(root) or [])
    tree = process_tree.ProcessTree()
    tree.pids(), tree.pids()
    searched.clear()
    clock[0] += seconds
    newest[0] += 5000
    tree.pids()
    assert len(searched) == searches
    newest[0] -= 5500
    tree.pids()
    assert len(searched) == searches + 1, "the numbers began again"


def test_processes_from_before_a_wrap_of_the_numbers_are_not_checked(monkeypatch):
    newest, checked = os.getpid() + 1000, []
    listed = [str(newest + number) for number in (-600, 2, 3, 20000)]
    monkeypatch.setattr(process_tree, "newest_process", lambda: newest)
    monkeypatch.setattr(process_tree, "descendants", lambda root: [])
    monkeypatch.setattr(process_tree.os, "listdir", lambda folder: listed)
    monkeypatch.setattr(process_tree, "MOST_TRIED", 0)
    monkeypatch.setattr(process_tree, "parent_pid", lambda pid: checked.append(pid) or 0)
    tree = process_tree.ProcessTree()
    tree.pids(), tree.pids()
    newest += 3
    tree.pids()
    assert [pid - newest for pid in checked] == [-1, 0]


def test_a_program_with_its_own_network_is_reported():
    with subprocess.Popen(["unshare", "-n", "sleep", "60"], stderr=subprocess.DEVNULL) as elsewhere:
        end = time.monotonic() + 30
        while elsewhere.poll() is None and not work_in_flight._has_other_network(elsewhere.pid):
            assert time.monotonic() < end
            time.sleep(0.01)
        if elsewhere.poll() is not None:
            pytest.skip("this machine lets this user make no network")
        for own in (True, False):
            programs = Watched()
            programs.processes = [elsewhere.pid]
            work = WorkInFlight(programs, Repaints(), Pointer(), NoConnections, own_network=own)  # type: ignore[arg-type]
            work.begin()
            assert work.unseen == ({"connections": "the program has a network of its own"} if own else {})
        elsewhere.kill()

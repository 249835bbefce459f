"""The time in which a starting program waits for a CPU does not count; that in which it does nothing counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holo_tasks.desktop.programs import start_time
from holo_tasks.desktop.programs.start_time import LOOK_S, StartTime


class Machine:
    """A clock, and the processes of a program with the waits of their threads in seconds."""

    def __init__(self) -> None:
        self.now_s, self.waits = 100.0, dict[int, dict[str, float]]()

    def monotonic(self) -> float:
        return self.now_s

    def waits_ns(self, pid: int) -> dict[str, int]:
        return {thread: int(seconds * 1e9) for thread, seconds in self.waits[pid].items()}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine()
    monkeypatch.setattr(start_time, "cpu_waits_ns", made.waits_ns)
    monkeypatch.setattr(start_time.time, "monotonic", made.monotonic)
    yield made
    monkeypatch.undo()


def test_the_time_of_a_program_that_sleeps_counts(machine: Machine) -> None:
    machine.waits = {7: {"7": 0.0}}
    started = StartTime(lambda: machine.waits)
    for second in range(1, 6):
        machine.now_s += 1.0
        assert started.seconds == pytest.approx(second)


def test_the_longest_wait_of_a_thread_is_left_out_once(machine: Machine) -> None:
    started = StartTime(lambda: machine.waits)
    machine.now_s += 1.0
    machine.waits = {7: {"7": 0.5, "8": 0.25}}
    assert started.seconds == pytest.approx(0.5)
    machine.now_s += 1.0
    machine.waits[9] = {"9": 0.75}  # the launcher has started the program itself
    assert started.seconds == pytest.approx(0.75)
    machine.now_s += 1.0
    del machine.waits[7]  # and has ended
    assert started.seconds == pytest.approx(1.75)


def test_a_program_that_never_gets_a_cpu_is_not_awaited_for_ever(machine: Machine) -> None:
    machine.waits = {7: {"7": 0.0}}
    started = StartTime(lambda: machine.waits)
    for _ in range(100):
        machine.now_s += 1.0
        machine.waits[7]["7"] += 1.0
        assert started.seconds < machine.now_s - 100.0
    assert started.seconds == pytest.approx(20.0)


def test_the_time_between_two_readings_never_runs_backwards(machine: Machine) -> None:
    machine.waits = {7: {"7": 0.0}}
    started, last = StartTime(lambda: machine.waits), 0.0
    for _ in range(100):
        machine.now_s += LOOK_S / 8
        machine.waits[7]["7"] += LOOK_S / 8
        assert started.seconds >= last
        last = started.seconds

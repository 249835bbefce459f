"""A program that waits for a CPU, or whose reader does, is not counted as one that hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holo_tasks.accessibility import reader, silence
from holo_tasks.accessibility.placement import View
from holo_tasks.accessibility.reader import Reader, _await_reading
from holo_tasks.accessibility.silence import NAP_S, Silence, await_answers
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size

PID = 7


class Program:
    """A program with one thread that has waited for a CPU for ``waits_s`` seconds and sent ``sent`` bytes."""

    sent = 0
    waits_s = 0.0

    def cpu_waits_ns(self, pid: int) -> dict[str, int]:
        assert pid == PID
        return {"main": round(1e9 * self.waits_s), "idle": 5}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    found = Program()
    monkeypatch.setattr(silence, "cpu_waits_ns", found.cpu_waits_ns)
    return found


def after(quiet: Silence, naps: int) -> float:
    for _ in range(naps):
        quiet.count_nap()
    return round(quiet.seconds, 6)


def test_silence_grows_until_the_program_sends_something(program: Program) -> None:
    quiet = Silence(lambda: program.sent, PID)
    assert after(quiet, 10) == round(10 * NAP_S, 6)
    program.sent += 1
    assert after(quiet, 1) == 0
    assert after(quiet, 3) == round(3 * NAP_S, 6)


def test_a_wait_for_a_cpu_is_no_silence(program: Program) -> None:
    quiet = Silence(lambda: program.sent, PID)
    quiet.count_nap()
    for _ in range(40):
        program.waits_s += NAP_S
        quiet.count_nap()
    assert round(quiet.seconds, 6) == NAP_S, "the first look has nothing to compare with"
    program.waits_s += 0.4 * NAP_S
    assert after(quiet, 1) == round(1.6 * NAP_S, 6)


def test_a_wait_that_is_reported_late_is_left_out_but_does_not_make_a_hung_program_a_slow_one(program: Program) -> None:
    quiet = Silence(lambda: program.sent, PID)
    for _ in range(20):
        quiet.count_nap()
        program.waits_s += 1.9 * NAP_S
        quiet.count_nap()
    assert quiet.seconds < 4 * NAP_S
    hung_s = after(quiet, 40)
    program.waits_s += 60.0
    assert after(quiet, 1) == hung_s


def test_an_early_wait_for_a_cpu_does_not_excuse_a_later_silence(program: Program) -> None:
    quiet = Silence(lambda: program.sent, PID)
    quiet.count_nap()
    program.waits_s += 60.0
    assert after(quiet, 21) == round(20 * NAP_S, 6)


def test_a_bus_without_a_known_process_is_measured_by_its_answers_alone(program: Program) -> None:
    assert after(Silence(lambda: program.sent), 4) == round(4 * NAP_S, 6)


async def test_the_time_in_which_the_reader_itself_waits_is_counted_as_one_nap(program: Program) -> None:
    """As on a machine whose other programs leave no CPU to this process."""
    quiet = Silence(lambda: program.sent, PID)

    async def ask() -> str:
        await asyncio.sleep(2.5 * NAP_S)
        return "told"

    task = asyncio.ensure_future(await_answers(ask(), quiet, 3 * NAP_S))
    await asyncio.sleep(0.5 * NAP_S)
    time.sleep(6 * NAP_S)
    assert await task == "told"


def fake_app(
    refresh: Callable[[View], Awaitable[None]], received: Callable[[], int], answered: Callable[[], int]
) -> Any:
    quiet = {"silence": Silence(received), "unanswered": Silence(answered)}
    return SimpleNamespace(reading=None, late=False, hung=False, refresh=refresh, **quiet)


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_each_wait_ends_with_a_reading_that_began_in_it(is_under_way: bool, program: Program) -> None:
    views: list[object] = []

    async def refresh(view: object) -> None:
        views.append(view)
        await asyncio.sleep(NAP_S if is_under_way else 0)

    app = fake_app(refresh, lambda: 0, lambda: 0)
    first = asyncio.ensure_future(_await_reading(app, cast("View", "old")))
    await asyncio.wait([first], timeout=NAP_S / 4)
    first.cancel()  # as for an action that does not wait
    await _await_reading(app, cast("View", "new"))
    assert views == ["old", "new"]


async def test_a_program_that_answers_without_an_end_is_waited_for_once(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST_S", 10 * NAP_S)
    monkeypatch.setattr(reader, "LATE_S", NAP_S / 10)

    def received() -> int:
        program.sent += 1
        return program.sent

    async def refresh(view: View) -> None:
        await asyncio.sleep(3600)

    app = fake_app(refresh, received, lambda: program.sent)
    naps = []
    for _ in range(2):
        before = program.sent
        await _await_reading(app, cast("View", "now"))
        naps.append(program.sent - before)
    app.reading.cancel()
    assert 3 < naps[0] <= 11
    assert naps[1] <= 1
    assert app.late


@pytest.mark.parametrize(
    ("pid", "late"), [(0, [False, False]), (7, [False, True]), (8, [False, False]), (9, [True] * 2)]
)
async def test_only_the_program_with_the_process_that_is_asked_for_is_waited_for(
    pid: int, late: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LATE_S", NAP_S)
    monkeypatch.setattr(reader, "assemble_tree", lambda found, view: ElementTree())
    asked, apps = Reader(""), []
    for number in range(2):

        async def refresh(view: View, naps: int = 4 + 8 * number) -> None:
            await asyncio.sleep(naps * NAP_S)

        apps.append(fake_app(refresh, lambda: 0, lambda: 0))
        vars(apps[-1]).update(pid=PID + number, bus_name="", changes=0, note="", moving=lambda view: False)

    async def find() -> list[Any]:
        return apps

    monkeypatch.setattr(asked, "_find", find)
    await asked._read(View((), Size(9, 9), 0), pid)
    assert [not app.reading.done() for app in apps] == late
    for app in apps:
        app.reading.cancel()


@pytest.mark.parametrize("answers", [False, True])
async def test_a_reading_without_answers_ends_though_the_program_sends_signals(
    answers: bool, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST_S", 4 * NAP_S)

    def received() -> int:
        program.sent += 1
        return program.sent

    async def refresh(view: View) -> None:
        await asyncio.sleep(3600)

    app = fake_app(refresh, received, received if answers else lambda: 0)
    await _await_reading(app, cast("View", "now"))
    await asyncio.wait([app.reading], timeout=8 * NAP_S if answers else 10.0)
    assert app.reading.done() is app.hung is not answers
    app.reading.cancel()


async def test_a_function_without_an_answer_is_cancelled(program: Program) -> None:
    quiet, ended = Silence(lambda: program.sent, PID), []

    async def ask() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(TimeoutError):
        await await_answers(ask(), quiet, 2 * NAP_S)
    assert ended
    assert quiet.seconds >= 2 * NAP_S

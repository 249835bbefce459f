"""At the end of a desktop, its programs are asked to close: they can save, and their questions are reported."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop, processes

SMALL = Size(640, 480)
APP = Path(__file__).parents[2] / "apps" / "closing_tk.py"


@pytest.fixture
def closing(tk, tmp_path):
    """Starts a desktop with a program that handles WM_DELETE_WINDOW; returns it, the output file and the warnings."""

    async def start(kind: str, *before: str) -> tuple[VirtualDesktop, Path, list[str]]:
        told: list[str] = []
        command = [*before, tk, str(APP), kind, str(tmp_path / "saved")]
        desktop = await VirtualDesktop.start(size=SMALL, app=command, tell=told.append)
        return desktop, tmp_path / "saved", told

    return start


async def test_a_program_can_save_when_it_is_closed(closing, nothing_left):
    desktop, saved, told = await closing("saves")
    await desktop.close()
    assert saved.read_text() == "saved"
    assert told == []


async def test_a_launcher_can_finish_after_its_program(closing, tmp_path, nothing_left):
    script = f'"$@"; sleep 0.3; echo done > {tmp_path}/after'
    desktop, saved, _ = await closing("saves", "sh", "-c", script, "sh")
    await desktop.close()
    assert saved.exists()
    assert (tmp_path / "after").read_text() == "done\n"


async def test_a_question_at_the_end_is_reported_and_not_answered(closing, nothing_left):
    desktop, saved, told = await closing("asks")
    await desktop.close()
    assert not saved.exists()
    assert len(told) == 1
    assert "‘Save changes?’" in told[0]


async def test_a_program_that_ignores_the_request_is_ended(closing, nothing_left):
    desktop, _, told = await closing("deaf")
    await desktop.close()
    assert told == []


async def test_a_program_that_is_stopped_is_ended_without_waiting(closing, nothing_left):
    desktop, saved, _ = await closing("saves")
    owner = await desktop.owner_at(None)
    assert owner.pid > 0
    os.kill(owner.pid, signal.SIGSTOP)
    await desktop.close()
    assert not saved.exists()


async def test_a_program_closes_normally_also_if_the_process_using_its_desktop_ends(closing, until, nothing_left):
    desktop, saved, _ = await closing("saves")
    name = desktop.authority.parent.name
    desktop._child._channel.close()  # as at the end of that process
    desktop._child._speaking = True
    assert await until(lambda: not processes.processes_of_desktop(name, desktop.pid))
    assert saved.read_text() == "saved"
    await desktop.close()


async def test_a_killed_desktop_sends_no_input_as_its_program_closes(closing, nothing_left):
    desktop, saved, told = await closing("saves")
    desktop.latch()
    await desktop.close()
    assert saved.exists(), "closing a window must still work, because it is not input"
    assert told == []

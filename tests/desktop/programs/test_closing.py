"""At the end of a desktop, its programs are asked to close: they can save, and their questions are reported."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.geometry import Point, Size
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


@pytest.mark.parametrize(
    "program",
    [
        [sys.executable, str(APP.with_name("closing_qt.py"))],
        pytest.param(["java", str(APP.with_name("ClosingSwing.java"))], marks=pytest.mark.long),
    ],
    ids=["Qt", "Swing"],
)
async def test_the_question_of_another_toolkit_is_reported(program, nothing_left):
    if not shutil.which(program[0]):
        pytest.skip(f"needs {program[0]}")
    told: list[str] = []
    desktop = await VirtualDesktop.start(size=SMALL, app=program, tell=told.append)
    assert await desktop.close() == ["Save changes?"]
    assert "‘Save changes?’" in told[0]
    assert await desktop.close() == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "question"),
    [("gnome-text-editor", "Save Changes?"), ("mousepad", "Save Changes")],
)
async def test_the_question_about_an_unsaved_document_is_reported(program, question, tmp_path, until, nothing_left):
    if not shutil.which(program.split()[0]):
        pytest.skip(f"needs the Debian package {program.split()[0]}")
    document = tmp_path / "letter.txt"
    document.write_text("Dear all\n")
    desktop = await VirtualDesktop.start(app=f"{program} {document}", app_timeout_s=60, tell=[].append, opengl=True)
    while not any("letter" in window.title for window in await desktop.windows()):
        await asyncio.sleep(0.2)
    await desktop.look()
    await desktop.do(Click(Point(600, 400)))
    await desktop.do(Write("unsaved"))
    await desktop.look()
    assert await desktop.close() == [question]
    assert document.read_text() == "Dear all\n"


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
    desktop._child._channel.close()  # as when the process ends
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

"""File dialogs of real toolkits, by the shipped scripts: what is saved and opened is what the program then has."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holo_tasks.core.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.file_dialogs import open_in_dialog, save_in_dialog
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.support.scripts import done
from tests.support.shots import MemoryModel, as_model, walk_of

pytestmark = pytest.mark.desktop
PROGRAMS = {
    "gtk3": [DEBIAN_PYTHON, str(APPS / "dialogs_gtk3.py")],
    "gtk4": [DEBIAN_PYTHON, str(APPS / "dialogs_gtk4.py")],
    "qt": [sys.executable, str(APPS / "dialogs_qt.py")],
}


async def store(hands: Hands, path: str) -> str:
    await hands.click("Store letter")
    await save_in_dialog(hands, path)
    await hands.wait_for("Wrote*")
    return path


async def load(hands: Hands, path: str) -> str:
    await hands.click("Load letter")
    await open_in_dialog(hands, path)
    await hands.wait_for("Read*")
    return path


@asynccontextmanager
async def desktop_of(toolkit: str) -> AsyncIterator[VirtualDesktop]:
    if toolkit == "qt":
        pytest.importorskip("PySide6")
    elif not has_gtk("4.0" if toolkit == "gtk4" else "3.0"):
        pytest.skip(f"needs the Debian packages of {toolkit}")
    async with VirtualDesktop(size=Size(1000, 640), app=PROGRAMS[toolkit], app_timeout_s=60) as desktop:
        yield desktop


def walk_on(desktop: VirtualDesktop) -> Walk:
    return walk_of(as_model(MemoryModel([])), desktop=desktop)


@pytest.mark.parametrize("toolkit", PROGRAMS)
async def test_a_letter_is_saved_and_another_is_opened(toolkit: str, tmp_path: Path) -> None:
    async with desktop_of(toolkit) as desktop:
        folder = (await desktop.shared_folder()).path
        saved, given = folder / "letter 1.txt", folder / "given.txt"
        given.write_text("Dear Ada")
        (folder / "letter 1.txt.bak").write_text("its name goes on where the other ends")
        for script in (Script(store, path=str(saved)), Script(load, path=str(given))):
            assert await done(walk_on(desktop), script.brain()) == script._values["path"]
        assert saved.read_text() == "Dear customer"

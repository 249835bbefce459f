"""Modifiers stay pressed until the program has read the key, because some toolkits ask the server which are held."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from holo_tasks.core.input.gestures import HoldAndTap, Hotkey
from holo_tasks.desktop import VirtualDesktop

pytestmark = pytest.mark.desktop
PROGRAM = """
import sys, time
import xcffib
from xcffib.xproto import CW, Atom, EventMask, KeyPressEvent, PropMode, WindowClass

connection = xcffib.connect()
screen = connection.get_setup().roots[0]
window, core = connection.generate_id(), connection.core
mask = EventMask.KeyPress | EventMask.Exposure
core.CreateWindow(0, window, screen.root, 0, 0, 300, 200, 0, WindowClass.InputOutput, 0, CW.EventMask, [mask])
core.ChangeProperty(PropMode.Replace, window, Atom.WM_NAME, Atom.STRING, 8, 4, b"Keys")
core.MapWindow(window)
connection.flush()
while event := connection.wait_for_event():
    if isinstance(event, KeyPressEvent):
        time.sleep(0.002)  # the work of a program before it asks, as those of Lazarus do
        held = core.QueryPointer(screen.root).reply().mask
        with open(sys.argv[1], "a") as told:
            print(event.detail, held & 0xFF, file=told)
"""
SHIFT, CONTROL, ALT = 1, 4, 8


async def test_a_program_that_asks_for_the_modifiers_later_finds_them_held(tmp_path: Path) -> None:
    script, told = tmp_path / "keys.py", tmp_path / "told"
    script.write_text(PROGRAM)
    async with VirtualDesktop(app=[sys.executable, str(script), str(told)]) as desktop:
        for _ in range(3):
            await desktop.do(Hotkey(("ctrl", "shift", "z"), 1))
        await desktop.do(HoldAndTap(("alt",), ("z", "z")))
        await desktop.do(Hotkey(("z",), 1))
        await asyncio.sleep(0.2)
    lines = [line.split() for line in told.read_text().splitlines()]
    key = lines[-1][0]
    assert [int(held) for code, held in lines if code == key] == [CONTROL | SHIFT] * 3 + [ALT] * 2 + [0]

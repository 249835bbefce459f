"""A scripted user of a nasty program. It takes the positions of widgets from the program's state file."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.nasty.programs import PROGRAM
from benchmarks.nasty.programs.seeds import VARIANTS, Entry, plan
from benchmarks.nasty.programs.store import Store
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Desktop, tk_python

APPS = Path(__file__).parent

PATIENCE_S = 15
State = dict[str, Any]
# Until the program has written its state.
_NOTHING: State = {"screen": None, "heading": "", "popup": None, "busy": True, "status": "", "focus": None}
_NOTHING |= {"changes": 0, "widgets": {}, "values": {}}


def seed_of(kind: str, variant: str) -> int:
    """Return the first seed with this variant."""
    return VARIANTS[kind].index(variant)


class Clerk:
    """`look` reads the positions; `click` uses the last ones, whatever has changed since."""

    def __init__(self, desktop: Desktop, folder: Path, kind: str, seed: int, password: str, *options: str) -> None:
        self.plan = plan(kind, seed)
        self.entry: Entry = self.plan.entry
        self.store = Store(folder / "store.db")
        self._desktop = desktop
        self._state_file = folder / "state.json"
        files = ["--store", str(self.store.path), "--state-file", str(self._state_file)]
        self._command = [tk_python(), str(PROGRAM), kind, *files, "--seed", str(seed), *options]
        access = {"DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority), "CASHBOOK_PASSWORD": password}
        self._environment = {**os.environ, **access}
        self.seen: State = {}
        self.start()

    def start(self) -> None:
        self.program = subprocess.Popen(self._command, env=self._environment)

    def kill(self) -> None:
        """Kill the program at once, as kill -9 does."""
        self.program.kill()
        self.program.wait()
        self._state_file.unlink(missing_ok=True)

    def state(self) -> State:
        try:
            return dict(json.loads(self._state_file.read_text()))
        except FileNotFoundError:
            return dict(_NOTHING)

    async def until(self, so: Callable[[State], bool], what: str) -> State:
        """Wait until the program's state fulfils a condition; then look."""
        deadline = time.monotonic() + PATIENCE_S
        while not so(self.state()):
            assert time.monotonic() < deadline, f"waited for {what}, got {self.state()}"
            await asyncio.sleep(0.04)
        return self.look()

    async def at(self, screen: str) -> State:
        return await self.until(lambda state: state["screen"] == screen and not state["busy"], screen)

    async def noted(self, what: str) -> None:
        await self.until(lambda _: what in self.store.notes(), what)

    def look(self) -> State:
        self.seen = self.state()
        return self.seen

    async def click(self, part: str) -> None:
        left, top, width, height = self.seen["widgets"][part]
        await self._desktop.do(Click(Point(left + min(width // 2, 60), top + height // 2)))

    async def write(self, text: str) -> None:
        await self._desktop.do(Write(text, overwrite=True))

    async def press(self, key: str) -> None:
        await self._desktop.do(Hotkey((key,)))

    async def fill(self, *fields: str) -> None:
        """Click into fields and type, without a look in between."""
        for field in fields or ("reference", "amount", "reason"):
            await self.click(field)
            await self.write(getattr(self.entry, field))

    async def open_form(self) -> None:
        await self.at("menu")
        await self.click("new_entry")
        await self.at("form")

    async def fill_carefully(self) -> None:
        """Fill in the form; before each click look, and wait for the focus before typing."""
        for field in ("reference", "amount", "reason"):
            self.look()
            await self.click(field)
            await self.until(lambda state: state["focus"] == field, f"the caret in {field}")  # noqa: B023
            await self.write(getattr(self.entry, field))
            await self.until(lambda state: state["values"].get(field) == getattr(self.entry, field), field)  # noqa: B023

    async def sign_on(self, password: str) -> None:
        await self.at("sign_on")
        for field, text in (("user", "clerk"), ("password", password)):
            await self.click(field)
            await self.write(text)
        await self.click("log_in")

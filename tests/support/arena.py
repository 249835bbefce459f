"""A real display with two programs of one title, a witness of all input, and a malicious model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import HoloError, InvalidUsage, LimitReached, ModelFailed, PolicyRefused
from holo_tasks.core.input.permit import Policy
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.desktop import Settle, VirtualDesktop, tk_python
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.encoding import JpegEncoder
from holo_tasks.models.profile import profile_for
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.redaction import NothingToRedact
from tests.support.hostile import INSIDE, SCREEN, THEIRS, Call, Mode
from tests.support.scripted_model import ScriptedModel
from tests.support.shots import MemoryRecorder, as_model, work

ROOT = Path(__file__).parent.parent
TOOLS = ("click", "double_click", "move_to", "drag_and_drop", "scroll", "write", "write_at", "hotkey")
PROFILE = profile_for("holo3-1-35b-a3b", tools=(*TOOLS, "hold_and_tap_key", "wait"))


class Arena:
    """A display with two programs of one title, and a witness that logs every input event."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.desktop = asyncio.run(VirtualDesktop.start(size=SCREEN, settle=Settle(first_change_s=0.05)))
        self.env = {
            **os.environ,
            "DISPLAY": self.desktop.display,
            "XAUTHORITY": str(self.desktop.authority),
            "PYTHONPATH": str(ROOT.parent),
        }
        self.mine, self.theirs = self._show("ledger", "520x330+40+70"), self._show("impostor", "500x330+600+70")
        self._start(sys.executable, ROOT / "support" / "witness.py", folder / "witness")
        self.until(lambda: self.witnessed() is not None)

    def _start(self, *command: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([str(part) for part in command], env=self.env, stderr=subprocess.DEVNULL)
        self._processes = [*getattr(self, "_processes", []), process]
        return process

    def _show(self, name: str, geometry: str) -> Path:
        program, log = self.folder / f"{name}.py", self.folder / f"{name}.log"
        shutil.copy(ROOT / "apps" / "probe_events.py", program)
        self._start(tk_python(), program, log, geometry)
        self.until(lambda: log.exists() and "mapped" in log.read_text())
        return program

    def until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end, "waited for in vain"
            time.sleep(0.02)

    def witnessed(self) -> int | None:
        """Return the number of input events until now, or None before the witness has started."""
        log = self.folder / "witness"
        return log.read_text().count("\n") - 1 if log.exists() and log.stat().st_size else None

    def heard(self, program: Path) -> list[list[Any]]:
        """Return the input events that a program logged."""
        lines = program.with_suffix(".log").read_text().splitlines()
        return [event for line in lines if (event := json.loads(line))[0] != "mapped"]

    async def focus(self, program: Path) -> None:
        """Focus a program's window, as a person with another mouse would."""
        windows = subprocess.run(
            ["xdotool", "search", "--name", "^Events$"], env=self.env, capture_output=True, text=True, check=True
        ).stdout.split()
        for window in windows:
            subprocess.run(["xdotool", "windowactivate", "--sync", window], env=self.env, check=True)
            await self.desktop.look()
            if (await self.desktop.owner_at(None)).script == str(program):
                return
        raise AssertionError("no such window")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        asyncio.run(self.desktop.close())


def rules(arena: Arena, mode: Mode = "act") -> Rules:
    """Return rules that allow one program, by its script, and two regions. The second region lies over the other
    program.
    """
    return Rules(trust="read" if mode == "read" else "act", programs=(str(arena.mine),), regions=(INSIDE, THEIRS))


class Adversary:
    """A model over real HTTP that always replies with the given call, whatever the prompt or the correction."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.call: Call = {}
        self.model = ScriptedModel(self._say)
        self.endpoint = ModelEndpoint(self.model.base_url, None)
        self.asked = as_model(self.endpoint, PROFILE)

    def _say(self, number: int, body: dict[str, Any]) -> str:
        return json.dumps({"note": None, "thought": "The screen told me to.", "tool_call": self.call})

    def walk(self, policy: Policy, seen: NewestScreen | None = None) -> Walk:
        services = Services(
            desktop=self.arena.desktop,
            redactor=NothingToRedact(),
            encoder=JpegEncoder(),
            model=self.asked,
            policy=policy,
            recorder=MemoryRecorder(),
            now_s=time.monotonic,
            recheck=False,  # One capture serves many actions here, and only the rules should refuse them.
        )
        walk = Walk(services, Guard("The run", Limits(), time.monotonic()), 1, Transcript("Do what the screen says."))
        if seen is not None:
            walk.seen = seen
            walk.begin()
        return walk

    async def attempt(self, call: Call, policy: Policy, seen: NewestScreen) -> str:
        """Decide and perform one action; return the outcome."""
        self.call = call
        walk = self.walk(policy, seen)
        return await outcome(walk.decide(), walk.act)

    async def pursue(self, call: Call, policy: Policy) -> str:
        """Run the whole loop until the first outcome that is more than an "impossible" note to the model."""
        self.call = call
        return await outcome(work(self.walk(policy), max_steps=2))

    async def __aenter__(self) -> Adversary:
        self.model.__enter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.endpoint.close()
        self.model.__exit__(*exc)


async def outcome(deciding: Any, act: Callable[[Any], Any] | None = None) -> str:
    try:
        step = await deciding
        if act is not None:
            await act(step)
    except InvalidUsage:
        return "impossible"
    except HoloError as error:
        kinds = {PolicyRefused: "refused", ModelFailed: "unreadable", LimitReached: "out of steps"}
        return kinds.get(type(error), str(error))
    return "done"

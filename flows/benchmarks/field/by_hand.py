"""Record a task by hand: `holo-tasks record` watches, and xdotool presses and types as a person would."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.field.program import Call, Program, Step, Values
from benchmarks.field.results import Result
from benchmarks.field.work import PATIENCE_S, by_model, judged_without_answer, opened
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts.playbook import load_playbook

READY = "is recorded."
THINKS_S, LOOKS_S = 1.5, 0.4
"""Seconds before each step, and between two looks for its target."""
STEP_S = 30.0
MILLISECONDS_A_KEY = "60"
KEYS = {"enter": "Return", "esc": "Escape", "escape": "Escape", "tab": "Tab", "pageup": "Prior", "pagedown": "Next"}
"""Names of xdotool for keys of the library."""
FUNCTION = re.compile(r"f\d+")
"""Names of the function keys, which xdotool writes with a capital letter."""
CAPITALS = ("up", "down", "left", "right", "home", "end", "delete", "insert")
PRESSES = {"click": ("1", "1"), "double_click": ("1", "2"), "right_click": ("3", "1")}
"""Button and number of presses of each call."""


async def recorded(program: Program, folder: Path) -> Result:
    """Record the first item by hand and compile the recording; the result has its steps and those of the model."""
    item, file, began = program.items[0], folder / "by-hand.yaml", time.monotonic()
    async with opened(program, folder / "place-by-hand", "none") as place:
        process = await _start(place.desktop, folder, file, item)
        try:
            log = await _await_ready(process)
            await _do(place.desktop, program.plan(item))
            verdict, why = await judged_without_answer(place, item)
            _, rest = await asyncio.wait_for(process.communicate(b"done\n"), PATIENCE_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    log += rest.decode(errors="replace")
    if verdict != "right" or process.returncode:
        return Result(program=program.name, kind="by hand", verdict="failed", why=(why or log)[-900:])
    steps = load_playbook(file).goals["work"].steps
    took = round(time.monotonic() - began, 2)
    return Result(
        program=program.name,
        kind="by hand",
        verdict="right",
        calls=len(steps),
        by_model=by_model(steps),
        seconds=took,
    )


async def _start(desktop: VirtualDesktop, folder: Path, file: Path, item: Values) -> asyncio.subprocess.Process:
    words = [sys.executable, "-m", "holo_tasks.cli", "record", "--display", desktop.display, "--accessibility"]
    words += ["--out", str(file), "--goal", "work", "--audit", str(folder / "runs")]
    for name, value in item.items():
        words += ["--param", f"{name}={value}"]
    environment = {**_display(desktop), "HOLO_HOME": str(folder / "holo")}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


async def _await_ready(process: asyncio.subprocess.Process) -> str:
    """Wait until the input is recorded, and return the command's output up to then."""
    assert process.stderr is not None
    said = ""
    async with asyncio.timeout(PATIENCE_S):
        while READY not in said and (line := await process.stderr.readline()):
            said += line.decode(errors="replace")
    return said


async def _do(desktop: VirtualDesktop, plan: Sequence[Step]) -> None:
    """Do the steps of a plan but its answer. Each one waits until the program is ready for it."""
    for step in plan:
        await asyncio.sleep(THINKS_S)
        end = time.monotonic() + STEP_S
        while (call := step(await _tree(desktop), desktop.size)) is None:
            if time.monotonic() > end:
                raise TimeoutError("the program is not ready for the next step")
            await asyncio.sleep(LOOKS_S)
        if call["tool_name"] == "wait":
            await asyncio.sleep(float(call["seconds"]))
        elif call["tool_name"] != "answer":
            for words in commands(call, desktop.size.width, desktop.size.height):
                await asyncio.to_thread(subprocess.run, words, env=_display(desktop), check=True)


async def _tree(desktop: VirtualDesktop) -> ElementTree:
    return await desktop.elements()


def commands(call: Call, width: int, height: int) -> list[list[str]]:
    """Return the commands of xdotool for a call. Raises `ValueError` for a call that it cannot do."""
    tool, typing = call["tool_name"], ["xdotool", "type", "--delay", MILLISECONDS_A_KEY, "--"]
    match tool:
        case "click" | "double_click" | "right_click":
            x, y = (int(call["x"]) * width // 1000, int(call["y"]) * height // 1000)
            button, times = PRESSES[tool]
            move = ["xdotool", "mousemove", "--sync", str(x), str(y)]
            return [move, ["xdotool", "click", "--repeat", times, "--delay", "80", button]]
        case "write":
            select = [_key("ctrl", "a")] if call["overwrite"] else []
            return [*select, [*typing, call["content"]], *([_key("enter")] if call["press_enter"] else [])]
        case "hotkey":
            return [_key(*call["keys"])]
        case _:
            raise ValueError(f"xdotool has no {tool}")


def _key(*names: str) -> list[str]:
    return ["xdotool", "key", "+".join(_symbol(name) for name in names)]


def _symbol(name: str) -> str:
    if name in CAPITALS or FUNCTION.fullmatch(name):
        return name.capitalize()
    return KEYS.get(name, name)


def _display(desktop: VirtualDesktop) -> Mapping[str, str]:
    return {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}

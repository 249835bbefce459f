"""Seven faults during a replay: each must be reported, without a duplicate effect."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from common import table
from replaying import ASKED, GOAL, Replayed, desk, program, replay, with_probe

if TYPE_CHECKING:
    from holo_tasks.desktop import VirtualDesktop
    from holo_tasks.scripts.playbook import Playbook

TOKEN = "order-1"
PATIENCE_S, BREAKS_AFTER = 120.0, 3
"""Time limit of a command, and the number of journal writes before a fault."""
RIGHT = {"saved": ASKED[0], "note": ASKED[1]}


class Outcome(NamedTuple):
    """The result of a fault, and its message."""

    verdict: str
    said: str


async def faults(scratch: Path, toolkit: str, file: Path) -> int:
    """Try each fault with a compiled playbook, without a probe and with one; return the wrong results with one."""
    probed = await with_probe(toolkit, scratch / f"probed-{toolkit}")
    rows, wrong = [], 0
    for name, attempt in _attempts(scratch, toolkit).items():
        alone, looked = await attempt(file), await attempt(probed)
        wrong += looked.verdict == "WRONG"
        rows.append([name, alone.verdict, looked.verdict, looked.said[:80]])
    columns = ["fault", "no probe", "with a probe", "it said"]
    table(f"faults during a replay, {toolkit} (aim: none wrong with a probe)", columns, rows, words=4)
    return wrong


def _attempts(scratch: Path, toolkit: str) -> dict[str, Callable[[Path], Awaitable[Outcome]]]:
    """Return the attempts by fault, each for a playbook's file."""
    from holo_tasks.scripts.playbook import load_playbook

    async def drifted(name: str, file: Path) -> Outcome:
        return _outcome(await _replayed(scratch, toolkit, load_playbook(file), name))

    async def without_store(file: Path) -> Outcome:
        return _outcome(await _replayed(scratch, toolkit, load_playbook(file), breaks=lambda desktop: _away()))

    async def without_desktop(file: Path) -> Outcome:
        return _outcome(await _replayed(scratch, toolkit, load_playbook(file), breaks=_kill_screen))

    return {
        "none": partial(drifted, "none"),
        "process killed, then begun again": lambda file: asyncio.to_thread(_killed, scratch, toolkit, file),
        "program hung": partial(drifted, "hung"),
        "effect lost by the program": partial(drifted, "effect lost"),
        "effect doubled by the program": partial(drifted, "effect doubled"),
        "answer late": partial(drifted, "answer late"),
        "store away": without_store,
        "desktop gone": without_desktop,
    }


def _outcome(replayed: Replayed) -> Outcome:
    """Judge a replay. A stopped one is left to a person, whatever the program has done with the effect."""
    stopped = replayed.answer is None and all(one == RIGHT for one in replayed.done)
    return Outcome("stopped" if stopped else replayed.verdict, replayed.why or "it is done")


async def _replayed(
    scratch: Path,
    toolkit: str,
    playbook: Playbook,
    drift: str = "none",
    breaks: Callable[[VirtualDesktop], None] | None = None,
) -> Replayed:
    state = Path(tempfile.mkdtemp(dir=scratch)) / "state.jsonl"
    found: Replayed | None = None
    try:
        async with desk(toolkit, state, drift) as desktop:
            journal = None if breaks is None else _Breaks(BREAKS_AFTER, partial(breaks, desktop))
            found = await replay(playbook, desktop, state, journal=journal)
    except Exception as error:  # a killed desktop may raise the error again when it is left
        if found is None:
            return Replayed(_done(state), None, f"{type(error).__name__}: {error}")
    assert found is not None
    return found


class _Breaks:
    """A journal with a fault at one of its writes."""

    def __init__(self, after: int, breaks: Callable[[], None]) -> None:
        self._left, self._breaks = after, breaks

    async def intend(self, action: str, frame: str) -> int:
        """Record an intended action."""
        self._write()
        return self._left

    async def done(self, number: int) -> None:
        """Record a completed action."""
        self._write()

    async def void(self, number: int) -> None:
        """Record an action that did not happen."""
        self._write()

    def _write(self) -> None:
        self._left -= 1
        if self._left < 0:
            self._breaks()


def _away() -> None:
    from holo_tasks.core.errors import DatabaseAway

    raise DatabaseAway("The database is away.")


def _kill_screen(desktop: VirtualDesktop) -> None:
    """Kill the X server of a desktop in use."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].rpartition(b"/")[2].startswith((b"Xvfb", b"Xorg")) and desktop.display.encode() in words:
                os.kill(int(folder.name), signal.SIGKILL)


def _killed(scratch: Path, toolkit: str, file: Path) -> Outcome:
    """Kill the command right after the effect, and start it again as a user would: with the same token."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    state, env = folder / "state.jsonl", {**os.environ, "HOLO_HOME": str(folder / "home")}
    state.touch()
    order, note = ASKED
    words = ["run", GOAL, "--playbook", f"{file}#put-a-note", "--set", f"order={order}", "--set", f"note={note}"]
    words += ["--playbook-only", "--token", TOKEN, "--allow", "act", "--json"]
    words += ["--app", program(toolkit, state, "none")]
    command = [str(Path(sys.executable).with_name("holo-tasks")), *words]
    first = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE_S
    while not state.read_text() and first.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    first.kill()
    first.wait()
    if _done(state) != [RIGHT]:
        return Outcome("WRONG", f"before it was killed: {_done(state)}; {shlex.join(command)}")
    again = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    said = json.loads(again.stdout or "{}")
    verdict = "WRONG" if _done(state) != [RIGHT] else "passed" if said.get("status") == "answered" else "stopped"
    return Outcome(verdict, f"{said.get('status')}: {said.get('message') or again.stderr[-200:]}")


def _done(state: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in state.read_text().splitlines()]

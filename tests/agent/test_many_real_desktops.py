"""Several real desktops in one flow process: a playbook replayed on each, and one whose X server is killed."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import DesktopFailed, Script, current_run, pursue, subgoal
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.processes import descendants
from holo_tasks.scripts.playbook import parse_playbook
from tests.support.agents import agents
from tests.support.command_fixtures import command
from tests.support.command_line import until
from tests.support.scripted_model import ScriptedModel, step

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]
PRESSING = """
name: pressing
goals:
  press:
    rules:
      - {id: say-so, after: press-it, do: [{answer: pressed, thought: It is pressed.}]}
      - {id: press-it, once: true, do: [{hotkey: [tab], thought: To the button.}, {hotkey: [space], thought: Press.}]}
"""


class Shop:
    """Starts desktops with a program that counts the presses of its button."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.all: list[VirtualDesktop] = []

    async def start(self) -> VirtualDesktop:
        log = self.folder / f"clicks-{len(self.all)}"
        desktop = VirtualDesktop(app=shlex.join(command("counter", log)), size=Size(900, 600))
        self.all.append(desktop)
        return await desktop.__aenter__()

    @property
    def clicks(self) -> list[int]:
        """The number of presses in each program."""
        return sorted(int(path.read_text() or 0) for path in self.folder.glob("clicks-*"))


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


async def test_a_playbook_runs_on_each_desktop_and_a_killed_x_server_fails_one_item(
    tmp_path: Path,
) -> None:
    shop, together, on = Shop(tmp_path), asyncio.Barrier(2), {}

    @subgoal(key="press {number}", layers=Script(parse_playbook(PRESSING)))
    async def replay(number: str) -> str:
        await current_run().desktop.look()
        await together.wait()  # so that each is on its own desktop
        return str(await pursue("Press the button."))

    @subgoal(title="Press for {item}", key="{item}")
    async def press(item: str) -> str:
        desktop: Any = current_run().desktop
        on[item] = await desktop.started()
        return str(await pursue(f"Press the button twice for {item}."))

    def said(number: int, body: Mapping[str, Any]) -> Any:
        pressed = sum(message["role"] == "assistant" for message in body["messages"])
        if pressed == 1 and "for I-1." in str(body["messages"]):
            (server,) = [child for child in descendants(on["I-1"].pid) if name_of(child) == "Xvfb"]
            os.kill(server, signal.SIGKILL)
        return step("click", element="Count", x=500, y=500) if pressed < 2 else step("answer", content="done")

    @flow(name="list", persist_result=False)
    async def whole() -> dict[str, Any]:
        async with agents(model, shop.start, tmp_path, desktops=2, spares=1) as opened:
            assert [one.result async for one in opened.map(replay, ["1", "2"])] == ["pressed"] * 2
            assert not model.requests
            await asyncio.to_thread(until, lambda: shop.clicks == [1, 1])
            return {one.item: one async for one in opened.map(press, [f"I-{number}" for number in range(3)])}

    with ScriptedModel(said) as model:
        told = await whole()
    assert isinstance(told["I-1"].error, DesktopFailed)
    assert told["I-1"].tries == 1  # it was pressed once
    assert [told[f"I-{number}"].outcome for number in (0, 2)] == ["done"] * 2
    assert sum(shop.clicks) == 2 + 5
    for desktop in shop.all:
        with pytest.raises(ProcessLookupError):
            os.kill(desktop.pid, 0)

"""Test that no input stays pressed and no hand-off stays open when a flow's process dies during a hand-off."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from holo_tasks.cli.handoff import listed, resume
from holo_tasks.cli.runs import listing
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from holo_tasks.safety.records.items import Items
from tests.support.agent_process import AgentProcess
from tests.support.command_line import CommandLine, related, until
from tests.support.inputs import Inputs, witness
from tests.support.long import few
from tests.support.viewer import Person

CONTROL = 0xFFE3

pytestmark = pytest.mark.desktop


@pytest.mark.parametrize(
    ("number", "run_again"), few([(signal.SIGKILL, False), (signal.SIGKILL, True), (signal.SIGTERM, True)])
)
async def test_a_dead_process_leaves_nothing_pressed_and_no_open_hand_off(
    cli: CommandLine,
    display: str,
    x_server: Callable[..., subprocess.Popen[bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    run_again: bool,
) -> None:
    home, inputs = Path(cli.env["HOLO_HOME"]), Inputs(tmp_path / "inputs")
    handoffs, items = Handoffs(store_at(home)), Items(store_at(home))
    x_server(display, *witness(inputs.path), shows=False)
    monkeypatch.setenv("HOLO_HOME", str(home))  # the display is borrowed, so it does not need this home
    process = AgentProcess(cli.env)
    run = process.begin("http://127.0.0.1:9/v1", inputs, display=display, question="I-1")
    asked = until(handoffs.waiting)[0]
    async with Person.at(asked.live) as person:
        await person.key(CONTROL, True)
        await asyncio.to_thread(until, lambda: len(inputs.held()) == 1)
        os.kill(process.process.pid, number)
        await asyncio.to_thread(process.end)
        with pytest.raises(ConnectionClosed):
            await person.picture()
    with pytest.raises(OSError):
        async with Person.at(asked.live):
            pass
    until(lambda: not inputs.held())
    until(lambda: not related(f"HOLO_HOME={home}"))

    told = listed(as_json=False)
    with pytest.raises(InvalidUsage) as refused:
        resume(asked.id, choice="done")
    item = next(iter(items.of("I-1")), None)
    if number == signal.SIGKILL:
        assert f"its run {run['run']} is gone. Run it again" in str(refused.value)
        assert "its run is gone" in told
        assert "interrupted" in listing(home, 5, as_json=False)
        assert item is None, "the dead process cannot close it"
    else:
        assert handoffs.find(asked.id).state == "killed"
        assert f"Hand-off {asked.id} is over: its run was killed" in str(refused.value)
        assert told == ""
        assert item is not None
        assert item.status == "killed"

    if not run_again:
        return
    again = AgentProcess(cli.env)
    try:
        run = again.begin("http://127.0.0.1:9/v1", inputs, display=display, question="I-1")
        anew = until(lambda: [one for one in handoffs.waiting() if one.run_id == run["run"]])[0]
        resume(anew.id, choice="done", note="a bus")
        assert again.said() == {"ended": "answered"}
        assert handoffs.find(asked.id).state != "answered"
        assert items.all() == []
    finally:
        again.close()

"""Playbooks and scripts wait for an answer while the program works on the last input, and not long on one at rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holo_tasks.core.errors import GaveUp
from holo_tasks.core.events import Decided
from holo_tasks.loop.script_port import Brain
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.rules import UNKNOWN_SCREEN_WAITS
from holo_tasks.scripts.script import Script
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of
from tests.support.slow_pages import FORM
from tests.support.slow_server import SlowServer
from tests.support.waiting_programs import command, started, until_shown

pytestmark = pytest.mark.desktop
BUSY_S, SLEEP_S, NEVER_S = 2.0, 3.0, 600.0
PLAYBOOK = parse_playbook("""
name: form
goals:
  send-it:
    rules:
      - {id: stored, screen: Stored, do: [{answer: stored, thought: It is stored.}]}
      - {id: send, once: true, screen: Send, patience: 1, do: [{click: Send, thought: Send it.}]}
""")
LAYERS = ("playbook", "playbook with a model", "script")


async def send(hands: Hands) -> str:
    await hands.click("Send")
    await hands.move_to("Stored")
    return "stored"


def brain_of(layer: str) -> Brain:
    brain = (Script(send) if layer == "script" else Script(PLAYBOOK, "send-it")).brain()
    if layer == "playbook with a model":
        assert isinstance(brain, PlaybookBrain)
        brain.late_s = float(UNKNOWN_SCREEN_WAITS)
    return brain


@pytest.fixture
def server() -> Iterator[SlowServer]:
    with SlowServer() as server:
        yield server


async def send_form(layer: str, url: str, server: SlowServer, home: Path) -> tuple[str, int]:
    """Send the form; return the answer or the error, and the number of the layer's waits."""
    recorder = MemoryRecorder()
    async with started(command("Tk", url, home, server), home) as desktop:
        await until_shown(desktop, FORM)
        walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)
        try:
            answer = await done(walk, brain_of(layer))
        except GaveUp as error:
            answer = str(error)
    decided = [event for event in recorder.events if isinstance(event, Decided)]
    return answer, sum(event.tool_name == "wait" for event in decided)


@pytest.mark.parametrize("layer", LAYERS)
async def test_an_answer_after_ten_seconds_of_a_busy_server_is_found(layer, server, tmp_path):
    """The program asks the server three times, and sleeps between."""
    server.kind, server.delay_s = "busy program", BUSY_S
    answer, _ = await send_form(layer, server.url, server, tmp_path)
    assert (answer, server.sent) == ("stored", 3)


@pytest.mark.parametrize("layer", LAYERS)
async def test_a_program_that_sleeps_without_a_sign_is_waited_for(layer, server, tmp_path):
    answer, _ = await send_form(layer, f"sleep:{SLEEP_S}", server, tmp_path)
    assert answer == "stored"


@pytest.mark.parametrize("layer", LAYERS)
async def test_a_program_that_never_shows_it_is_given_up(layer, server, tmp_path):
    answer, waits = await send_form(layer, f"sleep:{NEVER_S}", server, tmp_path)
    assert answer != "stored"
    assert 0 < waits <= UNKNOWN_SCREEN_WAITS

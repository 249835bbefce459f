"""Ten steps on a real desktop in every dialect, checked against the contract over real HTTP, also with faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import pursue
from holo_tasks.contract.rulebook import Terms
from holo_tasks.core.events import ActionIntended
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.models.profile import Profile, profile_for
from tests.support.agents import agent, events
from tests.support.command_fixtures import command
from tests.support.command_line import until
from tests.support.conformance import ConformanceServer
from tests.support.faults import ALL_FAULTS
from tests.support.long import few
from tests.support.replies import Meaning

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop, pytest.mark.slow]

SIZE = Size(1000, 1000)
"""With this size, thousandths are pixels, which keeps the test simple."""
TYPED = {"entry": "Größe", "themed": "二つ目", "text": "line one"}
WAYS: dict[str, tuple[Profile, str, Terms]] = {
    "structured": (profile_for("holo3-1-35b-a3b"), "structured", Terms()),
    "response_format": (
        profile_for("holo3-122b-a10b", schema_transport="response_format", tool_suffix="_desktop"),
        "structured",
        Terms(transport="response_format", max_output_tokens=32_768),
    ),
    "tools, required": (profile_for("holo3-1-35b-a3b"), "tools", Terms(dialect="tools")),
    "tools, auto": (
        profile_for("holo4-27b"),
        "tools",
        Terms(
            dialect="tools",
            temperature=1.0,
            tool_choice="auto",
            preserve_thinking=True,
            context_tokens=262_144,
            max_output_tokens=8_192,
        ),
    ),
    "holotron": (
        profile_for("holotron-12b"),
        "holotron",
        Terms(dialect="holotron", transport="json_object", context_tokens=131_072, max_output_tokens=512),
    ),
}


class Fields:
    """Three fields in a window that report their contents and positions."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {}
        return found

    def at(self, field: str) -> dict[str, int]:
        x, y, *_ = self.read()["at"][field]
        return {"x": x, "y": y}


@pytest.fixture
async def screen(tmp_path: Path) -> AsyncIterator[tuple[VirtualDesktop, Fields]]:
    fields = Fields(tmp_path / "state")
    desktop = await VirtualDesktop.start(size=SIZE, app=command("fields", fields.path))
    try:
        await asyncio.to_thread(until, lambda: "at" in fields.read())
        yield desktop, fields
    finally:
        await desktop.close()


def ten_steps(fields: Fields, dialect: str) -> list[Meaning]:
    """Fill three fields in ten steps: a click and a text for each, and other steps in between."""
    steps: list[Meaning] = []
    for name, text in TYPED.items():
        place = {"element": f"{name} field", **fields.at(name)}
        steps.append({"tool": "click", **place, "note": f"the {name} field is at {place['x']}, {place['y']}"})
        typing = {"tool": "write_at", **place} if dialect == "holotron" else {"tool": "write"}
        steps.append({**typing, "content": text})
    last = {"element": "text field", **fields.at("text")}
    steps.append({"tool": "scroll", **last, "direction": "down", "scroll_size": 2})
    steps.append({"tool": "move_to", "element": "button", "x": 500, "y": 900})
    waiting = {} if dialect == "holotron" else {"seconds": 0.1}
    steps.append({"tool": "wait", **waiting})
    steps.append({"tool": "answer", "content": "all three"})
    return steps


async def converse(
    screen: tuple[VirtualDesktop, Fields], way: str, folder: Path, faults: dict[int, str], *, patience_s: float = 120
) -> ConformanceServer:
    """Run the conversation and check its effects in the program itself."""
    desktop, fields = screen
    profile, dialect, terms = WAYS[way]

    @flow(name="ten steps", persist_result=False)
    async def ten(base_url: str) -> str:
        profiled = profile.model_copy(update={"call_timeout_s": patience_s})
        async with agent(model, desktop, folder, profile=profiled, dialect=dialect, check_answers=False) as run:
            answer: str = await pursue("Fill in the three fields.")
        traces.append(run.trace)
        return answer

    traces: list[str] = []
    with ConformanceServer(ten_steps(fields, dialect), terms, faults) as model:
        assert await ten(model.base_url) == "all three"
        await asyncio.to_thread(until, lambda: fields.read()["fields"] == TYPED)
    acted = [event for event in events(traces[0]) if isinstance(event, ActionIntended)]
    assert len(acted) == 9, [event.label for event in acted]
    return model


# The other ones run these ten steps with a fault at each, below.
WITHOUT_FAULTS = ["response_format", "tools, auto"]


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[] if way in WITHOUT_FAULTS else [pytest.mark.long]) for way in WAYS]
)
async def test_ten_steps_break_no_rule(screen: tuple[VirtualDesktop, Fields], way: str, tmp_path: Path) -> None:
    model = await converse(screen, way, tmp_path, {})
    assert len(model.requests) == 10
    assert model.connections == 1


def survivable(terms: Terms) -> list[str]:
    """Return the faults after which the work continues."""
    return [name for name, fault in ALL_FAULTS[terms.dialect].items() if fault.sequels != ("terminal",)]


OF_ACTIONS = {"ranges", "x1001", "x_minus_1", "x_1e9", "x_string", "nan", "low_confidence"}
ROUNDS = [
    case
    for way in ("structured", "tools, required", "holotron")
    for case in few((way, start) for start in range(0, len(survivable(WAYS[way][2])), 10))
]


@pytest.mark.parametrize(("way", "start"), ROUNDS)
async def test_a_fault_at_every_step_does_not_change_the_effects(
    screen: tuple[VirtualDesktop, Fields], way: str, start: int, tmp_path: Path
) -> None:
    names = survivable(WAYS[way][2])
    # A wrong coordinate needs a step with one: those faults come first, on the steps that act.
    round_ = sorted((names[(start + turn) % len(names)] for turn in range(10)), key=lambda name: name not in OF_ACTIONS)
    model = await converse(screen, way, tmp_path, dict(enumerate(round_)), patience_s=3)
    assert sorted(model.injected) == sorted(round_)

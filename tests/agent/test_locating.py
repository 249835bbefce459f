"""`localize` on a real screen: a point, a numbered mark, a region, and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image
from prefect import flow

from holo_tasks import InvalidUsage, LimitReached, Limits, ModelFailed, localize
from holo_tasks.audit.pages.report import write_report
from holo_tasks.contract.rulebook import Terms
from holo_tasks.core.events import FrameTaken, Located
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.safety.masking.settings import Redaction
from tests.agent.test_conversations import Fields
from tests.support.agents import agent, events
from tests.support.command_fixtures import command
from tests.support.command_line import until
from tests.support.conformance import ConformanceServer
from tests.support.scripted_model import Answer, ScriptedModel

# One event loop for all tests, as the desktop belongs to one; the desktop is only captured.
pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

ASKED = Terms(dialect="localize")
SIZE = Size(1000, 800)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def screen(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[VirtualDesktop, Fields]]:
    fields = Fields(tmp_path_factory.mktemp("fields") / "state")
    desktop = await VirtualDesktop.start(size=SIZE, app=command("fields", fields.path))
    try:
        await asyncio.to_thread(until, lambda: "at" in fields.read())
        yield desktop, fields
    finally:
        await desktop.close()


async def located(model: Any, desktop: VirtualDesktop, folder: Path, options: dict[str, Any], **given: Any) -> Any:
    """Locate the entry; return the point and the trace."""
    async with agent(model, desktop, folder, **options) as run:
        return await localize("the entry field", **given), run.trace


async def test_a_point_on_the_picture_becomes_a_pixel_of_the_screen(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path
) -> None:
    desktop, _ = screen
    with ConformanceServer([{"x": 250, "y": 1000}], ASKED) as model:
        point, trace = await located(model, desktop, tmp_path, {})
    assert point == Point(250, 799)
    (said,) = [event for event in events(trace) if isinstance(event, Located)]
    assert (said.point, said.description) == ([250, 799], "the entry field")


async def test_only_the_region_is_sent_and_points_are_screen_pixels(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path
) -> None:
    desktop, _ = screen
    with ConformanceServer([{"x": 500, "y": 500}], ASKED) as model:
        point, trace = await located(model, desktop, tmp_path, {}, region=Box(100, 200, 400, 300))
    assert point == Point(300, 350)
    (frame,) = [event for event in events(trace) if isinstance(event, FrameTaken)]
    assert (frame.region, frame.sent_width, frame.screen_width) == ([100, 200, 400, 300], 400, 1000)
    page = write_report(trace, tmp_path / "report.html").read_text()
    assert 'viewBox="100 200 400 300"' in page
    assert "the entry field" in page


async def test_masked_areas_are_black_in_the_picture_and_named_in_the_trace(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path
) -> None:
    desktop, _ = screen
    values = {"regions": [{"box": [0, 0, 160, 96], "kind": "balance"}], "windows": [{"programs": ["nobody"]}]}
    options = {"redaction": Redaction.read({**values, "texts": []})}
    with ConformanceServer([{"x": 500, "y": 500}], ASKED) as model:
        _, trace = await located(model, desktop, tmp_path, options)
    (frame,) = [event for event in events(trace) if isinstance(event, FrameTaken)]
    assert [(mask.kind, mask.box) for mask in frame.masks] == [("balance", [0, 0, 160, 96])]
    sent = Image.open(Path(trace) / "frames" / f"{frame.sha256}.jpg").convert("L")
    assert sent.crop((0, 0, 152, 88)).getextrema()[1] < 12


async def test_a_marks_number_is_resolved_to_the_element(screen: tuple[VirtualDesktop, Fields], tmp_path: Path) -> None:
    desktop, fields = screen
    left, top = fields.read()["at"]["entry"][2:4]
    number = 0

    @flow(name="locating", persist_result=False)
    async def on_the_entry() -> bool:
        nonlocal number
        async with agent(model, desktop, tmp_path):
            for number in range(1, 30):
                # With another description each time, because equal questions are cached.
                point = await localize(f"the entry field ({number})", marks=True)
                if left <= point.x <= left + 640 and top <= point.y <= top + 30:
                    return True
        return False

    with ConformanceServer(lambda turn: {"number": number}, ASKED) as model:
        assert await on_the_entry(), "the entry field has no mark"


async def test_an_unknown_mark_fails_the_model(screen: tuple[VirtualDesktop, Fields], tmp_path: Path) -> None:
    number = 0

    @flow(name="locating", persist_result=False)
    async def nowhere() -> None:
        nonlocal number
        async with agent(model, screen[0], tmp_path):
            for wrong in (0, 99):
                number = wrong
                with pytest.raises(ModelFailed):
                    await localize("the entry field", marks=True)

    with ScriptedModel(lambda turn, body: {"number": number}) as model:
        await nowhere()


async def test_after_every_fault_the_right_point_is_returned(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path
) -> None:
    faults = ["fenced", "prose", "x1001", "ranges", "status503", "dropped", "null_usage"]
    now = ""

    @flow(name="locating", persist_result=False)
    async def places() -> dict[str, Point]:
        nonlocal now
        found = {}
        async with agent(model, screen[0], tmp_path):
            for now in faults:
                found[now] = await localize(f"the entry field, in spite of {now}")
        return found

    with ConformanceServer([{"x": 500, "y": 500}], ASKED, lambda turn: now) as model:
        assert await places() == dict.fromkeys(faults, Point(500, 400))
    assert model.injected == faults


@pytest.mark.parametrize("marks", [False, True])
async def test_faults_in_between_do_not_add_corrections_of_a_point(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path, marks: bool
) -> None:
    with ScriptedModel(["There.", Answer(status=503, body=b"{}"), "There.", {"x": 1, "y": 1}]) as model:
        with pytest.raises(ModelFailed, match="corrected 1 time:"):
            await located(model, screen[0], tmp_path, {"max_corrections": 1}, marks=marks)
        assert len(model.requests) == 3


async def test_limits_apply_to_localize(screen: tuple[VirtualDesktop, Fields], tmp_path: Path) -> None:
    with ScriptedModel([{"x": 1, "y": 1}]) as model:
        with pytest.raises(LimitReached):
            await located(model, screen[0], tmp_path, {"limits": Limits(max_cost_usd=0.0001)})
        assert model.requests == []


async def test_an_empty_description_or_an_outside_region_is_refused(
    screen: tuple[VirtualDesktop, Fields], tmp_path: Path
) -> None:
    wrong: list[Callable[[], Any]] = [
        lambda: located(model, screen[0], tmp_path, {}, region=Box(900, 0, 200, 100)),
        lambda: localize("  "),
    ]
    with ScriptedModel([{"x": 1, "y": 1}]) as model:
        for ask in wrong:
            with pytest.raises(InvalidUsage):
                await ask()

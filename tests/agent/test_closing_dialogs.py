"""A dialog that a program opens while its desktop closes is in the trace, before the end of the run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_tasks.core.events import AnyEvent, DialogUnanswered, RunClosed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.run.run import current_run
from tests.support.agents import agents, events
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.desktop
APP = Path(__file__).parents[1] / "apps" / "closing_tk.py"


def command(kind: str, folder: Path) -> str:
    return shlex.join([tk_python(), str(APP), kind, str(folder / "saved")])


def check(found: list[AnyEvent], kind: str) -> None:
    """Check the events of a run with a program that asks or saves as it closes."""
    assert [each.title for each in found if isinstance(each, DialogUnanswered)] == ["Save changes?"] * (kind == "asks")
    assert isinstance(found[-1], RunClosed)


@pytest.mark.parametrize("kind", ["asks", "saves"])
async def test_one_agent_records_the_dialog(tmp_path: Path, kind: str) -> None:
    desktop = HoloDesktop(app=command(kind, tmp_path), width=640, height=480)
    audit = AuditBucket(local_folder=str(tmp_path / "traces"))
    with ScriptedModel([step("answer", content="done")]) as served:
        model = HoloModel(base_url=served.base_url)
        async with holo_agent("close", model=model, desktop=desktop, audit=audit) as run:
            await current_run().desktop.look()
    check(events(run.trace), kind)


@pytest.mark.parametrize("fresh", ["flow", pytest.param("item", marks=pytest.mark.long)])
async def test_several_agents_record_the_dialog(tmp_path: Path, fresh: str) -> None:
    async def start() -> VirtualDesktop:
        return await VirtualDesktop.start(app=command("asks", tmp_path), size=Size(640, 480))

    async def work(item: str) -> None:
        await current_run().desktop.look()

    with ScriptedModel([step("answer", content="done")]) as model:
        async with agents(model, start, tmp_path, desktops=1, fresh=fresh) as opened:
            assert [one.error async for one in opened.map(work, ["1"])] == [None]
    check(events(opened.run.trace), "asks")

"""Whole runs on the screen of another machine, on real servers: the recipe of the docs, and a dropped connection."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from holo_tasks import InvalidUsage, Rdp, Rules, Vnc, pursue
from tests.support.agents import events
from tests.support.command_fixtures import command
from tests.support.doc_pages import DOCS, blocks
from tests.support.remote_servers import PASSWORD, SIZE, RdpServer, Server, VncServer, await_true, serving
from tests.support.scripted_model import ScriptedModel, step

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start an Xorg without a screen")
pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]
BLOCK = HoloDesktop(width=SIZE.width, height=SIZE.height)


def held(server: Server) -> dict[str, Any]:
    """Return the contents of the three fields of a server's program, once the program is up."""
    await_true((server.folder / "state").exists, "the program does not start")
    found: dict[str, Any] = json.loads((server.folder / "state").read_text())
    return found


@needs_root
async def test_the_recipe_of_the_how_to_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page_remote.py"
    page.write_text("\n\n".join(block.text for block in blocks("python", pages=[DOCS / "how-to" / "remote.md"])))
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    spec = importlib.util.spec_from_file_location(page.stem, page)
    assert spec
    assert spec.loader
    recipe = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, page.stem, recipe)
    spec.loader.exec_module(recipe)
    with serving(RdpServer) as server, ScriptedModel([step("answer", content="1,200.00")]) as model:
        server.run(*command("fields", server.folder / "state"))
        held(server)
        await HoloModel(base_url=model.base_url).save("holo", overwrite=True)
        await AuditBucket(local_folder=str(tmp_path / "runs")).save("evidence", overwrite=True)
        monkeypatch.setattr(
            recipe, "Rdp", lambda host, **given: Rdp("127.0.0.1", port=server.port, answers_within_s=0.3, **given)
        )
        assert await recipe.invoice_total() == "1,200.00"
        (picture,) = model.images()
        assert len(picture) > 1000
    kept = [path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert kept
    assert not any(PASSWORD.encode() in content for content in kept)


async def test_a_dropped_connection_is_an_interruption(tmp_path: Path) -> None:
    with serving(VncServer) as server:

        def said(number: int, body: Any) -> Any:
            if number:
                return step("answer", content="done")
            server.shut()
            server.open()  # type: ignore[attr-defined]
            return step("wait", seconds=0.2)

        with ScriptedModel(said) as model:
            remote = Vnc("127.0.0.1", port=server.port, password=PASSWORD, answers_within_s=0.3, reconnects=6)
            audit, served = AuditBucket(local_folder=str(tmp_path)), HoloModel(base_url=model.base_url)

            @flow
            async def work() -> Any:
                async with holo_agent(
                    "far", model=served, desktop=BLOCK, audit=audit, allow="act", remote=remote
                ) as run:
                    assert await pursue("Write it.") == "done"
                return run.trace

            trace = await work()
        told = json.dumps(model.requests[-1])
    assert "dropped and was restored" in told
    (dropped,) = [event for event in events(trace) if event.kind == "interruption"]
    assert (dropped.name, dropped.times) == ("connection to the remote screen", 1)


async def test_rules_about_windows_are_refused_before_the_start(tmp_path: Path) -> None:
    audit, model = AuditBucket(local_folder=str(tmp_path)), HoloModel(base_url="http://127.0.0.1:9/v1")
    block = BLOCK.model_copy(update={"rules": Rules(programs=("ledger",))})
    with pytest.raises(InvalidUsage, match="are unknown here"):
        async with holo_agent("far", model=model, desktop=block, audit=audit, remote=Vnc("127.0.0.1")):
            pytest.fail("it began")

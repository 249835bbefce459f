"""Test that a run with a permanent live view publishes its link in Prefect, and ignores a watcher's input."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.artifacts import acreate_link_artifact

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from tests.support.viewer import Person

pytestmark = pytest.mark.desktop


async def test_a_permanent_live_view_shows_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[str] = []

    async def take(**artifact: Any) -> UUID:
        inspect.signature(acreate_link_artifact).bind(**artifact)
        links.append(artifact["link"])
        return UUID(int=0)

    # A Prefect server takes a minute to start and would show the same.
    monkeypatch.setattr("holo_tasks.run.prefect_edge.artifacts.acreate_link_artifact", take)
    async with holo_agent(
        "to be watched",
        model=HoloModel(base_url="http://127.0.0.1:9/v1"),
        desktop=HoloDesktop(width=320, height=240, live_view="always"),
        audit=AuditBucket(local_folder=str(tmp_path)),
    ) as run:
        assert run.live_view == "always"
        frame = await run.desktop.look()
        await asyncio.gather(*run.aside)
        (url,) = links
        async with Person.at(url) as watcher:
            await watcher.click(100, 100)
            seen = await watcher.picture()
        assert len(seen) == 320 * 240 * 4
        other = sum(a != b for a, b in zip(seen[2::4], frame.rgb[::3], strict=True))
        assert other < 500  # the mouse pointer, which the VNC server draws
    with pytest.raises(OSError):
        async with Person.at(url):
            pass

"""A run that can be watched all along says where, in Prefect, and takes no input from who watches."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client

from holo_blocks import AuditBucket, HoloDesktop, HoloModel, holo_agent
from tests.support.viewer import Person

pytestmark = pytest.mark.desktop


async def test_a_run_can_be_watched_all_along(prefect: str, tmp_path: Path) -> None:
    async with holo_agent(
        title="to be watched",
        model=HoloModel(base_url="http://127.0.0.1:9/v1"),
        desktop=HoloDesktop(width=320, height=240, live_view="always"),
        audit=AuditBucket(local_folder=str(tmp_path)),
    ) as run:
        assert run.live_view == "always"
        frame = await run.desktop.look()
        await asyncio.wait(run.aside)
        async with get_client() as client:
            links = [each.data for each in await client.read_artifacts() if each.key == "live-view"]
        (url,) = re.findall(r"http://[^)\s]+", str(links[-1]))
        async with Person.at(url) as watcher:
            await watcher.click(100, 100)
            seen = await watcher.picture()
        assert len(seen) == 320 * 240 * 4
        assert seen[2::4] + seen[1::4] + seen[::4] == frame.rgb[::3] + frame.rgb[1::3] + frame.rgb[2::3]
    with pytest.raises(OSError):
        async with Person.at(url):
            pass

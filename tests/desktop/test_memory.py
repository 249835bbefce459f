"""The process of a desktop has memory for the next picture already, from the one before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop

PICTURE = 1280 * 800 * 4 // 4096
"""So many pages has a picture of the screen."""


def pages_got(pid: int) -> int:
    """Return how often a process got a page so far."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


async def test_a_step_gets_hardly_a_page_where_pictures_were_dropped_before(
    probe: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Not each: some pictures are kept, and on a busy machine a step may wait so long that all was given back."""
    got: list[int] = []
    async with VirtualDesktop(app=probe("counter", tmp_path / "count")) as desktop:
        for step in range(40):
            before = pages_got(desktop.pid)
            await desktop.do(Click(Point(320 + 60 * (step % 2), 450)))
            await desktop.look()
            got.append(pages_got(desktop.pid) - before)
            if got[-1] < PICTURE / 4:
                return
    raise AssertionError(f"Each step got the pages of a picture or more: {got}")

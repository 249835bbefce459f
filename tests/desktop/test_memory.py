"""A desktop's process reuses the memory of the previous picture for the next one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop

PICTURE = 1280 * 800 * 4 // 4096
"""Pages of memory in one picture of the screen."""


def pages_got(pid: int) -> int:
    """Return the number of minor page faults of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


async def test_a_step_allocates_hardly_any_page_after_earlier_pictures_were_dropped(
    probe: Callable[..., list[str]], tmp_path: Path
) -> None:
    """One such step is enough: some pictures are kept, and on a busy machine memory is returned between steps."""
    got: list[int] = []
    async with VirtualDesktop(app=probe("counter", tmp_path / "count")) as desktop:
        for step in range(40):
            before = pages_got(desktop.pid)
            await desktop.do(Click(Point(320 + 60 * (step % 2), 450)))
            await desktop.look()
            got.append(pages_got(desktop.pid) - before)
            if got[-1] < PICTURE / 4:
                return
    raise AssertionError(f"Each step allocated the pages of a whole picture or more: {got}")

"""A frame lists its windows with their owners, positions and overlaps."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.x11.stacking import windows_between
from holo_tasks.safety.masking.places import WindowRule, WindowRules
from holo_tasks.safety.redaction import Painter

APPS = Path(__file__).parent.parent.parent / "apps"
ONE, TWO = Owner("/usr/bin/one"), Owner("/usr/bin/two")


def window(left: int, owner: Owner = ONE, solid: bool = True) -> OnScreen:
    return OnScreen(Box(left, 0, 10, 10), (owner,), solid)


def test_windows_that_did_not_move_keep_their_positions() -> None:
    seen = {1: window(0), 2: window(5, TWO)}
    assert windows_between(seen, dict(seen)) == (window(0), window(5, TWO))


def test_a_window_that_moved_meanwhile_covers_its_whole_path_and_hides_no_other() -> None:
    (moved, other) = windows_between({1: window(0), 2: window(50)}, {1: window(30), 2: window(50)})
    assert moved == OnScreen(Box(0, 0, 40, 10), (ONE,), False)
    assert not other.solid


def test_a_window_that_came_or_went_or_changed_order_counts_before_and_after() -> None:
    assert len(windows_between({1: window(0)}, {2: window(5)})) == 2
    swapped = windows_between({1: window(0), 2: window(5)}, {2: window(5), 1: window(0)})
    assert {one.solid for one in swapped} == {False}


@pytest.fixture(scope="module")
def desktop():
    found = asyncio.run(VirtualDesktop.start(size=Size(800, 600)))
    yield found
    asyncio.run(found.close())


async def test_a_window_is_masked_wherever_it_is_moved(desktop, tk, tmp_path) -> None:
    env = {"DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority), "PATH": "/usr/bin:/bin"}
    vault, notes = tmp_path / "vault.py", tmp_path / "notes.py"
    started = []
    desktop.tells_windows = True
    try:
        for script, geometry in ((vault, "300x200+20+40"), (notes, "150x100+500+300")):
            shutil.copy(APPS / "probe_window.py", script)
            started.append(subprocess.Popen([tk, script, "The same title", geometry], env=env))
            while len(await desktop.windows()) < len(started):
                await asyncio.sleep(0.02)
        painter = Painter([WindowRules([WindowRule((str(vault),))])])
        (masked,) = [each for each in await desktop.windows() if each.box.left < 400]
        for left, top in ((None, None), (250, 150), (600, 450)):
            if left is not None:
                command = ["xdotool", "windowmove", "--sync", str(masked.id), str(left), str(top)]
                subprocess.run(command, env=env, check=True)
            frame = await desktop.look()
            redacted = await painter.redact(frame)
            now = next(each.box for each in await desktop.windows() if each.id == masked.id)
            assert redacted.masks
            names = [[Path(owner.script).stem for owner in each.owners] for each in frame.windows]
            assert ["vault"] in names
            assert ["notes"] in names
            for y in range(max(0, now.top), min(600, now.bottom), 7):
                row = redacted.frame.rgb[3 * (800 * y + now.left) : 3 * (800 * y + min(800, now.right))]
                over = [each.box for each in frame.windows if "notes" in str(each.owners)]
                if not any(box.top <= y < box.bottom for box in over):
                    assert not any(row)
            assert redacted.frame.windows is None
    finally:
        for process in started:
            process.kill()
            process.wait()

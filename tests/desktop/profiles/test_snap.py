"""A program with a /tmp of its own, as snaps have, does not find the cookie of its display: the run says so at once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.desktop.profiles.programs import SNAP

SNAPS = Path(SNAP)
WITHOUT_COOKIE = """#!/bin/sh
exec unshare --mount sh -c '
mount -t tmpfs tmpfs "$(dirname "$XAUTHORITY")" && exec "$0" -c "import tkinter; tkinter.Tk().mainloop()"' {python}
"""
"""It sees the X server's socket, which snapd lends to a snap, and no file of the folder with the cookie."""


def has_namespaces() -> bool:
    """Say whether this user may mount a folder for one process only."""
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return bool(shutil.which("unshare")) and not subprocess.run(command, capture_output=True, check=False).returncode


@pytest.fixture
def snap() -> Iterator[Path]:
    """The path of a command that a snap installs."""
    folders = [folder for folder in (SNAPS, SNAPS.parent) if not folder.exists()]
    SNAPS.mkdir(parents=True, exist_ok=True)
    program = SNAPS / "holo-test-painter"
    yield program
    program.unlink()
    for folder in folders:
        folder.rmdir()


async def refusal(program: Path) -> str:
    program.write_text(WITHOUT_COOKIE.format(python=tk_python()))
    program.chmod(0o755)
    with pytest.raises(DesktopFailed) as failed:
        await VirtualDesktop.start(size=Size(640, 480), app=[str(program)])
    return str(failed.value)


@pytest.mark.skipif(not has_namespaces(), reason="needs the right to mount")
async def test_a_snap_that_cannot_open_the_display_ends_with_advice(snap: Path, tmp_path: Path) -> None:
    said = await refusal(snap)
    assert "ended with status 1 without a window" in said
    assert "It is a snap, which has a /tmp of its own" in said
    assert "It is a snap" not in await refusal(tmp_path / "painter")

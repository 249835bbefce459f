"""Test desktops run in preloaded, forked processes that behave like normal ones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.session import child
from tests.support import forked


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The forked host processes."""
    return forked.watch(monkeypatch, "holo_tasks.desktop.session.host")


def told_by_kernel(pid: int) -> dict[str, Any]:
    entry = Path("/proc", str(pid))
    state = (entry / "status").read_text().splitlines()
    after_name = (entry / "stat").read_text().rpartition(")")[2].split()
    arguments = (entry / "cmdline").read_bytes().split(b"\0")
    return {
        "arguments": [one for one in arguments if not one.isdigit()],
        "parent": arguments[-2].decode() == after_name[1] == str(os.getpid()),
        "environment": {
            one for one in (entry / "environ").read_bytes().split(b"\0") if not one.startswith(b"HOLO_DESKTOP=")
        },
        "name": (entry / "comm").read_text(),
        "folder": (entry / "cwd").readlink(),
        "session": after_name[3] == str(pid),
        "umask": [line for line in state if line.startswith("Umask")],
        "streams": [(entry / "fd" / str(number)).readlink().name for number in range(3)],
    }


async def test_a_forked_host_looks_like_any_other_process(started: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for how in (child.subprocess, subprocess):
        monkeypatch.setattr(child, "subprocess", how)
        async with VirtualDesktop() as desktop:
            assert (await desktop.look()).size.width
            host = desktop.pid
            seen.append(told_by_kernel(host))
        assert not Path(f"/proc/{host}").exists()
    assert len(started) == 1
    assert seen[0] == seen[1]
    assert seen[0]["parent"]

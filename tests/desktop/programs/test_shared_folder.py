"""The folder that programs share with the agent: one per desktop, closed to other users, also in a sandbox."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.machine.foreign_folder import copy_in, entries, opened
from tests.support.sandboxes import needs_walls

pytestmark = pytest.mark.desktop
UID = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="to start a program as another user takes root")
SAVES = """umask 077
until [ -e "$HOLO_FILES/given" ]; do sleep 0.1; done
cat "$HOLO_FILES/given" > "$HOLO_FILES/.draft"
ls ~/Downloads/ > "$HOLO_FILES/downloads" 2> /dev/null
mv "$HOLO_FILES/.draft" "$HOLO_FILES/saved"
"""


def names(shared: SharedFolder) -> set[str]:
    with opened(shared) as folder:
        return {one.name for one in entries(folder) if not one.refusal}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, id="as it is"),
        pytest.param({"network": "none"}, id="sandboxed", marks=needs_walls),
        pytest.param({"run_as": str(UID)}, id="another user", marks=needs_root),
        pytest.param(
            {"run_as": str(UID), "network": "none"}, id="another user, sandboxed", marks=[needs_root, needs_walls]
        ),
    ],
)
async def test_a_program_finds_given_files_and_the_agent_finds_saved_ones(
    how: dict[str, Any], tmp_path: Path, until: Callable[[Callable[[], Any]], Awaitable[bool]]
) -> None:
    source = tmp_path / "letter"
    source.write_text("Dear Ada")
    async with VirtualDesktop(
        app=["sh", "-c", f"({SAVES}) & exec xterm -e sleep 1000"], app_timeout_s=60, **how
    ) as desktop:
        shared = await desktop.shared_folder()
        found = shared.path.stat()
        assert found.st_mode & 0o777 == 0o700
        assert found.st_uid == (UID if "run_as" in how else os.geteuid())
        with opened(shared) as folder:
            copied, _ = copy_in(source, folder, shared, "given", 100, read_only=True)
        assert await until(lambda: {"saved", "downloads"} <= names(shared))
        assert (shared.path / "saved").read_text() == "Dear Ada"
        assert copied.path.stat().st_uid == found.st_uid
        assert ("given" in (shared.path / "downloads").read_text()) == ("network" in how)
    assert not shared.path.exists()


async def test_two_desktops_have_separate_folders() -> None:
    async with VirtualDesktop() as one, VirtualDesktop() as other:
        assert (await one.shared_folder()).path != (await other.shared_folder()).path

"""The profile of a desktop block: its name, and its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_blocks import HoloDesktop
from holo_tasks.desktop import VirtualDesktop


@pytest.mark.parametrize(
    ("profiles", "saved_as", "folder"),
    [
        ("new", "portal", None),
        ("kept", "portal", "portal"),
        ("kept", None, "chromium"),
        ("kept:orders", "portal", "orders"),
    ],
)
async def test_a_kept_profile_has_the_name_of_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profiles: str, saved_as: str | None, folder: str | None
) -> None:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path))

    async def opened(desktop: VirtualDesktop) -> None:
        """Start nothing."""

    monkeypatch.setattr(VirtualDesktop, "_open", opened)
    block = HoloDesktop(app="chromium about:blank", profiles=profiles)
    block._block_document_name = saved_as
    desktop = await block.start()
    assert desktop._kept == (tmp_path / "profiles" / folder if folder else None)

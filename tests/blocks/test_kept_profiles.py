"""Name and folder of the browser profile that a desktop block keeps."""

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
async def test_a_kept_profile_is_named_by_the_setting_or_the_block_or_the_program(
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

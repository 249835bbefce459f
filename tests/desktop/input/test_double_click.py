"""Clicks of two gestures never make a double click, whatever the screen's double-click settings."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import xcffib

from holo_tasks.desktop.input.double_click import DISTANCE, TIME, DoubleClick, double_click_limits, numbers_in
from holo_tasks.desktop.x11.x_connection import XConnection

EVERY = {TIME: 900, "Xft/DPI": 98304, DISTANCE: 24}


def settings(numbers: dict[str, int], order: str = "<") -> bytes:
    """Return settings in the format of an XSETTINGS manager, including a text and a color."""

    def named(kind: int, name: str, value: bytes) -> bytes:
        padded = name.encode() + b"\0" * (-len(name) % 4)
        return struct.pack(f"{order}BxH", kind, len(name)) + padded + struct.pack(f"{order}I", 0) + value

    parts = [named(1, "Net/ThemeName", struct.pack(f"{order}I", 5) + b"Plain\0\0\0"), named(2, "Gtk/Hue", b"\0" * 8)]
    parts += [named(0, name, struct.pack(f"{order}i", number)) for name, number in numbers.items()]
    return struct.pack(f"{order}BxxxII", order == ">", 1, len(parts)) + b"".join(parts)


@pytest.mark.parametrize("order", ["<", ">"])
def test_integer_settings_are_parsed_among_texts_and_colors(order: str) -> None:
    assert numbers_in(settings(EVERY, order)) == EVERY


@pytest.mark.desktop
def test_settings_of_the_screen_extend_the_toolkits_defaults(
    x_server: Callable[..., tuple[str, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    display, authority = x_server("Xvfb")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    link, manager = XConnection(display), XConnection(display)
    assert double_click_limits(link) == DoubleClick()
    window = manager.conn.generate_id()
    core, kind = manager.conn.core, manager.atom("_XSETTINGS_SETTINGS")
    core.CreateWindow(0, window, manager.root, 0, 0, 1, 1, 0, xcffib.xproto.WindowClass.InputOnly, 0, 0, [])
    core.SetSelectionOwner(window, manager.atom("_XSETTINGS_S0"), 0)
    for told, found in [
        (settings(EVERY), DoubleClick(0.9, 24)),
        (settings({TIME: 200, DISTANCE: 3}), DoubleClick()),
        (b"", DoubleClick()),
        (settings(EVERY)[:40], DoubleClick()),
    ]:
        core.ChangeProperty(
            xcffib.xproto.PropMode.Replace, window, kind, kind, 8, len(told), told, is_checked=True
        ).check()
        assert double_click_limits(link) == found

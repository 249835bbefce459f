"""What the tests of accessibility share: programs of several toolkits with the same small form."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

APPS = Path(__file__).parent.parent / "apps"
DEBIAN_PYTHON = "/usr/bin/python3"
"""The one that has the bindings of GTK."""


@cache
def has_gtk(version: str) -> bool:
    """Say whether the bindings of a version of GTK are installed: to load them takes half a second of a core."""
    bindings = os.access(DEBIAN_PYTHON, os.X_OK) and Path("/usr/lib/python3/dist-packages/gi").is_dir()
    return bindings and any(Path("/usr/lib").glob(f"*/girepository-1.0/Gtk-{version}.typelib"))


@pytest.fixture(scope="session")
def form() -> Callable[..., list[str]]:
    """Returns the command of a toolkit's form; the test is skipped where the toolkit is not installed."""

    def command(toolkit: str, *arguments: object) -> list[str]:
        version = {"gtk3": "3.0", "gtk4": "4.0"}.get(toolkit)
        if version and not has_gtk(version):
            pytest.skip(f"needs the Debian packages python3-gi and gir1.2-gtk-{version}")
        python = DEBIAN_PYTHON if version else sys.executable
        return [python, str(APPS / f"form_{toolkit}.py"), *map(str, arguments)]

    return command

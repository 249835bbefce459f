"""Fixtures for accessibility tests: the same small form in several toolkits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

APPS = Path(__file__).parent.parent / "apps"
DEBIAN_PYTHON = "/usr/bin/python3"
"""The Python with the GTK bindings."""


@cache
def has_gtk(version: str) -> bool:
    """Return whether the bindings of a GTK version are installed, without importing them (half a CPU second)."""
    bindings = os.access(DEBIAN_PYTHON, os.X_OK) and Path("/usr/lib/python3/dist-packages/gi").is_dir()
    return bindings and any(Path("/usr/lib").glob(f"*/girepository-1.0/Gtk-{version}.typelib"))


@pytest.fixture(scope="session")
def form() -> Callable[..., list[str]]:
    """Return a function that builds the command of a toolkit's form. It skips the test if the toolkit is missing."""

    def command(toolkit: str, *arguments: object) -> list[str]:
        version = {"gtk3": "3.0", "gtk4": "4.0"}.get(toolkit)
        if version and not has_gtk(version):
            pytest.skip(f"needs the Debian packages python3-gi and gir1.2-gtk-{version}")
        python = DEBIAN_PYTHON if version else sys.executable
        return [python, str(APPS / f"form_{toolkit}.py"), *map(str, arguments)]

    return command

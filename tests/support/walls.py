"""Whether this machine lets bubblewrap build walls at all: many a container forbids namespaces to all in it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

WALLS = ["--unshare-user", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]


def forbidden() -> str:
    """Return what bubblewrap says if it may not; empty if it may, and where it is missing, which is no reason."""
    program = shutil.which("bwrap")
    return subprocess.run([program, *WALLS], capture_output=True, text=True).stderr if program else ""


needs_walls = pytest.mark.skipif(bool(said := forbidden()), reason=f"this machine allows no walls: {said.strip()}")

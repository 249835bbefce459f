"""Check whether bubblewrap can build a sandbox on this machine. Many containers forbid namespaces."""

from __future__ import annotations

import shutil
import subprocess

import pytest

WALLS = ["--unshare-user", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]


def forbidden() -> str:
    """Return bubblewrap's error if it is not permitted. Empty if it works or is not installed (a test must not skip
    then).
    """
    program = shutil.which("bwrap")
    return subprocess.run([program, *WALLS], capture_output=True, text=True).stderr if program else ""


needs_walls = pytest.mark.skipif(bool(said := forbidden()), reason=f"this machine allows no walls: {said.strip()}")

"""Find a Python interpreter that has tkinter, for programs that are written with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from holo_tasks.core.errors import DesktopFailed

PACKAGE = "python3-tk"
_PROBE = "import tkinter, sys; sys.exit(0 if tkinter.TkVersion >= 8.6 else 1)"


def tk_python(candidates: Sequence[str] = (sys.executable, "/usr/bin/python3")) -> str:
    """Return the first interpreter that can import tkinter 8.6 or newer. Raises `DesktopFailed` if none can.

    A virtual environment of a downloaded Python often lacks tkinter, while Debian's own Python has it.
    """
    return _first_with_tk(tuple(candidates))


@cache
def _first_with_tk(candidates: tuple[str, ...]) -> str:
    for candidate in candidates:
        try:
            probe = subprocess.run([candidate, "-c", _PROBE], capture_output=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if probe.returncode == 0:
            return candidate
    tried = ", ".join(candidates)
    raise DesktopFailed(f"No Python here has tkinter (tried {tried}): run `apt-get install {PACKAGE}`.")

"""Find a Python interpreter that has tkinter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache

_PROBE = "import tkinter, sys; sys.exit(0 if tkinter.TkVersion >= 8.6 else 1)"


class NoTkPython(RuntimeError):
    """No interpreter on this machine can import tkinter."""


def tk_python(candidates: Sequence[str] = (sys.executable, "/usr/bin/python3")) -> str:
    """Return the first of `candidates` that can import tkinter 8.6 or newer. Raises `NoTkPython`.

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
    raise NoTkPython(f"no Python with tkinter (tried {tried}): install the Debian package python3-tk")

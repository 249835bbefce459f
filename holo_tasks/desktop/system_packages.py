"""Find the Debian packages that a virtual desktop with a program needs and that are not installed."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop.programs.tk_python import PACKAGE, tk_python

PROGRAMS = {"xvfb": "Xvfb", "openbox": "openbox"}
LIBRARIES = {
    "libx11-6": "libX11.so.6",
    "libxcb1": "libxcb.so.1",
    "libxcb-randr0": "libxcb-randr.so.0",
    "libxcb-shm0": "libxcb-shm.so.0",
    "libxcb-xfixes0": "libxcb-xfixes.so.0",
    "libglib2.0-0": "libglib-2.0.so.0",
}
FONTS_PACKAGE = "fonts-dejavu-core"
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


def missing_packages(*, tk: bool = False) -> list[str]:
    """List the missing packages. ``tk`` says that the program of the desktop is written with tkinter."""
    missing = [package for package, program in PROGRAMS.items() if shutil.which(program) is None]
    missing += [] if _has_font() else [FONTS_PACKAGE]
    missing += [package for package, library in LIBRARIES.items() if not _loads(library)]
    if tk and not _has_tk():
        missing.append(PACKAGE)
    return missing


def require_packages(*, tk: bool = False) -> None:
    """Raise `DesktopFailed` with the command that installs all missing packages."""
    if missing := missing_packages(tk=tk):
        raise DesktopFailed(
            f"A virtual desktop needs Debian packages that are not installed; as root, run: apt-get update && "
            f"apt-get install --no-install-recommends {' '.join(missing)}"
        )


def _has_font() -> bool:
    folders = (Path(folder).expanduser() for folder in FONT_FOLDERS)
    return any(path.suffix in (".ttf", ".otf", ".ttc") for folder in folders for path in folder.rglob("*.?t?"))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_tk() -> bool:
    try:
        tk_python()
    except DesktopFailed:
        return False
    return True

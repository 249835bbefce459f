"""OpenGL for those who ask: the X server's part of it (GLX) takes 50 MB, and most programs on a desktop never ask.

A program asks the server whether it has GLX before it uses it, so those who do can be told as they do. A guess at who
will, by names of libraries, only saves them a second start.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.this_machine import OFF

SWITCH = "HOLO_OPENGL"
ON = {"1", "true", "yes", "on"}
LOOKED_AT, LARGE = 256 * 1024, 32 * 1024 * 1024
"""Names of libraries stand early in a program; one that is larger brings its own, as browsers do."""
ASKING = (
    *(b"libGL.so", b"libGLX", b"libOpenGL", b"libepoxy", b"libgtk-3", b"libgtk-4", b"libQt5", b"libQt6", b"libSDL"),
    *(b"libwx_gtk", b"libglut", b"libglfw", b"libvtk", b"gi.repository", b"PyQt", b"PySide", b"pyglet", b"pygame"),
    *(b"OpenGL", b"moderngl", b"vtkmodules", b"import vtk", b"kivy", b"import wx"),
    *(b"chromium", b"chrome", b"firefox", b"electron", b"libreoffice", b"soffice"),
)
"""Names of libraries that ask for it, in programs and in scripts, and of programs that other scripts start."""


def wanted(given: bool | None, environ: Mapping[str, str]) -> bool | None:
    """Return whether a desktop is to have OpenGL: as given, else as the environment says; None if a program asks."""
    word = environ.get(SWITCH, "").strip().lower()
    if given is not None or word in ("", "auto"):
        return given
    if word not in ON | OFF:
        raise InvalidUsage(f"{SWITCH} is 1, 0 or auto, not {word!r}.")
    return word in ON


def likely(command: Sequence[str], path: str | None) -> bool:
    """Guess whether a program will ask, by what stands in it, in its command and in the files that this names."""
    found = shutil.which(command[0], path=path)
    if found is None:
        return False  # it will not start
    program = Path(found).resolve()
    looked_at = [os.fsencode(" ".join(command)), *map(_head, [program, *map(Path, command[1:])])]
    return program.stat().st_size > LARGE or any(name in text for text in looked_at for name in ASKING)


def _head(file: Path) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        if file.is_file():
            with file.open("rb") as opened:
                return opened.read(LOOKED_AT)
    return b""


class Asked(Exception):
    """The program asks for OpenGL as it comes up, and its desktop has none."""

"""Decide whether a desktop's X server needs GLX, its part of OpenGL. GLX takes 50 MB, and most programs never use it.

A program queries the GLX extension before it uses it. `x_session` notices that query and starts again with GLX.
`likely` guesses by names of libraries which programs will query it. A right guess only saves the second start.
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
"""Bytes of a file that are searched, because names of libraries stand early in a program; and the size in bytes from
which a program counts as bringing its own libraries, as browsers do."""
ASKING = (
    *(b"libGL.so", b"libGLX", b"libOpenGL", b"libepoxy", b"libgtk-3", b"libgtk-4", b"libQt5", b"libQt6", b"libSDL"),
    *(b"libwx_gtk", b"libglut", b"libglfw", b"libvtk", b"gi.repository", b"PyQt", b"PySide", b"pyglet", b"pygame"),
    *(b"OpenGL", b"moderngl", b"vtkmodules", b"import vtk", b"kivy", b"import wx"),
    *(b"chromium", b"chrome", b"firefox", b"electron", b"libreoffice", b"soffice"),
)
"""Names of libraries that query GLX, as written in programs and scripts; and names of programs that use them."""


def opengl_enabled(option: bool | None, environ: Mapping[str, str]) -> bool | None:
    """Return whether a desktop gets OpenGL: ``option`` if it is set, else the value of HOLO_OPENGL.

    Returns ``None`` if the desktop gets it as soon as a program asks. Raises `InvalidUsage` for an unknown value.
    """
    word = environ.get(SWITCH, "").strip().lower()
    if option is not None or word in ("", "auto"):
        return option
    if word not in ON | OFF:
        raise InvalidUsage(f"{SWITCH} is 1, 0 or auto, not {word!r}.")
    return word in ON


def likely(command: Sequence[str], path: str | None) -> bool:
    """Guess whether a program will query GLX.

    It looks for names of libraries in the program's file, in its command and in the files that the command names.
    """
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


class GlxMissing(Exception):
    """The program queried GLX while it started, and its desktop has no GLX."""

"""Identify the program that owns a window by the files that its process runs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.screen.geometry import Box

VIEWERS = frozenset(
    {
        "xfreerdp", "xfreerdp3", "wlfreerdp", "sdl-freerdp", "sdl-freerdp3", "xtigervncviewer", "vncviewer",
        "tigervncviewer", "xtightvncviewer", "xvnc4viewer", "ssvncviewer", "gvncviewer", "rdesktop", "remmina",
        "krdc", "vinagre", "gnome-connections", "virt-viewer", "remote-viewer", "spicy", "x2goclient", "xpra",
    }
)  # fmt: skip
"""Programs whose single window shows the screen of another machine, with windows of any program in it."""

FAR = "it shows the screen of another machine, and the owners of the windows there are unknown here"
"""Reason of refusals for a viewer's window."""


@dataclass(frozen=True)
class Owner:
    """The program that owns a window, as the X server and the kernel report it. Its own claims are not used.

    ``executable`` is the path of its program file. It is empty if that is unknown; ``why`` then gives the reason.
    ``script`` is the path of the file that an interpreter runs, if its command line is unambiguous. Otherwise ``said``
    holds names of files that it may run. Use ``said`` only to exclude programs, never to allow one.

    ``title`` may be any text. ``box`` is the place of the window. ``popup`` is true if a menu or similar window is open
    anywhere, because keys may go to it.
    """

    executable: str = ""
    script: str = ""
    pid: int = 0
    title: str = ""
    box: Box | None = None
    why: str = ""
    said: tuple[str, ...] = ()
    popup: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", tuple(self.said))  # JSON from another process has a list

    @property
    def name(self) -> str:
        """The identity of the program; empty if it is unknown."""
        runs = self.script or "".join(f"{name}? " for name in self.said)
        return f"{self.executable} {runs}".strip() if self.executable else ""


def runs(owner: Owner, programs: Sequence[str]) -> bool:
    """Return whether a window's program is one of these. An unknown program never is.

    A path matches exactly that file, with links resolved. A bare name matches any file with that name, and the file
    that it names on PATH. For an interpreter, both its own file and its script count.
    """
    files = [Path(file) for file in (owner.executable, owner.script) if file]
    return bool(owner.executable) and any(_matches(file, program) for file in files for program in programs)


def may_run(owner: Owner, programs: Sequence[str]) -> bool:
    """Return whether a window's program is, or may be, one of these. Use it to exclude programs.

    A viewer's window may show any program of the other machine, so the result is always true.
    """
    if is_viewer(owner):
        return True
    names = {Path(program).name for program in programs}
    return not owner.executable or runs(owner, programs) or not names.isdisjoint(owner.said)


def is_viewer(owner: Owner) -> bool:
    """Return whether a window shows the screen of another machine, whose window owners cannot be known."""
    return any(Path(file).name in VIEWERS for file in (owner.executable, owner.script) if file)


def _matches(file: Path, program: str) -> bool:
    if "/" in program:
        return file == _resolved(program)
    found = shutil.which(program)
    return file.name == program or (found is not None and file == _resolved(found))


def _resolved(path: str) -> Path | None:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):  # circular links, or a home folder of an unknown user
        return None

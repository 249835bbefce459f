"""Programs by the files that their processes run: whose a window is, and which one that is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.geometry import Box

VIEWERS = frozenset(
    {
        "xfreerdp", "xfreerdp3", "wlfreerdp", "sdl-freerdp", "sdl-freerdp3", "xtigervncviewer", "vncviewer",
        "tigervncviewer", "xtightvncviewer", "xvnc4viewer", "ssvncviewer", "gvncviewer", "rdesktop", "remmina",
        "krdc", "vinagre", "gnome-connections", "virt-viewer", "remote-viewer", "spicy", "x2goclient", "xpra",
    }
)  # fmt: skip
"""Programs whose one window shows the screen of another machine, and windows of any program in it."""

FAR = "it shows the screen of another machine, and whose a window is there nobody here can tell"


@dataclass(frozen=True)
class Owner:
    """The program a window belongs to, as the X server and the kernel know it, not as it says itself.

    ``executable`` is the path of its program file, empty if it cannot be known, and ``why`` then says why not.
    ``script`` is the path of what an interpreter runs, as far as its command line leaves no doubt; else ``said`` are
    names of files that it may run: good for what is to be kept away, not for what is let in. ``title`` may be
    anything; ``box`` is where the window is, and ``popup`` says that a menu or the like is open, wherever it lies,
    which keys may go to.
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
        object.__setattr__(self, "said", tuple(self.said))  # a list, from another process

    @property
    def name(self) -> str:
        """What tells one program from another; empty if it is not known."""
        runs = self.script or "".join(f"{name}? " for name in self.said)
        return f"{self.executable} {runs}".strip() if self.executable else ""


def runs(owner: Owner, programs: Sequence[str]) -> bool:
    """Say whether a window's program is one of these; one that is not known never is.

    A path means exactly that file, links resolved; a bare name any file of that name, and what it stands for on PATH.
    For an interpreter the script counts as well as the interpreter.
    """
    files = [Path(file) for file in (owner.executable, owner.script) if file]
    return bool(owner.executable) and any(_is(file, program) for file in files for program in programs)


def may_run(owner: Owner, programs: Sequence[str]) -> bool:
    """Say whether a window's program is one of these, or may be: for what is to be kept away from them.

    In a viewer's window any program of the other machine may be shown.
    """
    if is_viewer(owner):
        return True
    names = {Path(program).name for program in programs}
    return not owner.executable or runs(owner, programs) or not names.isdisjoint(owner.said)


def is_viewer(owner: Owner) -> bool:
    """Say whether a window shows the screen of another machine: whose the windows in it are, nobody here can say."""
    return any(Path(file).name in VIEWERS for file in (owner.executable, owner.script) if file)


def _is(file: Path, program: str) -> bool:
    if "/" in program:
        return file == _resolved(program)
    found = shutil.which(program)
    return file.name == program or (found is not None and file == _resolved(found))


def _resolved(path: str) -> Path | None:
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):  # links in a circle, nobody's home
        return None

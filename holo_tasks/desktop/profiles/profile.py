"""Create, lock, repair and clean up the profile of a desktop's program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop import processes
from holo_tasks.desktop.profiles import office
from holo_tasks.desktop.profiles.instances import has_running_instance
from holo_tasks.desktop.profiles.programs import ProgramKind, look_up, names_profile
from holo_tasks.desktop.profiles.wrappers import command_in_terminal
from holo_tasks.desktop.programs.other_user import OtherUser
from holo_tasks.desktop.session import leftovers
from holo_tasks.machine.private import FOLDER, own_folder

INNER, LOCK = "profile", "desktop"
"""The profile's folder, and the lock file, which holds the name of the desktop that uses it."""
HANDED_ON = "If it passed its document to an instance that was already running, add to its command {}."
ANY_OPTION = "the option by which it starts an instance of its own, or `env HOME=FOLDER` before it"
SNAP_SEES = (
    "It is a snap, which has a /tmp of its own and so may not see the cookie of this display: install it as a package "
    "of the distribution."
)
ELSEWHERE = {"HOME", "XDG_CONFIG_HOME"}
"""Variables that choose the settings folder. A program that gets such a variable keeps its usual profile."""


@dataclass
class Profile:
    """The command of a program and its profile. ``folder`` is ``None`` if the program uses its usual profile.

    ``files`` tell the program from others.
    """

    command: list[str]
    folder: Path | None = None
    kind: ProgramKind | None = None
    is_snap: bool = False
    files: Sequence[Path] = ()
    _documents: set[Path] = field(default_factory=set)
    _lock: IO[bytes] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables for the profile."""
        return self.kind.variables(self.folder) if self.kind and self.folder else {}

    def hint(self, status: int | None) -> str:
        """Return advice for a program without a window. ``status`` is its exit status, ``None`` while it still runs."""
        if self.is_snap:
            return SNAP_SEES
        if self.folder is not None or command_in_terminal(self.command):
            return ""
        if status != 0 and not has_running_instance(self.files):
            return ""
        return HANDED_ON.format(self.kind.option if self.kind else ANY_OPTION)

    def note_documents(self, pids: Iterable[int]) -> None:
        """Record the folders of files that these processes have open. A killed program leaves lock files there."""
        for pid in pids if self.folder else ():
            with contextlib.suppress(OSError):
                for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        file = descriptor.readlink()
                        if file.is_absolute() and file.is_file():
                            self._documents.add(file.parent)

    def tidy(self) -> None:
        """Remove the document locks of the program. Call this when the program has ended."""
        for lock, maker in office.locks(self._documents) if self.folder else ():
            if maker == self.folder:
                lock.unlink(missing_ok=True)


def profile_for(
    command: Sequence[str],
    path: str | None,
    desktop: Path,
    kept: Path | None,
    added: Sequence[str],
    user: OtherUser | None,
) -> Profile:
    """Return the command and profile of a program.

    ``kept`` is the folder of a kept profile; ``None`` makes a new one in the folder of the ``desktop``. The command
    stays unchanged if it names a profile, or if one of the ``added`` variables chooses the settings folder.
    """
    found = look_up(command, path)
    kind, documents = found.kind, _folders_of(command)
    if kind is None or names_profile(kind, command) or ELSEWHERE & set(added):
        return as_it_is(command, path)
    lock = None
    if kept is None:
        folder = _new(desktop, user)
    else:
        folder, lock = _lock_profile(kept, desktop.name)
        folder.mkdir(FOLDER, exist_ok=True)
    _begin(kind, folder, user)
    for stale, maker in office.locks(documents):
        if maker == folder or _is_dead(maker):
            with contextlib.suppress(OSError):
                stale.unlink(missing_ok=True)
    words = [*command[: found.place + 1], *kind.words(folder), *command[found.place + 1 :]]
    return Profile(words, folder, kind, found.is_snap, found.files, set(documents), lock)


def as_it_is(command: Sequence[str], path: str | None) -> Profile:
    """Return the unchanged command, for a display that belongs to a person."""
    found = look_up(command, path)
    return Profile(list(command), None, found.kind, found.is_snap, found.files)


def place_for(desktop: Path) -> Path:
    """Return the profile folder for `run_as`: that user cannot enter the desktop's own folder."""
    return Path("/tmp") / f"{desktop.name}-{INNER}"


def _new(desktop: Path, user: OtherUser | None) -> Path:
    folder = place_for(desktop) if user else desktop / INNER
    folder.mkdir(FOLDER)
    return folder


def _lock_profile(kept: Path, desktop: str) -> tuple[Path, IO[bytes]]:
    """Return a free kept profile and its lock. A second desktop at the same time gets the next number."""
    for number in count(1):
        place = kept if number == 1 else kept.with_name(f"{kept.name}-{number}")
        try:
            own_folder(place.parent)
            own_folder(place)
            file = (place / LOCK).open("a+b")
        except OSError as error:
            raise DesktopFailed(f"The profile cannot be kept in {place}: {error.strerror}.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        file.seek(0)
        if before := file.read().decode(errors="replace").strip():
            # After a SIGKILL of the former desktop's processes, its program may still run.
            processes.end(lambda mark=before: processes.processes_of_desktop(mark, -1), grace_s=1.0)  # type: ignore[misc]
        file.truncate(0)
        file.write(desktop.encode())
        file.flush()
        return place / INNER, file
    raise AssertionError("there is always another number")


def _begin(kind: ProgramKind, folder: Path, user: OtherUser | None) -> None:
    """Seed an empty profile; repair a used one after a crash."""
    if any(folder.iterdir()):
        kind.mend(folder)
    else:
        kind.seed(folder)
    if user is not None:
        for path in [
            *sorted(folder.rglob("*"), reverse=True),
            folder,
        ]:  # the folder last, because its new owner may change it
            os.chown(path, user.uid, user.gid, follow_symlinks=False)


def _folders_of(command: Sequence[str]) -> list[Path]:
    """Return the folders of the documents in a command."""
    found = []
    for word in command[1:]:
        with contextlib.suppress(OSError, ValueError):
            if not word.startswith("-") and Path(word).is_file():
                found.append(Path(word).absolute().parent)
    return found


def _is_dead(profile: Path) -> bool:
    """Return whether a profile belongs to a desktop that has ended. Ends processes that such a desktop left running."""
    desktop = profile.parent
    if desktop.parent != Path(tempfile.gettempdir()) or not desktop.name.startswith(leftovers.PREFIX):
        return False
    if desktop.exists():
        leftovers.remove_dead_desktops()
    return profile.name == INNER and not desktop.exists()

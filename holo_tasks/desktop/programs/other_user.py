"""Run the driven program as another user of this machine, so that it cannot read the agent's files.

A program of the agent's own user can read the signing key, the database and the environments of its processes. A
program of another user cannot. It gets a private folder. The folder has the X cookie of its display, and no other.

`other_user` looks up the user for ``run_as``. `create_folders` makes the folder, and returns an `OtherUserFolders`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.accessibility.bus import OtherBusUser
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop.programs.shared_folder import make_shared
from holo_tasks.desktop.x11 import xauth
from holo_tasks.machine.private import FOLDER
from holo_tasks.machine.proc import OURS, status_of

# <linux/capability.h>
CHOWN, KILL, SETGID, SETUID = 0, 5, 6, 7
NEEDED = {CHOWN: "CAP_CHOWN", KILL: "CAP_KILL", SETGID: "CAP_SETGID", SETUID: "CAP_SETUID"}

PERSONAL = ("HOLO_HOME", "TMPDIR", "TMP", "TEMP", "OLDPWD", "MAIL", "CONDA_PREFIX")
TEMPORARY = "tmp"
"""Folder of a program's temporary files, in its private folder."""
LONGEST_TEMPORARY = 60
"""Longest path of this folder, in bytes. Chromium ends by signal 5 above 62, because it creates a socket there."""
SHARED = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP")
"""XDG variables that the program keeps, because they do not name folders of one user."""


@dataclass(frozen=True, slots=True)
class OtherUser:
    """The user as which a program is started."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str

    def may_enter(self, folder: Path) -> bool:
        """Return whether this user can change into a folder, by the mode bits of the folder and its parents."""
        try:
            found = [level.stat() for level in (folder, *folder.parents)]
        except OSError:
            return False
        return all(stat.S_ISDIR(level.st_mode) and self._passes(level) for level in found)

    def _passes(self, level: os.stat_result) -> bool:
        if level.st_uid == self.uid:
            return bool(level.st_mode & stat.S_IXUSR)
        if level.st_gid in (self.gid, *self.groups):
            return bool(level.st_mode & stat.S_IXGRP)
        return bool(level.st_mode & stat.S_IXOTH)


def other_user(name: str) -> OtherUser:
    """Return a user by name or number.

    Raises `InvalidUsage` if the user does not exist, is root or our own, or if we lack the rights to start programs
    as that user.
    """
    found = _look_up_user(name)
    if found.uid in (0, os.geteuid()):
        raise InvalidUsage(
            f"run_as names {found.name}, and a program of that user can read the agent's files: name a user that is "
            "made for the program."
        )
    missing = [right for bit, right in NEEDED.items() if not _capability_bits() >> bit & 1]
    if missing:
        raise InvalidUsage(
            f"Starting a program as {found.name} needs root, or the rights {', '.join(missing)}: start the agent with "
            "them, or leave run_as out."
        )
    return found


def _look_up_user(name: str) -> OtherUser:
    number = int(name) if name.isascii() and name.isdigit() else None
    try:
        entry = pwd.getpwnam(name) if number is None else pwd.getpwuid(number)
    except (KeyError, OverflowError):
        if number is None or not 0 <= number < 2**32 - 1:
            raise InvalidUsage(f"There is no user {name!r} on this machine: give the name of one to run_as.") from None
        return OtherUser(name, number, number, (), "", "/bin/sh")
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return OtherUser(entry.pw_name, entry.pw_uid, entry.pw_gid, tuple(groups), entry.pw_dir, entry.pw_shell)


def _capability_bits() -> int:
    """Return the capabilities of this process as bits, numbered as in ``NEEDED``."""
    return int(status_of(OURS).get("CapEff", "0"), 16)


@dataclass(frozen=True, slots=True)
class OtherUserFolders:
    """The folders of a program that runs as another user.

    ``folder`` is its private folder, ``working_folder`` the one in which it starts, and ``shared`` the one that it
    shares with the agent.
    """

    user: OtherUser
    folder: Path
    working_folder: Path
    shared: SharedFolder

    @property
    def authority(self) -> Path:
        """Return the path of the Xauthority file with the cookie of the program's display."""
        return self.folder / "Xauthority"

    def environment(self, env: Mapping[str, str], added: Collection[str]) -> dict[str, str]:
        """Return an environment in which our user's folders and names are replaced by the other user's.

        Variables whose names are in ``added`` stay unchanged.
        """
        user, home = self.user, Path(self.user.home or "/nonexistent")
        kept = {
            name: text
            for name, text in env.items()
            if name in added or name in SHARED or not (name in PERSONAL or name.startswith("XDG_"))
        }
        theirs = {
            "HOME": str(home if user.may_enter(home) else self.folder),
            "USER": user.name,
            "LOGNAME": user.name,
            "SHELL": user.shell,
            "PWD": str(self.working_folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "TMPDIR": str(self.folder / TEMPORARY),
        }
        return kept | {name: text for name, text in theirs.items() if name not in added}


def folder_for(desktop: Path) -> Path:
    """Return the folder for a program of another user.

    It is not below the desktop's folder, which that user cannot enter.
    """
    return Path("/tmp") / f"{desktop.name}-program"


def temporary_folder_for(desktop: Path) -> Path:
    """Return the folder for temporary files of a program of our user: in the desktop's folder, or a shorter path."""
    inside = desktop / TEMPORARY
    is_short = len(os.fsencode(inside)) <= LONGEST_TEMPORARY
    return inside if is_short else Path("/tmp") / f"{desktop.name}-{TEMPORARY}"


def bus_for(user: OtherUser, desktop: Path) -> OtherBusUser:
    """Return the user for a desktop's D-Bus. The bus has a separate folder with a socket for this user."""
    return OtherBusUser(user.uid, user.gid, Path("/tmp") / f"{desktop.name}-bus")


def create_folders(user: OtherUser, desktop: Path, display: str, authority: Path) -> OtherUserFolders:
    """Create the folder for a program of another user, and write the cookie of its display there."""
    start = next(place for place in (Path.cwd(), Path(user.home or "/"), Path("/")) if user.may_enter(place))
    folder = folder_for(desktop)
    folder.mkdir(FOLDER)
    made = OtherUserFolders(user, folder, start, make_shared(folder, user.uid, user.gid))
    number = display.rpartition(":")[2].partition(".")[0]
    cookie = xauth.find(authority, int(number)) if number.isdigit() else None
    if cookie is not None:
        xauth.write(made.authority, int(number), cookie)
        os.chown(made.authority, user.uid, user.gid)
    (folder / TEMPORARY).mkdir(FOLDER)
    os.chown(folder / TEMPORARY, user.uid, user.gid)
    os.chown(made.folder, user.uid, user.gid)  # last: in a folder that they own, they could place a symbolic link
    return made


def remove_folders(desktop: Path) -> None:
    """Remove the folders that a desktop has outside its own: of its program, its bus, and the program's settings."""
    for name in ("program", "bus", "profile", TEMPORARY):
        shutil.rmtree(Path("/tmp") / f"{desktop.name}-{name}", ignore_errors=True)

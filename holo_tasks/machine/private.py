"""Create files and folders that only this user can access: modes 0600 and 0700, regardless of the umask.

`private_folder` returns a folder below HOLO_HOME, and `open_private` opens a file.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage

FOLDER, FILE = 0o700, 0o600
OURS = frozenset(
    {
        "anchors.jsonl",
        "codes",
        "files",
        "keys",
        "kill",
        "learned",
        "learning",
        "mcp",
        "notes",
        "profiles",
        "reports",
        "running",
        "runs",
        "screens",
        "spool",
    }
)
"""Names that this product creates in its home folder, apart from the database."""
DATABASE = "holo.db"
"""Common prefix of the names of the database and SQLite's side files."""
_WORLD_WRITES, _GROUP_WRITES, _OTHERS, _ENTER = 0o002, 0o020, 0o077, 0o011
_NO_MODES = (errno.EPERM, errno.EROFS, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of file systems that store no modes, or one mode for all files."""


def make_private(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Existing folders are not changed.

    Raises `FileExistsError` if the path is not a folder.
    """
    path = path.absolute()
    missing = []
    for level in (path, *path.parents):
        if level.exists():
            break
        missing.append(level)
    for level in reversed(missing):
        try:
            level.mkdir(FOLDER)
        except FileExistsError:  # another process was first, and sets the same mode
            continue
        _change(level, FOLDER)  # the umask may have removed rights of the owner
    if not stat.S_ISDIR(path.stat().st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def private_folder(home: Path, *below: str) -> Path:
    """Return the home folder, or one of ours below it. Create missing folders, and remove access for others.

    A home that holds other files as well keeps its mode; everything created in it is private. Raises `InvalidUsage` if
    other users could replace our files, and `OSError` if a folder cannot be created.
    """
    make_private(home)
    _close_home(home)
    folder = home
    for name in below:
        folder = folder / name
        own_folder(folder)
    return folder


def own_folder(folder: Path) -> None:
    """Create a folder that holds only our files, and remove access for others."""
    _refuse_foreign_link(folder)
    make_private(folder)
    found = folder.stat()
    if _is_ours(found) and stat.S_IMODE(found.st_mode) != FOLDER:
        _change(folder, FOLDER)


def open_private(path: Path, flags: int) -> int:
    """Open a file with mode 0600; change the mode if the file exists and belongs to this user.

    Do not use it for a database: closing any descriptor of the file releases SQLite's locks on it.
    """
    _refuse_foreign_link(path)
    descriptor = os.open(path, flags | os.O_CLOEXEC, FILE)
    try:
        _close_file(descriptor, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def private_file(path: Path) -> None:
    """Create a file with mode 0600 without opening it, or set the mode of the existing file."""
    try:
        os.mknod(path, stat.S_IFREG | FILE)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise
        return  # this file system has no mknod; opening the file will create it
    remove_access_of_others(path)


def remove_access_of_others(path: Path) -> None:
    """Remove access for others from a file of this user. A missing file is ignored."""
    _refuse_foreign_link(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    _close_file(path, found)


def is_open_to_others(path: Path) -> bool:
    """Return whether other users can access a file or folder, by its mode and those of its parents."""
    path = path.absolute()
    try:
        if not stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            return False
        return all(level.stat().st_mode & _ENTER for level in path.parents)
    except OSError:
        return False


def replaceable(path: Path) -> Path | None:
    """Return the first folder, from this one upwards, in which other users could replace an entry, or ``None``."""
    for level in (resolved := path.resolve(), *resolved.parents):
        found = level.stat()
        if found.st_uid not in (os.geteuid(), 0) or (_others_write(found) and not found.st_mode & stat.S_ISVTX):
            return level
    return None


def _close_home(home: Path) -> None:
    """Remove access for others from the home folder, or check that other users have not planted files in it.

    Root accepts any folder, and everybody accepts a folder of root's. In a container, a volume may belong to any user
    and be open to all. The doctor reports who else could change its contents (`replaceable`).
    """
    found = home.stat()
    if found.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise InvalidUsage(
            f"{home} belongs to another user (uid {found.st_uid}), who could change the files in it: set "
            "HOLO_HOME to a folder of your own elsewhere."
        )
    if not found.st_mode & _OTHERS:
        return
    # In a sticky folder, such as /tmp, others may add files but not replace ours.
    sticky = found.st_mode & stat.S_ISVTX
    if not sticky and _is_ours(found) and _has_nothing_else(home) and _change(home, FOLDER):
        return
    if sticky:
        _check_planted(home, found.st_uid)
    elif _others_write(found):
        if _is_ours(found) and os.geteuid() != 0:
            raise InvalidUsage(
                f"Other users may write to {home}, and its mode is not changed because it also holds other files: "
                f"run `chmod go-w {home}`, or set HOLO_HOME to another folder elsewhere."
            )
        _check_planted(home, found.st_uid)


def _refuse_foreign_link(path: Path) -> None:
    """Raise `InvalidUsage` for a symbolic link of another user, because its target could be any file of ours."""
    try:
        found = path.lstat()
    except OSError:  # the next use of the path reports it
        return
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), 0):
        raise InvalidUsage(
            f"{path} is a link that another user has created: remove it, or set HOLO_HOME to your own folder."
        )


def _check_planted(home: Path, owner: int) -> None:
    """Raise `InvalidUsage` if another user has created an entry with one of our names in a shared home folder."""
    known = (os.geteuid(), 0, owner)
    for entry in os.scandir(home):
        if _named_as_ours(entry.name) and entry.stat(follow_symlinks=False).st_uid not in known:
            raise InvalidUsage(
                f"{entry.path} was created by another user: set HOLO_HOME to a folder of its own, such as "
                f"{home / 'holo'}."
            )


def _has_nothing_else(home: Path) -> bool:
    """Return whether the home folder holds only our files and is not the root folder."""
    return home.resolve() != Path("/") and all(_named_as_ours(entry.name) for entry in os.scandir(home))


def _named_as_ours(name: str) -> bool:
    return name in OURS or name.startswith(DATABASE)


def _others_write(found: os.stat_result) -> bool:
    if found.st_mode & _WORLD_WRITES:
        return True
    # A user's private group has the same number as the user. A folder of root's with our group was given to us.
    return bool(found.st_mode & _GROUP_WRITES) and _is_ours(found) and found.st_gid != found.st_uid


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()


def _close_file(file: Path | int, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode) and _is_ours(found) and stat.S_IMODE(found.st_mode) != FILE:
        _change(file, FILE)


def _change(place: Path | int, mode: int) -> bool:
    """Set a mode; say whether this file system lets us."""
    try:
        os.chmod(place, mode)  # noqa: PTH101  # also of a descriptor
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise
        return False
    return True

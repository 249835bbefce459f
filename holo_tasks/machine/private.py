"""Folders and files for the user of this process alone: 0700 and 0600, whatever the umask says."""

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
        "reports",
        "running",
        "runs",
        "screens",
        "spool",
    }
)
"""What this product keeps in its home, beside its database."""
DATABASE = "holo.db"
"""How the names of the database, and of what SQLite puts beside it, begin."""
_WORLD_WRITES, _GROUP_WRITES, _OTHERS, _ENTER = 0o002, 0o020, 0o077, 0o011
_NO_MODES = (errno.EPERM, errno.EROFS, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems say that keep no modes, or only one for all that is on them."""


def make_private(path: Path) -> None:
    """Make a folder, and each above it that is missing, for this user alone; what is there is left as it is."""
    path = path.absolute()
    missing = []
    for level in (path, *path.parents):
        if level.exists():
            break
        missing.append(level)
    for level in reversed(missing):
        try:
            level.mkdir(FOLDER)
        except FileExistsError:  # another process was first, and closes it as we would
            continue
        _change(level, FOLDER)  # a umask may take from its owner, too
    if not stat.S_ISDIR(path.stat().st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def private_folder(home: Path, *below: str) -> Path:
    """Return the folder of local state, or one of ours below it; make what is missing, close what is open to others.

    A home that keeps other files, too, keeps its mode: what is made in it is private all the same. Raises
    `InvalidUsage` if others could put something in the place of what is ours, OSError if it cannot be made.
    """
    make_private(home)
    _close_home(home)
    folder = home
    for name in below:
        folder = folder / name
        own_folder(folder)
    return folder


def own_folder(folder: Path) -> None:
    """See to it that a folder in which nothing can be but what is ours is there, and closed to others."""
    _refuse_foreign_link(folder)
    make_private(folder)
    found = folder.stat()
    if _is_ours(found) and stat.S_IMODE(found.st_mode) != FOLDER:
        _change(folder, FOLDER)


def open_private(path: Path, flags: int) -> int:
    """Open a file for this user alone: one that is made now, and one of this user's that was open to others.

    Not for a database: to close any descriptor of its file gives up the locks that SQLite holds on it.
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
    """See to it that a file is there and only this user may use it, without opening it."""
    try:
        os.mknod(path, stat.S_IFREG | FILE)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise
        return  # whoever opens it makes it, on a file system that makes files in no other way
    close_to_others(path)


def close_to_others(path: Path) -> None:
    """Take from others what they may do with a file of this user's, if it is there."""
    _refuse_foreign_link(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    _close_file(path, found)


def open_to_others(path: Path) -> bool:
    """Say whether other users of this machine can get at a file or a folder: by its mode, and by those above it."""
    path = path.absolute()
    try:
        if not stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            return False
        return all(level.stat().st_mode & _ENTER for level in path.parents)
    except OSError:
        return False


def replaceable(path: Path) -> Path | None:
    """Return the first folder, from this one up, in which others could put something in the place of what is there."""
    for level in (resolved := path.resolve(), *resolved.parents):
        found = level.stat()
        if found.st_uid not in (os.geteuid(), 0) or (_others_write(found) and not found.st_mode & stat.S_ISVTX):
            return level
    return None


def _close_home(home: Path) -> None:
    """Close a home to others; where that cannot be, see to it that nobody has put there what we would take for ours.

    Root takes any folder that it is given, and everybody takes one of root's: in a container a volume is of any user,
    and open to all. Who else could change what is there is told by the doctor (`replaceable`).
    """
    found = home.stat()
    if found.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise InvalidUsage(
            f"{home} belongs to another user (uid {found.st_uid}), who could change what is kept there and below: set "
            "HOLO_HOME to a folder of your own that is not in it."
        )
    if not found.st_mode & _OTHERS:
        return
    sticky = (
        found.st_mode & stat.S_ISVTX
    )  # such as /tmp, or a disk in memory: others may add to it, and replace nothing
    if not sticky and _is_ours(found) and _has_nothing_else(home) and _change(home, FOLDER):
        return
    if sticky:
        _check_planted(home, found.st_uid)
    elif _others_write(found):
        if _is_ours(found) and os.geteuid() != 0:
            raise InvalidUsage(
                f"Other users may write to {home}, and it is not closed to them, for it is not for this product alone: "
                f"run `chmod go-w {home}`, or set HOLO_HOME to another folder that is not in it."
            )
        _check_planted(home, found.st_uid)


def _refuse_foreign_link(path: Path) -> None:
    """Raise `InvalidUsage` for a link that somebody else has made: by it they could choose whose mode is changed."""
    try:
        found = path.lstat()
    except OSError:  # what is the matter shows as it is used
        return
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), 0):
        raise InvalidUsage(
            f"{path} is a link that another user has made: remove it, or set HOLO_HOME to your own folder."
        )


def _check_planted(home: Path, owner: int) -> None:
    """Raise `InvalidUsage` if somebody else has made what we look for in a home that everybody may add to."""
    known = (os.geteuid(), 0, owner)
    for entry in os.scandir(home):
        if _named_as_ours(entry.name) and entry.stat(follow_symlinks=False).st_uid not in known:
            raise InvalidUsage(
                f"{entry.path} was made by another user: set HOLO_HOME to a folder of its own, such as {home / 'holo'}."
            )


def _has_nothing_else(home: Path) -> bool:
    """Whether nobody else can have a use for a home: there is nothing in it but what is ours."""
    return home.resolve() != Path("/") and all(_named_as_ours(entry.name) for entry in os.scandir(home))


def _named_as_ours(name: str) -> bool:
    return name in OURS or name.startswith(DATABASE)


def _others_write(found: os.stat_result) -> bool:
    if found.st_mode & _WORLD_WRITES:
        return True
    # A user's own group has the user's number and nobody else in it; by its group root lends us a folder of its own.
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

"""A folder into which programs write that are not trusted: what is in it is looked at, taken and cleared away safely.

No name leads out of it, nothing is followed, waited for or read that is no regular file, and nothing is taken that
somebody may still be writing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import F_RDLCK
from pathlib import Path
from typing import IO

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.machine.private import FILE, make_private, open_private

MOST_ENTRIES = 10_000
"""In a folder with more, nothing is looked for."""
PIECE = 1 << 20
MOST_OF_A_NAME = 1_000
"""So many files of one name are told apart by a number."""
_ANOTHER = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO})
"""What is said where something else is in a file's place by now: nothing, a link, a socket or a device."""
_NO_LEASES = frozenset({errno.EACCES, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS})
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT})
"""What is said where a file system, or the kernel, knows no file without a name."""


@dataclass(frozen=True)
class Sign:
    """What tells that a file is the same as before."""

    device: int
    inode: int
    size: int
    changed_ns: int
    status_changed_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Sign:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True)
class Entry:
    """One thing in the folder. ``refusal`` says why it can never be taken; empty if it is a regular file."""

    name: str
    sign: Sign
    refusal: str


@dataclass(frozen=True)
class Copied:
    """What was read of a file as it was copied, and where the copy is."""

    path: Path
    size: int
    sha256: str


class Unfinished(Exception):
    """The file is still being written, or was written to as it was read: it may be whole later."""


class TooMany(Exception):
    """There is more in the folder than anybody looks through."""


class Stopped(Exception):
    """Whoever wanted a copy does not wait for it any more."""


@contextmanager
def opened(folder: SharedFolder) -> Iterator[int]:
    """Hold the folder open. Raises `DesktopFailed` if it is gone, or another one is in its place."""
    try:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise DesktopFailed(f"The desktop's folder {folder.path} cannot be opened: {error.strerror}.") from None
    try:
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != (folder.device, folder.inode):
            raise DesktopFailed(f"Another folder is in the place of the desktop's, {folder.path}: nothing was taken.")
        yield descriptor
    finally:
        os.close(descriptor)


def entries(folder: int) -> list[Entry]:
    """Return what there is, by name. Raises `TooMany` without looking any further."""
    found: list[Entry] = []
    with os.scandir(folder) as listed:
        for number, one in enumerate(listed):
            if number >= MOST_ENTRIES:
                raise TooMany
            with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
                status = os.stat(one.name, dir_fd=folder, follow_symlinks=False)
                found.append(Entry(one.name, Sign.of(status), _refusal(status)))
    return sorted(found, key=lambda one: one.name)


def copy_out(folder: int, entry: Entry, into: Path, name: str, stop: threading.Event) -> Copied:
    """Copy a file to a private place, under ``name`` or, if that is taken, one with a number.

    Raises `Unfinished` if it is not the file that ``entry`` tells of, or did not stay it, and `OSError`.
    """
    try:
        descriptor = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in _ANOTHER:
            raise Unfinished from None
        raise
    try:
        make_private(into)
        draft = into / f".{secrets.token_hex(8)}.part"
        try:
            _check_whole(descriptor, entry.sign)
            size, sha256 = _copied(descriptor, draft, entry.sign.size, stop)
            _check_whole(descriptor, entry.sign)
            return Copied(_put(draft, into, name), size, sha256)
        finally:
            draft.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def copy_in(
    source: Path, folder: int, shared: SharedFolder, name: str, most: int, *, read_only: bool
) -> tuple[Copied, Sign]:
    """Copy a file of ours into the folder; return that, and what tells whether it is changed.

    It has its name once it is whole and may be read there: programs wait for names. Raises `InvalidUsage` for what
    cannot be given, and `OSError`.
    """
    descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidUsage(f"{source} is no regular file, and only those can be given.")
        if found.st_size > most:
            raise InvalidUsage(f"{source} has {found.st_size} bytes; {most} is the limit: give a larger most_mb.")
        written, draft = _draft(folder)
        with os.fdopen(written, "wb") as out:
            try:
                size, sha256 = _read_into(out, descriptor, source, most)
                os.fchmod(written, FILE & 0o400 if read_only else FILE)
                if shared.uid is not None and shared.gid is not None:
                    os.fchown(written, shared.uid, shared.gid)
                os.link(f"/proc/self/fd/{written}", name, dst_dir_fd=folder)
            except FileExistsError:
                taken = f"There is a {name!r} in the desktop's folder already: give it another name."
                raise InvalidUsage(taken) from None
            finally:
                if draft:
                    with contextlib.suppress(OSError):  # a program may have been quicker
                        os.unlink(draft, dir_fd=folder)
            return Copied(shared.path / name, size, sha256), Sign.of(os.fstat(written))
    finally:
        os.close(descriptor)


def _draft(folder: int) -> tuple[int, str]:
    """Open a new file to write in a folder; return its name there, too, if the file system knows none without."""
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, FILE, dir_fd=folder), ""
    except OSError as error:
        if error.errno not in _NO_NAMELESS:
            raise
    name = f".{secrets.token_hex(8)}.part"
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE, dir_fd=folder), name


def _read_into(out: IO[bytes], descriptor: int, source: Path, most: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    while piece := os.read(descriptor, PIECE):
        size += len(piece)
        if size > most:
            raise InvalidUsage(f"{source} grows as it is read: give it when it is whole.")
        digest.update(piece)
        out.write(piece)
    out.flush()
    return size, digest.hexdigest()


def clear(folder: int, kept: set[str]) -> None:
    """Remove what is in the folder but for some names; what cannot be removed stays."""
    with os.scandir(folder) as listed:
        names = [one.name for one in listed if one.name not in kept]
    for name in names:
        try:
            os.unlink(name, dir_fd=folder)
        except IsADirectoryError:
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        except OSError:
            continue


def being_written(descriptor: int) -> bool:
    """Say whether any process has an open file open to write, or can still write to it by memory that it shares.

    The kernel gives no lease to read such a file; where a file system knows no leases, the open files of all processes
    that can be seen are looked through.
    """
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # the usual signal, SIGIO, would end this process
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, F_RDLCK)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
            return True
        if error.errno not in _NO_LEASES:
            raise
        return _held_to_write(descriptor)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _held_to_write(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if any(_writes(process, file.name, found) for file in (process / "fd").iterdir()):
                    return True
    return False


def _writes(process: Path, number: str, wanted: os.stat_result) -> bool:
    with contextlib.suppress(OSError, ValueError, IndexError):
        held = (process / "fd" / number).stat()
        if (held.st_dev, held.st_ino) != (wanted.st_dev, wanted.st_ino):
            return False
        flags = (process / "fdinfo" / number).read_text(encoding="ascii").split("flags:")[1].split()[0]
        return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _refusal(found: os.stat_result) -> str:
    """Say why something can never be taken, or nothing."""
    if stat.S_ISLNK(found.st_mode):
        return "is a link, which may lead anywhere"
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    if not stat.S_ISREG(found.st_mode):
        return "is no regular file"
    if found.st_nlink != 1:
        return "has a second name somewhere else"
    return ""


def _check_whole(descriptor: int, sign: Sign) -> None:
    found = os.fstat(descriptor)
    if _refusal(found) or Sign.of(found) != sign or being_written(descriptor):
        raise Unfinished


def _copied(descriptor: int, draft: Path, most: int, stop: threading.Event) -> tuple[int, str]:
    """Copy what can be read, no more than ``most`` bytes; return how much that was, and its digest."""
    size, digest = 0, hashlib.sha256()
    with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out:
        while piece := os.read(descriptor, PIECE):
            if stop.is_set():
                raise Stopped
            size += len(piece)
            if size > most:
                raise Unfinished
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if size != most:
        raise Unfinished
    return size, digest.hexdigest()


def _put(draft: Path, into: Path, name: str) -> Path:
    """Give a file its name, without ever putting it in the place of another one."""
    stem, ending = Path(name).stem, Path(name).suffix
    for number in range(1, MOST_OF_A_NAME):
        place = into / (name if number == 1 else f"{stem} ({number}){ending}")
        with contextlib.suppress(FileExistsError):
            os.close(open_private(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            draft.replace(place)
            return place
    raise InvalidUsage(f"There are {MOST_OF_A_NAME} files named {name!r} in {into}: move them away.")

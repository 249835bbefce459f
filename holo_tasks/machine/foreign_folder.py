"""Safe access to a folder that untrusted programs write to: list it, copy files out and in, and clear it.

No name can lead out of the folder. Links are not followed, and only regular files are read. A file that a program may
still be writing is not copied.
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
"""A folder with more entries is not listed."""
PIECE = 1 << 20
"""Bytes per read."""
MOST_OF_A_NAME = 1_000
"""Limit of the number that is appended to a copy's name."""
_REPLACED = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO})
"""Errors on opening an entry that was replaced since it was listed: by nothing, a link, a socket or a device."""
_NO_LEASES = frozenset({errno.EACCES, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS})
"""Errors of file systems without leases."""
_NO_UNNAMED_FILES = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT})
"""Errors of file systems and kernels without unnamed temporary files."""


@dataclass(frozen=True)
class FileVersion:
    """Identity and version of a file: it is unchanged if this is equal."""

    device: int
    inode: int
    size: int
    changed_ns: int
    status_changed_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> FileVersion:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True)
class Entry:
    """An entry of the folder. ``refusal`` is the reason why it can never be copied; it is empty for a regular file."""

    name: str
    sign: FileVersion
    refusal: str


@dataclass(frozen=True)
class CopiedFile:
    """A finished copy: its path, size in bytes and SHA-256."""

    path: Path
    size: int
    sha256: str


class UnfinishedFile(Exception):
    """A file is still being written, or was changed while it was read. A later try may succeed."""


class TooManyEntries(Exception):
    """The folder has more than `MOST_ENTRIES` entries."""


class CopyStopped(Exception):
    """The caller does not need the copy any more."""


@contextmanager
def opened(folder: SharedFolder) -> Iterator[int]:
    """Open the folder and yield its descriptor. Raises `DesktopFailed` if it is missing or was replaced."""
    try:
        descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise DesktopFailed(f"The desktop's folder {folder.path} cannot be opened: {error.strerror}.") from None
    try:
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != (folder.device, folder.inode):
            raise DesktopFailed(f"The desktop's folder {folder.path} was replaced by another one: nothing was copied.")
        yield descriptor
    finally:
        os.close(descriptor)


def entries(folder: int) -> list[Entry]:
    """Return the entries sorted by name. Raises `TooManyEntries` for a folder that is too large."""
    found: list[Entry] = []
    with os.scandir(folder) as listed:
        for number, one in enumerate(listed):
            if number >= MOST_ENTRIES:
                raise TooManyEntries
            with contextlib.suppress(FileNotFoundError):  # renamed or removed since it was listed
                status = os.stat(one.name, dir_fd=folder, follow_symlinks=False)
                found.append(Entry(one.name, FileVersion.of(status), _refusal(status)))
    return sorted(found, key=lambda one: one.name)


def copy_out(folder: int, entry: Entry, into: Path, name: str, stop: threading.Event) -> CopiedFile:
    """Copy a file to a private folder as ``name``, with a number appended if that exists.

    Raises `UnfinishedFile` if the file differs from ``entry`` or changes meanwhile, `CopyStopped` if ``stop`` is set,
    and `OSError`.
    """
    try:
        descriptor = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in _REPLACED:
            raise UnfinishedFile from None
        raise
    try:
        make_private(into)
        draft = into / f".{secrets.token_hex(8)}.part"
        try:
            _check_whole(descriptor, entry.sign)
            size, sha256 = _copy_exactly(descriptor, draft, entry.sign.size, stop)
            _check_whole(descriptor, entry.sign)
            return CopiedFile(_move_unique(draft, into, name), size, sha256)
        finally:
            draft.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def copy_in(
    source: Path, folder: int, shared: SharedFolder, name: str, most: int, *, read_only: bool
) -> tuple[CopiedFile, FileVersion]:
    """Copy a file of ours into the folder; return the copy and its identity, which shows later whether it was changed.

    The copy gets its name when it is complete, because programs wait for names to appear. Raises `InvalidUsage` for a
    file that cannot be copied, and `OSError`.
    """
    descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidUsage(f"{source} is not a regular file, and only those can be copied to the desktop.")
        if found.st_size > most:
            raise InvalidUsage(f"{source} has {found.st_size} bytes; {most} is the limit: use a larger most_mb.")
        written, draft = _open_draft(folder)
        with os.fdopen(written, "wb") as out:
            try:
                size, sha256 = _copy_bounded(out, descriptor, source, most)
                os.fchmod(written, FILE & 0o400 if read_only else FILE)
                if shared.uid is not None and shared.gid is not None:
                    os.fchown(written, shared.uid, shared.gid)
                os.link(f"/proc/self/fd/{written}", name, dst_dir_fd=folder)
            except FileExistsError:
                taken = f"The desktop's folder already has a file {name!r}: use another name."
                raise InvalidUsage(taken) from None
            finally:
                if draft:
                    with contextlib.suppress(OSError):  # another program may have removed it
                        os.unlink(draft, dir_fd=folder)
            return CopiedFile(shared.path / name, size, sha256), FileVersion.of(os.fstat(written))
    finally:
        os.close(descriptor)


def _open_draft(folder: int) -> tuple[int, str]:
    """Open a new file for writing; return the descriptor and its temporary name.

    The name is empty if the file system supports unnamed files.
    """
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, FILE, dir_fd=folder), ""
    except OSError as error:
        if error.errno not in _NO_UNNAMED_FILES:
            raise
    name = f".{secrets.token_hex(8)}.part"
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE, dir_fd=folder), name


def _copy_bounded(out: IO[bytes], descriptor: int, source: Path, most: int) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    while piece := os.read(descriptor, PIECE):
        size += len(piece)
        if size > most:
            raise InvalidUsage(f"{source} grows while it is read: use it when it is complete.")
        digest.update(piece)
        out.write(piece)
    out.flush()
    return size, digest.hexdigest()


def clear(folder: int, kept_names: set[str]) -> None:
    """Remove all entries except the names in ``kept_names``. Entries that cannot be removed stay."""
    with os.scandir(folder) as listed:
        names = [one.name for one in listed if one.name not in kept_names]
    for name in names:
        try:
            os.unlink(name, dir_fd=folder)
        except IsADirectoryError:
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        except OSError:
            continue


def being_written(descriptor: int) -> bool:
    """Return whether a process has the file open for writing, or mapped writable.

    The kernel refuses a read lease on such a file. On a file system without leases, search the open files of all
    visible processes.
    """
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # the default signal, SIGIO, would end this process
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, F_RDLCK)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
            return True
        if error.errno not in _NO_LEASES:
            raise
        return _open_for_writing(descriptor)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _open_for_writing(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
                if any(_has_open_for_writing(process, file.name, found) for file in (process / "fd").iterdir()):
                    return True
    return False


def _has_open_for_writing(process: Path, number: str, wanted: os.stat_result) -> bool:
    with contextlib.suppress(OSError, ValueError, IndexError):
        held = (process / "fd" / number).stat()
        if (held.st_dev, held.st_ino) != (wanted.st_dev, wanted.st_ino):
            return False
        flags = (process / "fdinfo" / number).read_text(encoding="ascii").split("flags:")[1].split()[0]
        return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _refusal(found: os.stat_result) -> str:
    """Return why an entry can never be copied, or an empty string."""
    if stat.S_ISLNK(found.st_mode):
        return "is a link, which may point to any file"
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    if found.st_nlink != 1:
        return "has a second hard link elsewhere"
    return ""


def _check_whole(descriptor: int, sign: FileVersion) -> None:
    found = os.fstat(descriptor)
    if _refusal(found) or FileVersion.of(found) != sign or being_written(descriptor):
        raise UnfinishedFile


def _copy_exactly(descriptor: int, draft: Path, most: int, stop: threading.Event) -> tuple[int, str]:
    """Copy a file of exactly ``most`` bytes; return its size and SHA-256. Raises `UnfinishedFile` for another size."""
    size, digest = 0, hashlib.sha256()
    with os.fdopen(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out:
        while piece := os.read(descriptor, PIECE):
            if stop.is_set():
                raise CopyStopped
            size += len(piece)
            if size > most:
                raise UnfinishedFile
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if size != most:
        raise UnfinishedFile
    return size, digest.hexdigest()


def _move_unique(draft: Path, into: Path, name: str) -> Path:
    """Move the file to ``name`` or a numbered variant, without replacing another file; return the path."""
    stem, ending = Path(name).stem, Path(name).suffix
    for number in range(1, MOST_OF_A_NAME):
        place = into / (name if number == 1 else f"{stem} ({number}){ending}")
        with contextlib.suppress(FileExistsError):
            os.close(open_private(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            draft.replace(place)
            return place
    raise InvalidUsage(f"There are {MOST_OF_A_NAME} files named {name!r} in {into}: move them away.")

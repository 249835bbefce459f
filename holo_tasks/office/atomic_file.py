"""Replace a file atomically, by one writer at a time.

`file_lock` locks the file and `replace_whole` writes it. `workbook` uses both.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import FILE, make_private

_log = logging.getLogger(__name__)
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EPERM, errno.EBADF)
"""Errors of file systems, such as network shares, that do not have an operation."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FileBusy(InvalidUsage):
    """Another writer holds the lock of the file. A later try may succeed."""

    transient = True
    lasting = False


class FileNotWritten(InvalidUsage):
    """The file was not written, because the disk is full. Its former content is unchanged."""

    transient = True
    lasting = False


@contextmanager
def file_lock(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock of ``path`` inside the block. The system releases it if the process dies.

    The lock is on a sibling file, because the file itself is replaced. The lock file stays: if it were removed, two
    writers could lock two different files. Raises `FileBusy` after ``timeout_s`` seconds.
    """
    with naming_the_cause(path):
        make_private(path.parent)
        handle = _open_lock(path)
    try:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise FileBusy(
                        f"{path} has been held by another writer for {timeout_s:g} s: wait for it to end."
                    ) from None
                time.sleep(0.01)
            except OSError as fault:
                raise InvalidUsage(
                    f"The folder of {path} has no file locks ({fault.strerror}), which keep two writers apart: use a "
                    "local folder, or mount the network share with locks."
                ) from None
        # Only the holder of the lock writes, so these parts were left by dead processes.
        for part in path.parent.glob(f".{_literal(path.name)}.*.part"):
            with suppress(OSError):
                part.unlink()
        yield
    finally:
        os.close(handle)


def _open_lock(path: Path) -> int:
    """Open the lock file, with the permissions of the file that it protects."""
    lock = path.with_name(f".{path.name}.lock")
    with suppress(FileExistsError):
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE)
        _set_mode(handle, _mode_of(path) | FILE)
        return handle
    return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE)


def _mode_of(path: Path) -> int:
    """Return the mode of a file; a new file is for this user alone."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return FILE


def replace_whole(path: Path, content: bytes) -> None:
    """Replace the file's content durably. The caller holds the lock (`file_lock`)."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    with naming_the_cause(path):
        mode = _mode_of(path)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                _set_mode(handle, mode)
                os.fsync(handle)
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
    _sync_folder(path)


def _set_mode(handle: int, mode: int) -> None:
    """Set the permissions of a file. Network shares that have none of their own refuse this."""
    try:
        os.fchmod(handle, mode)
    except OSError as fault:
        if fault.errno not in _UNSUPPORTED:
            raise


def _sync_folder(path: Path) -> None:
    """Make the replacement of a file durable. The file has its new content already, so a failure is a warning."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as fault:
        if fault.errno not in _UNSUPPORTED:
            _log.warning("%s was written, but its folder could not be synced to disk (%s).", path, fault.strerror)


@contextmanager
def naming_the_cause(path: Path) -> Iterator[None]:
    """Convert an OSError of the block into an error that says what to do."""
    try:
        yield
    except OSError as fault:
        if fault.errno in _FULL:
            raise FileNotWritten(
                f"{path} was not written, because the disk is full. Free some space and run it again. The file is "
                "unchanged."
            ) from None
        if isinstance(fault, PermissionError) or fault.errno == errno.EROFS:
            raise InvalidUsage(
                f"{path} may not be read and written by this user: give another path or the right to it."
            ) from None
        raise InvalidUsage(f"{path} cannot be used ({fault.strerror or fault}): give another path.") from None


def _literal(name: str) -> str:
    """Return the name with wildcards of glob escaped."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)

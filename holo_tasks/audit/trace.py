"""Write a trace to the local disk: one folder per run. Everything is durable before each call returns.

`LocalTrace` is the writer. `recorder` wraps it for asynchronous callers.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pydantic
import rfc8785

from holo_tasks.audit.errors import DamagedTrace, DiskFull, EvidenceFailed
from holo_tasks.audit.keys import SigningKey
from holo_tasks.core.attachment import LARGEST, Attachment
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import FIRST, LONGEST_LINE, RUN_ID, AnyEvent, Event, Record, RunOpened
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.texts.error_text import first_line
from holo_tasks.machine.private import make_private, open_private

EVENTS = "events.jsonl"
FRAMES, FILES = "frames", "files"
EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FULL = (errno.ENOSPC, errno.EDQUOT)


class _TooLong(ValueError):
    pass


class LocalTrace:
    """The folder ``<root>/<run_id>/`` with ``events.jsonl``, ``frames/<sha256>.<ext>`` and ``files/<sha256>``.

    Methods block and must be called from one thread at a time. ``end`` is the number of durable bytes of
    ``events.jsonl``, ``seq`` the number of durable records.
    """

    def __init__(self, folder: Path, descriptor: int, key: SigningKey, *, seq: int, head: str, end: int) -> None:
        self.folder = folder
        self.run_id = folder.name
        self.key = key
        self.seq = seq
        self.head = head
        self.end = end
        self._events = descriptor
        self._write_error = ""

    @classmethod
    def open(cls, root: Path, run_id: str, key: SigningKey) -> LocalTrace:
        """Start a trace, or continue one after a crash. A torn last line is removed first.

        Raises `InvalidUsage` if another process writes the trace, `DamagedTrace` if the last record is not this key's,
        and `EvidenceFailed` if the disk fails.
        """
        folder = root.absolute() / checked_run_id(run_id)
        try:
            make_private(folder / FRAMES)
            descriptor = lock_file(folder / EVENTS)
        except BlockingIOError:
            raise InvalidUsage(f"another process is writing the trace {folder}: use another run id") from None
        except OSError as error:
            raise _explain(folder, error) from error
        try:
            seq, head, end = _last_record(folder / EVENTS, key)
            os.ftruncate(descriptor, end)
            os.fsync(descriptor)
            for torn in (*(folder / FRAMES).glob(".*.part"), *(folder / FILES).glob(".*.part")):
                torn.unlink()
            for directory in (folder / FRAMES, folder, folder.parent):
                sync_directory(directory)
        except OSError as error:
            os.close(descriptor)
            raise _explain(folder, error) from error
        except DamagedTrace:
            os.close(descriptor)
            raise
        return cls(folder, descriptor, key, seq=seq, head=head, end=end)

    def append(self, events: Sequence[tuple[str, Event]]) -> list[Record | EvidenceFailed]:
        """Append events, each with its time, to the chain. One sync makes all events durable.

        The result has a record or an `EvidenceFailed` for each event. An event without a canonical form is skipped.
        """
        self._check_usable()
        seq, head, lines = self.seq, self.head, bytearray()
        written: list[Record | EvidenceFailed] = []
        for at, event in events:
            try:
                record, line = self._sign(seq, at, head, event)
            except (rfc8785.CanonicalizationError, pydantic.ValidationError, _TooLong) as error:
                reason = first_line(error)
                written.append(EvidenceFailed(f"a {type(event).__name__} event cannot be recorded: {reason}"))
                continue
            written.append(record)
            lines += line + b"\n"
            seq, head = seq + 1, hashlib.sha256(line).hexdigest()
        try:
            _write_all(self._events, lines)
            os.fdatasync(self._events)
        except OSError as error:
            self._truncate(error)
            raise _explain(self.folder, error) from error
        self.seq, self.head, self.end = seq, head, self.end + len(lines)
        return written

    def _sign(self, seq: int, at: str, previous: str, event: Event) -> tuple[Record, bytes]:
        """Return the signed record of an event and its line."""
        if isinstance(event, RunOpened):
            # The emitter of the event does not know the key, but the verifier needs its fingerprint. The run id is set
            # here as well: the secret filter does not recognize it as an id and might mask it.
            event = event.model_copy(update={"run_id": self.run_id, "signed_by": self.key.fingerprint})
        # The signature covers all but itself. Its name sorts last in canonical form, so it can be appended to the body.
        bare = Record(run=self.run_id, seq=seq, at=at, previous=previous, event=cast("AnyEvent", event), signature="")
        body = rfc8785.dumps(bare.model_dump(mode="json", exclude={"signature"}))
        signature = self.key.sign(body)
        line = body[:-1] + f',"signature":"{signature}"}}'.encode()
        if len(line) >= LONGEST_LINE:
            raise _TooLong(f"it has {len(line)} bytes")
        return bare.model_copy(update={"signature": signature}), line

    def keep(self, shot: Shot | Attachment) -> str | None:
        """Make a picture or a file durable. Return its name, or ``None`` if it was stored before."""
        self._check_usable()
        name = frame_name(shot) if isinstance(shot, Shot) else file_name(shot)
        path = self.folder.joinpath(*stored_path(name))
        if path.exists():
            return None
        part = path.with_name(f".{path.name}.part")
        try:
            if isinstance(shot, Attachment) and not path.parent.exists():
                make_private(path.parent)
                sync_directory(self.folder)
            write_durably(path, shot.data, part=part)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise _explain(self.folder, error) from error
        return name

    def close(self) -> None:
        """Close the trace. Nothing needs flushing, because every write is durable already."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _check_usable(self) -> None:
        if self._write_error or self._events < 0:
            raise EvidenceFailed(self._write_error or f"the trace {self.folder} is closed")

    def _truncate(self, cause: OSError) -> None:
        """Remove unacknowledged bytes, so that the next append does not follow half a line."""
        try:
            os.ftruncate(self._events, self.end)
            os.fdatasync(self._events)
        except OSError:
            self._write_error = f"the trace {self.folder} can no longer be written: {cause.strerror}"
        if cause.errno not in _FULL:
            # After a failed sync the kernel may have dropped dirty pages, so later writes cannot be trusted.
            self._write_error = f"the trace {self.folder} can no longer be written: {cause.strerror}"


def checked_run_id(run_id: str) -> str:
    """Return the run id if it is safe as a folder name and in an object's key. Raises `InvalidUsage` otherwise."""
    if not RUN_ID.fullmatch(run_id):
        raise InvalidUsage(
            f"the run id {run_id[:140]!r} cannot name a folder: use letters, digits, dots, dashes and underscores"
        )
    return run_id


def frame_name(shot: Shot) -> str:
    """Return the file name of a picture. Raises `EvidenceFailed` if its type or its SHA-256 is wrong."""
    extension = EXTENSIONS.get(shot.media_type)
    if extension is None:
        raise EvidenceFailed(f"a picture of type {shot.media_type!r} cannot be kept: use JPEG, PNG or WebP")
    if not _SHA256.fullmatch(shot.sha256) or hashlib.sha256(shot.data).hexdigest() != shot.sha256:
        raise EvidenceFailed(f"the picture {shot.sha256[:16]!r} does not match its SHA-256")
    return f"{shot.sha256}.{extension}"


def file_name(file: Attachment) -> str:
    """Return the name of a kept file (see `stored_path`). Raises `EvidenceFailed` if it is too large or its SHA-256 is
    wrong."""
    if len(file.data) > LARGEST:
        raise EvidenceFailed(f"a file of {len(file.data)} bytes is too large to be kept: the limit is {LARGEST}")
    if not _SHA256.fullmatch(file.sha256) or hashlib.sha256(file.data).hexdigest() != file.sha256:
        raise EvidenceFailed(f"the file {file.sha256[:16]!r} does not match its SHA-256")
    return f"{FILES}/{file.sha256}"


def stored_path(name: str) -> tuple[str, str]:
    """Return the folder and the file name for the name of a stored picture or file. A name without a folder is a
    picture's."""
    folder, slash, file = name.partition("/")
    return (folder, file) if slash else (FRAMES, name)


def lock_file(path: Path) -> int:
    """Open a file for appending and lock it. The lock ends with the process.

    Raises `BlockingIOError` if another process holds the lock, `FileNotFoundError` if the folder does not exist.
    """
    while True:
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.fstat(descriptor).st_ino == path.stat().st_ino
        except OSError:
            os.close(descriptor)
            raise
        if same:
            return descriptor
        os.close(descriptor)  # the file was replaced before it was locked: open the new one


def write_durably(path: Path, data: bytes, *, part: Path | None = None) -> None:
    """Write a file atomically, and make it survive a power cut."""
    part = part or path.with_name(f".{path.name}.part")
    descriptor = open_private(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    part.rename(path)
    sync_directory(path.parent)


def sync_directory(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes | bytearray) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _last_record(path: Path, key: SigningKey) -> tuple[int, str, int]:
    """Return the number of complete records, the digest of the last one, and the byte offset of its end.

    Raises `DamagedTrace` if this key did not sign the last record.
    """
    seq, head, end, last = 0, FIRST, 0, b""
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break  # torn by a crash, so it was never acknowledged
            seq, end, last = seq + 1, end + len(line), line[:-1]
    if last:
        head = hashlib.sha256(last).hexdigest()
        try:
            found = Record.model_validate_json(last)
        except pydantic.ValidationError:
            found = None
        body = last.rpartition(b',"signature":')[0] + b"}"
        # Ed25519 signatures are deterministic, so the signature can be computed again and compared.
        if found is None or found.seq != seq - 1 or found.signature != key.sign(body):
            raise DamagedTrace(
                f"{path} is damaged at record {seq - 1}, or another key signed it: use another run id", seq=seq - 1
            )
    return seq, head, end


def _explain(folder: Path, error: OSError) -> EvidenceFailed | InvalidUsage:
    if error.errno in _FULL:
        return DiskFull(f"the disk is full: no room for evidence in {folder}; free some space and run again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return InvalidUsage(f"evidence cannot be written to {folder}: {error.strerror}")
    return EvidenceFailed(f"evidence cannot be written to {folder}: {error.strerror}")

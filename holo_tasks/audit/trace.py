"""A trace on this machine's disk: one folder per run, durable before each call returns."""

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
from holo_tasks.core.error_text import first_line
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import FIRST, LONGEST_LINE, RUN_ID, AnyEvent, Event, Record, RunOpened
from holo_tasks.core.frame import Shot
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

    Blocking, and for one thread at a time; `recorder.TraceRecorder` is the asynchronous way in.
    ``end`` is the number of durable bytes of ``events.jsonl``, ``seq`` the number of durable records.
    """

    def __init__(self, folder: Path, descriptor: int, key: SigningKey, *, seq: int, head: str, end: int) -> None:
        self.folder = folder
        self.run_id = folder.name
        self.key = key
        self.seq = seq
        self.head = head
        self.end = end
        self._events = descriptor
        self._broken = ""

    @classmethod
    def open(cls, root: Path, run_id: str, key: SigningKey) -> LocalTrace:
        """Begin a trace, or go on with one a crash left: a torn last line is cut off first."""
        folder = root.absolute() / checked_run_id(run_id)
        try:
            make_private(folder / FRAMES)
            descriptor = lock_file(folder / EVENTS)
        except BlockingIOError:
            raise InvalidUsage(f"another process is writing the trace {folder}: use another run id") from None
        except OSError as error:
            raise _explained(folder, error) from error
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
            raise _explained(folder, error) from error
        except DamagedTrace:
            os.close(descriptor)
            raise
        return cls(folder, descriptor, key, seq=seq, head=head, end=end)

    def append(self, events: Sequence[tuple[str, Event]]) -> list[Record | EvidenceFailed]:
        """Chain events, each with its time, and make all of them durable with one sync.

        An event that has no canonical form is refused in its place; the others are written.
        """
        self._check_usable()
        seq, head, lines = self.seq, self.head, bytearray()
        written: list[Record | EvidenceFailed] = []
        for at, event in events:
            try:
                record, line = self._signed(seq, at, head, event)
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
            self._take_back(error)
            raise _explained(self.folder, error) from error
        self.seq, self.head, self.end = seq, head, self.end + len(lines)
        return written

    def _signed(self, seq: int, at: str, previous: str, event: Event) -> tuple[Record, bytes]:
        """Make a record and its line."""
        if isinstance(event, RunOpened):
            # Whoever tells of the run need not know the key; whoever checks the trace wants to say which it was.
            # The id is that of the records around it: what takes secrets out of events does not know it for an id.
            event = event.model_copy(update={"run_id": self.run_id, "signed_by": self.key.fingerprint})
        # The signature does not sign itself. Its name comes last in canonical order, so one canonical form does.
        bare = Record(run=self.run_id, seq=seq, at=at, previous=previous, event=cast("AnyEvent", event), signature="")
        body = rfc8785.dumps(bare.model_dump(mode="json", exclude={"signature"}))
        signature = self.key.sign(body)
        line = body[:-1] + f',"signature":"{signature}"}}'.encode()
        if len(line) >= LONGEST_LINE:
            raise _TooLong(f"it has {len(line)} bytes")
        return bare.model_copy(update={"signature": signature}), line

    def keep(self, shot: Shot | Attachment) -> str | None:
        """Make a picture or a file durable; its name (see `placed`), or None when it was kept before."""
        self._check_usable()
        name = frame_name(shot) if isinstance(shot, Shot) else file_name(shot)
        path = self.folder.joinpath(*placed(name))
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
            raise _explained(self.folder, error) from error
        return name

    def close(self) -> None:
        """Let go of the folder. Nothing is flushed here: everything is durable already."""
        if self._events >= 0:
            os.close(self._events)
            self._events = -1

    def _check_usable(self) -> None:
        if self._broken or self._events < 0:
            raise EvidenceFailed(self._broken or f"the trace {self.folder} is closed")

    def _take_back(self, cause: OSError) -> None:
        """Cut off what was not acknowledged, so that a later append does not follow half a line."""
        try:
            os.ftruncate(self._events, self.end)
            os.fdatasync(self._events)
        except OSError:
            self._broken = f"the trace {self.folder} can no longer be written: {cause.strerror}"
        if cause.errno not in _FULL:
            # After a failed sync the kernel may have dropped the pages: nothing written since can be trusted.
            self._broken = f"the trace {self.folder} can no longer be written: {cause.strerror}"


def checked_run_id(run_id: str) -> str:
    """Give the run id back if it is safe as a folder name and as part of an object's key."""
    if not RUN_ID.fullmatch(run_id):
        raise InvalidUsage(
            f"the run id {run_id[:140]!r} cannot name a folder: use letters, digits, dots, dashes and underscores"
        )
    return run_id


def frame_name(shot: Shot) -> str:
    """Name a picture's file by its bytes; refuse a picture that is not what it says it is."""
    extension = EXTENSIONS.get(shot.media_type)
    if extension is None:
        raise EvidenceFailed(f"a picture of type {shot.media_type!r} cannot be kept: use JPEG, PNG or WebP")
    if not _SHA256.fullmatch(shot.sha256) or hashlib.sha256(shot.data).hexdigest() != shot.sha256:
        raise EvidenceFailed(f"the picture {shot.sha256[:16]!r} does not have the SHA-256 it is named by")
    return f"{shot.sha256}.{extension}"


def file_name(file: Attachment) -> str:
    """Name a kept file by its bytes, as `placed` reads it; refuse one that is not what it says it is."""
    if len(file.data) > LARGEST:
        raise EvidenceFailed(f"a file of {len(file.data)} bytes is too large to be kept: {LARGEST} is the most")
    if not _SHA256.fullmatch(file.sha256) or hashlib.sha256(file.data).hexdigest() != file.sha256:
        raise EvidenceFailed(f"the file {file.sha256[:16]!r} does not have the SHA-256 it is named by")
    return f"{FILES}/{file.sha256}"


def placed(name: str) -> tuple[str, str]:
    """Return where in a trace something is that is kept: the folder of pictures unless the name says another."""
    folder, slash, file = name.partition("/")
    return (folder, file) if slash else (FRAMES, name)


def lock_file(path: Path) -> int:
    """Open a file for appending as its only holder; the lock ends with the process.

    Raises BlockingIOError when another process holds it, FileNotFoundError when its folder is gone.
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
        os.close(descriptor)  # replaced between the open and the lock: take the one that is there now


def write_durably(path: Path, data: bytes, *, part: Path | None = None) -> None:
    """Put a file in its place at once or not at all, and make it survive a power cut."""
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
    """Number of whole records, digest of the last one, and bytes up to the end of it."""
    seq, head, end, last = 0, FIRST, 0, b""
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break  # torn by a crash, hence never acknowledged
            seq, end, last = seq + 1, end + len(line), line[:-1]
    if last:
        head = hashlib.sha256(last).hexdigest()
        try:
            found = Record.model_validate_json(last)
        except pydantic.ValidationError:
            found = None
        body = last.rpartition(b',"signature":')[0] + b"}"
        # Ed25519 signs the same bytes in the same way, so this key's own signature can be made again.
        if found is None or found.seq != seq - 1 or found.signature != key.sign(body):
            raise DamagedTrace(
                f"{path} is damaged at record {seq - 1}, or another key signed it: use another run id", seq=seq - 1
            )
    return seq, head, end


def _explained(folder: Path, error: OSError) -> EvidenceFailed | InvalidUsage:
    if error.errno in _FULL:
        return DiskFull(f"the disk is full: no room for evidence in {folder}; free some space and run again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return InvalidUsage(f"evidence cannot be written to {folder}: {error.strerror}")
    return EvidenceFailed(f"evidence cannot be written to {folder}: {error.strerror}")

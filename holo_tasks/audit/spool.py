"""Manage the spool: the local folder that holds a run's evidence until all evidence is in the bucket.

`Spool` is the folder of one run. `upload` reads from it and notes the progress in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import NonNegativeInt, TypeAdapter
from pydantic_core import from_json

from holo_tasks.audit.bucket_places import Place
from holo_tasks.audit.errors import DamagedTrace, StoreAway, StoreRefused
from holo_tasks.audit.trace import EVENTS, FILES, FRAMES, checked_run_id, lock_file, stored_path, write_durably
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.machine.private import make_private, open_private

_LOCK = "lock"
_DESTINATION = "destination.json"
_UPLOADED = "uploaded.json"
_SENT = "sent-frames.txt"
_ENDS = "sent-segments.txt"
_DELIVERED_PREFIX = ".delivered-"
_END = re.compile(r"<([0-9]{1,15})>")
"""The end of a segment, in brackets, so that a note torn by a crash does not match."""
_PATIENCE_S = 1.0
_Note = TypeVar("_Note", "Uploaded", Place)


@dataclass(frozen=True)
class Uploaded:
    """How much of the events is confirmed, and the end of the segment that may be in transit.

    The end is noted before the segment is sent. After a crash exactly the same segment is sent again, so segments of a
    trace never overlap.
    """

    offset: NonNegativeInt = 0
    seq: NonNegativeInt = 0
    sending: NonNegativeInt = 0


class Spool:
    """The folder ``<home>/spool/<run_id>``: a local trace, its destination and its upload progress."""

    def __init__(self, folder: Path, place: Place, lock: int) -> None:
        self.folder = folder
        self.run_id = folder.name
        self.place = place
        self._lock = lock

    @property
    def uri(self) -> str:
        return f"{self.place.uri}/{self.run_id}"

    @classmethod
    def create(cls, home: Path, run_id: str, place: Place) -> Spool:
        """Create a run's spool and record its destination, before there is any evidence.

        Raises `InvalidUsage` if another process uses the folder, if it belongs to another bucket, or if it cannot be
        written.
        """
        folder = spool_root(home) / checked_run_id(run_id)
        try:
            lock = _lock(folder)
        except BlockingIOError:
            raise InvalidUsage(f"another process is using {folder}: use another run id") from None
        except OSError as error:
            raise InvalidUsage(f"evidence cannot be spooled in {folder}: {error.strerror}") from error
        spool = cls(folder, place, lock)
        try:
            if (folder / _DESTINATION).exists():
                if _place(folder) != place:
                    raise InvalidUsage(f"{folder} belongs to another bucket: use another run id")
            else:
                write_durably(folder / _DESTINATION, json.dumps(asdict(place)).encode())
        except OSError as error:
            spool.release()
            raise InvalidUsage(f"evidence cannot be spooled in {folder}: {error.strerror}") from error
        except HoloError:
            spool.release()
            raise
        return spool

    @classmethod
    def take(cls, folder: Path) -> Spool | None:
        """Take over a dead process's spool. Returns ``None`` if its process lives, or if there is nothing to
        deliver."""
        try:
            lock = lock_file(folder / _LOCK)
        except (BlockingIOError, FileNotFoundError):
            return None
        if not (folder / _DESTINATION).exists() and not (folder / EVENTS).exists():
            cls(folder, Place(""), lock).remove()  # its process died, or is about to create it again
            return None
        try:
            return cls(folder, _place(folder), lock)
        except DamagedTrace:
            os.close(lock)
            raise

    def release(self) -> None:
        """Unlock the folder for other processes."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def uploaded(self) -> Uploaded:
        """Return the noted progress of the events. Raises `DamagedTrace` if the note is unreadable."""
        path = self.folder / _UPLOADED
        try:
            return _read_note(path, Uploaded) if path.exists() else Uploaded()
        except (OSError, ValueError) as error:
            raise DamagedTrace(
                f"{path} is damaged: it is unknown how much of this evidence has been delivered"
            ) from error

    def note_uploaded(self, state: Uploaded) -> None:
        """Note durably how much of the events is confirmed."""
        try:
            write_durably(self.folder / _UPLOADED, json.dumps(asdict(state)).encode())
        except OSError as error:
            raise self._progress_error(error) from error

    def note_sent(self, name: str) -> None:
        """Note that a picture is delivered. Not synced: losing the note costs one comparison."""
        try:
            path = self.folder / _SENT
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="ascii") as sent:
                sent.write(name + "\n")
        except OSError as error:
            raise self._progress_error(error) from error

    def note_segment(self, end: int) -> None:
        """Note durably that a segment with this end was sent. Any repetition must use the same boundaries
        (`Upload`)."""
        try:
            path = self.folder / _ENDS
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="ascii") as ends:
                ends.write(f"<{end}>\n")
                ends.flush()
                os.fsync(ends.fileno())
        except OSError as error:
            raise self._progress_error(error) from error

    def segment_ends(self) -> list[int]:
        """Return the ends of the segments that were sent, in order."""
        path = self.folder / _ENDS
        text = path.read_text("ascii", errors="replace") if path.exists() else ""
        return sorted({int(end) for end in _END.findall(text)})

    def waiting_frames(self) -> Iterator[str]:
        """Yield the pictures and files that are not known to be delivered."""
        path = self.folder / _SENT
        sent = set(path.read_text("ascii", errors="replace").split("\n")) if path.exists() else set()
        return (name for name in self.frames() if name not in sent)

    def frames(self) -> Iterator[str]:
        """Yield all pictures and kept files, by the names that `stored_path` accepts."""
        for folder, before in ((FRAMES, ""), (FILES, f"{FILES}/")):
            if before and not (self.folder / folder).exists():
                continue
            yield from (before + one.name for one in os.scandir(self.folder / folder) if not one.name.startswith("."))

    def frame(self, name: str) -> bytes:
        """Return the bytes of a picture or a kept file. Raises `StoreRefused` if it is gone."""
        try:
            return self.folder.joinpath(*stored_path(name)).read_bytes()
        except OSError as error:
            raise StoreRefused(f"the picture or file {name} is gone from {self.folder}: {error.strerror}") from error

    def end(self) -> int:
        """Return the size of ``events.jsonl`` in bytes, including a torn last line."""
        path = self.folder / EVENTS
        return path.stat().st_size if path.exists() else 0

    def lines(self) -> int:
        """Return the number of complete lines in ``events.jsonl``."""
        path = self.folder / EVENTS
        if not path.exists():
            return 0
        with path.open("rb") as events:
            return sum(line.endswith(b"\n") for line in events)

    def segment(self, start: int, end: int, *, most_lines: int, most_bytes: int) -> list[bytes]:
        """Return the next complete lines between two byte offsets. Returns at least one line if there is one."""
        lines: list[bytes] = []
        size = 0
        with (self.folder / EVENTS).open("rb") as events:
            events.seek(start)
            while start + size < end and len(lines) < most_lines and size < most_bytes:
                line = events.readline()
                if not line.endswith(b"\n"):
                    break
                lines.append(line)
                size += len(line)
        return lines

    def _progress_error(self, error: OSError) -> StoreAway:
        return StoreAway(f"the upload cannot note its progress in {self.folder}: {error.strerror}")

    def remove(self) -> None:
        """Delete the folder. Call this only if it is empty, or after the bucket was checked (`delivery_check`)."""
        delivered = self.folder.with_name(_DELIVERED_PREFIX + self.run_id)
        shutil.rmtree(delivered, ignore_errors=True)
        self.folder.rename(delivered)
        shutil.rmtree(delivered, ignore_errors=True)
        self.release()


def _lock(folder: Path) -> int:
    """Create a run's folder and lock it. Waits up to a second for a process that is deleting it."""
    patience = time.monotonic() + _PATIENCE_S
    while True:
        try:
            make_private(folder / FRAMES)
            return lock_file(folder / _LOCK)
        except FileNotFoundError:
            continue  # deleted by another process meanwhile
        except BlockingIOError:
            if time.monotonic() > patience:
                raise
            time.sleep(0.02)


def _place(folder: Path) -> Place:
    try:
        return _read_note(folder / _DESTINATION, Place)
    except (OSError, ValueError) as error:
        raise DamagedTrace(
            f"{folder / _DESTINATION} is damaged: the destination of this evidence is unknown"
        ) from error


def _read_note(path: Path, kind: type[_Note]) -> _Note:
    """Read a note of the spool. Raises `ValueError` if it is malformed or has unknown fields."""
    note = from_json(data := path.read_bytes())
    if not isinstance(note, dict) or note.keys() - kind.__dataclass_fields__.keys():
        raise ValueError("the note has unknown fields")
    return TypeAdapter(kind).validate_json(data, strict=True)


def spool_root(home: Path) -> Path:
    return home.absolute() / "spool"


def undelivered_folders(home: Path) -> list[Path]:
    """List the folders that wait for delivery, oldest first. Delete the leftovers of delivered ones."""
    root = spool_root(home)
    if not root.is_dir():
        return []
    for delivered in root.glob(_DELIVERED_PREFIX + "*"):
        shutil.rmtree(delivered, ignore_errors=True)
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def left_behind(home: Path) -> list[tuple[Path, str]]:
    """List the waiting folders without a process, each with its destination or, if damaged, the problem.

    Changes nothing.
    """
    root = spool_root(home)
    folders = sorted(root.iterdir()) if root.is_dir() else []
    waiting = (folder for folder in folders if not folder.name.startswith(".") and _is_abandoned(folder))
    return [(folder, _destination_or_damage(folder)) for folder in waiting]


def _is_abandoned(folder: Path) -> bool:
    if not (folder / EVENTS).exists():
        return False
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return folder.is_dir()
    return True


def _destination_or_damage(folder: Path) -> str:
    try:
        return f"{_place(folder).uri}/{folder.name}"
    except DamagedTrace as damage:
        return str(damage)

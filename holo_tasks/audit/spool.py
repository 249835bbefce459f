"""The local folder in which evidence waits until its bucket has all of it."""

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

from holo_tasks.audit.errors import DamagedTrace, StoreAway, StoreRefused
from holo_tasks.audit.s3 import Place
from holo_tasks.audit.trace import EVENTS, FILES, FRAMES, checked_run_id, lock_file, placed, write_durably
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.machine.private import make_private, open_private

_LOCK = "lock"
_DESTINATION = "destination.json"
_UPLOADED = "uploaded.json"
_SENT = "sent-frames.txt"
_ENDS = "sent-segments.txt"
_GONE = ".delivered-"
_END = re.compile(r"<([0-9]{1,15})>")
"""Between brackets, so that a note that was torn by a crash is none."""
_PATIENCE_S = 1.0
_Note = TypeVar("_Note", "Uploaded", Place)


@dataclass(frozen=True)
class Uploaded:
    """How far the events are confirmed, and the end of the segment that may be on its way.

    The end is written down before the segment is sent: after a crash the very same segment is sent
    again, so no two segments of a trace overlap.
    """

    offset: NonNegativeInt = 0
    seq: NonNegativeInt = 0
    sending: NonNegativeInt = 0


class Spool:
    """``<home>/spool/<run_id>``: a local trace, where it goes, and how much of it has arrived."""

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
        """Write down where a run's evidence goes, before there is any."""
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
                    raise InvalidUsage(f"{folder} waits for another bucket: use another run id")
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
        """Take over what a dead process left; None while its process lives or when it is delivered."""
        try:
            lock = lock_file(folder / _LOCK)
        except (BlockingIOError, FileNotFoundError):
            return None
        if not (folder / _DESTINATION).exists() and not (folder / EVENTS).exists():
            cls(folder, Place(""), lock).remove()  # its process died, or is about to make it anew
            return None
        try:
            return cls(folder, _place(folder), lock)
        except DamagedTrace:
            os.close(lock)
            raise

    def release(self) -> None:
        """Let other processes have the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def uploaded(self) -> Uploaded:
        """How far the events had arrived when this was last written down; raises `DamagedTrace` if nobody can tell."""
        path = self.folder / _UPLOADED
        try:
            return _noted(path, Uploaded) if path.exists() else Uploaded()
        except (OSError, ValueError) as error:
            raise DamagedTrace(f"{path} does not say how much of this evidence has arrived") from error

    def note_uploaded(self, state: Uploaded) -> None:
        """Write down how far the events have arrived."""
        try:
            write_durably(self.folder / _UPLOADED, json.dumps(asdict(state)).encode())
        except OSError as error:
            raise self._stuck(error) from error

    def note_sent(self, name: str) -> None:
        """Remember that a picture has arrived. Losing this note costs one comparison, so it is not synced."""
        try:
            path = self.folder / _SENT
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="ascii") as sent:
                sent.write(name + "\n")
        except OSError as error:
            raise self._stuck(error) from error

    def note_segment(self, end: int) -> None:
        """Write down, durably, that a segment with this end was sent: it is sent again with no other one (`Upload`)."""
        try:
            path = self.folder / _ENDS
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="ascii") as ends:
                ends.write(f"<{end}>\n")
                ends.flush()
                os.fsync(ends.fileno())
        except OSError as error:
            raise self._stuck(error) from error

    def segment_ends(self) -> list[int]:
        """Where the segments end that were sent, in order."""
        path = self.folder / _ENDS
        said = path.read_text("ascii", errors="replace") if path.exists() else ""
        return sorted({int(end) for end in _END.findall(said)})

    def waiting_frames(self) -> Iterator[str]:
        """The pictures and files not known to have arrived."""
        path = self.folder / _SENT
        sent = set(path.read_text("ascii", errors="replace").split("\n")) if path.exists() else set()
        return (name for name in self.frames() if name not in sent)

    def frames(self) -> Iterator[str]:
        """All pictures and kept files, by their names as `placed` reads them."""
        for folder, before in ((FRAMES, ""), (FILES, f"{FILES}/")):
            if before and not (self.folder / folder).exists():
                continue
            yield from (before + one.name for one in os.scandir(self.folder / folder) if not one.name.startswith("."))

    def frame(self, name: str) -> bytes:
        """The bytes of a picture or a kept file."""
        try:
            return self.folder.joinpath(*placed(name)).read_bytes()
        except OSError as error:
            raise StoreRefused(f"the picture or file {name} is gone from {self.folder}: {error.strerror}") from error

    def end(self) -> int:
        """Bytes of ``events.jsonl``, a torn last line included."""
        path = self.folder / EVENTS
        return path.stat().st_size if path.exists() else 0

    def lines(self) -> int:
        """Whole lines of ``events.jsonl``."""
        path = self.folder / EVENTS
        if not path.exists():
            return 0
        with path.open("rb") as events:
            return sum(line.endswith(b"\n") for line in events)

    def segment(self, start: int, end: int, *, most_lines: int, most_bytes: int) -> list[bytes]:
        """The next whole lines of the trace between two byte offsets; at least one if there is one."""
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

    def _stuck(self, error: OSError) -> StoreAway:
        return StoreAway(f"the upload cannot note its progress in {self.folder}: {error.strerror}")

    def remove(self) -> None:
        """Throw the folder away. Only for what nobody needs, or what was looked for in the bucket (`arrival`)."""
        gone = self.folder.with_name(_GONE + self.run_id)
        shutil.rmtree(gone, ignore_errors=True)
        self.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        self.release()


def _lock(folder: Path) -> int:
    """Make a run's folder and lock it, with patience for another process that is sweeping up."""
    patience = time.monotonic() + _PATIENCE_S
    while True:
        try:
            make_private(folder / FRAMES)
            return lock_file(folder / _LOCK)
        except FileNotFoundError:
            continue  # swept up in between
        except BlockingIOError:
            if time.monotonic() > patience:
                raise
            time.sleep(0.02)


def _place(folder: Path) -> Place:
    try:
        return _noted(folder / _DESTINATION, Place)
    except (OSError, ValueError) as error:
        raise DamagedTrace(f"{folder / _DESTINATION} does not say where this evidence goes") from error


def _noted(path: Path, kind: type[_Note]) -> _Note:
    """Read what was written down about a spool. Raises ValueError unless it is that, and no more than that."""
    said = from_json(data := path.read_bytes())
    if not isinstance(said, dict) or said.keys() - kind.__dataclass_fields__.keys():
        raise ValueError("it says something that is not understood")
    return TypeAdapter(kind).validate_json(data, strict=True)


def spool_root(home: Path) -> Path:
    return home.absolute() / "spool"


def spooled(home: Path) -> list[Path]:
    """The folders that wait, oldest name first; what a crash left of delivered ones is swept up."""
    root = spool_root(home)
    if not root.is_dir():
        return []
    for gone in root.glob(_GONE + "*"):
        shutil.rmtree(gone, ignore_errors=True)
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def left_behind(home: Path) -> list[tuple[Path, str]]:
    """The folders that wait and that no process works on, and where each goes; of a damaged one, what it does not say.

    Changes nothing.
    """
    root = spool_root(home)
    folders = sorted(root.iterdir()) if root.is_dir() else []
    waiting = (folder for folder in folders if not folder.name.startswith(".") and _is_left(folder))
    return [(folder, _goes_to(folder)) for folder in waiting]


def _is_left(folder: Path) -> bool:
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


def _goes_to(folder: Path) -> str:
    try:
        return f"{_place(folder).uri}/{folder.name}"
    except DamagedTrace as damage:
        return str(damage)

"""Heads of a growing trace, written down apart from it, so that a trace cannot quietly be rolled back or made anew."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import rfc8785

from holo_tasks.audit.errors import StoreTrouble
from holo_tasks.audit.keys import SigningKey
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.events import Anchor
from holo_tasks.core.paths import expanded
from holo_tasks.machine.private import make_private, private_file

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket, Keys, Place

ANCHORS_VARIABLE = "HOLO_ANCHORS"
EVERY_RECORDS = 200
INTERVAL_S = 30.0
PATIENCE_S = 8.0


@dataclass(frozen=True)
class Head:
    """A trace's number of records, the SHA-256 of its last line, and how many records have been delivered."""

    records: int
    sha256: str
    delivered: int


class AnchorPlace(Protocol):
    """Where heads are written down; ``put`` returns when the anchor is durable, else raises."""

    @property
    def where(self) -> str: ...

    def put(self, anchor: Anchor, line: bytes) -> None: ...


@dataclass(frozen=True)
class AnchorFile:
    """One file for the runs of a home, or of many; lines are only ever added."""

    path: Path
    own: bool = False
    """Whether it is the one of the home; another one may be meant for several users."""

    @property
    def where(self) -> str:
        return str(self.path)

    def put(self, anchor: Anchor, line: bytes) -> None:
        make_private(self.path.parent)
        if self.own or not self.path.exists():
            private_file(self.path)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # somebody was killed in the middle of a line
            left = memoryview(line + b"\n")
            while left:
                left = left[os.write(descriptor, left) :]
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


class AnchorBucket:
    """A bucket, best one that this machine may only add to: one object for each head."""

    def __init__(self, place: Place, keys: Keys) -> None:
        self._place, self._keys = place, keys
        self._bucket: Bucket | None = None

    @property
    def where(self) -> str:
        return self._place.uri

    def put(self, anchor: Anchor, line: bytes) -> None:
        from holo_tasks.audit.s3 import Bucket

        if self._bucket is None:
            self._bucket = Bucket(self._place, self._keys, connect_s=2, read_s=5, attempts=1)
        self._bucket.put_once(
            self._place.key(anchor.run, f"{anchor.seq:08d}-{anchor.delivered:08d}-{anchor.head[:16]}.json"),
            line + b"\n",
        )


def anchor_file(home: Path) -> Path:
    """Where the heads of a home's runs are always written."""
    return home.absolute() / "anchors.jsonl"


def named_anchors(environ: Mapping[str, str] | None = None) -> str:
    """The place that ``HOLO_ANCHORS`` names: ``s3://BUCKET/PREFIX``, the whole path of a file, or nothing."""
    named = (os.environ if environ is None else environ).get(ANCHORS_VARIABLE, "").strip()
    if not named:
        return ""
    if "://" in named:
        from holo_tasks.audit.stores import Destination

        Destination.parse(named)
        return named
    path = expanded(named).absolute()
    try:
        folder = path.is_dir()
    except OSError as error:
        raise InvalidUsage(f"{ANCHORS_VARIABLE} names {path}: {error.strerror}") from error
    if folder:
        raise InvalidUsage(f"{ANCHORS_VARIABLE} names a folder, {path}: name a file, or s3://BUCKET/PREFIX")
    return str(path)


def anchor_places(home: Path, environ: Mapping[str, str] | None = None) -> list[AnchorPlace]:
    """The home's own file, and the place that ``HOLO_ANCHORS`` names."""
    from holo_tasks.audit.stores import S3, Destination, retain_days

    env = os.environ if environ is None else environ
    own = AnchorFile(anchor_file(home), own=True)
    named = named_anchors(env)
    if not named:
        return [own]
    if "://" in named:
        where = Destination.parse(named, retain_days=retain_days(env))
        assert isinstance(where, S3)
        return [own, AnchorBucket(where.place, where.keys)]
    path = Path(named)
    return [own] if path == own.path else [own, AnchorFile(path)]


class Anchoring:
    """Anchors one run's heads in a thread of its own: at its opening, every 200 records or 30 s, and when asked to.

    Nobody waits for it but `settle`, and that within bounds. It is told only of what is durable, so no crash leaves
    an anchor without the record it stands for.
    """

    def __init__(self, run_id: str, key: SigningKey, places: Sequence[AnchorPlace]) -> None:
        self._run_id, self._key = run_id, key
        self._places = tuple(places)
        self._changed = threading.Condition()
        self._head: Head | None = None
        self._tried = 0
        self._asked = self._answered = 0
        self._stop = False
        self._anchored: dict[str, Head] = {}
        self._line: tuple[Head, Anchor, bytes] | None = None
        self._trouble: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name=f"anchors-{run_id}", daemon=True)
        self._thread.start()

    def notice(self, head: Head) -> None:
        """Hear of a new head. Its record must be durable."""
        with self._changed:
            self._head = head
            if self._due():
                self._changed.notify_all()

    def settle(self, head: Head, timeout_s: float = PATIENCE_S) -> str:
        """Anchor this head now; what was in the way, or nothing."""
        with self._changed:
            self._head = head
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            in_time = self._changed.wait_for(lambda: self._answered >= mine, timeout=timeout_s)
            if in_time and not self._trouble:
                return ""
            late = [place.where for place in self._places if self._anchored.get(place.where) != head]
            reasons = [self._trouble.get(where, f"{where} took longer than {timeout_s:g} s") for where in late]
        return f"the head of the trace could not be anchored ({'; '.join(reasons)})" if reasons else ""

    def close(self) -> None:
        """End the thread after what it is doing."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()

    def _due(self) -> bool:
        if self._stop or self._asked > self._answered:
            return True
        return self._head is not None and (not self._tried or self._head.records - self._tried >= EVERY_RECORDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._due, timeout=INTERVAL_S)
                if self._stop:
                    return
                head, asked = self._head, self._asked
                self._tried = head.records if head else 0
            if head is not None and head.records:
                self._anchor(head)
            with self._changed:
                self._answered = asked
                self._changed.notify_all()

    def _signed(self, head: Head) -> tuple[Anchor, bytes]:
        """An anchor and its line; the same bytes each time, for a place may have them although its reply was lost."""
        if self._line and self._line[0] == head:
            return self._line[1:]
        at = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        bare = Anchor(
            run=self._run_id, seq=head.records - 1, head=head.sha256, delivered=head.delivered, at=at, signature=""
        )
        signature = self._key.sign(rfc8785.dumps(bare.model_dump(exclude={"signature"})))
        anchor = bare.model_copy(update={"signature": signature})
        self._line = head, anchor, rfc8785.dumps(anchor.model_dump())
        return self._line[1:]

    def _anchor(self, head: Head) -> None:
        anchor, line = self._signed(head)
        for place in self._places:
            if self._anchored.get(place.where) == head:
                continue
            try:
                place.put(anchor, line)
            except OSError as error:
                self._trouble[place.where] = f"{place.where}: {error.strerror}"
            except (StoreTrouble, HoloError) as error:
                self._trouble[place.where] = str(error)
            else:
                self._anchored[place.where] = head
                self._trouble.pop(place.where, None)

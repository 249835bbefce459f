"""Check that a bucket holds all of a spooled trace, before the only other copy is deleted.

An accepted upload does not prove that: a bucket can be emptied, or deleted and created again, during a run. So
`find_missing` compares the bucket's listing with the spool, by names, sizes and digests. `upload` uses it.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import BinaryIO

from holo_tasks.audit.bucket_places import Listed
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import EVENTS, FILES, FRAMES

_MAX_THREADS = 8
"""How many objects are checked in parallel when the listing does not contain their digests."""
_SEGMENT = re.compile(r"([0-9]{8,12})-([0-9]{8,12})\.jsonl")


@dataclass(frozen=True)
class Hole:
    """Records that are in no object: from record ``seq`` at byte ``offset`` up to byte ``end``."""

    offset: int
    seq: int
    end: int


@dataclass(frozen=True)
class Missing:
    """The pictures, files and records that were sent but are not in the bucket. False if nothing is missing."""

    frames: tuple[str, ...]
    holes: tuple[Hole, ...]

    def __bool__(self) -> bool:
        return bool(self.frames or self.holes)


def find_missing(spool: Spool, bucket: Bucket, end: int, may_go_on: Callable[[], bool]) -> Missing | None:
    """Compare the bucket with the spool, events up to byte ``end``. Returns ``None`` if the time ran out.

    Raises `ForeignObject` if an object of the run has other contents. Later changes to the bucket are up to the
    bucket's own retention.
    """
    uncertain = _UncertainObjects(bucket)
    try:
        holes = tuple(_holes(spool, bucket, end, may_go_on, uncertain))
        lost = tuple(_missing_frames(spool, bucket, may_go_on, uncertain))
        uncertain.check_digests(may_go_on)
        return Missing(lost, holes)
    except _OutOfTime:
        return None


class _OutOfTime(Exception):
    pass


@dataclass(frozen=True)
class _Digests:
    size: int
    md5: str
    sha256: str


class _UncertainObjects:
    """Objects of the right size whose ETag is not an MD5 digest, for example because of encryption. Each needs a
    request."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._objects: list[tuple[str, str]] = []

    def compare(self, found: Listed, expected: _Digests) -> None:
        """Compare a listed object with the spool. Raises `ForeignObject` for another size.

        If the listing has no usable digest, the object is kept for `check_digests`.
        """
        if found.size != expected.size:
            raise self._bucket.foreign(found.key)
        if found.etag != expected.md5:
            self._objects.append((found.key, expected.sha256))

    def check_digests(self, may_go_on: Callable[[], bool]) -> None:
        """Check the objects' digests in parallel threads. One after the other would take longer than the end of a run
        allows.

        Raises `ForeignObject` for other contents.
        """
        left = deque(self._objects)
        results: deque[Future[None]] = deque()

        def check_next() -> None:
            while may_go_on():
                try:
                    key, sha256 = left.popleft()
                except IndexError:
                    return
                result: Future[None] = Future()
                results.append(result)
                try:
                    if self._bucket.digest(key) != sha256:
                        raise self._bucket.foreign(key)
                    result.set_result(None)
                except Exception as error:  # raised again below, in the caller's thread
                    result.set_exception(error)
                    left.clear()

        # Daemon threads, unlike a pool's: a bucket that hangs must not keep the process alive.
        threads = [
            threading.Thread(target=check_next, name="look", daemon=True) for _ in range(min(_MAX_THREADS, len(left)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            result.result()
        if len(results) < len(self._objects):
            raise _OutOfTime


class _SpooledEvents:
    """The events in the spool, read once from the first record to the last."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._end = file, end
        self.seq = self.offset = 0

    def read(self, seq: int | None = None) -> _Digests:
        """Read up to the record ``seq``, or to the end. Return the size and digests of the bytes read."""
        md5, sha256, begun = hashlib.md5(usedforsecurity=False), hashlib.sha256(), self.offset
        while self.offset < self._end and (seq is None or self.seq < seq):
            line = self._file.readline()
            if not line.endswith(b"\n"):
                break
            md5.update(line)
            sha256.update(line)
            self.seq += 1
            self.offset += len(line)
        return _Digests(self.offset - begun, md5.hexdigest(), sha256.hexdigest())


def _holes(
    spool: Spool, bucket: Bucket, end: int, may_go_on: Callable[[], bool], uncertain: _UncertainObjects
) -> Iterator[Hole]:
    if not end:
        return
    with (spool.folder / EVENTS).open("rb") as file:
        events = _SpooledEvents(file, end)
        for found in _list_objects(spool, bucket, "events", may_go_on):
            name = found.key.rpartition("/")[2]
            if name.startswith("."):
                continue  # left by a file manager; readers of the trace ignore it
            named = _SEGMENT.fullmatch(name)
            first, last = (int(named[1]), int(named[2])) if named else (-1, -1)
            if not events.seq <= first <= last:
                raise bucket.foreign(found.key)
            yield from _hole_before(events, first)
            expected = events.read(last + 1)
            if events.seq != last + 1:
                raise bucket.foreign(found.key)
            uncertain.compare(found, expected)
        yield from _hole_before(events, None)


def _hole_before(events: _SpooledEvents, seq: int | None) -> Iterator[Hole]:
    offset, first = events.offset, events.seq
    if events.read(seq).size:
        yield Hole(offset, first, events.offset)


def _missing_frames(
    spool: Spool, bucket: Bucket, may_go_on: Callable[[], bool], uncertain: _UncertainObjects
) -> Iterator[str]:
    lost = set(spool.frames())
    for folder, before in ((FRAMES, ""), (FILES, f"{FILES}/")):
        if not any(name.startswith(before) for name in lost):
            continue
        for found in _list_objects(spool, bucket, folder, may_go_on):
            digest = found.key.rpartition("/")[2]
            name = before + digest
            if name not in lost:
                continue
            data = spool.frame(name)
            expected = _Digests(
                len(data), hashlib.md5(data, usedforsecurity=False).hexdigest(), digest.partition(".")[0]
            )
            uncertain.compare(found, expected)
            lost.discard(name)
    yield from sorted(lost)


def _list_objects(spool: Spool, bucket: Bucket, folder: str, may_go_on: Callable[[], bool]) -> Iterator[Listed]:
    listed = bucket.objects(spool.place.key(spool.run_id, folder) + "/")
    while may_go_on():
        found = next(listed, None)
        if found is None:
            return
        yield found
    raise _OutOfTime

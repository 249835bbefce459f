"""What a bucket really has of a spooled trace, looked at before the only other copy of it is thrown away.

That an object was taken says nothing about now: a bucket can be emptied, or deleted and made again, while a run goes
on. So the list of the run's prefix is compared with the spool: names, sizes, digests.
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

from holo_tasks.audit.s3 import Bucket, Listed
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import EVENTS, FILES, FRAMES

_AT_A_TIME = 8
"""How many objects are asked about at the same time, where the list does not say what is in them."""
_SEGMENT = re.compile(r"([0-9]{8,12})-([0-9]{8,12})\.jsonl")


@dataclass(frozen=True)
class Hole:
    """Records that are in no object: from the one numbered ``seq``, which begins at ``offset``, up to ``end``."""

    offset: int
    seq: int
    end: int


@dataclass(frozen=True)
class Missing:
    """What the bucket has not got of what it was given."""

    frames: tuple[str, ...]
    holes: tuple[Hole, ...]

    def __bool__(self) -> bool:
        return bool(self.frames or self.holes)


def missing(spool: Spool, bucket: Bucket, end: int, may_go_on: Callable[[], bool]) -> Missing | None:
    """Compare the bucket with the spool, events up to byte ``end``; None if there was no time.

    Raises `ForeignObject` where an object of the run has other contents. What happens to the bucket afterwards
    is for the bucket's own retention.
    """
    doubts = _Doubts(bucket)
    try:
        holes = tuple(_holes(spool, bucket, end, may_go_on, doubts))
        lost = tuple(_lost_frames(spool, bucket, may_go_on, doubts))
        doubts.settle(may_go_on)
        return Missing(lost, holes)
    except _NoTime:
        return None


class _NoTime(Exception):
    pass


@dataclass(frozen=True)
class _Sum:
    size: int
    md5: str
    sha256: str


class _Doubts:
    """Objects of the right size whose ETag is no digest of their contents, as with encryption: to be asked about."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._objects: list[tuple[str, str]] = []

    def compare(self, found: Listed, expected: _Sum) -> None:
        """Raise `ForeignObject` for other contents; doubt what the list does not tell."""
        if found.size != expected.size:
            raise self._bucket.foreign(found.key)
        if found.etag != expected.md5:
            self._objects.append((found.key, expected.sha256))

    def settle(self, may_go_on: Callable[[], bool]) -> None:
        """Ask about some at a time: one after the other would take longer than a run waits at its end."""
        left = deque(self._objects)
        answers: deque[Future[None]] = deque()

        def ask() -> None:
            while may_go_on():
                try:
                    key, sha256 = left.popleft()
                except IndexError:
                    return
                answer: Future[None] = Future()
                answers.append(answer)
                try:
                    if self._bucket.digest(key) != sha256:
                        raise self._bucket.foreign(key)
                    answer.set_result(None)
                except Exception as error:  # whatever it is, it is raised below
                    answer.set_exception(error)
                    left.clear()

        # Daemons, unlike those of a pool: a bucket that hangs does not hold up the end of the process.
        threads = [threading.Thread(target=ask, name="look", daemon=True) for _ in range(min(_AT_A_TIME, len(left)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            answer.result()
        if len(answers) < len(self._objects):
            raise _NoTime


class _Written:
    """The events as they are in the spool, read once from the first on."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._end = file, end
        self.seq = self.offset = 0

    def read(self, seq: int | None = None) -> _Sum:
        """Go on to the record numbered ``seq``, or to the end; return what stands for the bytes in between."""
        md5, sha256, begun = hashlib.md5(usedforsecurity=False), hashlib.sha256(), self.offset
        while self.offset < self._end and (seq is None or self.seq < seq):
            line = self._file.readline()
            if not line.endswith(b"\n"):
                break
            md5.update(line)
            sha256.update(line)
            self.seq += 1
            self.offset += len(line)
        return _Sum(self.offset - begun, md5.hexdigest(), sha256.hexdigest())


def _holes(spool: Spool, bucket: Bucket, end: int, may_go_on: Callable[[], bool], doubts: _Doubts) -> Iterator[Hole]:
    if not end:
        return
    with (spool.folder / EVENTS).open("rb") as file:
        written = _Written(file, end)
        for found in _listed(spool, bucket, "events", may_go_on):
            name = found.key.rpartition("/")[2]
            if name.startswith("."):
                continue  # what file managers leave; nobody who reads the trace takes it for a part of it
            named = _SEGMENT.fullmatch(name)
            first, last = (int(named[1]), int(named[2])) if named else (-1, -1)
            if not written.seq <= first <= last:
                raise bucket.foreign(found.key)
            yield from _up_to(written, first)
            expected = written.read(last + 1)
            if written.seq != last + 1:
                raise bucket.foreign(found.key)
            doubts.compare(found, expected)
        yield from _up_to(written, None)


def _up_to(written: _Written, seq: int | None) -> Iterator[Hole]:
    offset, first = written.offset, written.seq
    if written.read(seq).size:
        yield Hole(offset, first, written.offset)


def _lost_frames(spool: Spool, bucket: Bucket, may_go_on: Callable[[], bool], doubts: _Doubts) -> Iterator[str]:
    lost = set(spool.frames())
    for folder, before in ((FRAMES, ""), (FILES, f"{FILES}/")):
        if not any(name.startswith(before) for name in lost):
            continue
        for found in _listed(spool, bucket, folder, may_go_on):
            digest = found.key.rpartition("/")[2]
            name = before + digest
            if name not in lost:
                continue
            data = spool.frame(name)
            expected = _Sum(len(data), hashlib.md5(data, usedforsecurity=False).hexdigest(), digest.partition(".")[0])
            doubts.compare(found, expected)
            lost.discard(name)
    yield from sorted(lost)


def _listed(spool: Spool, bucket: Bucket, folder: str, may_go_on: Callable[[], bool]) -> Iterator[Listed]:
    listed = bucket.objects(spool.place.key(spool.run_id, folder) + "/")
    while may_go_on():
        found = next(listed, None)
        if found is None:
            return
        yield found
    raise _NoTime

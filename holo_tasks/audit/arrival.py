"""What a bucket really has of a spooled trace, looked at before the only other copy of it is thrown away.

That an object was taken says nothing about now: a bucket can be emptied, or deleted and made again, while a run goes
on. So the list of the run's prefix is compared with the spool: names, sizes, digests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from holo_tasks.audit.s3 import Bucket, Listed
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import EVENTS, FRAMES

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
    try:
        holes = tuple(_holes(spool, bucket, end, may_go_on))
        return Missing(tuple(_lost_frames(spool, bucket, may_go_on)), holes)
    except _NoTime:
        return None


class _NoTime(Exception):
    pass


@dataclass(frozen=True)
class _Sum:
    size: int
    md5: str
    sha256: str


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


def _holes(spool: Spool, bucket: Bucket, end: int, may_go_on: Callable[[], bool]) -> Iterator[Hole]:
    if not end:
        return
    with (spool.folder / EVENTS).open("rb") as file:
        written = _Written(file, end)
        for found in _listed(spool, bucket, "events", may_go_on):
            named = _SEGMENT.fullmatch(found.key.rpartition("/")[2])
            first, last = (int(named[1]), int(named[2])) if named else (-1, -1)
            if not written.seq <= first <= last:
                raise bucket.foreign(found.key)
            yield from _up_to(written, first)
            expected = written.read(last + 1)
            if written.seq != last + 1 or not _same(bucket, found, expected):
                raise bucket.foreign(found.key)
        yield from _up_to(written, None)


def _up_to(written: _Written, seq: int | None) -> Iterator[Hole]:
    offset, first = written.offset, written.seq
    if written.read(seq).size:
        yield Hole(offset, first, written.offset)


def _lost_frames(spool: Spool, bucket: Bucket, may_go_on: Callable[[], bool]) -> Iterator[str]:
    lost = set(spool.frames())
    for found in _listed(spool, bucket, FRAMES, may_go_on):
        name = found.key.rpartition("/")[2]
        if name not in lost:
            continue
        data = spool.frame(name)
        expected = _Sum(len(data), hashlib.md5(data, usedforsecurity=False).hexdigest(), name.partition(".")[0])
        if not _same(bucket, found, expected):
            raise bucket.foreign(found.key)
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


def _same(bucket: Bucket, found: Listed, expected: _Sum) -> bool:
    """Compare by what the list says; where that is no digest of the contents (encryption), ask for one."""
    return found.size == expected.size and (found.etag == expected.md5 or bucket.digest(found.key) == expected.sha256)

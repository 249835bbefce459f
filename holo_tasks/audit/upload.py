"""Upload a spooled trace to its bucket, object by object.

`Upload` is driven by `uploader` during a run and by `resume` after a crash.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from holo_tasks.audit.delivery_check import Hole, find_missing
from holo_tasks.audit.errors import StoreRefused
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import stored_path

SEGMENT_LINES = 200
SEGMENT_BYTES = 4_000_000
_MAX_CHECKS = 4


class Upload:
    """Uploads pictures and kept files before the events that name them, and each object exactly once.

    It holds names and offsets only. Bytes are read from the spool when they are sent.
    """

    def __init__(self, spool: Spool, bucket: Bucket, frames: deque[str]) -> None:
        self._spool = spool
        self._bucket = bucket
        self._frames = frames
        self._state = spool.uploaded()
        self._holes: deque[Hole] = deque()
        self._ends: list[int] = []
        self._failed_checks = 0

    @property
    def seq(self) -> int:
        """Number of records delivered without a gap."""
        return self._holes[0].seq if self._holes else self._state.seq

    def is_there(self, may_go_on: Callable[[], bool]) -> bool:
        """Check that everything sent is in the bucket. Returns false if the time ran out, or if something must be sent
        again.

        Raises `ForeignObject` if an object has other contents, and `StoreRefused` after four checks with missing
        objects.
        """
        lost = find_missing(self._spool, self._bucket, self._state.offset, may_go_on)
        if lost is None:
            return False
        self._failed_checks += bool(lost)
        if self._failed_checks >= _MAX_CHECKS:
            raise StoreRefused(
                f"objects sent to {self._spool.uri} disappear again: stop the person or program that deletes them"
            )
        self._frames.extend(lost.frames)
        self._holes.extend(lost.holes)
        if lost.holes:
            self._ends = self._spool.segment_ends()
        return not lost

    def send(self, end: int, may_go_on: Callable[[], bool]) -> bool:
        """Send the waiting pictures and files, then the events up to byte ``end``. Returns false if the time ran
        out."""
        for _ in range(len(self._frames)):
            if not may_go_on():
                return False
            name = self._frames[0]
            data = self._spool.frame(name)
            self._bucket.put_once(self._key(*stored_path(name)), data)
            self._spool.note_sent(name)
            self._frames.popleft()
        while self._holes or self._state.offset < end:
            if not may_go_on():
                return False
            if self._holes:
                self._fill_hole(self._holes[0])
            elif not self._send_segment(end):
                break
        return True

    def _send_segment(self, end: int) -> bool:
        state = self._state
        lines = self._lines(state.offset, state.sending or end)
        if not lines:
            return False
        after = state.offset + sum(map(len, lines))
        if not state.sending:
            self._state = replace(state, sending=after)
            self._spool.note_uploaded(self._state)
        self._put(state.seq, lines)
        self._spool.note_segment(after)
        self._state = replace(state, offset=after, seq=state.seq + len(lines), sending=0)
        self._spool.note_uploaded(self._state)
        return True

    def _fill_hole(self, hole: Hole) -> None:
        """Send the first missing segment of a hole again, with exactly the same boundaries as before.

        One incomplete listing can report objects as missing that exist. Objects are never deleted, so a segment with
        other boundaries would make the trace unreadable for good. An identical segment either fills the hole or is
        found to exist.

        Nothing is noted: after a crash the bucket is checked again.
        """
        next_end = bisect_right(self._ends, hole.offset)
        lines = self._lines(hole.offset, min([hole.end, *self._ends[next_end : next_end + 1]]))
        self._put(hole.seq, lines)
        left = replace(hole, offset=hole.offset + sum(map(len, lines)), seq=hole.seq + len(lines))
        if left.offset < hole.end:
            self._holes[0] = left
        else:
            self._holes.popleft()

    def _lines(self, offset: int, end: int) -> list[bytes]:
        return self._spool.segment(offset, end, most_lines=SEGMENT_LINES, most_bytes=SEGMENT_BYTES)

    def _put(self, seq: int, lines: list[bytes]) -> None:
        name = f"{seq:08d}-{seq + len(lines) - 1:08d}.jsonl"
        self._bucket.put_once(self._key("events", name), b"".join(lines))

    def _key(self, *parts: str) -> str:
        return self._spool.place.key(self._spool.run_id, *parts)

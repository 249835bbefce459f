"""The way of one spooled trace into its bucket, object by object."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from holo_tasks.audit.arrival import Hole, missing
from holo_tasks.audit.errors import StoreRefused
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import placed

SEGMENT_LINES = 200
SEGMENT_BYTES = 4_000_000
_MOST_LOOKS = 4


class Upload:
    """Sends pictures and kept files before the events that name them, and each object exactly once.

    Holds names and offsets only; bytes are read from the spool when it is their turn.
    """

    def __init__(self, spool: Spool, bucket: Bucket, frames: deque[str]) -> None:
        self._spool = spool
        self._bucket = bucket
        self._frames = frames
        self._state = spool.uploaded()
        self._holes: deque[Hole] = deque()
        self._ends: list[int] = []
        self._looks = 0

    @property
    def seq(self) -> int:
        """The number of records that have arrived, up to the first that has not."""
        return self._holes[0].seq if self._holes else self._state.seq

    def is_there(self, may_go_on: Callable[[], bool]) -> bool:
        """Look for everything that was sent. False if there was no time, or if something waits to be sent again.

        Raises `ForeignObject` if something else is in its place, `StoreRefused` if nothing stays there.
        """
        lost = missing(self._spool, self._bucket, self._state.offset, may_go_on)
        if lost is None:
            return False
        self._looks += bool(lost)
        if self._looks >= _MOST_LOOKS:
            raise StoreRefused(
                f"what is sent to {self._spool.uri} does not stay there: who or what deletes it has to stop first"
            )
        self._frames.extend(lost.frames)
        self._holes.extend(lost.holes)
        if lost.holes:
            self._ends = self._spool.segment_ends()
        return not lost

    def send(self, end: int, may_go_on: Callable[[], bool]) -> bool:
        """Send the pictures and files that wait now, then the events up to byte ``end``; false if there was no time."""
        for _ in range(len(self._frames)):
            if not may_go_on():
                return False
            name = self._frames[0]
            data = self._spool.frame(name)
            self._bucket.put_once(self._key(*placed(name)), data)
            self._spool.note_sent(name)
            self._frames.popleft()
        while self._holes or self._state.offset < end:
            if not may_go_on():
                return False
            if self._holes:
                self._mend(self._holes[0])
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

    def _mend(self, hole: Hole) -> None:
        """Send what is missing, or the first of it, in the very segments that it was sent in before.

        A list that is wrong once tells of holes where there are none, and objects are never deleted: others beside them
        would make the trace unreadable for good. The same ones are found to be there, or fill the hole.
        Nothing is noted: after a crash the bucket is looked at again.
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

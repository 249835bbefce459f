"""The way of one spooled trace into its bucket, object by object."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.trace import FRAMES

SEGMENT_LINES = 200
SEGMENT_BYTES = 4_000_000


class Upload:
    """Sends pictures before the events that name them, and each object exactly once.

    Holds names and offsets only; bytes are read from the spool when it is their turn.
    """

    def __init__(self, spool: Spool, bucket: Bucket, frames: deque[str]) -> None:
        self._spool = spool
        self._bucket = bucket
        self._frames = frames
        self._state = spool.uploaded()

    @property
    def seq(self) -> int:
        """The number of records that have arrived."""
        return self._state.seq

    def send(self, end: int, may_go_on: Callable[[], bool]) -> bool:
        """Send the pictures that wait now, then the events up to byte ``end``; false if there was no time."""
        for _ in range(len(self._frames)):
            if not may_go_on():
                return False
            name = self._frames[0]
            data = self._spool.frame(name)
            self._bucket.put_once(self._key(FRAMES, name), data)
            self._spool.note_sent(name)
            self._frames.popleft()
        while self._state.offset < end:
            if not may_go_on():
                return False
            if not self._send_segment(end):
                break
        return True

    def _send_segment(self, end: int) -> bool:
        state = self._state
        lines = self._spool.segment(
            state.offset, state.sending or end, most_lines=SEGMENT_LINES, most_bytes=SEGMENT_BYTES
        )
        if not lines:
            return False
        data = b"".join(lines)
        after = state.offset + len(data)
        last = state.seq + len(lines) - 1
        if not state.sending:
            self._state = replace(state, sending=after)
            self._spool.note_uploaded(self._state)
        self._bucket.put_once(self._key("events", f"{state.seq:08d}-{last:08d}.jsonl"), data)
        self._state = replace(state, offset=after, seq=last + 1, sending=0)
        self._spool.note_uploaded(self._state)
        return True

    def _key(self, *parts: str) -> str:
        return self._spool.place.key(self._spool.run_id, *parts)

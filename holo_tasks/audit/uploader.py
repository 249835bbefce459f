"""Upload a spooled trace in a background thread that never delays the agent.

A `TraceRecorder` whose destination is a bucket delivers through an `Uploader` (its parameter ``carrier``).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol

from holo_tasks.audit.bucket_places import Keys
from holo_tasks.audit.errors import StoreAway, StoreTrouble
from holo_tasks.audit.recorder import Backlog, Delivery, Progress
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool
from holo_tasks.audit.upload import SEGMENT_LINES, Upload
from holo_tasks.core.errors import HoloError

INTERVAL_S = 1.0
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0
LONGEST_PAUSE_CLOSING_S = 2.0


class Helper(Protocol):
    """Other background work during an upload: delivering what earlier runs left in the spool (`audit.resume`).

    ``finish`` may use the time that is left until ``deadline``. It returns the unfinished part, or an empty string.
    """

    def start(self) -> None: ...

    def finish(self, deadline: float) -> str: ...


class Uploader:
    """Thread that runs an `Upload` after a second or 200 events, whichever is first.

    It runs less often while the bucket is unreachable.
    """

    def __init__(self, spool: Spool, keys: Keys, *, seq: int, end: int, helper: Helper | None = None) -> None:
        self.uri = spool.uri
        self._spool = spool
        self._keys = keys
        self._helper = helper
        self._frames = deque(spool.waiting_frames())
        self._seq, self._end = seq, end
        self._sent_seq = spool.uploaded().seq
        self._changed = threading.Condition()
        self._stop = False
        self._deadline: float | None = None
        self._progress: Progress | None = None
        self._reported = 0.0
        self._trouble: StoreTrouble | None = None
        self._done: Future[Delivery] = Future()
        self._done.set_running_or_notify_cancel()
        self._thread = threading.Thread(target=self._run, name=f"upload-{spool.run_id}", daemon=True)

    @property
    def delivered(self) -> int:
        return self._sent_seq

    def start(self) -> None:
        self._thread.start()
        if self._helper:
            self._helper.start()

    def notice(self, frames: list[str], seq: int, end: int) -> None:
        """Report data that is now durable in the spool.

        ``frames`` are the new pictures, ``seq`` is the number of events, and ``end`` is their size in bytes.
        """
        with self._changed:
            self._frames.extend(frames)
            self._seq, self._end = seq, end
            if self._urgent():
                self._changed.notify()

    def finish(self, deadline: float, progress: Progress) -> Future[Delivery]:
        """Deliver the rest until ``deadline`` (monotonic seconds). The future returns the result."""
        with self._changed:
            self._deadline, self._progress = deadline, progress
            self._changed.notify()
        return self._done

    def abandon(self) -> Delivery:
        """Give up after the current object. The spool stays for the next run."""
        with self._changed:
            self._stop = True
            self._changed.notify()
        return self._undelivered()

    def backlog(self) -> Backlog:
        return Backlog(len(self._frames), self._seq - self._sent_seq, str(self._trouble or ""))

    def _run(self) -> None:
        delivery: Delivery | None = None
        try:
            delivery = self._deliver()
            if self._helper:
                left = self._helper.finish(self._deadline if delivery.complete and self._deadline else 0.0)
                delivery = replace(delivery, message=f"{delivery.message}; {left}" if left else delivery.message)
        finally:
            # Also after an unexpected error: no caller may wait forever, and the spool still exists.
            self._spool.release()
            self._done.set_result(delivery or self._undelivered())

    def _deliver(self) -> Delivery:
        upload: Upload | None = None
        pause = 0.0
        while not self._stop:
            closing, end = self._wait_for_work(pause)
            try:
                if upload is None:
                    upload = Upload(self._spool, Bucket(self._spool.place, self._keys), self._frames)
                arrived = upload.send(end, self._may_go_on) and (not closing or upload.is_there(self._may_go_on))
                pause, self._trouble = 0.0, None
            except StoreTrouble as trouble:
                arrived = False
                self._trouble = trouble
                pause = min(max(FIRST_PAUSE_S, pause * 2), LONGEST_PAUSE_S)
                if closing and not isinstance(trouble, StoreAway):
                    break
            self._sent_seq = upload.seq if upload else self._sent_seq
            if closing:
                if arrived:
                    self._spool.remove()
                    return Delivery(self.uri, True, f"the evidence is in {self.uri}")
                pause = min(pause, LONGEST_PAUSE_CLOSING_S)
                if not self._may_go_on(ahead_s=pause):
                    break
        return self._undelivered()

    def _wait_for_work(self, pause: float) -> tuple[bool, int]:
        """Wait for something to send, at least ``pause`` seconds. Return whether to finish, and the end of the
        events."""
        with self._changed:
            if self._deadline is None:
                self._changed.wait_for(self._urgent, timeout=max(INTERVAL_S, pause))
            elif pause:
                self._changed.wait_for(lambda: self._stop, timeout=pause)
            return self._deadline is not None, self._end

    def _urgent(self) -> bool:
        waiting = self._seq - self._sent_seq >= SEGMENT_LINES and not self._trouble
        return waiting or self._deadline is not None or self._stop

    def _may_go_on(self, *, ahead_s: float = 0.0) -> bool:
        """Report the progress between two objects. Return whether there is time for another one."""
        now = time.monotonic()
        if self._progress and now - self._reported >= 1:
            self._reported = now
            self._progress(self.backlog())
        return not self._stop and (self._deadline is None or now + ahead_s < self._deadline)

    def _undelivered(self) -> Delivery:
        left = self.backlog()
        return describe_undelivered(self._spool, left.frames, left.events, self._trouble)


def describe_undelivered(spool: Spool, frames: int, events: int, trouble: HoloError | None) -> Delivery:
    """Describe the undelivered evidence: its amount, the cause, its folder, and the next step.

    A refused upload needs a person to fix the cause. Any other is resumed by the next run.
    """
    temporary = trouble is None or isinstance(trouble, StoreAway)
    state = f"{frames} pictures and {events} events are not in {spool.uri} yet"
    if not frames and not events:
        state = f"everything was sent to {spool.uri}, but its arrival could not be checked"
    then = "the next run uploads them" if temporary else "stay there until the cause is fixed and another run starts"
    return Delivery(
        spool.uri,
        False,
        f"{state} ({trouble or 'there was not enough time'}); copies are safe in {spool.folder}, and {then}",
    )

"""Deliver the evidence that dead processes left in the spool.

`resume_spool` does it at once; `Leftovers` does it in the background of a run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.audit.errors import DamagedTrace, StoreAway, StoreTrouble
from holo_tasks.audit.recorder import Delivery
from holo_tasks.audit.s3 import Bucket
from holo_tasks.audit.spool import Spool, spool_root, undelivered_folders
from holo_tasks.audit.upload import Upload
from holo_tasks.audit.uploader import FIRST_PAUSE_S, LONGEST_PAUSE_CLOSING_S, describe_undelivered


def resume_spool(
    home: Path,
    place: Place | None = None,
    keys: Keys | None = None,
    *,
    timeout_s: float = 120.0,
    stop: threading.Event | None = None,
) -> list[Delivery]:
    """Upload the spools under ``home`` whose process is dead. Return one `Delivery` for each.

    With ``place``, only spools for its bucket and endpoint are uploaded, with ``keys``. Otherwise all are, with the AWS
    credentials of the environment. Blocks for about ``timeout_s`` at most, or until ``stop`` is set.
    """
    stop = stop or threading.Event()
    deadline = time.monotonic() + timeout_s
    deliveries: list[Delivery] = []
    for folder in undelivered_folders(home):
        try:
            spool = Spool.take(folder)
        except DamagedTrace as damage:
            deliveries.append(Delivery(str(folder), False, str(damage)))
            continue
        if spool is None:
            continue
        try:
            if place is None or (spool.place.bucket, spool.place.endpoint_url) == (
                place.bucket,
                place.endpoint_url,
            ):
                deliveries.append(_deliver(spool, keys or Keys(), deadline, stop))
        finally:
            spool.release()
    return deliveries


class Leftovers:
    """Thread that resumes the spool during a run that uses the same bucket."""

    def __init__(self, home: Path, place: Place, keys: Keys) -> None:
        self._home, self._place, self._keys = home, place, keys
        self._stop = threading.Event()
        self._undelivered: list[str] = []
        self._thread = threading.Thread(target=self._resume, name="resume-spool", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, deadline: float) -> str:
        """Let the thread continue until ``deadline`` (monotonic seconds), then stop it after the current object.

        Return what could not be delivered, or an empty string.
        """
        self._thread.join(max(0.0, deadline - time.monotonic()))
        self._stop.set()
        if self._thread.is_alive():
            return f"evidence of earlier runs is still in {spool_root(self._home)}"
        return "; ".join(self._undelivered)

    def _resume(self) -> None:
        deliveries = resume_spool(self._home, self._place, self._keys, timeout_s=threading.TIMEOUT_MAX, stop=self._stop)
        self._undelivered = [delivery.message for delivery in deliveries if not delivery.complete]


def _deliver(spool: Spool, keys: Keys, deadline: float, stop: threading.Event) -> Delivery:
    frames = deque(sorted(spool.waiting_frames()))
    trouble: StoreTrouble | None = None
    pause = FIRST_PAUSE_S
    try:
        bucket = Bucket(spool.place, keys)
    except StoreTrouble as refused:
        return describe_undelivered(spool, len(frames), 0, refused)
    try:
        upload = Upload(spool, bucket, frames)
    except DamagedTrace as damage:
        return describe_undelivered(spool, len(frames), 0, damage)
    may_go_on = _deadline_or_stop(deadline, stop)
    while may_go_on():
        try:
            if upload.send(spool.end(), may_go_on) and upload.is_there(may_go_on):
                spool.remove()
                return Delivery(spool.uri, True, f"the evidence of an earlier run is in {spool.uri}")
        except StoreAway as away:
            trouble = away
            stop.wait(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 2, LONGEST_PAUSE_CLOSING_S)
        except StoreTrouble as refused:
            trouble = refused
            break
    return describe_undelivered(spool, len(frames), spool.lines() - upload.seq, trouble)


def _deadline_or_stop(deadline: float, stop: threading.Event) -> Callable[[], bool]:
    return lambda: not stop.is_set() and time.monotonic() < deadline

"""Record a run's events and pictures: asynchronous, in order, and durable before each call returns.

`TraceRecorder` is the recorder that agents use. `stores` creates it.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeAlias

from holo_tasks.audit.anchors import Anchoring, Head
from holo_tasks.audit.errors import EvidenceFailed
from holo_tasks.audit.trace import LocalTrace
from holo_tasks.core.attachment import Attachment
from holo_tasks.core.errors import HoloError
from holo_tasks.core.events import Event, RunClosed
from holo_tasks.core.screen.frame import Shot


@dataclass(frozen=True)
class Delivery:
    """Where a run's evidence is. ``complete`` is false while part of the evidence exists on this machine only.

    ``doubt`` names any other problem, such as a head that could not be anchored.
    """

    uri: str
    complete: bool
    message: str
    doubt: str = ""


@dataclass(frozen=True)
class Backlog:
    """The amount still to be uploaded. ``trouble`` names the current problem, or is empty."""

    frames: int
    events: int
    trouble: str = ""


Progress: TypeAlias = Callable[[Backlog], None]
DISK_S = 60.0
"""Time limit for the disk to make something durable, in seconds. A disk that hangs must not keep a run from ending."""


class BackgroundDelivery(Protocol):
    """Delivers a trace in the background. It is notified of durable data and never delays the recorder."""

    @property
    def uri(self) -> str: ...

    @property
    def delivered(self) -> int:
        """Number of records delivered."""
        ...

    def notice(self, frames: list[str], seq: int, end: int) -> None: ...

    def finish(self, deadline: float, progress: Progress) -> Future[Delivery]: ...

    def abandon(self) -> Delivery: ...


@dataclass
class _Job:
    payload: Event | Shot | Attachment
    at: str
    done: Future[None] = field(default_factory=Future)

    def __post_init__(self) -> None:
        # From here on, a cancelled caller does not cancel the write: accepted data is always recorded.
        self.done.set_running_or_notify_cancel()


def now() -> str:
    """Return the current UTC time in the format of traces."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def new_run_id() -> str:
    """Return an id that sorts by time and is safe as a folder name."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


class TraceRecorder:
    """A `core.ports.Recorder` that writes to a folder, with an optional carrier that delivers the trace elsewhere.

    Safe to use from several tasks, event loops and threads. One thread does all the writing, and syncs everything that
    is waiting at once.
    """

    def __init__(
        self, trace: LocalTrace, carrier: BackgroundDelivery | None = None, anchoring: Anchoring | None = None
    ) -> None:
        self.run_id = trace.run_id
        self.folder: Path = trace.folder
        self.uri = carrier.uri if carrier else str(trace.folder)
        self.delivery: Delivery | None = None
        self._trace = trace
        self._carrier = carrier
        self._anchoring = anchoring
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._tip = trace.seq, trace.head
        self._open = True
        self._ended = False
        self._end_error = ""
        """Why the end of the run could not be recorded, if an attempt failed."""
        self._busy_since: float | None = None
        """When the current write began or last made progress. ``None`` while the disk is idle."""
        self._written = self._given_up = False
        self._writer = threading.Thread(target=self._write, name=f"trace-{trace.run_id}", daemon=True)
        self._writer.start()

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the key that signs this trace."""
        return self._trace.key.fingerprint

    @property
    def head(self) -> Head:
        """The head of all that is durable now, for storing it elsewhere."""
        records, sha256 = self._tip
        return Head(records, sha256, records if self._carrier is None else min(records, self._carrier.delivered))

    async def keep(self, shot: Shot | Attachment) -> None:
        """Store the exact bytes of a picture or a file. Durable on return."""
        await self._wait_until_durable(self._submit(shot))

    async def record(self, event: Event, at: str = "") -> None:
        """Append an event to the chain. Durable on return. ``at`` is the time of the event, by default now."""
        await self._wait_until_durable(self._submit(event, at))

    async def close(self, timeout_s: float = 120.0, progress: Progress | None = None) -> Delivery:
        """Stop recording and wait until the evidence is delivered, at most about ``timeout_s`` seconds.

        ``progress`` is called in this event loop about once a second while data is left to upload.
        """
        self._stop_accepting()
        if self.delivery is None and not await self._wait_for_writer():
            self.delivery = Delivery(self.uri, False, str(self._disk_error()))
            self._release()
        if self.delivery is None:
            before = self.head
            doubt = await self._anchor(before)
            delivery = await self._deliver(timeout_s, progress)
            if self.head != before:  # more records were delivered meanwhile
                doubt = await self._anchor(self.head)
            if self._end_error:
                message = f"{delivery.message}, but without the end of the run, which could not be recorded"
                delivery = replace(delivery, complete=False, message=f"{message} ({self._end_error})")
            self.delivery = replace(delivery, doubt=doubt)
            self._release()
        return self.delivery

    async def __aenter__(self) -> TraceRecorder:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _anchor(self, head: Head) -> str:
        if self._anchoring is None or not head.records:
            return ""
        return await asyncio.to_thread(self._anchoring.settle, head)

    async def _deliver(self, timeout_s: float, progress: Progress | None) -> Delivery:
        if self._carrier is None:
            return Delivery(self.uri, True, f"the evidence is in {self.uri}")
        loop = asyncio.get_running_loop()

        def report(backlog: Backlog) -> None:
            if progress is not None:
                with contextlib.suppress(RuntimeError):  # the event loop is closed: drop the report
                    loop.call_soon_threadsafe(progress, backlog)

        finished = asyncio.wrap_future(self._carrier.finish(time.monotonic() + timeout_s, report))
        done, _ = await asyncio.wait({finished}, timeout=timeout_s + 0.5)
        return finished.result() if done else self._carrier.abandon()

    async def _wait_until_durable(self, done: Future[None]) -> None:
        durable = asyncio.wrap_future(done)
        try:
            while not (await asyncio.wait((durable,), timeout=self._disk_time_left_s()))[0]:
                if not self._disk_time_left_s():
                    raise self._disk_error()
            durable.result()
        finally:
            durable.cancel()

    async def _wait_for_writer(self) -> bool:
        """Wait until the writer thread has ended. Return false if the disk hangs.

        In that case the writer gives up the carrier when it ends. Until then, no other process may use the folder.
        """
        while self._writer.is_alive():
            await asyncio.to_thread(self._writer.join, self._disk_time_left_s())
            if not self._disk_time_left_s():
                with self._gate:
                    self._given_up = not self._written
                return not self._given_up
        return True

    def _release(self) -> None:
        if self._anchoring is not None:
            self._anchoring.close()

    def _disk_time_left_s(self) -> float:
        """Return how long the current write may still take, in seconds. A later caller does not extend the limit."""
        since = self._busy_since
        return DISK_S if since is None else max(0.0, since + DISK_S - time.monotonic())

    def _disk_error(self) -> EvidenceFailed:
        return EvidenceFailed(f"the disk of {self.folder} has stored no evidence for {DISK_S:g} s: check the disk")

    def _submit(self, payload: Event | Shot | Attachment, at: str = "") -> Future[None]:
        job = _Job(payload, at or now())
        with self._gate:
            if not self._open:
                raise EvidenceFailed(f"the trace {self.folder} is closed")
            if self._ended:
                raise EvidenceFailed(f"the run of the trace {self.folder} has ended: nothing is recorded after that")
            self._ended = isinstance(payload, RunClosed)
            self._jobs.put(job)
        return job.done

    def _stop_accepting(self) -> None:
        with self._gate:
            if self._open:
                self._open = False
                self._jobs.put(None)

    def _write(self) -> None:
        jobs: list[_Job] = []
        try:
            going = True
            while going:
                jobs, going = self._next_batch()
                self._busy_since = time.monotonic()
                self._commit(jobs)
                if going:
                    self._busy_since = None
        finally:
            # Also reached after a bug in this file: no caller may wait forever for a writer that has stopped.
            self._stop_accepting()
            lost = jobs + list(_drain(self._jobs))
            for job in lost:
                if not job.done.done():
                    job.done.set_exception(EvidenceFailed(f"the writer of the trace {self.folder} has stopped"))
            self._trace.close()
            with self._gate:
                self._written, given_up = True, self._given_up
            if given_up and self._carrier is not None:
                self._carrier.abandon()

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """Wait for one job, then add all other jobs that are waiting. The second value is false at the end."""
        first = self._jobs.get()
        if first is None:
            return [], False
        batch = [first]
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, True
            if job is None:
                return batch, False
            batch.append(job)

    def _commit(self, jobs: list[_Job]) -> None:
        stored: list[str] = []
        events: list[_Job] = []
        for job in jobs:
            if isinstance(job.payload, Shot | Attachment):
                # Pictures and files first, because an event may only name durable ones.
                self._keep(job, job.payload, stored)
            else:
                events.append(job)
        if events:
            self._append(events)
        if self._carrier is not None and jobs:
            self._carrier.notice(stored, self._trace.seq, self._trace.end)

    def _keep(self, job: _Job, shot: Shot | Attachment, stored: list[str]) -> None:
        try:
            name = self._trace.keep(shot)
        except HoloError as error:
            job.done.set_exception(error)
            return
        self._busy_since = time.monotonic()
        if name is not None:
            stored.append(name)
        job.done.set_result(None)

    def _append(self, jobs: list[_Job]) -> None:
        try:
            results = self._trace.append([(job.at, job.payload) for job in jobs if isinstance(job.payload, Event)])
        except HoloError as error:
            for job in jobs:
                self._fail(job, type(error)(str(error)))
            return
        self._tip = self._trace.seq, self._trace.head
        if self._anchoring is not None:
            self._anchoring.notice(self.head)
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, EvidenceFailed):
                self._fail(job, result)
            else:
                if isinstance(job.payload, RunClosed):
                    self._end_error = ""
                job.done.set_result(None)

    def _fail(self, job: _Job, error: HoloError) -> None:
        if isinstance(job.payload, RunClosed):
            with self._gate:  # the end is not in the trace, so it may be tried again
                self._ended, self._end_error = False, str(error)
        job.done.set_exception(error)


def _drain(jobs: queue.SimpleQueue[_Job | None]) -> list[_Job]:
    left: list[_Job] = []
    while True:
        try:
            job = jobs.get_nowait()
        except queue.Empty:
            return left
        if job is not None:
            left.append(job)

"""Stop a run from outside within a second, even if the event loop, the model, Prefect or this process hangs.

Input is stopped at the desktop process (`desktop.input.gate`), in two ways. A latch stops input for good; this process
or the desktop process sets it. A lease expires when this process stops renewing it. The rest of this module lets the
run end in good order: it cancels the run's task and gives the reason.

`KillSwitch` is the switch of a run. `agent.open_agent` starts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.ports import Desktop, Gated
from holo_tasks.desktop.stop import kill_files
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.kill.signal_listener import TAP
from holo_tasks.machine.clock import boot_s

LEASE_S, RENEW_S = 0.8, 0.2
"""How long input continues without a renewal from this process, and how often the lease is renewed. In seconds."""
LATCH_TIMEOUT_S = 0.6
"""How long the desktop process may take to confirm the latch before it is killed, in seconds."""
RECANCEL_S = 5.0
"""A run that still goes on this many seconds after its cancellation is cancelled again, and its desktop is killed."""
CLAIM_GRACE_S = 3.0
"""How long an expired claim may take to be renewed, with input stopped, before the run is stopped. In seconds. The
machine may have been asleep."""
CONFIRM_S = 0.5
"""How long the end of a run waits for its desktop to confirm the stop, in seconds."""
SIGNAL = "signal"
"""Source of a stop that was sent to the whole process."""
logger = logging.getLogger("holo_tasks.kill.switch")


class Source(Protocol):
    """A place where people request a stop and which takes time to query."""

    name: str

    @property
    def every_s(self) -> float:
        """Polling interval in seconds."""
        ...

    def look(self, inside: Sequence[str]) -> str:
        """Return the reason to stop, or an empty string. ``inside`` lists flow runs that belong to the run.

        May raise any exception if the source cannot be reached.
        """
        ...

    def answer(self) -> None:
        """Confirm to the requester that input has stopped."""
        ...


class Held(Protocol):
    """A claim that a run holds on something it works on, such as an item or a seat."""

    def left_s(self) -> float:
        """Return for how many more seconds the claim certainly holds."""
        ...

    @property
    def taken_over(self) -> bool:
        """Whether another worker was seen to hold the claim."""
        ...

    def renewal_error(self) -> str:
        """Return why the claim has become uncertain."""
        ...


class KillSwitch:
    """The kill switch of one run. ``source`` and ``reason`` are empty until it is used.

    Input goes on only while every claim in ``claims`` holds. The switch stops the run if another worker has taken one
    over. It also stops the run if a claim stays uncertain for too long.
    """

    def __init__(self, desktop: Desktop, run: Running, home: Path, sources: Sequence[Source] = ()) -> None:
        self.source = ""
        self.reason = ""
        self.claims: list[Held] = []
        self._desktop = desktop if isinstance(desktop, Gated) else None
        self.run = run
        self.home = home
        self._sources = sources
        self._lock = threading.Lock()
        self._wake, self._closed = threading.Event(), threading.Event()
        self._resting = False
        self._last_held_s = time.monotonic()
        self._inside: list[str] = []
        self._registration: Registration | None = None

    def add_claim(self, claim: Held) -> None:
        """Make input depend on this claim as well."""
        self.claims.append(claim)

    def leave(self, claim: Held) -> None:
        """Stop depending on a claim. Concurrent sub-goals may leave in any order."""
        self.claims = [other for other in self.claims if other is not claim]

    async def start(self) -> None:
        """Start watching: register the run, listen for signals, give the desktop its lease, and poll the sources.

        The current task is the one that a stop cancels. Raises `InvalidUsage` if HOLO_HOME cannot be written.
        """
        self._loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._task, self._cancelled_before = task, task.cancelling()
        try:
            self._folder = kill_files.folder_in(self.home)
            self._registration = Registration(self.home, self.run)
        except OSError as error:
            raise InvalidUsage(f"{self.home} cannot be written ({error.strerror}); set HOLO_HOME.") from None
        TAP.listen(self._on_signal)
        if self._desktop is not None:
            await self._desktop.serve(self.run.run_id, self.run.began_s, self._folder)
            self._desktop.renew(boot_s() + LEASE_S)
        self._last_held_s = time.monotonic()
        threading.Thread(target=self._watch, name="kill switch", daemon=True).start()
        for source in self._sources:
            threading.Thread(target=self._poll, args=(source,), name=f"kill: {source.name}", daemon=True).start()

    def trip(self, source: str, reason: str) -> None:
        """Stop input at once and for good, and cancel the run. Callable from any thread. Only the first reason
        counts."""
        with self._lock:
            if self._desktop is not None:
                self._desktop.latch()
            if self.reason or self._resting:
                return
            self.source, self.reason = source, reason
        self._cancel_soon(again=False)
        self._wake.set()

    @contextmanager
    def inside(self, flow_run_id: str) -> Iterator[None]:
        """Stop the run if this flow run is cancelled in Prefect while the context is open."""
        self._inside += [flow_run_id] if flow_run_id else []
        try:
            yield
        finally:
            if flow_run_id:
                self._inside.remove(flow_run_id)

    def why(self) -> str:
        """Return the reason for a stop, or an empty string. Includes a stop that only the desktop process knows of
        yet."""
        if not self.reason and self._desktop is not None and self._desktop.latched:
            self._check_requests()
        return self.reason

    def rest(self) -> None:
        """Stop input and cancel nothing from now on, because the run is ending."""
        self.why()
        self._resting = True
        if self._desktop is not None:
            self._desktop.renew(0.0)

    def close(self) -> None:
        """Stop watching, because the run has ended."""
        self._resting = True
        self._closed.set()
        self._wake.set()
        if self._registration is not None:
            TAP.leave(self._on_signal)
            self._await_confirmation()
            kill_files.forget(self._folder, self.run.run_id)
            self._registration.close()
            self._registration = None

    def _await_confirmation(self) -> None:
        """Wait until the desktop has confirmed the stop.

        The confirmation is a file. If it were written after the clean-up, it would never be deleted.
        """
        end = time.monotonic() + CONFIRM_S
        while (desktop := self._desktop) is not None and desktop.latched and not desktop.at_rest:
            if time.monotonic() > end:
                return
            time.sleep(0.01)

    def _on_signal(self, number: signal.Signals) -> None:
        self.trip(SIGNAL, f"The run was stopped by {number.name}.")

    def _watch(self) -> None:
        while not self._closed.is_set() and not self.reason:
            try:
                self._check_requests()
                # Read the clock before the claims. If the machine sleeps in between, the lease is then too short rather
                # than too long.
                now_s = boot_s()
                left_s = self._check_claims()
            except Exception:
                logger.exception(
                    "The claims of this run and requests to stop it could not be checked, so its input stops."
                )
            else:
                if self._desktop is not None and not self.reason and not self._resting:
                    self._desktop.renew(now_s + min(LEASE_S, left_s))
            self._wake.wait(RENEW_S)
        if self.reason:
            self._enforce_stop()

    def _check_claims(self) -> float:
        """Return for how many seconds all claims hold. Stop the run if a claim is lost."""
        claims = self._held_claims()
        left_s = min((claim.left_s() for claim in claims), default=LEASE_S)
        if left_s > 0.0:
            self._last_held_s = time.monotonic()
        elif lost := [claim for claim in claims if claim.taken_over]:
            self.trip("takeover", getattr(lost[0], "lost", "Another worker has taken over this work."))
        elif time.monotonic() - self._last_held_s > CLAIM_GRACE_S:
            self.trip("database", min(claims, key=lambda claim: claim.left_s()).renewal_error())
        return left_s

    def _held_claims(self) -> list[Held]:
        return list(self.claims)

    def _check_requests(self) -> None:
        """Look for a request to stop on this machine."""
        request = kill_files.find_request(self._folder, self.run.run_id, self.run.began_s)
        if request is not None:
            reason = kill_files.reason_in(request)
            self.trip("command", "killed by `holo-tasks kill`" + (f": {reason}" if reason else ""))
        elif self._desktop is not None and self._desktop.latched:
            self.trip("desktop", "The desktop could not check for requests to stop, so it stopped by itself.")

    def _enforce_stop(self) -> None:
        """Make sure that input stops and the run ends. Kill the desktop and cancel again if needed."""
        began = time.monotonic()
        while not self._closed.wait(0.05):
            late = time.monotonic() - began
            if self._desktop is not None and (
                (late > LATCH_TIMEOUT_S and not self._desktop.at_rest) or late > RECANCEL_S
            ):
                self._desktop.kill()
                self._desktop = None
            if late > RECANCEL_S:
                self._cancel_soon(again=True)
                began = time.monotonic()

    def _poll(self, source: Source) -> None:
        while not self._closed.is_set() and not self.reason:
            next_s = time.monotonic() + source.every_s
            # An unreachable source is ignored: the run goes on, and the other sources remain.
            with contextlib.suppress(Exception):
                if reason := source.look(list(self._inside)):
                    self.trip(source.name, reason)
                    self._answer_after_stop(source.answer)
            self._closed.wait(max(0.0, next_s - time.monotonic()))

    def _answer_after_stop(self, answer: Callable[[], None]) -> None:
        end = time.monotonic() + RECANCEL_S
        while (desktop := self._desktop) is not None and not desktop.at_rest and time.monotonic() < end:
            time.sleep(0.05)
        answer()

    def _cancel_soon(self, *, again: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so the run has ended
            self._loop.call_soon_threadsafe(self._cancel, again)

    def _cancel(self, again: bool) -> None:
        # Do not cancel a task that is already cancelled: a second cancellation would interrupt its clean-up.
        cancelled = self._task.cancelling() > self._cancelled_before
        if not self._resting and not self._task.done() and (again or not cancelled):
            self._task.cancel(self.reason)

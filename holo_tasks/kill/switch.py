"""What stops one run from outside within a second, whatever hangs: the event loop, the model, Prefect, this process.

Input is stopped where it is sent (`desktop.gate`): by the latch, which is pulled here or there, and by the lease, which
ends by itself when this process stops renewing it. Everything else here is for the run to end in good order: its task
is cancelled, and told why.
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
from holo_tasks.desktop import kill_files
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.kill.signal_listener import TAP
from holo_tasks.machine.clock import boot_s

LEASE_S, RENEW_S = 0.8, 0.2
"""How long input goes on without word from this process, and how often there is word."""
REST_S = 0.6
"""How long the process that owns the mouse may take to answer the latch before it is ended by force."""
AGAIN_S = 5.0
"""A run that goes on for so long after it was cancelled is cancelled again, and its desktop taken from it."""
LATE_S = 3.0
"""How long a claim that was not renewed in time is waited for, without input: the machine may have slept."""
LAST_WORD_S = 0.5
"""For so long the end of a run waits for its desktop to say that it has stopped."""
SIGNAL = "signal"
"""The source of a stop that came to the whole process."""
logger = logging.getLogger("holo_tasks.kill.switch")


class Source(Protocol):
    """Somewhere that people ask for a stop, which takes time to look at."""

    name: str

    @property
    def every_s(self) -> float:
        """How often to look, in seconds."""
        ...

    def look(self, inside: Sequence[str]) -> str:
        """Return the reason to stop, or nothing; ``inside`` are flow runs that are part of the run.

        Raises whatever it likes where it cannot know.
        """
        ...

    def answer(self) -> None:
        """Say that input has stopped."""
        ...


class Held(Protocol):
    """Something that a run works on for as long as nobody else may have taken it over."""

    def left_s(self) -> float:
        """Return for how many seconds that is certain."""
        ...

    @property
    def taken_over(self) -> bool:
        """Whether somebody was seen to have it."""
        ...

    def unheard(self) -> str:
        """Say why it is not certain any more."""
        ...


class KillSwitch:
    """The switch of one run. ``source`` and ``reason`` are empty until it is used.

    ``claims`` are what the run works on: input goes on only for as long as all of them hold. When another worker was
    seen to have one, or when it stays unknown whether one has, this one stops.
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
        self._news, self._over = threading.Event(), threading.Event()
        self._resting = False
        self._held_s = time.monotonic()
        self._inside: list[str] = []
        self._registration: Registration | None = None

    def take_up(self, claim: Held) -> None:
        """Let input go on only for as long as this claim holds, too."""
        self.claims.append(claim)

    def leave(self, claim: Held) -> None:
        """Work on a claim no more; sub-goals side by side end in any order."""
        self.claims = [other for other in self.claims if other is not claim]

    async def start(self) -> None:
        """Watch over the present task, and let its desktop take input. Raises `InvalidUsage` if it cannot watch."""
        self._loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._task, self._cancelled_before = task, task.cancelling()
        try:
            self._folder = kill_files.folder_in(self.home)
            self._registration = Registration(self.home, self.run)
        except OSError as error:
            raise InvalidUsage(f"{self.home} cannot be written ({error.strerror}); set HOLO_HOME.") from None
        TAP.listen(self._signalled)
        if self._desktop is not None:
            await self._desktop.serve(self.run.run_id, self.run.began_s, self._folder)
            self._desktop.renew(boot_s() + LEASE_S)
        self._held_s = time.monotonic()
        threading.Thread(target=self._watch, name="kill switch", daemon=True).start()
        for source in self._sources:
            threading.Thread(target=self._poll, args=(source,), name=f"kill: {source.name}", daemon=True).start()

    def trip(self, source: str, reason: str) -> None:
        """Stop input at once and for good, and cancel the run; from any thread. Only the first reason counts."""
        with self._lock:
            if self._desktop is not None:
                self._desktop.latch()
            if self.reason or self._resting:
                return
            self.source, self.reason = source, reason
        self._cancel_soon(again=False)
        self._news.set()

    @contextmanager
    def inside(self, flow_run_id: str) -> Iterator[None]:
        """Let cancelling this flow run in Prefect stop the run, too."""
        self._inside += [flow_run_id] if flow_run_id else []
        try:
            yield
        finally:
            if flow_run_id:
                self._inside.remove(flow_run_id)

    def why(self) -> str:
        """Return the reason; also one that so far only the process that owns the mouse knows of."""
        if not self.reason and self._desktop is not None and self._desktop.latched:
            self._examine()
        return self.reason

    def rest(self) -> None:
        """Cancel nothing any more, because the run is ending; and let no input through."""
        self.why()
        self._resting = True
        if self._desktop is not None:
            self._desktop.renew(0.0)

    def close(self) -> None:
        """Stop watching; the run is over."""
        self._resting = True
        self._over.set()
        self._news.set()
        if self._registration is not None:
            TAP.leave(self._signalled)
            self._hear_the_desktop_out()
            kill_files.forget(self._folder, self.run.run_id)
            self._registration.close()
            self._registration = None

    def _hear_the_desktop_out(self) -> None:
        """Let the desktop answer a request to stop before the answer is cleared away: after that it would stay."""
        end = time.monotonic() + LAST_WORD_S
        while (desktop := self._desktop) is not None and desktop.latched and not desktop.at_rest:
            if time.monotonic() > end:
                return
            time.sleep(0.01)

    def _signalled(self, number: signal.Signals) -> None:
        self.trip(SIGNAL, f"The run was stopped by {number.name}.")

    def _watch(self) -> None:
        while not self._over.is_set() and not self.reason:
            try:
                self._examine()
                # The clock before the claims: should the machine sleep in between, too little is let through.
                now_s = boot_s()
                left_s = self._look_at_claims()
            except Exception:
                logger.exception("It cannot be known whether this run may go on; its input stops.")
            else:
                if self._desktop is not None and not self.reason and not self._resting:
                    self._desktop.renew(now_s + min(LEASE_S, left_s))
            self._news.wait(RENEW_S)
        if self.reason:
            self._see_to_it()

    def _look_at_claims(self) -> float:
        """Return for how many seconds all claims hold; stop the run for one that is lost."""
        claims = self._held()
        left_s = min((claim.left_s() for claim in claims), default=LEASE_S)
        if left_s > 0.0:
            self._held_s = time.monotonic()
        elif lost := [claim for claim in claims if claim.taken_over]:
            self.trip("takeover", getattr(lost[0], "lost", "Another worker has taken over this work."))
        elif time.monotonic() - self._held_s > LATE_S:
            self.trip("database", min(claims, key=lambda claim: claim.left_s()).unheard())
        return left_s

    def _held(self) -> list[Held]:
        return list(self.claims)

    def _examine(self) -> None:
        """Look for a request to stop on this machine."""
        request = kill_files.asked(self._folder, self.run.run_id, self.run.began_s)
        if request is not None:
            reason = kill_files.reason_in(request)
            self.trip("command", "killed by `holo-tasks kill`" + (f": {reason}" if reason else ""))
        elif self._desktop is not None and self._desktop.latched:
            self.trip("desktop", "Requests to stop could not be looked for, so the desktop stopped by itself.")

    def _see_to_it(self) -> None:
        """See that input has really stopped, and that the run ends."""
        began = time.monotonic()
        while not self._over.wait(0.05):
            late = time.monotonic() - began
            if self._desktop is not None and ((late > REST_S and not self._desktop.at_rest) or late > AGAIN_S):
                self._desktop.kill()
                self._desktop = None
            if late > AGAIN_S:
                self._cancel_soon(again=True)
                began = time.monotonic()

    def _poll(self, source: Source) -> None:
        while not self._over.is_set() and not self.reason:
            next_s = time.monotonic() + source.every_s
            # What cannot be reached cannot be obeyed: the run goes on, and the other ways to stop it remain.
            with contextlib.suppress(Exception):
                if reason := source.look(list(self._inside)):
                    self.trip(source.name, reason)
                    self._when_at_rest(source.answer)
            self._over.wait(max(0.0, next_s - time.monotonic()))

    def _when_at_rest(self, tell: Callable[[], None]) -> None:
        end = time.monotonic() + AGAIN_S
        while (desktop := self._desktop) is not None and not desktop.at_rest and time.monotonic() < end:
            time.sleep(0.05)
        tell()

    def _cancel_soon(self, *, again: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: there is nothing left to cancel
            self._loop.call_soon_threadsafe(self._cancel, again)

    def _cancel(self, again: bool) -> None:
        # Once is enough, whoever does it: a second time would break off what is done to end in good order.
        cancelled = self._task.cancelling() > self._cancelled_before
        if not self._resting and not self._task.done() and (again or not cancelled):
            self._task.cancel(self.reason)

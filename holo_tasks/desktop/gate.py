"""The one way to the pointer and the keyboard: every press and every motion is let through here, or is not sent.

Releases need no leave: whatever stops a gesture, nothing stays pressed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed, Killed, PolicyRefused, ScreenHeld, SecretRefused
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Gesture, Pause
from holo_tasks.core.input_permit import Slip, gesture_digest
from holo_tasks.core.secret import Secret
from holo_tasks.desktop import kill_files
from holo_tasks.desktop.interrupt import EARLY_S, Interrupt
from holo_tasks.desktop.shared_flags import Page
from holo_tasks.machine.clock import boot_s

POLL_S = 0.05
"""How often requests to stop are looked for."""
BLIND_S = 1.0
"""Input stops when it could not be known for this long whether it should."""
LATE_S = 2.0
"""A run that is only late is waited for before the next key, with nothing pressed."""
FRESH_S = 0.1
"""The screen is not compared again before the first key if it was this short a time ago."""


@dataclass(frozen=True)
class Served:
    """The run that a desktop belongs to: who it is, when it began (`time.monotonic`), where requests to stop are."""

    run_id: str
    began_s: float
    folder: Path


class Gate(Interrupt):
    """An interrupt that also asks for the kill latch and, once the desktop serves a run, for its lease and its slips.

    ``owner_at`` names the program that gets a press at a point or, without one, a key; empty if that is not known.
    ``binding`` says what is wrong with typing secrets there, empty if nothing is. ``compared`` raises `ScreenChanged`
    if the screen is not any more, where a gesture goes, as in the frame with a number, and ``same_window`` if the
    window there is not the one of that comparison.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(longest_nap_s=POLL_S)
        self.owner_at: Callable[[Point | None], str] = lambda at: ""
        self.binding: Callable[[Sequence[Secret], Point | None], str] = lambda secrets, at: "Its window is unknown."
        self.compared: Callable[[int, Gesture, Sequence[Box]], None] = lambda frame, gesture, held: None
        self.same_window: Callable[[Point | None], None] = lambda at: None
        self._decided: tuple[int, Gesture, Sequence[Box]] | None = None
        self._compared = self._touched = self._pressed = False
        self._compared_s = 0.0
        self._secrets: Sequence[Secret] = ()
        self._page = page
        self._served: Served | None = None
        self._slip: Slip | None = None
        self._used: set[Slip] = set()
        self._busy = False
        self._clearing = False

    def for_person(self) -> PersonsGate:
        """Return the gate of a person who is given this screen."""
        return PersonsGate(self)

    def serve(self, run: Served) -> None:
        """From now on, and for good, let input through only with a lease and slips; stop when this run is killed."""
        first = self._served is None
        self._served = run
        if first:
            threading.Thread(target=self._watch, name="gate", daemon=True).start()

    def admit(self, gesture: Gesture, slip: Slip | None) -> None:
        """Begin a gesture. Raises `PolicyRefused` if its slip is not good for it; `leave` ends it in any case."""
        self._busy = True
        self.check()
        if isinstance(gesture, Pause) or (slip is None and self._served is None):
            return
        if slip is None:
            raise PolicyRefused("This desktop serves a run: it takes no input that the run's policy did not permit.")
        now = time.monotonic()
        if slip.gesture != gesture_digest(gesture):
            raise PolicyRefused("The input is not what was permitted: the permit is for another gesture.")
        if not (math.isfinite(slip.expires_s) and now < slip.expires_s):
            raise PolicyRefused("The permit for this input has expired.")
        if slip in self._used:
            raise PolicyRefused("The permit for this input was used before: it is good once.")
        self._used = {used for used in self._used if used.expires_s > now}
        self._used.add(slip)
        self._slip = slip
        self.turn()
        self._decided = (slip.frame, gesture, slip.held) if slip.frame else None
        self._compared = self._touched = self._pressed = False

    @property
    def decided(self) -> bool:
        """Whether the gesture was decided on by a picture that is remembered."""
        return self._decided is not None

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        return self._page.held

    @property
    def particular(self) -> bool:
        """Whether a press may go to windows of one program only."""
        return bool(self._secrets or (self._slip is not None and self._slip.owner))

    def leave(self) -> None:
        """End a gesture; nothing is pressed any more."""
        self._slip = self._decided = None
        self._busy = False

    @contextmanager
    def lent(self) -> Iterator[None]:
        """A person presses something: the latch is acknowledged only when they do not any more."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def check(self) -> None:
        if self._page.latched:
            raise Killed("The kill switch was used: this desktop takes no more input.")
        if self._page.held and not self._clearing:
            raise ScreenHeld("A person has the screen: the agent neither sees it nor touches it.")
        super().check()

    def compare(self) -> None:
        """Raise `ScreenChanged` unless the screen still is, where the gesture goes, as it was when it was decided on.

        To be called before the first event of a gesture, as late as possible: what that event changes is no surprise.
        """
        fresh = self._compared and time.monotonic() - self._compared_s < FRESH_S
        if self._decided is not None and not self._touched and not fresh:
            self.compared(*self._decided)
            self._compared, self._compared_s = True, time.monotonic()

    def motion(self) -> None:
        """Raise unless one more motion may be sent now."""
        self._touched = True
        self._let()

    @contextmanager
    def clearing(self) -> Iterator[None]:
        """Wait, as `check` allows, for what was sent before a person got the screen; still no event is let through."""
        self._clearing = True
        try:
            yield
        finally:
            self._clearing = False

    def event(self) -> None:
        """Raise unless one more press may be sent now."""
        if self._decided is not None and not self._compared:
            raise DesktopFailed("The screen was not compared with what the input was decided on: nothing was sent.")
        self._touched = self._pressed = True
        self._let()

    def _let(self) -> None:
        self.check()
        if self._clearing:
            raise ScreenHeld("A person is about to have the screen: nothing is typed or clicked.")
        slip = self._slip
        if slip is not None:
            if time.monotonic() >= slip.expires_s:
                raise PolicyRefused("The permit for this input expired before the gesture was complete.")
        elif self._served is not None:
            raise PolicyRefused("This desktop serves a run: there is no permit for this input.")
        if self._lapsed():
            raise _lapse()

    def press(self, at: Point | None) -> None:
        """As `event`, and what gets the press, at a point or on the keyboard, must belong to the permitted program."""
        self.belongs(at)
        self.event()

    def belongs(self, at: Point | None) -> None:
        """Raise `PolicyRefused` unless the window there is one of the permitted program, if one was named.

        Before the first press it must also be the window that was there when the screen was compared.
        """
        if self._compared and not self._pressed:
            self.same_window(at)
        slip = self._slip
        if slip is not None and slip.owner and (found := self.owner_at(at)) != slip.owner:
            raise PolicyRefused(
                f"The input is permitted in {slip.owner} only, and would go to {found or 'an unknown program'}."
            )
        if self._secrets and (refusal := self.binding(self._secrets, at)):
            raise PolicyRefused(f"{refusal} Typing was stopped.")

    @contextmanager
    def typing(self, secrets: Sequence[Secret], at: Point | None) -> Iterator[None]:
        """Let input through only where these secrets may be typed, from a press at a point, or from the first key, on.

        Raises `SecretRefused` if that is not so to begin with, before any input event.
        """
        if secrets and (refusal := self.binding(secrets, at)):
            raise SecretRefused(f"{refusal} Nothing was typed.")
        self._secrets = secrets
        try:
            yield
        finally:
            self._secrets = ()

    @property
    def field(self) -> Box | None:
        """Where a secret that is typed now has to show; None if it may show anywhere."""
        return self._slip.field if self._slip is not None else None

    def set_aside(self, name: str) -> int | None:
        """Return the window of a seed whose code alone may be typed; None if none was set aside."""
        return dict(self._slip.codes).get(name) if self._slip is not None else None

    @property
    def guards_secrets(self) -> bool:
        """Whether what is typed now is bound to a window."""
        return bool(self._secrets)

    def turn(self) -> None:
        """Between two keys, with nothing pressed: go on, or wait a moment for a run that is late."""
        self.check()
        if self._lapsed():
            self._await_lease()
        self.compare()

    def _await_lease(self) -> None:
        until = time.monotonic() + LATE_S
        while self._lapsed():
            if time.monotonic() >= until:
                raise _lapse()
            self.sleep(0.01)

    def _lapsed(self) -> bool:
        # EARLY_S: what is sent now is with the X server a little later. Never by more, as with a deadline: a lease is
        # shorter than an X server may be kept waiting, and would count as lapsed for the rest of the gesture.
        return self._served is not None and boot_s() >= self._page.lease_until_s - EARLY_S

    def _watch(self) -> None:
        """Look for requests to stop, and acknowledge the latch; in a thread of its own."""
        looked_s = time.monotonic()
        while True:
            time.sleep(POLL_S)
            run = self._served
            assert run is not None
            if not self._page.latched:
                try:
                    if kill_files.asked(run.folder, run.run_id, run.began_s):
                        self._page.latch()
                    looked_s = time.monotonic()
                except OSError:
                    if time.monotonic() - looked_s > BLIND_S:
                        self._page.latch()
            if self._page.latched:
                self.wake()
                if not self._busy and not self._page.seen:
                    kill_files.answer(run.folder, run.run_id)
                    self._page.see()


class PersonsGate(Gate):
    """Lets a person's input through for as long as they have the screen; the kill latch stays above it.

    What stops a request of the agent's stops one of theirs: else a frozen program would keep everybody waiting.
    """

    def __init__(self, agents: Gate) -> None:
        super().__init__(agents._page)
        self._agents = agents

    def check(self) -> None:
        if self._page.latched:
            raise Killed("The kill switch was used: this desktop takes no more input.")
        if not self._page.held:
            raise PolicyRefused("No person has the screen: the agent does.")
        Interrupt.check(self._agents)

    def event(self) -> None:
        self.check()

    def belongs(self, at: Point | None) -> None:
        self.check()

    def turn(self) -> None:
        self.check()


def _lapse() -> DesktopFailed:
    return DesktopFailed("Input stopped half-way: the process that runs the agent was not heard from in time.")

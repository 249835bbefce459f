"""Checks each press and each motion before it is sent. All input of a desktop passes through a `Gate`.

Releases are not checked, so that nothing stays pressed when a gesture is stopped.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed, Killed, PolicyRefused, ScreenChanged, ScreenHeld, SecretRefused
from holo_tasks.core.input.gestures import Gesture, Pause
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.stop import kill_files
from holo_tasks.desktop.stop.interrupt import EARLY_S, Interrupt
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.machine.clock import boot_s

POLL_S = 0.05
"""Seconds between two looks for requests to stop."""
BLIND_S = 1.0
"""Input stops when requests to stop could not be read for this many seconds."""
LATE_S = 2.0
"""Seconds to wait for a run whose lease has lapsed, before the next key and with nothing pressed."""
FRESH_S = 0.1
"""The screen is not compared again before the first key within this many seconds."""


@dataclass(frozen=True)
class Served:
    """The run that a desktop belongs to: its ID, its start (`time.monotonic`), and the folder with requests to stop."""

    run_id: str
    began_s: float
    folder: Path


class Gate(Interrupt):
    """An interrupt that also checks the kill latch and, once the desktop serves a run, the run's lease and slips.

    ``owner_at`` returns the program that gets a press at a point or, without one, a key; empty if it is unknown.
    ``binding`` returns the reason why secrets may not be typed there, empty if they may. ``compared`` raises
    `ScreenChanged` if the screen around the gesture differs from the frame with that number, and ``item_compared`` if
    other letters are where that frame names the item. ``same_window`` raises it if another window is there than at that
    comparison.
    """

    def __init__(self, page: SharedFlags) -> None:
        super().__init__(longest_nap_s=POLL_S)
        self.owner_at: Callable[[Point | None], str] = lambda at: ""
        self.binding: Callable[[Sequence[Secret], Point | None], str] = lambda secrets, at: "Its window is unknown."
        self.compared: Callable[[int, Gesture, Sequence[Box]], None] = lambda frame, gesture, held: None
        self.item_compared: Callable[[int, Sequence[Box]], None] = lambda frame, held: None
        self.same_window: Callable[[Point | None], None] = lambda at: None
        self._decided: tuple[int, Gesture, Sequence[Box]] | None = None
        self._compared = self._touched = self._pressed = False
        self._compared_s = 0.0
        self._secrets: Sequence[Secret] = ()
        self._page = page
        self._served: Served | None = None
        self._slip: InputPermit | None = None
        self._used: set[InputPermit] = set()
        self._busy = False
        self._clearing = False

    def for_person(self) -> PersonsGate:
        """Return the gate for a person who gets this screen."""
        return PersonsGate(self)

    def serve(self, run: Served) -> None:
        """From now on, require a lease and slips for input, and stop all input when this run is killed."""
        first = self._served is None
        self._served = run
        if first:
            threading.Thread(target=self._watch, name="gate", daemon=True).start()

    def admit(self, gesture: Gesture, input_permit: InputPermit | None) -> None:
        """Begin a gesture.

        Raises `PolicyRefused` if its slip is not valid for it. The caller calls `leave` in any case.
        """
        self._busy = True
        self.check()
        if isinstance(gesture, Pause) or (input_permit is None and self._served is None):
            return
        if input_permit is None:
            raise PolicyRefused(
                "This desktop serves a run, and accepts only input that the run's policy has permitted."
            )
        now = time.monotonic()
        if input_permit.gesture != gesture_digest(gesture):
            raise PolicyRefused("The permit for this input is for another gesture.")
        if not math.isfinite(input_permit.expires_s):
            raise PolicyRefused("The permit for this input has no expiry time.")
        if input_permit in self._used:  # before the time is checked, because its input was sent
            raise PolicyRefused("The permit for this input was used before: a permit is valid once.")
        self._pressed = False
        self._check_time(input_permit)
        self._used = {used for used in self._used if used.expires_s > now}
        self._used.add(input_permit)
        self._slip = input_permit
        self.turn()
        self._decided = (input_permit.frame, gesture, input_permit.held) if input_permit.frame else None
        self._compared = self._touched = False

    @property
    def decided(self) -> bool:
        """Whether the gesture was decided on by a frame that can be compared."""
        return self._decided is not None

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        return self._page.held

    @property
    def is_one_program(self) -> bool:
        """Whether presses may go to the windows of one program only."""
        return bool(self._secrets or (self._slip is not None and self._slip.owner))

    def leave(self) -> None:
        """End a gesture. Nothing is pressed any more."""
        self._slip = self._decided = None
        self._busy = False

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Count as busy while a person's input is carried out, so that the latch is acknowledged only afterwards."""
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
        """Raise `ScreenChanged` if the screen around the gesture changed since the frame that it was decided on.

        Call it before the first event of a gesture, as late as possible. Changes by that event itself are expected.
        """
        fresh = self._compared and time.monotonic() - self._compared_s < FRESH_S
        if self._decided is not None and not self._touched and not fresh:
            self.compared(*self._decided)
            self._compared, self._compared_s = True, time.monotonic()

    @property
    def names_item(self) -> bool:
        """Whether the frame of the decision names the business item of the gesture."""
        return self._decided is not None and bool(self._decided[2])

    def compare_item(self) -> None:
        """Raise `ScreenChanged` if other letters are where the frame named the item. The pointer has moved since."""
        if self._decided is not None:
            frame, _, held = self._decided
            self.item_compared(frame, held)

    def motion(self) -> None:
        """Raise unless one more motion may be sent now."""
        self._touched = True
        self._check_permit()

    @contextmanager
    def clearing(self) -> Iterator[None]:
        """Let `check` pass although a person has the screen, to wait for earlier input. Events are still refused."""
        self._clearing = True
        try:
            yield
        finally:
            self._clearing = False

    def event(self) -> None:
        """Raise unless one more press may be sent now."""
        if self._decided is not None and not self._compared:
            raise DesktopFailed("The screen was not compared with the frame of the decision: nothing was sent.")
        self._touched = True
        self._check_permit()
        self._pressed = True

    def _check_permit(self) -> None:
        self.check()
        if self._clearing:
            raise ScreenHeld("A person is about to have the screen: nothing is typed or clicked.")
        input_permit = self._slip
        if input_permit is not None:
            self._check_time(input_permit)
        elif self._served is not None:
            raise PolicyRefused("This desktop serves a run, and this input has no permit.")
        if self._lapsed():
            raise _lease_lapsed()

    def _check_time(self, input_permit: InputPermit) -> None:
        """Raise `ScreenChanged` if the permit expired before the first press, and `DesktopFailed` after it.

        Permits expire on a machine that is far too slow. The agent looks again if nothing was pressed.
        """
        if time.monotonic() < input_permit.expires_s:
            return
        late = "The permit for this input has expired, because this machine or the program was slow."
        if self._pressed:
            raise DesktopFailed(f"{late} A part of the input was sent.")
        raise ScreenChanged(f"{late} The screen may have changed since. Nothing was done.")

    def press(self, at: Point | None) -> None:
        """Check as `event` does, and that the press, at a point or of a key, goes to the permitted program."""
        self.belongs(at)
        self.event()

    def belongs(self, at: Point | None) -> None:
        """Raise `PolicyRefused` if a program is permitted and the window there is not one of its windows.

        Before the first press the window must also be the one that was there when the screen was compared.
        """
        if self._compared and not self._pressed:
            self.same_window(at)
        input_permit = self._slip
        if input_permit is not None and input_permit.owner and (found := self.owner_at(at)) != input_permit.owner:
            raise PolicyRefused(
                f"The input is permitted in {input_permit.owner} only, and would go to {found or 'an unknown program'}."
            )
        if self._secrets and (refusal := self.binding(self._secrets, at)):
            raise PolicyRefused(f"{refusal} Typing was stopped.")

    @contextmanager
    def typing(self, secrets: Sequence[Secret], at: Point | None) -> Iterator[None]:
        """Let input pass only where these secrets may be typed: at the first press or, without one, at the focus.

        Raises `SecretRefused`, before any input event, if they may not be typed there at the beginning.
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
        """The box in which a secret that is typed now must show; ``None`` if it may show anywhere."""
        return self._slip.field if self._slip is not None else None

    def code_window(self, name: str) -> int | None:
        """Return the only window of a seed whose code may be typed; ``None`` if any may."""
        return dict(self._slip.codes).get(name) if self._slip is not None else None

    @property
    def guards_secrets(self) -> bool:
        """Whether the current typing is restricted to a window because of secrets."""
        return bool(self._secrets)

    def turn(self) -> None:
        """Check between two keys, with nothing pressed. Wait a moment for a run whose lease has lapsed."""
        self.check()
        if self._lapsed():
            self._await_lease()
        self.compare()

    def _await_lease(self) -> None:
        until = time.monotonic() + LATE_S
        while self._lapsed():
            if time.monotonic() >= until:
                raise _lease_lapsed()
            self.sleep(0.01)

    def _lapsed(self) -> bool:
        # EARLY_S, because an event reaches the X server a little later. The margin does not grow as for a deadline: an
        # X server may be kept waiting longer than a lease lasts, so the lease would count as lapsed until the end.
        return self._served is not None and boot_s() >= self._page.lease_until_s - EARLY_S

    def _watch(self) -> None:
        """Poll for requests to stop, and acknowledge the latch; in a thread of its own."""
        looked_s = time.monotonic()
        while True:
            time.sleep(POLL_S)
            run = self._served
            assert run is not None
            if not self._page.latched:
                try:
                    if kill_files.find_request(run.folder, run.run_id, run.began_s):
                        self._page.latch()
                    looked_s = time.monotonic()
                except OSError:
                    if time.monotonic() - looked_s > BLIND_S:
                        self._page.latch()
            if self._page.latched:
                self.wake()
                if not self._busy and not self._page.is_acknowledged:
                    kill_files.answer(run.folder, run.run_id)
                    self._page.acknowledge()


class PersonsGate(Gate):
    """Passes a person's input while they have the screen. The kill latch still stops it.

    An interrupt of the agent's request also stops the person's; otherwise a frozen program would block both.
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


def _lease_lapsed() -> DesktopFailed:
    return DesktopFailed("Input stopped before it was complete: the agent's process did not renew its lease in time.")

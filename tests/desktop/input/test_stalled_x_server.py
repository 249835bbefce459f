"""While an X server is stalled, no keys queue up in it that it would press long after a stop."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.errors import LimitReached
from holo_tasks.desktop.input import gate as gates
from holo_tasks.desktop.input.gate import Gate, Served
from holo_tasks.desktop.input.keyboard import Keyboard
from holo_tasks.desktop.input.typing import AHEAD, BATCH, Typist
from holo_tasks.desktop.stop import interrupt
from holo_tasks.desktop.stop.interrupt import EARLY_S, MOST_EARLY_S, Interrupt
from holo_tasks.desktop.stop.shared_flags import SharedFlags
from holo_tasks.desktop.x11.x_connection import XConnection

STALLED_S = 0.4


class Stalling(Gate):
    """A gate that suspends the X server for a while, from before the second batch of keys on."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        file = SharedFlags.create()
        super().__init__(SharedFlags(file))
        os.close(file)
        self._server, self.turns, self.went_on_s, self.waits = server, list[float](), 0.0, list[float]()

    def turn(self) -> None:
        self.turns.append(time.monotonic())
        if len(self.turns) == 2:
            os.kill(self._server.pid, signal.SIGSTOP)
            threading.Timer(STALLED_S, self._go_on).start()
        super().turn()

    def took(self, seconds: float) -> None:
        self.waits.append(seconds)
        super().took(seconds)

    def _go_on(self) -> None:
        self.went_on_s = time.monotonic()
        os.kill(self._server.pid, signal.SIGCONT)


@pytest.mark.desktop
def test_a_batch_of_keys_waits_for_the_previous_one(x_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    display, authority = x_server("Xvfb")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    gate = Stalling(x_server.processes[0])
    keyboard = Keyboard(XConnection(display), gate)
    nobody: Any = None  # too few keys are sent to need a program
    with keyboard.plain():
        Typist(keyboard, nobody, nobody, gate).strike([ord("a")] * (AHEAD - BATCH))
    assert len(gate.turns) == len(gate.waits) == AHEAD // BATCH - 1
    assert gate.turns[2] >= gate.went_on_s > gate.turns[1]
    assert gate.waits[1] == max(gate.waits)


@pytest.mark.parametrize(("took_s", "early_s"), [(0.0, EARLY_S), (0.1, 0.2), (5.0, MOST_EARLY_S)])
def test_a_slow_x_server_makes_the_deadline_of_its_own_request_earlier(
    monkeypatch: pytest.MonkeyPatch, took_s: float, early_s: float
) -> None:
    now = [100.0]
    monkeypatch.setattr(interrupt, "time", SimpleNamespace(monotonic=lambda: now[0]))
    gate = Interrupt()
    gate.arm(1, 110.0)
    gate.took(took_s)
    gate.took(0.0)
    now[0] = 110.0 - early_s - 0.001
    gate.check()
    now[0] = 110.0 - early_s + 0.001
    with pytest.raises(LimitReached):
        gate.check()
    gate.arm(2, 110.0)
    now[0] = 110.0 - EARLY_S - 0.001
    gate.check()


def test_a_slow_x_server_does_not_shorten_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SharedFlags.create()
    page = SharedFlags(file)
    os.close(file)
    gate = Gate(page)
    gate._served = Served("run", 0.0, Path("nowhere"))
    monkeypatch.setattr(gates, "boot_s", lambda: 100.0)
    page.renew(100.0 + MOST_EARLY_S / 2)
    gate.took(100.0)
    gate.turn()

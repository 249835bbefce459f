"""While an X server gets no time to work, keys do not pile up there that it would press long after a stop."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from typing import Any

import pytest

from holo_tasks.core.errors import LimitReached
from holo_tasks.desktop.gate import Gate
from holo_tasks.desktop.interrupt import EARLY_S
from holo_tasks.desktop.keyboard import Keyboard
from holo_tasks.desktop.shared_flags import Page
from holo_tasks.desktop.typist import AHEAD, BATCH, Typist
from holo_tasks.desktop.xlink import XLink

pytestmark = pytest.mark.desktop
STALLED_S = 0.4


class Stalling(Gate):
    """A gate that has the X server stand still for a while, from before the second batch of keys on."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        file = Page.create()
        super().__init__(Page(file))
        os.close(file)
        self._server, self.turns = server, list[float]()

    def turn(self) -> None:
        self.turns.append(time.monotonic())
        if len(self.turns) == 2:
            os.kill(self._server.pid, signal.SIGSTOP)
            threading.Timer(STALLED_S, os.kill, (self._server.pid, signal.SIGCONT)).start()
        super().turn()


def test_a_batch_waits_for_the_one_before_and_a_deadline_is_kept_by_more(
    x_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    display, authority = x_server("Xvfb")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    gate = Stalling(x_server.processes[0])
    keyboard = Keyboard(XLink(display), gate)
    nobody: Any = None  # so few keys are sent that no program is waited for
    deadline = time.monotonic() + 2 * STALLED_S
    gate.arm(1, deadline)
    with keyboard.plain(), pytest.raises(LimitReached):
        Typist(keyboard, nobody, nobody, gate).strike([ord("a")] * (AHEAD - BATCH))
    _, second, third = gate.turns
    assert third - second >= STALLED_S - EARLY_S
    assert third < deadline - EARLY_S, "the X server may be as late once more"

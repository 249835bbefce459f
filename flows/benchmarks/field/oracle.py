"""The oracle of a field task: a model over HTTP that carries out a plan.

It finds the target of each step in the current elements.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks.field.program import Step
from benchmarks.nasty.suite import CLERK
from benchmarks.oracle import LAST, step_of
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.wire_messages import turns_of
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size
from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.rules import Decision

WAIT = {"tool_name": "wait", "seconds": 1}
THINKS_S = 0.5
"""Seconds for each step, as a fast model takes. Programs finish their work meanwhile."""


class Oracle(Rehearsal):
    """Does the steps of a plan. A step that was withheld or failed is tried again."""

    def __init__(self, plan: Sequence[Step], look: Callable[[], ElementTree], size: Size) -> None:
        super().__init__(load_playbook(CLERK))  # the base class needs one, and never uses it here
        self._plan, self._look_at, self._size = plan, look, size
        self.calls = 0

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        self.calls += 1
        time.sleep(THINKS_S)
        done = sum(not turn.failed and turn.tool != "wait" for turn in turns_of(body))
        if answer_only(body, terms) or done >= len(self._plan):
            return Decision(step_of(LAST), "the plan is at its end")
        call = self._plan[done](self._look_at(), self._size)
        return Decision(step_of(call or WAIT), "the state of the program")


@contextmanager
def serving(plan: Sequence[Step], look: Callable[[], ElementTree], size: Size) -> Iterator[tuple[Oracle, str]]:
    """Serve an oracle on this machine. Yields it and its address."""
    oracle = Oracle(plan, look, size)
    server = RehearsalServer(oracle)
    threading.Thread(target=server.serve_forever, name="oracle", daemon=True).start()
    try:
        yield oracle, server.base_url
    finally:
        server.shutdown()
        server.server_close()

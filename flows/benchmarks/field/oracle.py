"""The oracle of a field task: a model over HTTP that carries out a plan.

It finds the target of each step in the current elements.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from benchmarks.field.program import Call, Step
from benchmarks.nasty.suite import CLERK
from benchmarks.oracle import LAST, step_of
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.wire_messages import task_of, turns_of
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Size
from holo_tasks.rehearsal.errors import RequestRefused
from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.rules import Decision

WAIT = {"tool_name": "wait", "seconds": 1}
DONE = {"tool_name": "answer", "content": "done"}
UNKNOWN = {"tool_name": "answer", "content": "the plan has no such step"}
CLEAR = {"tool_name": "answer", "content": "nothing is in the way"}
ASKED = re.compile(r"^The step( that was done)?: (.+)$", re.MULTILINE)
"""The line of a task that names the single step of a playbook, which may be one that must not be done again."""
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


class StepOracle(Oracle):
    """Does the single steps that a playbook asks for. ``steps`` has the place of each step in the plan, by its words.

    ``clears`` returns the call that removes what lies over the program, or ``None`` if nothing does.
    """

    def __init__(
        self,
        plan: Sequence[Step],
        look: Callable[[], ElementTree],
        size: Size,
        steps: Mapping[str, int],
        clears: Callable[[], Call | None],
    ) -> None:
        super().__init__(plan, look, size)
        self._steps, self._clears = steps, clears

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        self.calls += 1
        time.sleep(THINKS_S)
        found = ASKED.search(task_of(body))
        if found is None:
            raise RequestRefused(400, "one_step_only", "this oracle does single steps of a playbook")
        acted = [turn for turn in turns_of(body) if not turn.failed and turn.tool != "wait"]
        call = self._clears() or (DONE if acted else CLEAR if found[1] else self._step(found[2]))
        return Decision(step_of(call), "the step that the playbook asks for")

    def _step(self, words: str) -> Call:
        """Return the call of a step; a call that waits if the program is not ready for it."""
        place = self._steps.get(words)
        if place is None or place >= len(self._plan):
            return UNKNOWN
        return self._plan[place](self._look_at(), self._size) or WAIT


@contextmanager
def serving(oracle: Oracle) -> Iterator[str]:
    """Serve an oracle on this machine. Yields its address."""
    server = RehearsalServer(oracle)
    threading.Thread(target=server.serve_forever, name="oracle", daemon=True).start()
    try:
        yield server.base_url
    finally:
        server.shutdown()
        server.server_close()

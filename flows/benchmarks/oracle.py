"""The oracle: it plays the model over HTTP, and knows where things are. It measures everything but the model.

It is sent the request that a model would be sent, picture and all, and checks it against the contract; then it asks
the program itself for the next step, anew each time, so that it does as well on any screen that it may be led to.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.suite import Trial
from holo_tasks.contract.offered_tools import answer_only
from holo_tasks.contract.rulebook import Body, Terms
from holo_tasks.contract.wire_messages import task_of, turns_of
from holo_tasks.rehearsal.errors import Refused
from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import Playbook, load_playbook
from holo_tasks.scripts.rules import Decision, decide, goal_for

LAST = {"tool_name": "answer", "content": "not done"}
"""What it says when no more steps are left."""


class Oracle(Rehearsal):
    """Answers for the trials that are under way, each known by what its goal begins with; safe to share."""

    def __init__(self, *playbooks: Playbook) -> None:
        """Where no trial plays, the playbook does that knows the task."""
        super().__init__(playbooks[0])
        self._playbooks = playbooks
        self._trials: dict[str, Trial] = {}

    @contextmanager
    def plays(self, mark: str, trial: Trial) -> Iterator[None]:
        """Answer the conversation whose goal begins with a mark."""
        self._trials[mark] = trial
        try:
            yield
        finally:
            self._trials.pop(mark, None)  # trials that another one plays have one mark together

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        task = task_of(body)
        trial = next((trial for mark, trial in list(self._trials.items()) if task.startswith(mark)), None)
        final = answer_only(body, terms)
        if trial is None:
            knows = next((each for each in self._playbooks if goal_for(each, task)), self.playbook)
            return decide(knows, task, turns_of(body), self._look(picture), answer_only=final)
        call = LAST if final else trial.next_step(turns_of(body))
        if call is None:
            raise Refused(400, "no_next_step", f"the oracle knows no next step in {task[:200]!r}")
        return Decision(step_of(call), "what the program tells")


def step_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as a model writes it."""
    thought = call.get("element") or call.get("content") or call["tool_name"]
    return {"note": None, "thought": f"The oracle: {thought}"[:200], "tool_call": dict(call)}


@contextmanager
def serving(*playbooks: Path) -> Iterator[tuple[Oracle, str]]:
    """Serve an oracle on this machine; gives it and its address."""
    oracle = Oracle(*map(load_playbook, playbooks))
    server = RehearsalServer(oracle)
    threading.Thread(target=server.serve_forever, name="oracle", daemon=True).start()
    try:
        yield oracle, server.base_url
    finally:
        server.shutdown()
        server.server_close()

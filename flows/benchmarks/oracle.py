"""The oracle: it replaces the model over HTTP, and knows the positions of controls. So it measures everything except
the model.

It receives the model's requests, pictures included, and checks them against the contract. For each step it asks the
program itself, so it can continue from any screen.
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
from holo_tasks.rehearsal.errors import RequestRefused
from holo_tasks.rehearsal.server import Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import Playbook, load_playbook
from holo_tasks.scripts.rules import Decision, decide, goal_for

LAST = {"tool_name": "answer", "content": "not done"}
"""Its answer after the last step."""


class Oracle(Rehearsal):
    """Answers for the running trials, each identified by the beginning of its goal. Thread-safe."""

    def __init__(self, *playbooks: Playbook) -> None:
        """Without a trial, the playbook that knows the task answers."""
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
            self._trials.pop(mark, None)  # trials played by a playbook share one mark

    def decide(self, body: Body, picture: bytes, terms: Terms) -> Decision:
        task = task_of(body)
        trial = next((trial for mark, trial in list(self._trials.items()) if task.startswith(mark)), None)
        final = answer_only(body, terms)
        if trial is None:
            knows = next((each for each in self._playbooks if goal_for(each, task)), self.playbook)
            return decide(knows, task, turns_of(body), self._look(picture), answer_only=final)
        call = LAST if final else trial.next_step(turns_of(body))
        if call is None:
            raise RequestRefused(400, "no_next_step", f"the oracle knows no next step in {task[:200]!r}")
        return Decision(step_of(call), "what the program tells")


def step_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step in a model's format."""
    thought = call.get("element") or call.get("content") or call["tool_name"]
    return {"note": None, "thought": f"The oracle: {thought}"[:200], "tool_call": dict(call)}


@contextmanager
def serving(*playbooks: Path) -> Iterator[tuple[Oracle, str]]:
    """Serve an oracle on this machine. Yields it and its address."""
    oracle = Oracle(*map(load_playbook, playbooks))
    server = RehearsalServer(oracle)
    threading.Thread(target=server.serve_forever, name="oracle", daemon=True).start()
    try:
        yield oracle, server.base_url
    finally:
        server.shutdown()
        server.server_close()

"""Kill an agent, or let it reach its deadline, at random moments while it types and clicks and something hangs.

Counts input events after the permitted moment: a second after the start of the kill command, or the deadline itself.
`latch_trials.py [TRIALS]` prints a table. The promise is that every count is 0.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xcffib
import xcffib.xproto  # xcffib connections need it

if __name__ == "__main__":
    ROOT = Path(__file__).parent.parent.parent
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "apps"), str(ROOT / "flows" / "demo")]

from holo_tasks.prefect_server.temporary import TemporaryServer, reach_directly
from tests.bench.common import SHARED
from tests.support import warm
from tests.support.agent_process import AgentProcess
from tests.support.command_line import EXECUTABLE, until
from tests.support.inputs import Inputs, witness
from tests.support.killing import WITHIN_S, last_moment
from tests.support.scripted_model import Answer, ScriptedModel, step

MUTANTS = Path(__file__).parent / "gate_mutants"
STOPS = ("kill", "deadline", "silence")
HANGS = ("model hung", "process stopped", "Prefect down", "nothing")
WATCHED_S = 1.5
"""How long to watch for late events after the last permitted moment."""
NEVER_DONE = "Ab " * 3300
"""About 9 s of typing, so that a gate does not pass because the text ended."""


@dataclass(frozen=True)
class Trial:
    """One trial: the ``late`` events, and the seconds from the stop request to the last event."""

    stop: str
    hang: str
    events: int
    late: int
    last_s: float
    held: int
    ended: str


class Screen:
    """An X server that outlives its agents, so that keys and buttons left pressed can be seen."""

    def __init__(self) -> None:
        ready, tell = os.pipe()
        command = ["Xvfb", "-displayfd", str(tell), "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
        self._server = subprocess.Popen(command, pass_fds=(tell,), stderr=subprocess.DEVNULL)
        os.close(tell)
        with os.fdopen(ready) as said:
            self.display = f":{said.readline().strip()}"
        self._connection = xcffib.connect(self.display)

    def held(self) -> int:
        """Return the number of pressed keys and buttons."""
        core, root = self._connection.core, self._connection.get_setup().roots[0].root
        keys = core.QueryKeymap().reply().keys
        return sum(byte.bit_count() for byte in keys) + (core.QueryPointer(root).reply().mask >> 8 & 0x1F).bit_count()

    @contextmanager
    def witness(self, log: Path) -> Iterator[Inputs]:
        """Log all input within the context."""
        process = subprocess.Popen(witness(log), env={**os.environ, "DISPLAY": self.display})
        inputs = Inputs(log)
        try:
            until(lambda: inputs.ready)
            yield inputs
        finally:
            process.kill()
            process.wait()

    def close(self) -> None:
        self._server.kill()
        self._server.wait()


class Trials:
    """A screen, a Prefect server, a model and an agent's process, for consecutive trials."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self._folder = folder
        env = {**os.environ, "HOLO_HOME": str(folder / "holo")}
        reach_directly(env)
        self._server: TemporaryServer | None = None
        if url := os.environ.get(SHARED):
            env["PREFECT_API_URL"] = url
        else:
            self._server = TemporaryServer(env, blocks=False)
            self._server.enter(env)
            self._server.wait()
        self._env = env
        self._hung, self._goes_on = False, threading.Event()
        self._model = ScriptedModel(self._answer).__enter__()
        self._number = 0
        self._always_types = False
        self._screen = Screen()
        self._agent = AgentProcess(self._env)

    def close(self) -> None:
        self._goes_on.set()
        self._agent.close()
        self._screen.close()
        self._model.__exit__()
        if self._server is not None:
            self._server._process.kill()
            self._server._process.wait()

    def run(self, stop: str, hang: str, mutant: str = "") -> Trial:
        """Make a trial: let the agent work, let something hang, stop the agent, and watch for events.

        With a ``mutant`` the agent always types, to make the naive gate likely to fail.
        """
        self._number += 1
        self._always_types = bool(mutant)
        with self._screen.witness(self._folder / f"inputs-{self._number}") as inputs:
            return self._run(stop, hang, mutant, inputs)

    def _run(self, stop: str, hang: str, mutant: str, inputs: Inputs) -> Trial:
        asked: dict[str, Any] = {"display": self._screen.display}
        if mutant:
            asked["env"] = {"PYTHONPATH": str(MUTANTS), "PYTHON_HOLO_GATE": mutant}
        if stop == "deadline":
            asked["timeout"] = self._chance.uniform(3.0, 5.0)
        run = self._agent.ask(self._model.base_url, inputs, **asked)
        if stop == "deadline":
            time.sleep(max(0.0, run["deadline"] - self._chance.uniform(0.0, 0.7) - time.monotonic()))
        else:
            time.sleep(self._chance.uniform(0.0, 2.0))
        undo = self._hang(hang)
        try:
            time.sleep(self._chance.uniform(0.0, 0.3) if stop == "kill" else 0.0)
            asked_s, last_s = self._stop(stop, run)
            time.sleep(max(0.0, last_s + WATCHED_S - time.monotonic()))
            sent = inputs.sent()
            late = len(inputs.sent(since_s=last_s))
            held = self._screen.held()
        finally:
            undo()
        if stop == "silence":
            self._kill(run)
        ended = str(self._agent.said().get("ended"))
        after = max((event.at_s - asked_s for event in sent), default=0.0)
        return Trial(stop, hang, len(sent), late, after, held, ended)

    def _stop(self, stop: str, run: dict[str, Any]) -> tuple[float, float]:
        """Stop the agent. Return the time of the request, and the latest permitted time of an event."""
        if stop == "deadline":
            return run["deadline"], run["deadline"]
        asked_s = time.monotonic()
        if stop == "silence":
            return asked_s, asked_s + WITHIN_S
        then = last_moment(self._folder / "holo" / "kill")
        self._kill(run)
        return asked_s, then(lambda: time.monotonic() > asked_s + 10.0)

    def _kill(self, run: dict[str, Any]) -> None:
        command = [str(EXECUTABLE), "kill", "--run", run["run"]]
        subprocess.Popen(command, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _hang(self, hang: str) -> Callable[[], None]:
        """Let something hang; return the function that ends it."""
        if hang == "model hung":
            self._goes_on.clear()
            self._hung = True

            def answer_again() -> None:
                self._hung = False
                self._goes_on.set()

            return answer_again
        if hang == "nothing":
            return lambda: None
        if hang == "process stopped":
            pid = self._agent.process.pid
        else:
            assert self._server is not None, "a shared server must not be stopped"
            pid = self._server._process.pid
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    def _answer(self, number: int, body: dict[str, Any]) -> Any:
        if self._hung:
            self._goes_on.wait(60)
            return Answer(drop=True)  # the client has gone
        chance = self._chance
        if self._always_types:
            return step("write", content=NEVER_DONE)
        at = {"element": "there", "x": chance.randint(100, 450), "y": chance.randint(200, 500)}
        match number % 4:
            case 0:
                return step("write", content="Ab " * chance.randint(20, 3300))
            case 1:
                return step("click", **at)
            case 2:
                return step("hold_and_tap_key", hold_keys=["shift"], tap_keys=["a"] * chance.randint(1, 20))
            case _:
                return step("scroll", direction="down", scroll_size=chance.randint(1, 50), **at)


def table(trials: list[Trial]) -> str:
    """Return the trials as a table, a line for each kind."""
    lines = [f"{'stop':10} {'meanwhile':16} {'trials':>6} {'events':>7} {'late':>5} {'held':>5}   last event after"]
    for stop in STOPS:
        for hang in HANGS:
            some = [trial for trial in trials if (trial.stop, trial.hang) == (stop, hang)]
            if some:
                after = [trial.last_s for trial in some]
                lines.append(
                    f"{stop:10} {hang:16} {len(some):6} {sum(t.events for t in some):7} {sum(t.late for t in some):5} "
                    f"{sum(t.held for t in some):5}   median {statistics.median(after):6.3f} s, "
                    f"most {max(after):6.3f} s"
                )
    return "\n".join(lines)


def main() -> int:
    """Make the trials; return 0 if no event was late and nothing stayed pressed."""
    warm.in_tests = warm.beside is not None  # if a test run forked this process, it forks the agent too
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    kinds = [(stop, hang) for stop in STOPS[:2] for hang in HANGS[:3]]
    found: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="holo-latch-") as folder:
        os.environ["PREFECT_HOME"] = f"{folder}/prefect"
        trials = Trials(Path(folder), seed=count)
        try:
            for number in range(count):
                found.append(trials.run(*kinds[number % len(kinds)]))
                print(f"{number + 1:4} {found[-1]}", flush=True)
        finally:
            trials.close()
    print(table(found))
    return int(any(trial.late or trial.held for trial in found))


if __name__ == "__main__":
    sys.exit(main())

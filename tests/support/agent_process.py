"""Start a process that runs one agent after another on request (`typing_agent`), and talk to it from a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.command_line import until
from tests.support.inputs import Inputs

PROGRAM = Path(__file__).with_name("typing_agent.py")
ROOT = PROGRAM.parent.parent.parent


class AgentProcess:
    """Client of the agent process. Starting it takes seconds because it loads Prefect; each run takes one or two."""

    def __init__(self, env: Mapping[str, str]) -> None:
        quiet = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL", "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL"}
        path = os.pathsep.join([str(ROOT), str(ROOT / "flows" / "demo")])
        self.process = warm.ScriptPopen(
            [sys.executable, str(PROGRAM)],
            env={**env, **quiet, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.said()

    def ask(self, model: str, inputs: Inputs, **more: Any) -> dict[str, Any]:
        """Start a run of the typing agent. Return its start message once it has sent more than 10 input events."""
        run = self.begin(model, inputs, **more)
        until(lambda: len(inputs.sent()) > 10)
        return run

    def begin(self, model: str, inputs: Inputs, **more: Any) -> dict[str, Any]:
        """Start a run of an agent and return its start message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"model": model, "inputs": str(inputs.path), **more}) + "\n")
        self.process.stdin.flush()
        return self.said()

    def said(self) -> dict[str, Any]:
        """Return the next message of the process, or an empty dict if the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    def end(self) -> None:
        """Close the process's stdin and wait until it exits.

        A signal does not always end it. Prefect raises an exception at SIGTERM, and the exception is lost if the event
        loop is running a callback at that moment.
        """
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

"""A process that runs one agent after the other on request (`typing_agent`), seen from the test that asks."""

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
    """Takes seconds to start, because it loads Prefect; each run in it takes one or two."""

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
        """Have it run an agent that types; return what it says of that run once there has been some input."""
        run = self.begin(model, inputs, **more)
        until(lambda: len(inputs.sent()) > 10)
        return run

    def begin(self, model: str, inputs: Inputs, **more: Any) -> dict[str, Any]:
        """Have it run an agent; return what it says of that run as it begins."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"model": model, "inputs": str(inputs.path), **more}) + "\n")
        self.process.stdin.flush()
        return self.said()

    def said(self) -> dict[str, Any]:
        """Return the next thing it says, nothing if it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    def end(self) -> None:
        """Wait until it has ended, and ask for no more.

        A signal does not always end it: what Prefect raises at SIGTERM is lost where the event loop runs a callback.
        """
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

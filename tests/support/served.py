"""A flow that a separate process serves as a deployment, and the state of its runs from Prefect's API."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from tests.support import warm
from tests.support.prefect_api import PrefectAPI

LOADED = Path(__file__).with_name("serve_loaded.py")


class Served(PrefectAPI):
    """Serves the flows of a script, with ``HOLO_HOME`` at ``home``. Its output goes to a file in a folder.

    ``reports`` is the folder for files that a run requests by name. With ``loaded`` the processes of its runs are
    forked with their modules loaded; otherwise Prefect starts a new Python for each, as for users.
    """

    patience_s = 120.0

    def __init__(
        self,
        url: str,
        script: Path,
        *arguments: str,
        folder: Path,
        home: Path | None = None,
        reports: Path | None = None,
        loaded: bool = True,
    ) -> None:
        super().__init__(url)
        self.home = home or folder / "holo"
        self._log = folder / "served"
        self.env = {**os.environ, "PREFECT_API_URL": url, "HOLO_HOME": str(self.home)}
        if reports is not None:
            self.env["HOLO_REPORTS"] = str(reports)
        with self._log.open("w") as log:
            self._process = warm.ScriptPopen(
                [sys.executable, *[str(LOADED)] * loaded, str(script), *arguments],
                env=self.env | {"PREFECT_RUNNER_POLL_FREQUENCY": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Self:
        # Another test may have served a deployment of this name before.
        self.until(lambda: "being served" in self.log)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text()

    def deployment(self, name: str) -> dict[str, Any]:
        """Return a deployment from Prefect, by ``flow name/its name``."""
        told: dict[str, Any] = self.get(f"/deployments/name/{quote(name)}")
        return told

    def start(self, deployment: str, parameters: Mapping[str, Any]) -> str:
        """Start a run as the button on Prefect's pages does; return its id."""
        body = {"parameters": dict(parameters), "state": {"type": "SCHEDULED"}}
        return str(self.post(f"/deployments/{self.deployment(deployment)['id']}/create_flow_run", body)["id"])

    def state(self, flow_run: str) -> str:
        """Return the type of a flow run's state."""
        return str(self.flow_run(flow_run)["state"]["type"])

    def until(self, true: Callable[[], Any]) -> Any:
        """Wait until a condition holds; return its value."""
        deadline = time.monotonic() + self.patience_s
        while not (found := true()):
            assert time.monotonic() < deadline, self.log
            time.sleep(0.5)
        return found

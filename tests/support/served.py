"""A flow that a process of its own serves as a deployment, and what Prefect's API says of its runs."""

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
    """Serves what a script serves, with ``HOLO_HOME`` at ``home``; what it prints goes to a file in a folder.

    ``reports`` is where it writes the files that a run asks for by name. With ``loaded`` its runs' processes have
    loaded already what they load; else Prefect starts Python anew for each, as its users' does.
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
        # One of this name that another test has served may be there already.
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
        """Return what Prefect tells of a deployment, by ``flow name/its name``."""
        told: dict[str, Any] = self.get(f"/deployments/name/{quote(name)}")
        return told

    def start(self, deployment: str, parameters: Mapping[str, Any]) -> str:
        """Start a run, as the button in Prefect's pages does; return its id."""
        body = {"parameters": dict(parameters), "state": {"type": "SCHEDULED"}}
        return str(self.post(f"/deployments/{self.deployment(deployment)['id']}/create_flow_run", body)["id"])

    def state(self, flow_run: str) -> str:
        """Return the type of a flow run's state."""
        return str(self.flow_run(flow_run)["state"]["type"])

    def until(self, true: Callable[[], Any]) -> Any:
        """Wait until something is true, and return it."""
        deadline = time.monotonic() + self.patience_s
        while not (found := true()):
            assert time.monotonic() < deadline, self.log
            time.sleep(0.5)
        return found

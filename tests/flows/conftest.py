"""Fixtures for tests of deployments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holo_tasks.prefect_server.temporary import TemporaryServer
from tests.support import prefect_shared
from tests.support.schedule import unit

IDLE = ("EVENT_PERSISTER", "TASK_RUN_RECORDER", "SCHEDULER", "LATE_RUNS", "DB_VACUUM", "FOREMAN")
"""Services of the Prefect server that no deployment test depends on."""
_running: list[TemporaryServer] = []


@pytest.fixture(scope="session")
def _deployments_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield str(tmp_path_factory.mktemp("prefect"))
    _end()


@pytest.fixture(scope="module")
def server(_deployments_home: str) -> str:
    """A Prefect server with its web pages and the services that watch for events."""
    if not _running:
        off = {f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "0" for service in IDLE}
        environ = {**os.environ, **off, "PREFECT_HOME": _deployments_home}
        recording = Path(_deployments_home, "recording")
        recording.touch()  # automations react to events, so the server must record them
        _running.append(prefect_shared.start(environ, os.environ["PREFECT_API_AUTH_STRING"], recording, ui=True))
    return _running[0].wait()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the server after the last deployment test, because its services use CPU time while it runs."""
    if nextitem is None or unit(nextitem.nodeid) != unit(item.nodeid):
        _end()


def _end() -> None:
    while _running:
        _running.pop().stop()

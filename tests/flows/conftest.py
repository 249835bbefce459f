"""What tests of deployments share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from holo_tasks.prefect_server.temporary import TemporaryServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A whole Prefect server, with the services that schedule runs and watch for events."""
    home = tmp_path_factory.mktemp("prefect")
    server = TemporaryServer(
        {**os.environ, "PREFECT_HOME": str(home)}, ui=True, login=os.environ["PREFECT_API_AUTH_STRING"]
    )
    try:
        yield server.wait()
    finally:
        server.stop()

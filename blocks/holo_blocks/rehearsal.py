"""Start the services that a flow needs on one machine: a rehearsal model and a temporary Prefect server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect.logging.handlers import APILogHandler
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, get_current_settings, temporary_settings

from holo_blocks.model import HoloModel
from holo_tasks.core.errors import ModelFailed
from holo_tasks.prefect_server.temporary import TemporaryServer

ENTERED = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "no_proxy", "NO_PROXY")
"""Environment variables that `TemporaryServer.enter` sets."""


@contextmanager
def rehearsal_model(playbook: str | Path) -> Iterator[HoloModel]:
    """Start a rehearsal model, and yield a block that names it. The model ends with the ``with`` statement.

    It is not a language model: it reads the screen with OCR and follows ``playbook``. Raises `ModelFailed` if it does
    not start. Its own message, such as one about a mistake in the playbook, is on standard error.
    """
    command = [sys.executable, "-P", "-m", "holo_tasks.rehearsal", "--playbook", str(playbook), "--log", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise ModelFailed("The rehearsal model did not start; its message is above.")
            ready = json.loads(line)
            yield HoloModel(base_url=ready["base_url"], model=ready["model"])
        finally:
            process.terminate()


@contextmanager
def local_prefect() -> Iterator[str]:
    """Use the configured Prefect server, or start a temporary one. Yields its API URL.

    The temporary server has the user's Prefect database, a random login and no web pages. It ends with the ``with``
    statement.
    """
    if url := get_current_settings().api.url:
        yield url
        return
    server = TemporaryServer(os.environ)
    try:
        server.wait()
        before = {name: os.environ.get(name) for name in ENTERED}
        server.enter(os.environ)
        try:
            with temporary_settings({PREFECT_API_URL: server.url, PREFECT_API_AUTH_STRING: server.login}):
                yield server.url
        finally:
            APILogHandler().flush()  # sends the waiting log lines while the server is there
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
    finally:
        server.stop()

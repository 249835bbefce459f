"""Start the shared Prefect server; `prefect_process` describes how it differs from the product's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from holo_tasks.prefect_server import temporary
from tests.support import warm

MODULE = "tests.support.prefect_process"


def start(environ: Mapping[str, str], login: str, recording: Path, *, ui: bool = False) -> temporary.TemporaryServer:
    """Start a server, with its web pages if ``ui``. It records events while the file ``recording`` exists."""
    with in_its_place(recording):
        return temporary.TemporaryServer(environ, ui=ui, login=login)


@contextmanager
def in_its_place(recording: Path) -> Iterator[None]:
    """Within this context, a temporary server starts this module instead of the product's. All else stays the product's
    code.
    """

    def other(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        python, private, _, _, *arguments = command
        return warm.ServerPopen([python, private, "-m", MODULE, *arguments, str(recording)], **options)

    with mock.patch.object(temporary, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": other})):
        yield

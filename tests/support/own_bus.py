"""A message bus for a test without a desktop. It ends together with all programs started over it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holo_tasks.accessibility import bus
from holo_tasks.desktop import processes


@contextmanager
def own_bus(folder: Path, other_user: bus.OtherBusUser | None = None) -> Iterator[bus.Bus]:
    """Start a bus whose socket is in a folder, and one for another user in that user's folder.

    AT-SPI's registry, which the bus starts on request, would survive the bus. It is ended here.
    """
    mark = str(folder)
    started = bus.await_bus(
        bus.launch(folder, {**os.environ, processes.MARK: mark}, subprocess.Popen, other_user=other_user)
    )
    try:
        yield started
    finally:
        processes.end(lambda: processes.processes_of_desktop(mark, -1), grace_s=5.0)
        if started.process is not None:
            started.process.wait()

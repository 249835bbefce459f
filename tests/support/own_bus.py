"""A message bus for a test that is on none of a desktop's, which ends with all that was started over it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holo_tasks.accessibility import bus
from holo_tasks.desktop import processes


@contextmanager
def own_bus(folder: Path, guest: bus.Guest | None = None) -> Iterator[bus.Bus]:
    """Start one whose socket is in a folder, and one for a guest in theirs.

    AT-SPI's registry, which it starts when somebody asks for it, would live on without it.
    """
    mark = str(folder)
    started = bus.listening(bus.launch(folder, {**os.environ, processes.MARK: mark}, subprocess.Popen, guest=guest))
    try:
        yield started
    finally:
        processes.end(lambda: processes.belonging(mark, -1), grace_s=5.0)
        if started.process is not None:
            started.process.wait()

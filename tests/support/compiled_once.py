"""Let one worker compile all tests while the others wait, instead of letting each compile all tests."""

from __future__ import annotations

import fcntl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parents[1]


@contextmanager
def compiled_once(run: str, tests: Path = TESTS) -> Iterator[bool]:
    """Wait until the first process of a test run that gets here has finished. Yield whether this is that process.

    Does not wait if pytest has already compiled the last tests, or if Python writes no bytecode.
    """
    if not run or sys.dont_write_bytecode or any(tests.glob("vision/__pycache__/*-pytest-*.pyc")):
        yield False
        return
    with Path(tempfile.gettempdir(), f"holo-compiled-{run}").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if file.read():
            fcntl.flock(file, fcntl.LOCK_UN)
            yield False
            return
        yield True
        file.write("compiled\n")

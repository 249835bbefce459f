"""Letters read by a child process, so that none costs more than some seconds, whatever is in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import datetime
from typing import IO, Any, Self, cast

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.letter import Attachment, Letter, unread_letter
from holo_tasks.office.pdf_text import environment

HEAD_BYTES = 64 * 1024
CPU_SECONDS = 15
"""What a letter may take, besides its PDFs, in processor time."""
_WALL_SECONDS = 120
_MOST_RSS_KB = 256 * 1024
"""A child that has become as big is ended after its letter: the next one must not pay for what that left behind."""
_TOO_MUCH = "the message takes more time or memory than one is given: not read"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import holo_tasks.office.letter_child as it; it.main()"
)


class LetterReader:
    """Reads one letter after the other, in a child that has no environment of ours and limits for each.

    A letter that would take more is still a letter, with its header and what was wrong. To start a child takes a tenth
    of a second: one reads many letters, and another takes its place where it had to be ended.
    """

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS) -> None:
        self.cpu_seconds = cpu_seconds
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def read(self, raw: bytes, *, source: str) -> Letter:
        """Read the bytes of a message; raises `InvalidUsage` only if what that takes is not installed."""
        return self._ask(raw, source=source) or self._headed(raw, source)

    def read_oversized(self, head: bytes, size: int, *, source: str) -> Letter:
        """Stand in for a message that is too big to read, from its first bytes."""
        return self._ask(head[:HEAD_BYTES], source=source, size=size) or unread_letter(source, _TOO_MUCH)

    def _headed(self, raw: bytes, source: str) -> Letter:
        return self._ask(raw[:HEAD_BYTES], source=source, why=_TOO_MUCH) or unread_letter(source, _TOO_MUCH)

    def _ask(self, raw: bytes, **asked: Any) -> Letter | None:
        """Have the child read; return None if it had to be ended."""
        child = self._started()
        asked |= {"bytes": len(raw), "cpu_seconds": self.cpu_seconds}
        # It is ended with what it has started itself: the reader of PDFs.
        watch = threading.Timer(_WALL_SECONDS, _kill, (child,))
        watch.daemon = True
        watch.start()
        try:
            stdin, stdout = cast("IO[bytes]", child.stdin), cast("IO[bytes]", child.stdout)
            stdin.write(json.dumps(asked).encode() + b"\n")
            stdin.write(raw)
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watch.cancel()
        if not line.endswith(b"\n"):
            self._end()
            return None
        told = json.loads(line)
        if told["rss_kb"] > _MOST_RSS_KB:
            self._end()
        if "error" in told:
            raise InvalidUsage(told["error"])
        return _letter(told["letter"])

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            path = json.dumps([entry or os.getcwd() for entry in sys.path])  # noqa: PTH109
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                start_new_session=True,
            )
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        _kill(child)
        for pipe in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):
                cast("IO[bytes]", pipe).close()
        child.wait()


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _letter(told: dict[str, Any]) -> Letter:
    told["date"] = datetime.fromisoformat(told["date"]) if told["date"] else None
    told["attachments"] = tuple(Attachment(**one) for one in told["attachments"])
    told["problems"] = tuple(told["problems"])
    return Letter(**told)

"""Letters read by a child process, so that neither one nor all of them cost more than so much, whatever is in them."""

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
from holo_tasks.office.letter import PDF_SECONDS, Attachment, Letter, unread_letter
from holo_tasks.office.pdf_text import environment

HEAD_BYTES = 64 * 1024
CPU_SECONDS = 15
"""What a letter may take, besides its PDFs, in processor time."""
READING_SECONDS = 120
"""What costly letters may take together while a mailbox is read; that comes again at every run."""
_QUICK_SECONDS = 1
"""What a letter is given once two thirds of that are gone: enough for one that is not made to cost."""
_FREE_SECONDS = 2
"""What a letter that was read takes without being a costly one: several PDFs are in it."""
_WALL_SECONDS = 120
_MOST_RSS_KB = 256 * 1024
"""A child that has become as big is ended after its letter: the next one must not pay for what that left behind."""
_TOO_MUCH = "the message takes more time or memory than one is given: not read"
_TOO_MANY = "too many letters of this mailbox take too much time: not read"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import holo_tasks.office.letter_child as it; it.main()"
)


class LetterReader:
    """Reads one letter after the other, in a child that has no environment of ours and limits for each.

    A letter that would take more is still a letter, with its header and what was wrong. To start a child takes a tenth
    of a second: one reads many letters, and another takes its place where it had to be ended. What costly letters take
    together is limited, too; when most of that is gone others are read only if they are quick, and at its end none is.
    """

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS, reading_seconds: float = READING_SECONDS) -> None:
        self.cpu_seconds = cpu_seconds
        self.left_s = self.reading_s = reading_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._told_s = 0.0
        """What the child has taken for the letters it was done with."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def read(self, raw: bytes, *, source: str) -> Letter:
        """Read the bytes of a message; raises `InvalidUsage` only if what that takes is not installed."""
        if self.left_s <= 0:
            return self._headed(raw, source, _TOO_MANY)
        scarce = self.left_s <= self.reading_s / 3
        cpu_seconds = min(self.cpu_seconds, _QUICK_SECONDS) if scarce else self.cpu_seconds
        asked = {"source": source, "pdf_seconds": _QUICK_SECONDS if scarce else PDF_SECONDS}
        return self._ask(raw, cpu_seconds, **asked) or self._headed(raw, source, _TOO_MUCH)

    def read_oversized(self, head: bytes, size: int, *, source: str) -> Letter:
        """Stand in for a message that is too big to read, from its first bytes."""
        return self._header(head, source=source, size=size) or unread_letter(source, _TOO_MUCH)

    def _headed(self, raw: bytes, source: str, why: str) -> Letter:
        return self._header(raw, source=source, why=why) or unread_letter(source, why)

    def _header(self, raw: bytes, **asked: Any) -> Letter | None:
        return self._ask(raw[:HEAD_BYTES], min(self.cpu_seconds, _QUICK_SECONDS), **asked)

    def _ask(self, raw: bytes, cpu_seconds: int, **asked: Any) -> Letter | None:
        """Have the child read; return None if it had to be ended."""
        child = self._started()
        asked |= {"bytes": len(raw), "cpu_seconds": cpu_seconds}
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
            told_s = self._told_s
            self.left_s -= max(self._end() - told_s, cpu_seconds)
            return None
        told = json.loads(line)
        self._told_s += told["cpu_s"]
        self.left_s -= max(0.0, told["cpu_s"] - _FREE_SECONDS)
        if told["rss_kb"] > _MOST_RSS_KB:
            self._end()
        if "error" in told:
            raise InvalidUsage(told["error"])
        return _letter(told["letter"])

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._told_s = 0.0
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

    def _end(self) -> float:
        """End the child; return what it has taken of the processor, with what it had started and waited for."""
        child, self._child = self._child, None
        if child is None:
            return 0.0
        _kill(child)
        for pipe in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):
                cast("IO[bytes]", pipe).close()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except ChildProcessError:  # nobody waits where this process ignores the end of its children
            child.wait()
            return 0.0
        child.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _letter(told: dict[str, Any]) -> Letter:
    told["date"] = datetime.fromisoformat(told["date"]) if told["date"] else None
    told["attachments"] = tuple(Attachment(**one) for one in told["attachments"])
    told["problems"] = tuple(told["problems"])
    return Letter(**told)

"""Parse letters in a child process, with limits on time and memory for each letter and for a mailbox.

`LetterReader` is used by `mailbox` and `imap`.
"""

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
"""Bytes of a message that are fetched if only its header is read."""
CPU_SECONDS = 15
"""Processor seconds for a letter without its PDFs."""
READING_SECONDS = 120
"""Processor seconds for all expensive letters of one reading of a mailbox. Each run spends them again."""
_QUICK_SECONDS = 1
"""Processor seconds for a letter after two thirds of the reading's limit are used. An ordinary letter needs less."""
_FREE_SECONDS = 2
"""Processor seconds up to which a letter does not count as expensive. Several PDFs fit into them."""
_WALL_SECONDS = 120
"""Seconds after which a child that does not answer is killed."""
_MOST_RSS_KB = 256 * 1024
"""A child above this memory is ended after its letter, so that the next letter has enough."""
_TOO_MUCH = "the message exceeds the limit of time or memory and was not read"
_TOO_MANY = "too many letters of this mailbox exceeded the time limit, so this one was not read"
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); import holo_tasks.office.letter_child as it; it.main()"
)


class LetterReader:
    """Parses letters one after the other, in a child process without this process's environment.

    A letter that exceeds a limit is still returned, with its header and the problem. Starting a child takes a tenth of
    a second, so one child parses many letters. It is replaced if it had to be ended. Expensive letters share a limit.
    When two thirds of the shared limit are used, each letter gets little time. At its end, only headers are read.
    """

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS, reading_seconds: float = READING_SECONDS) -> None:
        self.cpu_seconds = cpu_seconds
        self.left_s = self.reading_s = reading_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._reported_s = 0.0
        """Processor seconds that the child reported for finished letters."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def read(self, raw: bytes, *, source: str) -> Letter:
        """Parse the bytes of a message. Raises `InvalidUsage` only if a needed package is not installed."""
        if self.left_s <= 0:
            return self._headed(raw, source, _TOO_MANY)
        scarce = self.left_s <= self.reading_s / 3
        cpu_seconds = min(self.cpu_seconds, _QUICK_SECONDS) if scarce else self.cpu_seconds
        asked = {"source": source, "pdf_seconds": _QUICK_SECONDS if scarce else PDF_SECONDS}
        return self._ask(raw, cpu_seconds, **asked) or self._headed(raw, source, _TOO_MUCH)

    def read_oversized(self, head: bytes, size: int, *, source: str) -> Letter:
        """Return a letter for a message that is too big to read, from its first bytes."""
        return self._header(head, source=source, size=size) or unread_letter(source, _TOO_MUCH)

    def _headed(self, raw: bytes, source: str, why: str) -> Letter:
        return self._header(raw, source=source, why=why) or unread_letter(source, why)

    def _header(self, raw: bytes, **asked: Any) -> Letter | None:
        return self._ask(raw[:HEAD_BYTES], min(self.cpu_seconds, _QUICK_SECONDS), **asked)

    def _ask(self, raw: bytes, cpu_seconds: int, **asked: Any) -> Letter | None:
        """Let the child parse a message; return ``None`` if the child had to be ended."""
        child = self._started()
        asked |= {"bytes": len(raw), "cpu_seconds": cpu_seconds}
        # Its process group is killed, which includes the reader of PDFs.
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
            reported_s = self._reported_s
            self.left_s -= max(self._end() - reported_s, cpu_seconds)
            return None
        answer = json.loads(line)
        self._reported_s += answer["cpu_s"]
        self.left_s -= max(0.0, answer["cpu_s"] - _FREE_SECONDS)
        if answer["rss_kb"] > _MOST_RSS_KB:
            self._end()
        if "error" in answer:
            raise InvalidUsage(answer["error"])
        return _letter(answer["letter"])

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._reported_s = 0.0
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
        """End the child; return the processor seconds that it and its ended children used."""
        child, self._child = self._child, None
        if child is None:
            return 0.0
        _kill(child)
        for pipe in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):
                cast("IO[bytes]", pipe).close()
        try:
            _, status, used = os.wait4(child.pid, 0)
        except ChildProcessError:  # SIGCHLD is ignored, so the system has reaped the child
            child.wait()
            return 0.0
        child.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _letter(fields: dict[str, Any]) -> Letter:
    fields["date"] = datetime.fromisoformat(fields["date"]) if fields["date"] else None
    fields["attachments"] = tuple(Attachment(**one) for one in fields["attachments"])
    fields["problems"], fields["unread"] = tuple(fields["problems"]), tuple(fields["unread"])
    return Letter(**fields)

"""Write to stderr without blocking the caller, even if the terminal is stopped or the pipe is not read."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import stat
import sys
import termios
import threading
from typing import TextIO

MOST_WAITING = 500
"""Lines in the queue at most; further lines are dropped."""
LAST_WORDS_S = 1.0
"""Seconds that `StderrWriter.close` waits for the queue."""


class StderrWriter:
    """Writes lines to stderr in order, from a thread of its own."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._waiting: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._write_all, name="speaker", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Queue a text, or drop it if the queue is full."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(text)

    def close(self) -> None:
        """Write the queued texts, waiting at most `LAST_WORDS_S`."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
            self._thread.join(LAST_WORDS_S)

    def _write_all(self) -> None:
        while (text := self._waiting.get()) is not None:
            with contextlib.suppress(OSError, ValueError):  # stderr is closed; the trace holds the same facts
                _write(self._stream, text)


def _write(stream: TextIO, text: str) -> None:
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # stderr was replaced by an object without a descriptor
        stream.write(text)
        return
    # Bypass the stream: text stuck in its buffer would block other writers and the end of the process.
    left = text.encode(stream.encoding or "utf-8", "backslashreplace")
    while left and not _is_filling_up(number):
        left = left[os.write(number, left[: 4 * 1024]) :]


def _is_filling_up(number: int) -> bool:
    """Return whether stderr is a pipe that is over half full. The rest is left for the last message of the command."""
    if not stat.S_ISFIFO(os.fstat(number).st_mode):
        return False
    unread = int.from_bytes(fcntl.ioctl(number, termios.FIONREAD, bytes(4)), sys.byteorder)
    return unread > fcntl.fcntl(number, fcntl.F_GETPIPE_SZ) // 2

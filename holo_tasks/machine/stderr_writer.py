"""Saying something on stderr that holds nobody up: a terminal may be stopped, and a pipe be read only at the end."""

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
"""What is said while so much has not been written yet is left out."""
LAST_WORDS_S = 1.0


class Speaker:
    """Writes to stderr from a thread of its own, in the order in which it is told to."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._waiting: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._write_all, name="speaker", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Have a text written, if it can be."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(text)

    def close(self) -> None:
        """Wait until all is written, within bounds."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
            self._thread.join(LAST_WORDS_S)

    def _write_all(self) -> None:
        while (text := self._waiting.get()) is not None:
            with contextlib.suppress(OSError, ValueError):  # it is gone: whoever reads the trace has it all
                _write(self._stream, text)


def _write(stream: TextIO, text: str) -> None:
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # something in its place that is no file
        stream.write(text)
        return
    # Not by way of the stream: what is stuck in there would hold up whoever else writes, and the end of the process.
    left = text.encode(stream.encoding or "utf-8", "backslashreplace")
    while left and not _hardly_read(number):
        left = left[os.write(number, left[: 4 * 1024]) :]


def _hardly_read(number: int) -> bool:
    """Say whether a file is a pipe that is half full: the rest is for the last word of the command."""
    if not stat.S_ISFIFO(os.fstat(number).st_mode):
        return False
    unread = int.from_bytes(fcntl.ioctl(number, termios.FIONREAD, bytes(4)), sys.byteorder)
    return unread > fcntl.fcntl(number, fcntl.F_GETPIPE_SZ) // 2

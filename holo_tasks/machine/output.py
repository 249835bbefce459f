"""Output of a command: its result on stdout, messages on stderr, and secret values on neither."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.texts.printable import printable


def prepare_streams() -> None:
    """Open closed standard streams on /dev/null, so that no other file gets their descriptors. Set stdout to UTF-8."""
    while (unused := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(unused)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  # open until the process ends
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def put(line: str, code: int) -> int:
    """Print the result to stdout; return the exit code.

    A closed pipe is ignored, but a full disk changes the exit code.
    """
    try:
        print(line, flush=True)
    except OSError as error:
        # The interpreter would flush the buffer again at exit, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"invalid: the result cannot be written to stdout: {error.strerror}.")
            return code or InvalidUsage.exit_code
    return code


def say(text: str, place: str = "") -> None:
    """Print one line to stderr. ``place`` is appended without changing its spaces. Write errors are ignored."""
    with contextlib.suppress(OSError):
        print(to_say(text, place), file=sys.stderr, flush=True)


def to_say(text: str, place: str = "") -> str:
    """Return the line that `say` prints."""
    return f"holo-tasks: {printable(without_secrets(' '.join(text.split())) + place)}"


def release_streams() -> None:
    """Flush the standard streams, or discard their buffers.

    Otherwise Python would flush at exit and change the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except ValueError:  # the stream was closed
            continue


def without_secrets(text: str) -> str:
    scrubbing = sys.modules.get("holo_tasks.safety.scrubbing")
    return str(scrubbing.scrub_data(text)) if scrubbing else text  # no secrets exist before it is imported

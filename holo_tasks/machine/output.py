"""What a command says: its result on stdout, all else on stderr, and no secret's value in either."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.printable import printable


def prepare_streams() -> None:
    """Put something in the place of standard streams that are closed: what is opened next would be taken for them."""
    while (unused := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(unused)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  # as long as the process
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def put(line: str, code: int) -> int:
    """Write the result to stdout; return the exit code. A reader that has gone is no error, a full disk is."""
    try:
        print(line, flush=True)
    except OSError as error:
        # What is still held back would be tried again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"invalid: the result cannot be written to stdout: {error.strerror}.")
            return code or InvalidUsage.exit_code
    return code


def say(text: str, place: str = "") -> None:
    """Write one line to stderr, the ``place`` at its end as it is; where nobody reads it, the exit code has to do."""
    with contextlib.suppress(OSError):
        print(to_say(text, place), file=sys.stderr, flush=True)


def to_say(text: str, place: str = "") -> str:
    """Return a line as it is said."""
    return f"holo-tasks: {printable(hushed(' '.join(text.split())) + place)}"


def release_streams() -> None:
    """Write what is still held back, or give it up: Python would try again as it ends, and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except ValueError:  # closed by somebody
            continue


def hushed(text: str) -> str:
    scrubbing = sys.modules.get("holo_tasks.safety.scrubbing")
    return str(scrubbing.hushed_plain(text)) if scrubbing else text  # not loaded: there is no secret

"""The program that reads letters for `letter_reader`: one request after the other, each with a limit of its own.

A request is a line of JSON and the bytes of a message; the answer is a line of JSON. The limits are those of the
operating system: whatever a letter makes the reader do, it ends.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.proc import OURS, status_of
from holo_tasks.office.letter import PDF_SECONDS, Letter, headed_letter, oversized_letter, read_letter, used_s

_MEMORY_BYTES = 1 << 30


def main() -> None:
    """Answer until there are no more requests."""
    _limit(resource.RLIMIT_AS, _MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        raw = sys.stdin.buffer.read(asked.pop("bytes"))
        own_s = used_s()
        before_s = own_s + used_s(resource.RUSAGE_CHILDREN)
        _limit(resource.RLIMIT_CPU, int(own_s) + 1 + asked.pop("cpu_seconds"))
        try:
            told: dict[str, Any] = {"letter": asdict(_read(raw, **asked))}
        except InvalidUsage as error:  # what the reader needs is not installed
            told = {"error": str(error)}
        told["cpu_s"] = used_s() + used_s(resource.RUSAGE_CHILDREN) - before_s
        told["rss_kb"] = _most_kb()
        sys.stdout.write(json.dumps(told, default=str) + "\n")
        sys.stdout.flush()


def _most_kb() -> int:
    """Return how big this process has been; getrusage tells of whoever started it, if that was bigger."""
    return int(status_of(OURS).get("VmHWM", "0").split()[0])


def _read(
    raw: bytes, *, source: str, size: int | None = None, why: str = "", pdf_seconds: float = PDF_SECONDS
) -> Letter:
    if why:
        return headed_letter(raw, why, source=source)
    if size is not None:
        return oversized_letter(raw, size, source=source)
    return read_letter(raw, source=source, pdf_seconds=pdf_seconds)


def _limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))

"""Child process of `letter_reader`: parse one letter per request, within limits for each.

A request is a line of JSON followed by the bytes of a message. The answer is a line of JSON. The operating system
enforces the limits, so parsing always ends.
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
    """Answer requests until the input ends."""
    _limit(resource.RLIMIT_AS, _MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        raw = sys.stdin.buffer.read(asked.pop("bytes"))
        own_s = used_s()
        before_s = own_s + used_s(resource.RUSAGE_CHILDREN)
        _limit(resource.RLIMIT_CPU, int(own_s) + 1 + asked.pop("cpu_seconds"))
        try:
            answer: dict[str, Any] = {"letter": asdict(_read(raw, **asked))}
        except InvalidUsage as error:  # a needed package is not installed
            answer = {"error": str(error)}
        answer["cpu_s"] = used_s() + used_s(resource.RUSAGE_CHILDREN) - before_s
        answer["rss_kb"] = _most_kb()
        sys.stdout.write(json.dumps(answer, default=str) + "\n")
        sys.stdout.flush()


def _most_kb() -> int:
    """Return this process's peak memory in kB. getrusage would include the peak of the parent process."""
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

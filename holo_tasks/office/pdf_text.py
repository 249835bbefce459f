"""Extract the text of a PDF in a child process with limits.

A hostile or broken PDF can cost any amount of memory or time inside the parser. The operating system enforces the
limits. Run as a program, this file reads a PDF from standard input and writes its text. It must not import this
package, whose ``mailbox.py`` would hide the module of the standard library.
"""

from __future__ import annotations

import os
import subprocess
import sys

MAX_PAGES = 40
MAX_CHARS = 400_000
CPU_SECONDS = 10
_WALL_SECONDS = 40
_MEMORY_BYTES = 1 << 30
_PROBLEMS = {3: "is encrypted", 4: "is damaged"}


def pdf_to_text(data: bytes, *, cpu_seconds: int = CPU_SECONDS) -> tuple[str, str | None]:
    """Return the text and the problem, or ``None`` for a good PDF.

    The problem is the end of a sentence, such as "is encrypted". Raises `InvalidUsage` if pypdf is not installed.
    """
    from holo_tasks.core.extras import require_extra

    require_extra("office", "pypdf", "Reading a PDF")
    try:
        done = subprocess.run(
            [sys.executable, "-I", __file__, str(cpu_seconds)],
            input=data,
            capture_output=True,
            timeout=_WALL_SECONDS,
            env=environment(),
        )
    except subprocess.TimeoutExpired:
        return "", f"took longer than {_WALL_SECONDS} seconds to read"
    text = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode:
        return text, _PROBLEMS.get(done.returncode, "exceeds the limit of memory or time")
    return text, None if text else "holds no text; it may be a scan"


def environment() -> dict[str, str]:
    """Return the environment variables that Python itself needs.

    The child parses content from strangers and might be taken over by it, so it gets no keys.
    """
    needed = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
    return {name: os.environ[name] for name in needed if name in os.environ}


def _child(cpu_seconds: int) -> int:
    import io
    import logging
    import resource

    for what, most in ((resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_AS, _MEMORY_BYTES)):
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, limit))
    logging.disable(logging.CRITICAL)
    from pypdf import PdfReader

    written = 0
    try:
        reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            return 3
        for number, page in enumerate(reader.pages):
            if number >= MAX_PAGES or written >= MAX_CHARS:
                break
            text = page.extract_text()[: MAX_CHARS - written]
            written += len(text)
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
    except MemoryError:
        return 5
    except Exception as fault:  # pypdf raises errors of any class for a broken file
        return 3 if "crypt" in f"{type(fault).__name__} {fault}".lower() else 4
    return 0


if __name__ == "__main__":
    sys.exit(_child(int(sys.argv[1])))

"""Read `/proc`. The name of a process may hold any bytes, even a “)”, and may be cut within a character."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

OURS = Path("/proc/self")
SMALL = 4096
"""The most bytes of a short file."""


def process(pid: int) -> Path:
    """Return the `/proc` folder of a process."""
    return Path(f"/proc/{pid}")


def stat_of(folder: Path | str) -> list[str]:
    """Return the fields after the name in a process's or thread's `stat`: state, parent, group, session and so on.

    Raises `OSError` if it has ended.
    """
    return _after_name(read_small(f"{folder}/stat"))


def state_of(folder: Path | str) -> str:
    """Return the letter of a process's or thread's state. Raises `OSError` if it has ended."""
    stat = read_small(f"{folder}/stat")
    at = stat.rindex(b")") + 2
    return chr(stat[at])


def read_small(path: str) -> bytes:
    """Return a short file of `/proc`. The kernel gives it in one piece, and a path as text costs less than a `Path`."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, SMALL)
    finally:
        os.close(file)


def status_of(folder: Path) -> dict[str, str]:
    """Return the fields of a process's or thread's `status` by name, for example ``{"Umask": "0022"}``.

    Raises `OSError` if it has ended.
    """
    lines = (folder / "status").read_bytes().decode("utf-8", "replace").split("\n")
    fields = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in fields}


def runs_until_sleep(pid: int) -> int:
    """Return how often the main thread of a sleeping process has run; -1 if it runs, waits for a core, or is stopped.

    Raises `OSError` if it has ended.
    """
    runs = int(read_small(f"/proc/{pid}/schedstat").split()[2])
    return runs if stat_of(f"/proc/{pid}")[0] == "S" else -1


def cpu_waits_ns(pid: int) -> dict[str, int]:
    """Return how long each thread of a process has waited for a CPU; empty if the process has ended."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  many times a second
            with contextlib.suppress(OSError, IndexError):  # a thread may just have ended
                found[thread] = int(read_small(f"/proc/{pid}/task/{thread}/schedstat").split()[1])
    return found


def living() -> Iterator[tuple[int, list[str]]]:
    """Yield the id and the `stat_of` fields of each process that has not ended."""
    for name in os.listdir("/proc"):  # noqa: PTH208  hundreds of entries, many times a second
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                fields = _after_name(file.read())
                if fields[0] not in "ZX":
                    yield int(name), fields


def _after_name(stat: bytes) -> list[str]:
    return stat.rpartition(b")")[2].decode("ascii").split()

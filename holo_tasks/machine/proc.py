"""What the kernel tells of a process, whatever that calls itself: any bytes, cut anywhere, even a “)” among them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

OURS = Path("/proc/self")


def process(pid: int) -> Path:
    """Return the folder of a process."""
    return Path(f"/proc/{pid}")


def stat_of(folder: Path) -> list[str]:
    """Return what is told of a process or thread after its name: state, parent, group, session and so on.

    Raises `OSError` if it has ended.
    """
    return _after_name((folder / "stat").read_bytes())


def status_of(folder: Path) -> dict[str, str]:
    """Return what is told of a process or thread by name, for example ``{"Umask": "0022"}``.

    Raises `OSError` if it has ended.
    """
    lines = (folder / "status").read_bytes().decode("utf-8", "replace").split("\n")
    told = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in told}


def living() -> Iterator[tuple[int, list[str]]]:
    """Yield the id of each process that has not ended, and what `stat_of` returns for it."""
    for name in os.listdir("/proc"):  # noqa: PTH208  hundreds of them, many times a second
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                told = _after_name(file.read())
                if told[0] not in "ZX":
                    yield int(name), told


def _after_name(stat: bytes) -> list[str]:
    return stat.rpartition(b")")[2].decode("ascii").split()

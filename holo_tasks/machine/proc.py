"""What the kernel tells of a process, whatever that calls itself: any bytes, cut anywhere, even a “)” among them."""

from __future__ import annotations

from pathlib import Path

OURS = Path("/proc/self")


def process(pid: int) -> Path:
    """Return the folder of a process."""
    return Path(f"/proc/{pid}")


def stat_of(folder: Path) -> list[str]:
    """Return what is told of a process or thread after its name: state, parent, group, session and so on.

    Raises `OSError` if it has ended.
    """
    return (folder / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()


def status_of(folder: Path) -> dict[str, str]:
    """Return what is told of a process or thread by name, for example ``{"Umask": "0022"}``.

    Raises `OSError` if it has ended.
    """
    lines = (folder / "status").read_bytes().decode("utf-8", "replace").split("\n")
    told = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in told}

"""Limit the memory and the processors of a sandboxed program with control groups (cgroups) of the kernel.

Both versions work. Version 2 has one tree: a group is created below the nearest group that we may divide. Version 1 has
one tree for each resource. If neither is possible, the program does not start.

`ResourceLimits` holds the limits, and `put` applies them.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.machine.proc import OURS

LEAST_MB = 16
PERIOD_US = 100_000
PATIENCE_S = 2.0
MOUNTED = re.compile(r" (?P<root>\S+) (?P<at>\S+) \S+(?: \S+:\S+)* - (?P<kind>cgroup2?) \S+ (?P<options>\S+)$")
"""The end of a line of mountinfo about a cgroup tree, from the tree's mounted folder on."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """The most memory and processors that a program may use; zero means no limit."""

    memory_mb: int = 0
    cpus: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.memory_mb, bool) or self.memory_mb != int(self.memory_mb) or 0 != self.memory_mb < LEAST_MB:
            raise InvalidUsage(f"memory_mb is 0, for no limit, or {LEAST_MB} at least, not {self.memory_mb!r}.")
        if not math.isfinite(self.cpus) or 0 != self.cpus < 0.01:
            raise InvalidUsage(f"cpus is 0, for no limit, or a number of processors, as 0.5, not {self.cpus!r}.")

    def __bool__(self) -> bool:
        return bool(self.memory_mb or self.cpus)

    def groups(self) -> dict[str, dict[str, str]]:
        """Return for each controller the files of a group and their contents, for both versions of cgroups."""
        found: dict[str, dict[str, str]] = {}
        if self.memory_mb:
            size = str(self.memory_mb * 1024 * 1024)
            found["memory"] = {
                "memory.max": size,
                "memory.swap.max": "0",
                "memory.limit_in_bytes": size,
                "memory.memsw.limit_in_bytes": size,
            }
        if self.cpus:
            quota = str(round(self.cpus * PERIOD_US))
            found["cpu"] = {
                "cpu.max": f"{quota} {PERIOD_US}",
                "cpu.cfs_period_us": str(PERIOD_US),
                "cpu.cfs_quota_us": quota,
            }
        return found


@dataclass(frozen=True, slots=True)
class _Tree:
    """A mounted cgroup tree, with our own group in it.

    ``rules`` holds the tree's controllers (version 1). ``for_all`` is true for the tree of version 2.
    """

    at: Path
    own_group: Path
    rules: tuple[str, ...]
    for_all: bool

    def group_above(self, control: str) -> Path | None:
        """Return the group below which a group with this controller can be created, or ``None``."""
        if not self.for_all:
            return self.own_group if control in self.rules and os.access(self.own_group, os.W_OK) else None
        for group in (self.own_group, *self.own_group.parents):
            if not group.is_relative_to(self.at):
                return None
            with contextlib.suppress(OSError):
                given = (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
                if control in given and os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK):
                    return group
        return None


def put(pid: int, bounds: ResourceLimits, name: str, proc_folder: Path = OURS) -> None:
    """Put a process and its future children into groups with these limits, named ``name``.

    ``proc_folder`` is our folder in /proc. Raises `DesktopFailed` if a limit cannot be applied.
    """
    for control, files in bounds.groups().items():
        parent = next((above for tree in _trees(proc_folder) if (above := tree.group_above(control)) is not None), None)
        if parent is None:
            raise DesktopFailed(_cannot(control, "this user may not create control groups here"))
        group = parent / name
        try:
            group.mkdir(exist_ok=True)
            there = {file: text for file, text in files.items() if (group / file).exists()}
            for file, text in there.items():
                (group / file).write_text(text, encoding="ascii")
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
        except OSError as error:
            clear(name, proc_folder)
            raise DesktopFailed(_cannot(control, f"{error.strerror}: {error.filename}")) from None
        if not there:
            clear(name, proc_folder)
            raise DesktopFailed(_cannot(control, f"{parent} does not control it"))


def clear(name: str, proc_folder: Path = OURS) -> None:
    """Remove the groups of this name after their processes have ended. Waits at most ``PATIENCE_S``."""
    until = time.monotonic() + PATIENCE_S
    for tree in _trees(proc_folder):
        for group in {
            above / name for control in ("memory", "cpu") if (above := tree.group_above(control)) is not None
        }:
            while group.is_dir() and time.monotonic() < until:
                try:
                    group.rmdir()
                except OSError:  # the last process is still ending
                    time.sleep(0.01)


def _cannot(control: str, why: str) -> str:
    what = "memory (memory_mb)" if control == "memory" else "processors (cpus)"
    return (
        f"The program's {what} cannot be limited here: {why}. Start the agent as root, or in a unit of systemd with "
        "Delegate=yes, or leave the limit out."
    )


def _trees(proc_folder: Path) -> Iterator[_Tree]:
    """Yield the cgroup trees of a process, from ``cgroup`` and ``mountinfo`` in its folder in /proc."""
    try:
        lines = (proc_folder / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
        mounts = (proc_folder / "mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    paths = {rules: path for _, rules, path in (line.split(":", 2) for line in lines if line.count(":") >= 2)}
    for mount in mounts:
        if (found := MOUNTED.search(mount)) is None:
            continue
        for_all, options = found["kind"] == "cgroup2", set(found["options"].split(","))
        rules = "" if for_all else next((each for each in paths if each and set(each.split(",")) <= options), None)
        path = None if rules is None else paths.get(rules)
        if rules is not None and path is not None and ".." not in path and Path(path).is_relative_to(found["root"]):
            at = Path(found["at"])
            yield _Tree(at, at / Path(path).relative_to(found["root"]), tuple(rules.split(",")), for_all)

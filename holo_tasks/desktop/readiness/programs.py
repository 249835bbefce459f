"""List the processes that may still work on an input, because the input went to their program.

`work_in_flight` calls `touch` before an input, and `pids` when it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.readiness.process_tree import ProcessTree, parent_pid


class Programs:
    """The programs that this process has started and, on a shared screen, the program that got the last input.

    ``helpers`` returns the processes that the desktop itself needs, which do not count. ``bus_pid`` is the process of
    the message bus. The bus and all processes that it has started do not count either.

    ``owner_at`` is given for a shared screen only. It returns the process whose window gets a press at a
    point or, without a point, the keys, and zero if that is unknown.
    """

    def __init__(
        self,
        helpers: Callable[[], Collection[int]] = set,
        bus_pid: int = 0,
        owner_at: Callable[[Point | None], int] | None = None,
    ) -> None:
        self._helpers = helpers
        self._bus_pid = bus_pid
        self._owner_at = owner_at
        self._tree = ProcessTree()
        self._parents: dict[int, int] = {}
        self._touched = 0
        self._touched_tree: ProcessTree | None = None

    @property
    def is_target_unknown(self) -> bool:
        """Whether it is unknown which program got the last input."""
        return self._owner_at is not None and not self._touched

    def touch(self, at: Point | None) -> bool:
        """Record where the next input goes: to a point on the screen, or to the focus.

        Returns whether another program than before gets it.
        """
        if self._owner_at is None:
            return False
        pid = self._owner_at(at)
        if pid == self._touched and self._touched_tree is not None:
            return False
        self._touched, self._touched_tree = pid, ProcessTree(pid) if pid else None
        return True

    def pids(self) -> list[int]:
        """Return the ids of the processes of the programs."""
        helpers, found, of_bus = set(self._helpers()), [], {self._bus_pid}
        tree = self._tree.pids()
        # The first parent is remembered: when it ends, the kernel gives the process another one.
        self._parents = {pid: self._parents.get(pid) or parent_pid(pid) for pid in tree}
        for pid in tree:
            if self._parents[pid] in of_bus:
                of_bus.add(pid)
            elif pid not in helpers:
                found.append(pid)
        if self._touched_tree is not None and self._touched not in found:
            found += [self._touched, *(pid for pid in self._touched_tree.pids() if pid not in found)]
        return found

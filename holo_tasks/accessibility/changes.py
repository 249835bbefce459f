"""Collect the changes that a program signals, to know which elements to read again. `Changes` is the main class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.accessibility import protocol

MOST_TOLD = 200
"""Number of changed elements from which the whole tree is read again."""
OWN_EVENTS = {
    "object:propertychange": {"accessible-name", "accessible-value", "accessible-role"},
    "object:textchanged": None,
    "object:valuechanged": None,
    "object:boundschanged": None,
    "focus:focus": None,
    "window:activate": None,
    "window:deactivate": None,
}
"""Events that are about one element only, with their known details; ``None`` means any detail."""
IGNORED_EVENTS = {
    "object:announcement",
    "object:attributeschanged",
    "object:linkselected",
    "object:textattributeschanged",
    "object:textboundschanged",
    "object:textcaretmoved",
    "object:textselectionchanged",
}
NOT_TOLD = {"accessible-description", "accessible-help-text", "widget"}
"""Properties that are not read, and one that GTK 3 sets when it creates an accessible."""
SPREADING_STATES = {"defunct", "manages-descendants", "iconified"}
"""States that affect more than their element."""
SHOWS = {"showing", "visible"}


@dataclass(slots=True)
class Changes:
    """The changes that a program signalled since it was last read.

    ``everything`` is true if the signals do not tell which elements stayed the same.
    """

    own: set[str] = field(default_factory=set)
    """Paths of elements whose own values changed."""
    inside: set[str] = field(default_factory=set)
    """Paths of elements whose children were added, removed or reordered."""
    shown: set[str] = field(default_factory=set)
    """Paths of elements that were shown or hidden, together with their descendants."""
    added: dict[str, str] = field(default_factory=dict)
    """Paths of elements that are new in the program's cache, with the paths of their parents."""
    removed: set[str] = field(default_factory=set)
    redrawn: set[str] = field(default_factory=set)
    """Paths of elements that drew something else."""
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.everything or self.own or self.inside or self.shown or self.added or self.removed)

    def keep_redrawn(self, known: Collection[str]) -> None:
        """Treat the redrawn elements that are ``known`` as changed, and forget the others.

        Java's tables redraw an element outside of the tree whenever one of their cells is read.
        """
        self.own |= self.redrawn.intersection(known)
        self.redrawn.clear()

    def record_signal(self, path: str, interface: str, member: str, body: Sequence[Any]) -> None:
        """Record a signal; set ``everything`` if it is unknown or too many elements changed."""
        if self.everything:
            return
        reported = (
            len(self.own) + len(self.redrawn) + len(self.inside) + len(self.shown) + len(self.added) + len(self.removed)
        )
        if reported >= MOST_TOLD or not self._record(path, interface, member, body):
            self.everything = True

    def _record(self, path: str, interface: str, member: str, body: Sequence[Any]) -> bool:
        detail = body[0] if body and isinstance(body[0], str) else ""
        if interface == protocol.CACHE:
            return self._cached(member, body)
        if not interface.startswith(protocol.EVENTS):
            return False
        event = f"{interface.removeprefix(protocol.EVENTS)}:{member}".lower()
        if event in IGNORED_EVENTS or (event == "object:propertychange" and detail in NOT_TOLD):
            return True
        if event in OWN_EVENTS:
            details = OWN_EVENTS[event]
            self.own.add(path)
            return details is None or detail in details
        match event:
            case "object:statechanged" if detail in SHOWS:
                self.shown.add(path)
            case "object:statechanged" if detail and detail not in SPREADING_STATES:
                self.own.add(path)
            case "object:statechanged" if detail == "defunct":
                if body[1:2] != [0]:  # GTK 3 signals for new elements that they are not defunct
                    self.removed.add(path)
            case "object:visibledatachanged":
                self.redrawn.add(path)
            case "object:childrenchanged" if path != protocol.ROOT:
                self.inside.add(path)
            case _:
                return False
        return True

    def _cached(self, member: str, body: Sequence[Any]) -> bool:
        try:
            match member:
                case "AddAccessible":
                    (_, path), _, (_, above), *_ = body[0]
                    self.added[str(path)] = str(above)
                case "RemoveAccessible":
                    _, path = body[0]
                    self.removed.add(str(path))
                case _:
                    return False
        except (TypeError, ValueError, LookupError):  # a malformed signal
            return False
        return True

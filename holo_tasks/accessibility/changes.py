"""What a program says has changed, as far as that tells what to ask it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.accessibility import protocol

MOST_TOLD = 200
"""A program that says more than this at once is asked for everything."""
OWN = {
    "object:propertychange": {"accessible-name", "accessible-value", "accessible-role"},
    "object:textchanged": None,
    "object:valuechanged": None,
    "object:boundschanged": None,
    "object:visibledatachanged": None,
    "focus:focus": None,
    "window:activate": None,
    "window:deactivate": None,
}
"""What is about one element alone; None stands for any detail."""
OF_NO_INTEREST = {
    "object:announcement",
    "object:attributeschanged",
    "object:linkselected",
    "object:textattributeschanged",
    "object:textboundschanged",
    "object:textcaretmoved",
    "object:textselectionchanged",
}
NOT_TOLD = {"accessible-description", "accessible-help-text", "widget"}
"""Properties that are not read, and one that GTK 3 sets as it makes what tells of an element."""
SPREADS = {"defunct", "manages-descendants", "iconified"}
"""States that say something of more than the element they are of."""
SHOWS = {"showing", "visible"}


@dataclass(slots=True)
class Changes:
    """What a program has said since it was last asked; ``everything`` if nobody can tell what that leaves as it was."""

    own: set[str] = field(default_factory=set)
    """Elements that are not what they were."""
    inside: set[str] = field(default_factory=set)
    """Elements in which something came, went or changed its place."""
    shown: set[str] = field(default_factory=set)
    """Elements that came to show, or ceased to, with all that is in them."""
    added: dict[str, str] = field(default_factory=dict)
    """Elements that are new to the program's cache, and what each is in."""
    removed: set[str] = field(default_factory=set)
    everything: bool = False

    def __bool__(self) -> bool:
        return bool(self.everything or self.own or self.inside or self.shown or self.added or self.removed)

    def hear(self, path: str, interface: str, member: str, body: Sequence[Any]) -> None:
        """Note what a signal says."""
        if self.everything:
            return
        told = len(self.own) + len(self.inside) + len(self.shown) + len(self.added) + len(self.removed)
        if told >= MOST_TOLD or not self._understood(path, interface, member, body):
            self.everything = True

    def _understood(self, path: str, interface: str, member: str, body: Sequence[Any]) -> bool:
        detail = body[0] if body and isinstance(body[0], str) else ""
        if interface == protocol.CACHE:
            return self._cached(member, body)
        if not interface.startswith(protocol.EVENTS):
            return False
        event = f"{interface.removeprefix(protocol.EVENTS)}:{member}".lower()
        if event in OF_NO_INTEREST or (event == "object:propertychange" and detail in NOT_TOLD):
            return True
        if event in OWN:
            details = OWN[event]
            self.own.add(path)
            return details is None or detail in details
        match event:
            case "object:statechanged" if detail in SHOWS:
                self.shown.add(path)
            case "object:statechanged" if detail and detail not in SPREADS:
                self.own.add(path)
            case "object:statechanged" if detail == "defunct":
                if body[1:2] != [0]:  # GTK 3 says of what is new that it is not gone
                    self.removed.add(path)
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
        except (TypeError, ValueError, LookupError):  # whatever this is, it is not what programs say
            return False
        return True

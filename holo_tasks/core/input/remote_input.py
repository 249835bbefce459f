"""Input events of a person who uses a screen from another machine.

Keys are identified by keysym, and the pointer by its position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Key:
    """A key that goes down or up, identified by its keysym on the person's own keyboard."""

    keysym: int
    down: bool


@dataclass(frozen=True, slots=True)
class Pointing:
    """The pointer position in pixels and the buttons that are down; bit 0 is button 1."""

    x: int
    y: int
    buttons: int


ByHand: TypeAlias = Key | Pointing

"""What a person does to a screen from elsewhere: keys by what they mean, and where the pointer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Key:
    """A key that goes down or up, by its keysym on the person's own keyboard."""

    keysym: int
    down: bool


@dataclass(frozen=True, slots=True)
class Pointing:
    """Where the pointer is, in pixels, and which buttons are down: bit 0 is button 1."""

    x: int
    y: int
    buttons: int


ByHand: TypeAlias = Key | Pointing

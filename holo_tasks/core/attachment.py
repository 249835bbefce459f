"""A file that is kept with the evidence, as it was when it arrived."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGEST = 64 * 1024 * 1024
"""No file that is kept has more bytes: it is held in memory on its way."""


@dataclass(frozen=True)
class Attachment:
    """The bytes of a file; it is kept under their SHA-256, never under a name from outside."""

    data: bytes = field(repr=False)
    sha256: str

"""A file that is stored in the trace exactly as it arrived."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGEST = 64 * 1024 * 1024
"""Largest file in bytes that is stored. The file is held in memory while it is written."""


@dataclass(frozen=True)
class Attachment:
    """The bytes of a file. The trace stores it under its SHA-256, never under a name from outside."""

    data: bytes = field(repr=False)
    sha256: str

"""What can go wrong with evidence: on the disk, on the way to a bucket, and when it is read back."""

from __future__ import annotations

from holo_tasks.core.errors import HoloError


class EvidenceFailed(HoloError):
    """Something could not be recorded, so the work must not go on."""


class DiskFull(EvidenceFailed):
    """There is no room for the evidence. The trace is whole up to the last acknowledged event."""


class DamagedTrace(EvidenceFailed):
    """A trace that is read back is not what was written; ``seq`` is the first bad record."""

    def __init__(self, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class StoreTrouble(HoloError):
    """The bucket did not take or give an object. The message names the cause in one line."""


class StoreAway(StoreTrouble):
    """The bucket cannot be reached or is overloaded; trying again makes sense."""

    transient = True


class StoreRefused(StoreTrouble):
    """The bucket answered no: credentials, permission, a missing bucket."""


class ForeignObject(StoreRefused):
    """There is an object of that name already, and its bytes are not ours."""

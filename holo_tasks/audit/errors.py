"""Define the errors of evidence: on disk, on the way to a bucket, and when it is read back."""

from __future__ import annotations

from holo_tasks.core.errors import HoloError


class EvidenceFailed(HoloError):
    """Something could not be recorded, so the run must not continue."""


class DiskFull(EvidenceFailed):
    """The disk has no room for evidence. The trace is complete up to the last acknowledged event."""


class DamagedTrace(EvidenceFailed):
    """A trace was changed after it was written. ``seq`` is the first bad record, if known."""

    def __init__(self, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class StoreTrouble(HoloError):
    """The bucket did not accept or return an object. The message names the cause in one line."""


class StoreAway(StoreTrouble):
    """The bucket is unreachable or overloaded. Retrying makes sense."""

    transient = True


class StoreRefused(StoreTrouble):
    """The bucket refused the request: wrong credentials, missing permissions or a missing bucket."""

    lasting = True


class ForeignObject(StoreRefused):
    """An object of that name exists already, with other contents."""

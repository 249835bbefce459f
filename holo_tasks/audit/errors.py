"""Define the errors of evidence: on disk, on the way to a bucket, and when it is read back."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.core.errors import HoloError, InvalidUsage


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
    """The bucket already has an object of this name with other contents."""


def no_trace_in(folder: Path) -> InvalidUsage:
    """Return the error of a folder without a trace. For a folder of runs, the error names the last one."""
    try:
        runs = sorted(each.parent.name for each in folder.glob("*/events.jsonl"))
    except OSError:
        runs = []
    hint = f". It contains {len(runs)} run(s): give one of them, such as {folder / runs[-1]}" if runs else ""
    return InvalidUsage(f"there is no trace in {folder}: it has no events.jsonl{hint}")

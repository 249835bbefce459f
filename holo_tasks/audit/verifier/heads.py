"""Read and check the anchored heads of a run, which the verifier compares with the trace.

A head is the number and the hash of a trace's newest record. An anchored head was signed and stored outside the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pydantic

from holo_tasks.audit.errors import StoreTrouble
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Anchor

_LONGEST = 4096


@dataclass
class Heads:
    """The anchored heads of one run.

    ``by_sequence`` has the hashes by record number, and ``newest_sequence`` is the highest of these numbers.
    ``delivered`` is the highest number of delivered records that a head states. ``signature_error`` describes the first
    head with a wrong signature, else it is empty. ``from_this_machine`` is whether a head comes from this machine's own
    list. ``sources`` are the files and buckets that were read.
    """

    run: str
    sources: list[str] = field(default_factory=list)
    by_sequence: dict[int, set[str]] = field(default_factory=dict)
    newest_sequence: int = -1
    delivered: int = 0
    signature_error: str = ""
    from_this_machine: bool = False
    missing_lists: list[str] = field(default_factory=list)
    """Lists that were given but do not exist, for example after a rollback of their disk."""

    def read(self, source: str, key: PublicKey, *, is_this_machines: bool = False) -> None:
        """Add this run's heads from a file or from ``s3://bucket/prefix``.

        ``is_this_machines`` is true for this machine's own list. Raises `InvalidUsage` if the source cannot be read.
        """
        if source not in self.sources:
            self.sources.append(source)
        lines = _objects(source, self.run) if source.startswith("s3://") else _lines(Path(source))
        for number, line in lines:
            if self.run.encode() not in line:
                continue
            try:
                anchor = Anchor.model_validate_json(line, strict=True)
            except pydantic.ValidationError:
                continue  # half a line left by a killed process, which never was an anchor
            if anchor.run != self.run:
                continue
            if not key.has_signed(line):
                self.signature_error = (
                    self.signature_error or f"the anchored head in {number} is not signed with this key"
                )
                continue
            self.by_sequence.setdefault(anchor.seq, set()).add(anchor.head)
            self.newest_sequence = max(self.newest_sequence, anchor.seq)
            self.delivered = max(self.delivered, anchor.delivered)
            self.from_this_machine = self.from_this_machine or is_this_machines


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with path.open("rb") as file:
            number, within = 1, False
            while line := file.readline(_LONGEST):
                whole = line.endswith(b"\n")
                if whole and not within:
                    yield f"line {number} of {path}", line[:-1]
                within = not whole
                number += whole
    except OSError as error:
        raise InvalidUsage(f"the anchored heads in {path} cannot be read: {error.strerror}") from error


def _objects(source: str, run: str) -> Iterator[tuple[str, bytes]]:
    from holo_tasks.audit.verifier.bundle import bucket_at

    bucket, name = bucket_at(f"{source.rstrip('/')}/{run}")
    try:
        for key in bucket.names(bucket.place.key(name) + "/"):
            try:
                data = next(bucket.pieces(key), b"")
            except FileNotFoundError:
                continue  # deleted meanwhile
            yield f"s3://{bucket.place.bucket}/{key}", data[:_LONGEST].removesuffix(b"\n")
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble

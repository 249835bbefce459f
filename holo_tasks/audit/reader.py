"""Reading a trace back, from a folder or a bucket, and checking its chain.

Shares nothing with the writer but the schema in `core.events`, so that a mistake of the writer is not repeated.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic
import rfc8785
from pydantic import SecretStr

from holo_tasks.audit.errors import DamagedTrace, StoreTrouble
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import FIRST, LONGEST_LINE, Record

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket

_EXTENSIONS = ("jpg", "png", "webp")
_HEX = frozenset("0123456789abcdef")
_PIECE = 1 << 18
_LARGEST_SEGMENT = LONGEST_LINE + 8_000_000
_LARGEST_PICTURE = 64 * 1024 * 1024


@dataclass(frozen=True)
class ChainCheck:
    """What the chain shows. ``closed``: the last record says that the run ended; ``head`` is its digest.

    A changed *last* record shows only in what it says: nothing after it holds its digest.
    """

    records: int
    first_bad: int | None
    reason: str
    closed: bool
    head: str

    @property
    def whole(self) -> bool:
        return self.first_bad is None


class Trace(ABC):
    """A trace that was written before: its records in order, and its pictures by name."""

    uri: str

    @abstractmethod
    def lines(self) -> Iterator[bytes]:
        """The records as they were written, without line ends; a torn last line is left out.

        What is longer than any record is not read: an empty line, which is no record, ends the lines in its place.
        """

    @abstractmethod
    def _kept(self, folder: str, name: str) -> bytes | None:
        """The bytes of what is kept in one of the trace's folders, None if it is not there."""

    def records(self, *, subgoal: int | None = None) -> Iterator[Record]:
        """The records, one at a time; with ``subgoal`` only those of that sub-goal.

        Raises `DamagedTrace` at a line that is not a record.
        """
        marker = b"" if subgoal is None else f'"subgoal":{subgoal}'.encode()
        for seq, line in enumerate(self.lines()):
            if marker not in line:
                continue
            record = _canonical(line)
            if record is None:
                raise DamagedTrace(f"record {seq} of {self.uri} cannot be read", seq=seq)
            if subgoal is None or record.event.subgoal == subgoal:
                yield record

    def frame(self, sha256: str) -> bytes:
        """The bytes of a picture. Raises `DamagedTrace` if it is missing or not what its name says."""
        if len(sha256) == 64 and _HEX.issuperset(sha256):
            for extension in _EXTENSIONS:
                data = self._kept("frames", f"{sha256}.{extension}")
                if data is not None:
                    if hashlib.sha256(data).hexdigest() != sha256:
                        raise DamagedTrace(f"the picture {sha256} of {self.uri} has been changed")
                    return data
        raise DamagedTrace(f"the picture {sha256[:64]} is not in {self.uri}")

    def file(self, sha256: str) -> bytes:
        """The bytes of a file that was kept. Raises `DamagedTrace` if it is missing or not what its name says."""
        data = self._kept("files", sha256) if len(sha256) == 64 and _HEX.issuperset(sha256) else None
        if data is None:
            raise DamagedTrace(f"the file {sha256[:64]} is not in {self.uri}")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedTrace(f"the file {sha256} of {self.uri} has been changed")
        return data

    def check(self) -> ChainCheck:
        """Check every byte of the chain."""
        return check_lines(self.lines())

    def _bounded(self, name: str, pieces: Iterable[bytes]) -> bytes:
        data = _up_to(_LARGEST_PICTURE, pieces)
        if data is None:
            raise DamagedTrace(f"{name} of {self.uri} is larger than any picture or file that is kept")
        return data


class FolderTrace(Trace):
    """A trace in a folder of this machine, finished or still growing."""

    def __init__(self, folder: Path) -> None:
        self.uri = str(folder)
        self._folder = folder
        if not (folder / "events.jsonl").is_file():
            raise InvalidUsage(f"there is no trace in {folder}: it has no events.jsonl")

    def lines(self) -> Iterator[bytes]:
        with (self._folder / "events.jsonl").open("rb") as events:
            while line := events.readline(LONGEST_LINE + 1):
                if line.endswith(b"\n"):
                    yield line[:-1]
                elif len(line) > LONGEST_LINE:
                    yield b""
                    return

    def _kept(self, folder: str, name: str) -> bytes | None:
        path = self._folder / folder / name
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                return self._bounded(name, iter(lambda: file.read(_PIECE), b""))
        except OSError as error:
            raise DamagedTrace(f"{folder}/{name} of {self.uri} cannot be read: {error.strerror}") from error


class BucketTrace(Trace):
    """A trace in a bucket; each segment of events and each picture is fetched when it is needed."""

    def __init__(self, bucket: Bucket, run_id: str) -> None:
        self._bucket = bucket
        self._root = bucket.place.key(run_id).rstrip("/")  # the place may be the run's own
        self.uri = f"s3://{bucket.place.bucket}/{self._root}"
        try:
            first = next(iter(bucket.names(f"{self._root}/events/")), None)
        except StoreTrouble as trouble:
            raise InvalidUsage(str(trouble)) from trouble
        if first is None:
            raise InvalidUsage(f"there is no trace at {self.uri}: it has no events")

    def lines(self) -> Iterator[bytes]:
        for key in self._bucket.names(f"{self._root}/events/"):
            if key.rpartition("/")[2].startswith("."):
                continue  # left by a file manager, and no part of the trace
            segment = _up_to(_LARGEST_SEGMENT, self._bucket.pieces(key))
            if segment is None:
                yield b""
                return
            yield from segment.removesuffix(b"\n").split(b"\n")

    def _kept(self, folder: str, name: str) -> bytes | None:
        try:
            return self._bounded(name, self._bucket.pieces(f"{self._root}/{folder}/{name}"))
        except FileNotFoundError:
            return None


def open_trace(
    uri: str | Path,
    *,
    endpoint_url: str | None = None,
    access_key: SecretStr | None = None,
    secret_key: SecretStr | None = None,
    region: str | None = None,
) -> Trace:
    """Open a run's trace: its folder, or ``s3://bucket/prefix/run_id`` (the rest as for a destination)."""
    text = str(uri)
    if not text.startswith("s3://"):
        return FolderTrace(Path(text).expanduser().absolute())
    from holo_tasks.audit.s3 import Bucket
    from holo_tasks.audit.stores import S3, Destination

    parent, _, run_id = text.rstrip("/").rpartition("/")
    where = Destination.parse(
        parent, endpoint_url=endpoint_url, access_key=access_key, secret_key=secret_key, region=region
    )
    if not isinstance(where, S3) or not run_id:
        raise InvalidUsage(f"{text!r} is not a run's trace: give a folder or s3://BUCKET/PREFIX/RUN")
    try:
        bucket = Bucket(where.place, where.keys, connect_s=3, read_s=20, attempts=3)
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble
    return BucketTrace(bucket, run_id)


def check_chain(records: Iterable[Record]) -> ChainCheck:
    """Check a chain of parsed records; `check_lines` is stricter, it sees the bytes as they were written."""
    return check_lines(rfc8785.dumps(record.model_dump(mode="json")) for record in records)


def check_lines(lines: Iterable[bytes], tell: Callable[[Record], None] | None = None) -> ChainCheck:
    """Go once through a chain and name the first bad record; ``tell`` is given each record that can be read.

    When a link does not fit, either the record before was changed or the link itself was; the link of the record
    after tells which, so one record is looked ahead.
    """
    head, last = FIRST, None
    suspect: int | None = None
    seq = 0
    for seq, line in enumerate(chain(lines, (None,))):
        record = None if line is None else _canonical(line)
        if record is not None and tell is not None:
            tell(record)
        if suspect is not None:
            # The link of `suspect` did not fit. If the next one fits, its own contents are as they were.
            bad = suspect - 1 if line is None or (record is not None and record.previous == head) else suspect
            reason = "was changed, or the link to it was" if line is None else "is not what was written"
            return ChainCheck(seq, max(bad, 0), reason, False, head)
        if line is None:
            break
        if record is None:
            return ChainCheck(seq, seq, "is not a record in canonical form", False, head)
        if record.seq != seq:
            return ChainCheck(seq, seq, f"is missing or out of place: number {record.seq} is here", False, head)
        if record.previous != head:
            if seq == 0:
                return ChainCheck(0, 0, "does not begin a chain", False, head)
            suspect = seq
        head, last = hashlib.sha256(line).hexdigest(), record
    closed = last is not None and last.event.kind == "run_closed"
    return ChainCheck(seq, None, "", closed, head)


def _up_to(most: int, pieces: Iterable[bytes]) -> bytes | None:
    """Put pieces together; None, with the rest unread, if that is more than so many bytes."""
    whole = bytearray()
    for piece in pieces:
        whole += piece
        if len(whole) > most:
            return None
    return bytes(whole)


def _canonical(line: bytes) -> Record | None:
    record = _parsed(line)
    try:
        return record if record and rfc8785.dumps(json.loads(line)) == line else None
    except rfc8785.CanonicalizationError:
        return None


def _parsed(line: bytes) -> Record | None:
    try:
        return Record.model_validate_json(line)
    except pydantic.ValidationError:
        return None

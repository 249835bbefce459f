"""Read a trace from a folder or a bucket, and check its hash chain.

`open_trace` opens any trace. The module shares only the schema in `core.events` with the writer, so that it does not
repeat a mistake of the writer.
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

from holo_tasks.audit.errors import DamagedTrace, StoreTrouble, no_trace_in
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
    """The result of checking a chain. ``closed`` means that the last record ends the run; ``head`` is its digest.

    A changed *last* record is detected only if its contents are invalid, since no later record holds its digest.
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
    """A recorded trace: its records in order, and its pictures and files by name."""

    uri: str

    @abstractmethod
    def lines(self) -> Iterator[bytes]:
        """Yield the records as written, without line ends. A torn last line is left out.

        A line longer than any record is not read. An empty line, which is not a valid record, ends the lines in its
        place.
        """

    @abstractmethod
    def _read_file(self, folder: str, name: str) -> bytes | None:
        """Return the contents of a file in one of the trace's folders, or ``None`` if it does not exist."""

    def records(self, *, subgoal: int | None = None) -> Iterator[Record]:
        """Yield the records one at a time. With ``subgoal``, yield only that sub-goal's.

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
        """Return a picture's bytes. Raises `DamagedTrace` if it is missing or does not match its SHA-256."""
        if len(sha256) == 64 and _HEX.issuperset(sha256):
            for extension in _EXTENSIONS:
                data = self._read_file("frames", f"{sha256}.{extension}")
                if data is not None:
                    if hashlib.sha256(data).hexdigest() != sha256:
                        raise DamagedTrace(f"the picture {sha256} of {self.uri} has been changed")
                    return data
        raise DamagedTrace(f"the picture {sha256[:64]} is not in {self.uri}")

    def file(self, sha256: str) -> bytes:
        """Return the bytes of a kept file. Raises `DamagedTrace` if it is missing or does not match its SHA-256."""
        data = self._read_file("files", sha256) if len(sha256) == 64 and _HEX.issuperset(sha256) else None
        if data is None:
            raise DamagedTrace(f"the file {sha256[:64]} is not in {self.uri}")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise DamagedTrace(f"the file {sha256} of {self.uri} has been changed")
        return data

    def check(self) -> ChainCheck:
        """Check every byte of the chain."""
        return check_lines(self.lines())

    def _bounded(self, name: str, pieces: Iterable[bytes]) -> bytes:
        data = _join_pieces(_LARGEST_PICTURE, pieces)
        if data is None:
            raise DamagedTrace(f"{name} of {self.uri} is larger than any picture or file that is kept")
        return data


class FolderTrace(Trace):
    """A trace in a folder of this machine. The run may still be in progress."""

    def __init__(self, folder: Path) -> None:
        self.uri = str(folder)
        self._folder = folder
        if not (folder / "events.jsonl").is_file():
            raise no_trace_in(folder)

    def lines(self) -> Iterator[bytes]:
        with (self._folder / "events.jsonl").open("rb") as events:
            while line := events.readline(LONGEST_LINE + 1):
                if line.endswith(b"\n"):
                    yield line[:-1]
                elif len(line) > LONGEST_LINE:
                    yield b""
                    return

    def _read_file(self, folder: str, name: str) -> bytes | None:
        path = self._folder / folder / name
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                return self._bounded(name, iter(lambda: file.read(_PIECE), b""))
        except OSError as error:
            raise DamagedTrace(f"{folder}/{name} of {self.uri} cannot be read: {error.strerror}") from error


class BucketTrace(Trace):
    """A trace in a bucket. Each segment of events and each picture is fetched when needed."""

    def __init__(self, bucket: Bucket, run_id: str) -> None:
        self._bucket = bucket
        self._root = bucket.place.key(run_id).rstrip("/")  # ``run_id`` is empty if the prefix is the run's own
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
                continue  # left by a file manager, not part of the trace
            segment = _join_pieces(_LARGEST_SEGMENT, self._bucket.pieces(key))
            if segment is None:
                yield b""
                return
            yield from segment.removesuffix(b"\n").split(b"\n")

    def _read_file(self, folder: str, name: str) -> bytes | None:
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
    addressing_style: str = "",
) -> Trace:
    """Open a run's trace: its folder, or ``s3://bucket/prefix/run_id``. The other arguments are as for a destination.

    Raises `InvalidUsage` if the trace does not exist, or if the bucket refuses.
    """
    text = str(uri)
    if not text.startswith("s3://"):
        return FolderTrace(Path(text).expanduser().absolute())
    from holo_tasks.audit.s3 import Bucket
    from holo_tasks.audit.stores import S3, Destination

    parent, _, run_id = text.rstrip("/").rpartition("/")
    where = Destination.parse(
        parent,
        endpoint_url=endpoint_url,
        access_key=access_key,
        secret_key=secret_key,
        region=region,
        addressing_style=addressing_style,
    )
    if not isinstance(where, S3) or not run_id:
        raise InvalidUsage(f"{text!r} is not a run's trace: give a folder or s3://BUCKET/PREFIX/RUN")
    try:
        bucket = Bucket(where.place, where.keys, connect_s=3, read_s=20, attempts=3)
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble
    return BucketTrace(bucket, run_id)


def check_chain(records: Iterable[Record]) -> ChainCheck:
    """Check a chain of parsed records. `check_lines` is stricter, because it sees the original bytes."""
    return check_lines(rfc8785.dumps(record.model_dump(mode="json")) for record in records)


def check_lines(lines: Iterable[bytes], tell: Callable[[Record], None] | None = None) -> ChainCheck:
    """Check a chain in one pass and name the first bad record. ``tell`` is called with each readable record.

    If a link does not match, either the previous record or the link itself was changed. The next record's link decides,
    so the check looks one record ahead.
    """
    head, last = FIRST, None
    suspect: int | None = None
    seq = 0
    for seq, line in enumerate(chain(lines, (None,))):
        record = None if line is None else _canonical(line)
        if record is not None and tell is not None:
            tell(record)
        if suspect is not None:
            # The link of `suspect` did not match. If the next link does, `suspect` itself is unchanged.
            bad = suspect - 1 if line is None or (record is not None and record.previous == head) else suspect
            reason = "was changed, or the link to it was" if line is None else "was changed after it was written"
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


def _join_pieces(most: int, pieces: Iterable[bytes]) -> bytes | None:
    """Join pieces of bytes. Returns ``None`` once they exceed ``most`` bytes; the rest is not read."""
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

"""Read the lines and pictures of a trace from a folder or a bucket. None are trusted.

`open_bundle` opens a trace for `verify`.
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.audit.errors import StoreTrouble, no_trace_in
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import LONGEST_LINE
from holo_tasks.core.paths import expanded

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket

_PIECE = 1 << 18
_SEGMENT = re.compile(r"([0-9]{8})-([0-9]{8})\.jsonl")
_LARGEST_SEGMENT = LONGEST_LINE + 8_000_000


@dataclass(frozen=True)
class Line:
    """A line without its line end. ``torn`` means that it has none."""

    data: bytes
    torn: bool = False


class BrokenSequence(Exception):
    """The files of a trace do not form one sequence of lines. The message continues the words ``record N``."""


class Bundle(ABC):
    """The files of one trace: ``events.jsonl`` or segments such as ``events/00000000-00000199.jsonl``, ``frames/…``
    and ``files/…``."""

    named_by_run = False
    """Whether the location proves the run's id. A folder may have been renamed."""

    def __init__(self, uri: str, name: str) -> None:
        self.uri = uri
        self.name = name
        self.skipped: set[str] = set()
        """Names of files that a file manager or an S3 console has put among the events."""

    @property
    @abstractmethod
    def in_segments(self) -> bool:
        """Whether the events were uploaded in segments, so that the rest may still be in transit."""

    @abstractmethod
    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of the files in ``events``, ``frames`` or ``files``, in order."""

    @abstractmethod
    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file. Raises `FileNotFoundError` if it does not exist."""

    def lines(self) -> Iterator[Line]:
        """Yield the lines in order. Raises `BrokenSequence` if the segments do not fit together."""
        if self.in_segments:
            yield from self._segments()
        else:
            yield from _split(self.pieces("events.jsonl"))

    def hint(self) -> str:
        """Return where missing or changed objects may still be found, or an empty string."""
        return ""

    def first_line(self) -> bytes:
        try:
            return next(self.lines(), Line(b"")).data
        except BrokenSequence:
            return b""

    def picture(self, name: str) -> str | None:
        """Return the SHA-256 of a picture's bytes, or ``None`` if the file does not exist."""
        return self.digest(f"frames/{name}")

    def digest(self, name: str) -> str | None:
        """Return the SHA-256 of a file's bytes, or ``None`` if the file does not exist."""
        digest = hashlib.sha256()
        try:
            for piece in self.pieces(name):
                digest.update(piece)
        except FileNotFoundError:
            return None
        return digest.hexdigest()

    def _segments(self) -> Iterator[Line]:
        seq = 0
        for name in self.names("events"):
            if name[:1] in ("", "."):
                self.skipped.add(name)
                continue
            found = _SEGMENT.fullmatch(name)
            first, last = (int(found[1]), int(found[2])) if found else (0, -1)
            if last < first:
                raise BrokenSequence(f"is followed by the object {name[:80]!r}, which does not belong to a trace")
            if first != seq:
                raise BrokenSequence(f"is missing: the next object is {name}" if first > seq else f"is also in {name}")
            for line in _split(self._segment(name)):
                if seq > last:
                    raise BrokenSequence(f"does not belong to {name}")
                yield line
                seq += 1
            if seq <= last:
                raise BrokenSequence(f"is missing from {name}")

    def _segment(self, name: str) -> Iterator[bytes]:
        size = 0
        for piece in self.pieces(f"events/{name}"):
            size += len(piece)
            if size > _LARGEST_SEGMENT:
                raise BrokenSequence(f"is in {name}, which is larger than any part of a trace")
            yield piece


class FolderBundle(Bundle):
    """A run's folder, or a downloaded copy of a bucket's objects."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), Path(os.path.realpath(folder)).name if folder.name == ".." else folder.name)
        self._folder = folder
        try:
            self._whole = (folder / "events.jsonl").is_file()
            found = self._whole or any((folder / part).is_dir() for part in ("events", "frames"))
        except OSError as error:
            raise InvalidUsage(f"{folder} cannot be read: {error.strerror}") from error
        if not found:
            raise no_trace_in(folder)

    @property
    def in_segments(self) -> bool:
        return not self._whole

    def names(self, folder: str) -> Iterator[str]:
        path = self._folder / folder
        try:
            yield from sorted(entry.name for entry in path.iterdir()) if path.is_dir() else ()
        except OSError as error:
            raise InvalidUsage(f"{path} cannot be read: {error.strerror}") from error

    def pieces(self, name: str) -> Iterator[bytes]:
        path = self._folder / name
        try:
            if not path.is_file():  # a device or a pipe may never end
                raise FileNotFoundError(name)
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InvalidUsage(f"{path} cannot be read: {error.strerror}") from error


class BucketBundle(Bundle):
    """A run's objects in a bucket. Each is fetched when it is needed."""

    named_by_run = True

    def __init__(self, bucket: Bucket, name: str) -> None:
        self._bucket = bucket
        self._root = bucket.place.key(name)
        super().__init__(f"s3://{bucket.place.bucket}/{self._root}", name)
        if next(iter(self._keys("")), None) is None:
            raise InvalidUsage(f"there is no trace at {self.uri}: it has no events")

    @property
    def in_segments(self) -> bool:
        return True

    def names(self, folder: str) -> Iterator[str]:
        for key in self._keys(folder + "/"):
            yield key.removeprefix(f"{self._root}/{folder}/")

    def pieces(self, name: str) -> Iterator[bytes]:
        try:
            yield from self._bucket.pieces(f"{self._root}/{name}")
        except StoreTrouble as trouble:
            raise InvalidUsage(str(trouble)) from trouble

    def hint(self) -> str:
        hidden = self._bucket.hidden(f"{self._root}/")
        if not hidden:
            return ""
        which = "at least 1000 objects" if hidden >= 1000 else "1 object" if hidden == 1 else f"{hidden} objects"
        return (
            f"the bucket keeps earlier versions of {which} of this run that were deleted or overwritten: list the "
            f"versions below {self._root}/ to see them; retained versions can be restored"
        )

    def _keys(self, prefix: str) -> Iterator[str]:
        try:
            yield from self._bucket.names(f"{self._root}/{prefix}")
        except StoreTrouble as trouble:
            raise InvalidUsage(str(trouble)) from trouble


def open_bundle(uri: str) -> Bundle:
    """Open a run's folder, or ``s3://bucket/prefix/run`` with the AWS settings of the environment."""
    if not uri.startswith("s3://"):
        return FolderBundle(expanded(uri).absolute())
    bucket, name = bucket_at(uri)
    return BucketBundle(bucket, name)


def bucket_at(uri: str) -> tuple[Bucket, str]:
    """Return a connection to the parent of an S3 URI, and the URI's last part. Raises `InvalidUsage`."""
    from holo_tasks.audit.s3 import Bucket
    from holo_tasks.audit.stores import S3, Destination

    parent, _, name = uri.rstrip("/").rpartition("/")
    if not name or parent in ("s3:", "s3:/"):
        raise InvalidUsage(f"{uri!r} is not a run's trace: give a folder or s3://BUCKET/PREFIX/RUN")
    where = Destination.parse(parent)
    assert isinstance(where, S3)
    try:
        return Bucket(where.place, where.keys, connect_s=3, read_s=20, attempts=3), name
    except StoreTrouble as trouble:
        raise InvalidUsage(str(trouble)) from trouble


def _split(pieces: Iterable[bytes]) -> Iterator[Line]:
    """Split bytes into lines. Raises `BrokenSequence` at a line longer than any record, without reading it to its
    end."""
    rest = bytearray()
    try:
        for piece in pieces:
            start = len(rest)
            rest += piece
            while (end := rest.find(b"\n", start)) >= 0:
                yield Line(bytes(rest[:end]))
                del rest[: end + 1]
                start = 0
            if len(rest) > LONGEST_LINE:
                raise BrokenSequence("is longer than any record")
    except FileNotFoundError:
        return
    if rest:
        yield Line(bytes(rest), torn=True)

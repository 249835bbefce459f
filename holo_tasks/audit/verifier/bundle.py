"""A trace as the verifier finds it: the lines and pictures of a folder or a bucket, none of them trusted."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.audit.errors import StoreTrouble
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
    """One line without its end; ``torn`` if it has none."""

    data: bytes
    torn: bool = False


class Misfit(Exception):
    """The files of a trace do not make one sequence of lines; the message goes on after ``record N``."""


class Bundle(ABC):
    """The files of one trace, by name: ``events.jsonl`` or ``events/00000000-00000199.jsonl``…, ``frames/…``,
    ``files/…``."""

    named_by_run = False
    """Whether the place itself says whose trace it is; a folder can have been copied to another name."""

    def __init__(self, uri: str, name: str) -> None:
        self.uri = uri
        self.name = name
        self.skipped: set[str] = set()
        """What a file manager or a bucket's console has put among the events."""

    @property
    @abstractmethod
    def in_segments(self) -> bool:
        """Whether the events were delivered segment by segment, so that the rest may still be on its way."""

    @abstractmethod
    def names(self, folder: str) -> Iterator[str]:
        """The files in ``events``, ``frames`` or ``files``, by name."""

    @abstractmethod
    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a file. Raises FileNotFoundError if there is none."""

    def lines(self) -> Iterator[Line]:
        """The lines in order. Raises `Misfit` where the files do not fit together."""
        if self.in_segments:
            yield from self._segments()
        else:
            yield from _split(self.pieces("events.jsonl"))

    def hint(self) -> str:
        """Where what is missing or wrong may still be found; empty if that is not known."""
        return ""

    def first_line(self) -> bytes:
        try:
            return next(self.lines(), Line(b"")).data
        except Misfit:
            return b""

    def picture(self, name: str) -> str | None:
        """The SHA-256 of a picture's bytes, or None if there is no such file."""
        return self.digest(f"frames/{name}")

    def digest(self, name: str) -> str | None:
        """The SHA-256 of a file's bytes, or None if there is no such file."""
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
                raise Misfit(f"is followed by the object {name[:80]!r}, which does not belong to a trace")
            if first != seq:
                raise Misfit(f"is missing: the next object is {name}" if first > seq else f"is also in {name}")
            for line in _split(self._segment(name)):
                if seq > last:
                    raise Misfit(f"does not belong to {name}")
                yield line
                seq += 1
            if seq <= last:
                raise Misfit(f"is missing from {name}")

    def _segment(self, name: str) -> Iterator[bytes]:
        size = 0
        for piece in self.pieces(f"events/{name}"):
            size += len(piece)
            if size > _LARGEST_SEGMENT:
                raise Misfit(f"is in {name}, which is larger than any part of a trace")
            yield piece


class FolderBundle(Bundle):
    """A run's folder, or a copy of what is in a bucket."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), Path(os.path.realpath(folder)).name if folder.name == ".." else folder.name)
        self._folder = folder
        try:
            self._whole = (folder / "events.jsonl").is_file()
            found = self._whole or any((folder / part).is_dir() for part in ("events", "frames"))
        except OSError as error:
            raise InvalidUsage(f"{folder} cannot be read: {error.strerror}") from error
        if not found:
            raise InvalidUsage(f"there is no trace in {folder}: it has no events.jsonl")

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
            if not path.is_file():  # a device or a pipe might never end
                raise FileNotFoundError(name)
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InvalidUsage(f"{path} cannot be read: {error.strerror}") from error


class BucketBundle(Bundle):
    """A run's objects; each is fetched when it is its turn."""

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
            f"the bucket keeps earlier versions of {which} of this run, deleted or written over since: a list of the "
            f"versions below {self._root}/ shows them, and what is retained can be restored"
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
    """A connection to the place above the last part of an S3 URI, and that last part."""
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
    """Cut bytes into lines; what is longer than any record is not read to its end."""
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
                raise Misfit("is longer than any record")
    except FileNotFoundError:
        return
    if rest:
        yield Line(bytes(rest), torn=True)

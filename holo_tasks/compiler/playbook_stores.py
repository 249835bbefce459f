"""Store learned playbooks in a folder of this machine or in a bucket. An existing file is never overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holo_tasks.audit.errors import StoreAway, StoreTrouble
from holo_tasks.audit.stores import S3, Destination
from holo_tasks.audit.trace import write_durably
from holo_tasks.core.errors import InvalidUsage, Unavailable
from holo_tasks.core.paths import expanded
from holo_tasks.machine.private import make_private

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket


class PlaybookStore(Protocol):
    """A store for files in named folders. Raises `InvalidUsage` or `Unavailable` if an operation fails."""

    def folders(self) -> list[str]: ...

    def names(self, folder: str) -> list[str]:
        """Return the sorted names in a folder. Returns an empty list if the folder does not exist."""
        ...

    def read(self, folder: str, name: str) -> bytes: ...

    def put(self, folder: str, name: str, data: bytes) -> None:
        """Write a file completely or not at all. An existing file with the same bytes is accepted."""
        ...


def store_at(place: str | Path) -> PlaybookStore:
    """Return the shelf at ``/some/folder`` or ``s3://bucket/prefix``, with the AWS settings of the environment."""
    text = str(place)
    if not text.strip():
        raise InvalidUsage("Name the place for learned playbooks: a folder or s3://BUCKET/PREFIX.")
    if text.startswith("s3://"):
        return BucketStore(text.rstrip("/"))
    return FolderStore(expanded(text).absolute())


@dataclass(frozen=True)
class FolderStore:
    """A folder that only this user may use."""

    path: Path

    def folders(self) -> list[str]:
        return self._named(lambda: (entry.name for entry in self.path.iterdir() if entry.is_dir()))

    def names(self, folder: str) -> list[str]:
        return self._named(lambda: (entry.name for entry in (self.path / folder).iterdir() if entry.name[0] != "."))

    def _named(self, found: _Names) -> list[str]:
        try:
            return sorted(found())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._trouble(error) from error

    def read(self, folder: str, name: str) -> bytes:
        try:
            return (self.path / folder / name).read_bytes()
        except OSError as error:
            raise self._trouble(error) from error

    def put(self, folder: str, name: str, data: bytes) -> None:
        path = self.path / folder / name
        part = path.with_name(f".{name}.{os.getpid()}.part")
        try:
            make_private(path.parent)
            write_durably(path, data, part=part)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> InvalidUsage:
        return InvalidUsage(f"Learned playbooks cannot be kept in {self.path}: {error.strerror or error}.")


@dataclass(frozen=True)
class BucketStore:
    """A prefix of a bucket. Writes are conditional, so an existing object is never overwritten."""

    uri: str

    def folders(self) -> list[str]:
        with _opened(self.uri) as bucket:
            return sorted(bucket.folders(bucket.place.key("")))

    def names(self, folder: str) -> list[str]:
        with _opened(self.uri) as bucket:
            start = bucket.place.key(folder, "")
            return sorted(key.removeprefix(start) for key in bucket.names(start))

    def read(self, folder: str, name: str) -> bytes:
        with _opened(self.uri) as bucket:
            return bucket.get(bucket.place.key(folder, name))

    def put(self, folder: str, name: str, data: bytes) -> None:
        with _opened(self.uri) as bucket:
            bucket.put_once(bucket.place.key(folder, name), data, retain=False)


@contextmanager
def _opened(uri: str) -> Iterator[Bucket]:
    """Yield a connection to a bucket. Errors of the store become `InvalidUsage` or `Unavailable`."""
    from holo_tasks.audit.s3 import Bucket

    where = Destination.parse(uri)
    assert isinstance(where, S3)
    try:
        bucket = Bucket(where.place, where.keys, connect_s=3, read_s=20)
        try:
            yield bucket
        finally:
            bucket.close()
    except FileNotFoundError as error:
        raise InvalidUsage(f"{error} no longer exists.") from error
    except StoreAway as trouble:
        raise Unavailable(f"Learned playbooks in {uri} cannot be reached: {trouble}.") from trouble
    except StoreTrouble as trouble:
        raise InvalidUsage(f"Learned playbooks cannot be kept in {uri}: {trouble}.") from trouble


class _Names(Protocol):
    def __call__(self) -> Iterable[str]: ...

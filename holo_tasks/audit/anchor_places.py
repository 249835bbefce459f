"""Store anchored heads of traces: in a file of the home folder, and in the place that ``HOLO_ANCHORS`` names.

`anchor_places` returns both for a run. `Anchoring` writes to them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.audit.anchors import AnchorPlace
from holo_tasks.audit.bucket_address import BucketAddress, retain_days
from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import Anchor
from holo_tasks.core.extras import require_extra
from holo_tasks.core.paths import expanded
from holo_tasks.machine.private import make_private, private_file

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Bucket

ANCHORS_VARIABLE = "HOLO_ANCHORS"


@dataclass(frozen=True)
class AnchorFile:
    """A file of anchors for all runs of a home, or of several homes. Lines are only appended."""

    path: Path
    own: bool = False
    """Whether it is the home's own file, which is made private. Any other file may be shared by several users."""

    @property
    def location(self) -> str:
        return str(self.path)

    def put(self, anchor: Anchor, line: bytes) -> None:
        make_private(self.path.parent)
        if self.own or not self.path.exists():
            private_file(self.path)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # a process was killed while it wrote a line
            left = memoryview(line + b"\n")
            while left:
                left = left[os.write(descriptor, left) :]
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


class AnchorBucket:
    """A bucket with one object for each head. Best if this machine may add objects but not delete them."""

    def __init__(self, place: Place, keys: Keys) -> None:
        require_extra("s3", "boto3", "A bucket")
        self._place, self._keys = place, keys
        self._bucket: Bucket | None = None

    @property
    def location(self) -> str:
        return self._place.uri

    def put(self, anchor: Anchor, line: bytes) -> None:
        from holo_tasks.audit.s3 import Bucket

        if self._bucket is None:
            self._bucket = Bucket(self._place, self._keys, connect_s=2, read_s=5, attempts=1)
        self._bucket.put_once(
            self._place.key(anchor.run, f"{anchor.seq:08d}-{anchor.delivered:08d}-{anchor.head[:16]}.json"),
            line + b"\n",
        )


def anchor_file(home: Path) -> Path:
    """Return the file in which the heads of a home's runs are always recorded."""
    return home.absolute() / "anchors.jsonl"


def named_anchors(environ: Mapping[str, str] | None = None) -> str:
    """Return the place that ``HOLO_ANCHORS`` names: ``s3://BUCKET/PREFIX``, a file's absolute path, or an empty string.

    Raises `InvalidUsage` if it names a folder or no valid bucket.
    """
    named = (os.environ if environ is None else environ).get(ANCHORS_VARIABLE, "").strip()
    if not named:
        return ""
    if "://" in named:
        BucketAddress.parse(named)
        return named
    path = expanded(named).absolute()
    try:
        folder = path.is_dir()
    except OSError as error:
        raise InvalidUsage(f"{ANCHORS_VARIABLE} names {path}: {error.strerror}") from error
    if folder:
        raise InvalidUsage(f"{ANCHORS_VARIABLE} names a folder, {path}: name a file, or s3://BUCKET/PREFIX")
    return str(path)


def anchor_places(home: Path, environ: Mapping[str, str] | None = None) -> list[AnchorPlace]:
    """Return the home's own file and the place that ``HOLO_ANCHORS`` names, if it is set."""
    env = os.environ if environ is None else environ
    own = AnchorFile(anchor_file(home), own=True)
    named = named_anchors(env)
    if not named:
        return [own]
    if "://" in named:
        where = BucketAddress.parse(named, retain_days=retain_days(env))
        return [own, AnchorBucket(where.place, where.keys)]
    path = Path(named)
    return [own] if path == own.path else [own, AnchorFile(path)]

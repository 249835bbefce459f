"""Define destinations of evidence: a folder of this machine, or a bucket that is reached through a local spool.

`Destination.parse` returns a `Folder` or an `S3`; their ``open`` returns the recorder of a run.
"""

from __future__ import annotations

import errno
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import SecretStr

from holo_tasks.audit.anchor_places import anchor_places
from holo_tasks.audit.anchors import Anchoring
from holo_tasks.audit.bucket_address import BucketAddress
from holo_tasks.audit.errors import StoreAway, StoreTrouble
from holo_tasks.audit.keys import signing_key
from holo_tasks.audit.recorder import TraceRecorder
from holo_tasks.audit.trace import LocalTrace, checked_run_id
from holo_tasks.core.errors import HoloError, InvalidUsage, Unavailable
from holo_tasks.machine.private import make_private, private_folder

MOUNT_AWAY = frozenset({errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH})
"""Error numbers of a network folder whose server is unreachable."""


class Destination(ABC):
    """A place for the evidence of many runs. Each run gets its own folder or key prefix."""

    @staticmethod
    def parse(
        text: str,
        *,
        endpoint_url: str | None = None,
        access_key: SecretStr | str | None = None,
        secret_key: SecretStr | str | None = None,
        region: str | None = None,
        retain_days: int = 0,
        addressing_style: str = "",
    ) -> Destination:
        """Parse a folder such as ``/some/dir``, or ``s3://bucket/prefix``. Raises `InvalidUsage`.

        The other arguments are for S3; their defaults come from the standard AWS variables. ``retain_days`` uses object
        lock: for that time, no user can delete or change a written object. ``addressing_style`` is "path" or "virtual";
        empty is the value of ``HOLO_AUDIT_ADDRESSING_STYLE``, else "path".
        """
        if not text.strip():
            raise InvalidUsage("the audit destination is empty: give a folder or s3://BUCKET/PREFIX")
        if "://" not in text:
            return Folder(Path(text).expanduser().absolute())
        return S3.parse(
            text,
            endpoint_url=endpoint_url,
            access_key=access_key,
            secret_key=secret_key,
            region=region,
            retain_days=retain_days,
            addressing_style=addressing_style,
        )

    def kept_here(self) -> Destination:
        """Return this destination for local-only mode. Raises `InvalidUsage`, before any data is sent, if it is
        another machine."""
        return self

    @abstractmethod
    def check(self) -> None:
        """Raise within about five seconds if evidence cannot be written there.

        Raises `Unavailable` if that may change later, else `InvalidUsage`.
        """

    @abstractmethod
    def open(self, run_id: str, *, home: Path) -> TraceRecorder:
        """Start recording a run. ``home`` is the folder of local state (``HOLO_HOME``)."""


@dataclass(frozen=True)
class Folder(Destination):
    """A folder of this machine that keeps the evidence."""

    path: Path

    def check(self) -> None:
        try:
            make_private(self.path)
            with tempfile.TemporaryFile(dir=self.path) as probe:
                probe.write(bytes(4096))
                probe.flush()
        except OSError as error:
            kind = Unavailable if error.errno in MOUNT_AWAY else InvalidUsage
            raise kind(f"evidence cannot be written to {self.path}: {error.strerror}") from error

    def open(self, run_id: str, *, home: Path) -> TraceRecorder:
        if self.path == (home / "runs").absolute():
            private_folder(home, "runs")  # an earlier version created it readable for all users
        key = signing_key(home)
        places = anchor_places(home)
        trace = LocalTrace.open(self.path, run_id, key)
        return TraceRecorder(trace, anchoring=Anchoring(run_id, key, places))


@dataclass(frozen=True)
class S3(BucketAddress, Destination):
    """A bucket. Evidence is durable in ``<home>/spool/<run_id>`` first and is uploaded in the background."""

    def kept_here(self) -> S3:
        from holo_tasks.audit.s3 import Bucket

        here = replace(self, local_only=True)
        try:
            Bucket(here.place, here.keys).close()
        except StoreTrouble as trouble:
            raise InvalidUsage(str(trouble)) from trouble
        return here

    def check(self) -> None:
        from holo_tasks.audit.s3 import Bucket

        try:
            bucket = Bucket(self.place, self.keys, connect_s=2, read_s=3, attempts=1)
            try:
                bucket.check()
            finally:
                bucket.close()
        except StoreAway as trouble:
            raise Unavailable(str(trouble)) from trouble
        except StoreTrouble as trouble:
            raise InvalidUsage(str(trouble)) from trouble

    def open(self, run_id: str, *, home: Path) -> TraceRecorder:
        from holo_tasks.audit.resume import Leftovers
        from holo_tasks.audit.spool import Spool, spool_root
        from holo_tasks.audit.uploader import Uploader

        place, keys = self.place, self.keys
        spool = Spool.create(home, checked_run_id(run_id), place)
        try:
            key = signing_key(home)
            places = anchor_places(home)
            trace = LocalTrace.open(spool_root(home), run_id, key)
        except HoloError:
            spool.release()
            raise
        helper = Leftovers(home, place, keys)
        uploader = Uploader(spool, keys, seq=trace.seq, end=trace.end, helper=helper)
        uploader.start()
        return TraceRecorder(trace, uploader, Anchoring(run_id, key, places))

"""Where evidence finally goes: a folder of this machine, or a bucket by way of a local spool."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from holo_tasks.audit.anchoring import Anchoring, anchor_places
from holo_tasks.audit.errors import StoreAway, StoreTrouble
from holo_tasks.audit.keys import signing_key
from holo_tasks.audit.recorder import TraceRecorder
from holo_tasks.audit.trace import LocalTrace, checked_run_id
from holo_tasks.core.errors import HoloError, InvalidUsage, Unavailable
from holo_tasks.machine.private import make_private, private_folder

if TYPE_CHECKING:
    from holo_tasks.audit.s3 import Keys, Place

RETAIN_VARIABLE = "HOLO_AUDIT_RETAIN_DAYS"
MOST_DAYS = 36_500
MOUNT_AWAY = frozenset({errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH})
"""What a folder of another machine says while that cannot be reached."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class Destination(ABC):
    """A place for the evidence of many runs; each run has its own folder or key prefix in it."""

    @staticmethod
    def parse(
        text: str,
        *,
        endpoint_url: str | None = None,
        access_key: SecretStr | str | None = None,
        secret_key: SecretStr | str | None = None,
        region: str | None = None,
        retain_days: int = 0,
    ) -> Destination:
        """Read ``/some/dir`` or ``s3://bucket/prefix``.

        The rest is for S3; what is not given comes from the standard AWS variables. ``retain_days`` asks for object
        lock: what is written can be deleted or changed by nobody for so long.
        """
        if not text.strip():
            raise InvalidUsage("the audit destination is empty: give a folder or s3://BUCKET/PREFIX")
        scheme, separator, rest = text.partition("://")
        if not separator:
            return Folder(Path(text).expanduser().absolute())
        bucket, _, prefix = rest.partition("/")
        parts = [part for part in prefix.split("/") if part]
        if scheme != "s3" or not _BUCKET.fullmatch(bucket) or {".", ".."} & set(parts):
            raise InvalidUsage(f"{text!r} is no audit destination: give a folder or s3://BUCKET/PREFIX")
        if bool(access_key) != bool(secret_key):
            raise InvalidUsage(f"the credentials for {text} are incomplete: give both keys or neither")
        return S3(
            bucket,
            "/".join(parts),
            endpoint_url or None,
            region or None,
            _secret(access_key),
            _secret(secret_key),
            checked_days(retain_days),
        )

    def kept_here(self) -> Destination:
        """Return this place in local-only mode; raise `InvalidUsage`, before a byte is sent, if it is elsewhere."""
        return self

    @abstractmethod
    def check(self) -> None:
        """Raise at once, within some five seconds, if evidence cannot go there: `Unavailable` if it may be able later,
        else `InvalidUsage`.
        """

    @abstractmethod
    def open(self, run_id: str, *, home: Path) -> TraceRecorder:
        """Begin to record a run. ``home`` is where local state lives (``HOLO_HOME``)."""


@dataclass(frozen=True)
class Folder(Destination):
    """Evidence stays in a folder of this machine."""

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
            private_folder(home, "runs")  # a version before this one made it for everybody
        key = signing_key(home)
        places = anchor_places(home)
        trace = LocalTrace.open(self.path, run_id, key)
        return TraceRecorder(trace, anchoring=Anchoring(run_id, key, places))


@dataclass(frozen=True)
class S3(Destination):
    """Evidence goes to a bucket in the background; it is durable in ``<home>/spool/<run_id>`` first."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    access_key: SecretStr | None = field(default=None, repr=False)
    secret_key: SecretStr | None = field(default=None, repr=False)
    retain_days: int = 0
    local_only: bool = False

    @property
    def place(self) -> Place:
        """Bucket, prefix and the endpoint in force, without credentials."""
        from holo_tasks.audit.s3 import Place

        endpoint = (
            self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None
        )
        return Place(self.bucket, self.prefix, endpoint, self.region, self.local_only, self.retain_days)

    @property
    def keys(self) -> Keys:
        from holo_tasks.audit.s3 import Keys

        return Keys(self.access_key, self.secret_key)

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


def checked_days(days: int | str, where: str = "the retention of the evidence") -> int:
    """Give a number of days back if something can be retained for so long; none is 0."""
    text = str(days).strip() or "0"
    if not text.isdecimal() or not 0 <= int(text[:9]) <= MOST_DAYS:
        raise InvalidUsage(f"{where} must be from 1 to {MOST_DAYS} days, or 0 for none, not {text[:40]!r}")
    return int(text)


def retain_days(environ: Mapping[str, str]) -> int:
    """For how many days the environment wants evidence in a bucket kept from being changed or deleted."""
    return checked_days(environ.get(RETAIN_VARIABLE, ""), RETAIN_VARIABLE)


def _secret(value: SecretStr | str | None) -> SecretStr | None:
    if isinstance(value, str):
        return SecretStr(value) if value else None
    return value

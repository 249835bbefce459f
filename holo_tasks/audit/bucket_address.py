"""Parse and hold the address of a bucket, its credentials and its retention, without connecting to it.

`stores.S3` and `anchor_places` use `BucketAddress`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from pydantic import SecretStr

from holo_tasks.audit.bucket_places import Keys, Place
from holo_tasks.core.errors import InvalidUsage

RETAIN_VARIABLE = "HOLO_AUDIT_RETAIN_DAYS"
STYLE_VARIABLE = "HOLO_AUDIT_ADDRESSING_STYLE"
MAX_DAYS = 36_500
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class BucketAddress:
    """A bucket and a prefix. Fields that are ``None`` fall back to the standard AWS environment variables."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    access_key: SecretStr | None = field(default=None, repr=False)
    secret_key: SecretStr | None = field(default=None, repr=False)
    retain_days: int = 0
    local_only: bool = False
    addressing_style: str = ""

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        endpoint_url: str | None = None,
        access_key: SecretStr | str | None = None,
        secret_key: SecretStr | str | None = None,
        region: str | None = None,
        retain_days: int = 0,
        addressing_style: str = "",
    ) -> Self:
        """Parse ``s3://bucket/prefix``. Raises `InvalidUsage` for any other text, or if only one of the keys is
        given."""
        scheme, _, rest = text.partition("://")
        bucket, _, prefix = rest.partition("/")
        parts = [part for part in prefix.split("/") if part]
        if scheme != "s3" or not _BUCKET.fullmatch(bucket) or {".", ".."} & set(parts):
            raise InvalidUsage(f"{text!r} is not an audit destination: give a folder or s3://BUCKET/PREFIX")
        if bool(access_key) != bool(secret_key):
            raise InvalidUsage(f"the credentials for {text} are incomplete: give both keys or neither")
        return cls(
            bucket,
            "/".join(parts),
            endpoint_url or None,
            region or None,
            _secret(access_key),
            _secret(secret_key),
            checked_days(retain_days),
            addressing_style=addressing_style,
        )

    @property
    def place(self) -> Place:
        """Bucket, prefix and the endpoint in use, without credentials."""
        endpoint = (
            self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None
        )
        style = self.addressing_style or os.environ.get(STYLE_VARIABLE) or "path"
        if style not in ("path", "virtual"):
            raise InvalidUsage(f"the addressing style of {self.bucket!r} is 'path' or 'virtual', not {style[:40]!r}")
        return Place(self.bucket, self.prefix, endpoint, self.region, self.local_only, self.retain_days, style)

    @property
    def keys(self) -> Keys:
        return Keys(self.access_key, self.secret_key)


def checked_days(days: int | str, where: str = "the retention of the evidence") -> int:
    """Return a retention in days as a number, 0 for none. Raises `InvalidUsage` if it is out of range."""
    text = str(days).strip() or "0"
    if not text.isdecimal() or not 0 <= int(text[:9]) <= MAX_DAYS:
        raise InvalidUsage(f"{where} must be from 1 to {MAX_DAYS} days, or 0 for none, not {text[:40]!r}")
    return int(text)


def retain_days(environ: Mapping[str, str]) -> int:
    """Return for how many days the environment asks to lock objects in a bucket (``HOLO_AUDIT_RETAIN_DAYS``)."""
    return checked_days(environ.get(RETAIN_VARIABLE, ""), RETAIN_VARIABLE)


def _secret(value: SecretStr | str | None) -> SecretStr | None:
    if isinstance(value, str):
        return SecretStr(value) if value else None
    return value

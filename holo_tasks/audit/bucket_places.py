"""Values about a bucket: a place in it, its credentials, and an object in its listing. They need no boto3."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr


@dataclass(frozen=True)
class Place:
    """A prefix in a bucket. It holds no credentials, so it may be written to disk."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    local_only: bool = False
    retain_days: int = 0
    """Days for which no user, not even the bucket's owner, can change or delete a new object. 0 uses the bucket's own
    default. It is part of the place, so that a resumed upload uses it as well."""
    addressing_style: str = "path"
    """"path" or "virtual": the position of the bucket's name in addresses."""

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def server(self) -> str:
        return self.endpoint_url or "the S3 service"

    def key(self, *parts: str) -> str:
        """Return the key of an object below the prefix."""
        return "/".join((self.prefix, *parts) if self.prefix else parts)


@dataclass(frozen=True)
class Listed:
    """An object in a listing. ``etag`` is the MD5 digest if the object was put in one piece and is not encrypted."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class Keys:
    """S3 credentials. Without them, the standard AWS sources are used (environment, profile, role)."""

    access_key: SecretStr | None = None
    secret_key: SecretStr | None = None

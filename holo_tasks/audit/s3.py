"""A bucket as evidence needs it: put each object once, read it back, and say plainly what is wrong.

boto3 takes a third of a second to import, so only code that talks to a bucket imports this file.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import botocore.exceptions as aws
import botocore.session
from botocore.config import Config
from botocore.loaders import Loader
from pydantic import SecretStr

from holo_tasks.audit.errors import ForeignObject, StoreAway, StoreRefused, StoreTrouble
from holo_tasks.core.this_machine import NotThisMachine, pinned_url, switched_on

_PIECE = 1 << 18
_PROBE = ".holo-tasks-may-read"
_RIGHTS = "s3:PutObject, s3:GetObject and s3:ListBucket"
_WRONG_KEYS = {
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidClientTokenId",
    "ExpiredToken",
    "InvalidToken",
    "AuthorizationHeaderMalformed",
}
_CONTENT_TYPES = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "jsonl": "application/x-ndjson",
}


_KEYS_AT_HAND = ("env", "shared-credentials-file", "config-file")


@dataclass(frozen=True)
class Place:
    """Where in which bucket. Holds no credentials, so it may be written down."""

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    local_only: bool = False
    retain_days: int = 0
    """For so many days nobody, not even the bucket's owner, can change or delete what is put there (0: as the bucket
    does it by itself). Kept here so that whoever resumes an upload keeps to it."""

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def server(self) -> str:
        return self.endpoint_url or "the S3 service"

    def key(self, *parts: str) -> str:
        """The key of an object below the prefix."""
        return "/".join((self.prefix, *parts) if self.prefix else parts)


@dataclass(frozen=True)
class Listed:
    """An object as a bucket lists it. Of one that was put at once, unencrypted, ``etag`` is the MD5 digest."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class Keys:
    """S3 credentials; without them the standard AWS places are searched (environment, profile, role)."""

    access_key: SecretStr | None = None
    secret_key: SecretStr | None = None


class Bucket:
    """A connection to one place in one bucket. Several threads may use it."""

    def __init__(self, place: Place, keys: Keys, *, connect_s: float = 5, read_s: float = 20, attempts: int = 2):
        self.place = place
        local_only = place.local_only or switched_on(os.environ)
        endpoint = _on_this_machine(place) if local_only else place.endpoint_url
        config = Config(
            proxies={} if local_only else None,
            connect_timeout=connect_s,
            read_timeout=read_s,
            retries={"mode": "standard", "total_max_attempts": attempts},
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        try:
            session = boto3.Session(
                aws_access_key_id=keys.access_key.get_secret_value() if keys.access_key else None,
                aws_secret_access_key=keys.secret_key.get_secret_value() if keys.secret_key else None,
                region_name=place.region or os.environ.get("AWS_REGION"),
                botocore_session=_session(local_only),
            )
            self._client: Any = session.client(
                "s3",
                endpoint_url=endpoint,
                region_name=session.region_name or "us-east-1",
                config=config,
            )
        except ValueError as error:
            raise StoreRefused(f"{place.endpoint_url!r} is not an S3 endpoint: {_flat(error)}") from error
        except aws.BotoCoreError as error:
            raise _explained(error, place) from error

    def close(self) -> None:
        """Drop the connections."""
        self._client.close()

    def check(self) -> None:
        """Raise unless the bucket is there, and these credentials may look for what they put there.

        Nothing is written. The only other copy is thrown away after a look (`arrival`): credentials that may only
        write would never deliver anything, and that is better known before a run than after.
        """
        probe = self.place.key(_PROBE)
        try:
            self._client.list_objects_v2(Bucket=self.place.bucket, Prefix=probe, MaxKeys=1)
            self._client.head_object(Bucket=self.place.bucket, Key=probe)
        except aws.ClientError as error:
            # There is no such object: who may read and list is told so.
            if error.operation_name != "HeadObject" or _status(error) in (401, 403):
                raise _explained(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error
        if self.place.retain_days:
            self._check_object_lock()

    def _check_object_lock(self) -> None:
        try:
            found = self._client.get_object_lock_configuration(Bucket=self.place.bucket)
        except aws.ClientError as error:
            if _code(error) == "AccessDenied":
                raise StoreRefused(
                    f"the credentials may not read whether {self.place.bucket!r} has object lock: grant"
                    " s3:GetBucketObjectLockConfiguration and s3:PutObjectRetention, or set no retention"
                ) from error
            if _status(error) >= 500 or _code(error) in _WRONG_KEYS | {"NoSuchBucket"}:
                raise _explained(error, self.place) from error
            found = {}
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error
        if found.get("ObjectLockConfiguration", {}).get("ObjectLockEnabled") != "Enabled":
            raise StoreRefused(
                f"the bucket {self.place.bucket!r} has no object lock, so nothing in it can be retained for"
                f" {self.place.retain_days} days: use a bucket that was made with object lock, or set no retention"
            )

    def put_once(self, key: str, data: bytes, *, retain: bool = True) -> None:
        """Write an object that must not exist yet; finding our own bytes there is as good.

        It is retained as the place says, unless it is no evidence. The mode is COMPLIANCE: GOVERNANCE can be lifted
        by whoever has the right to, and evidence should not depend on who that is.

        A conditional put whose reply was lost is sent again by boto3 and then fails with 412,
        so 412 means: look.
        """
        digest = hashlib.sha256(data)
        try:
            self._client.put_object(
                Bucket=self.place.bucket,
                Key=key,
                Body=data,
                IfNoneMatch="*",
                ContentType=_CONTENT_TYPES.get(key.rpartition(".")[2], "application/octet-stream"),
                ChecksumSHA256=base64.b64encode(digest.digest()).decode(),
                **(self._retention() if retain else {}),
            )
        except aws.ClientError as error:
            if _code(error) not in ("PreconditionFailed", "412"):
                raise _explained(error, self.place) from error
            if hashlib.sha256(self.get(key)).digest() != digest.digest():
                raise self.foreign(key) from error
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error

    def foreign(self, key: str) -> ForeignObject:
        """Say that an object is not what was put there."""
        return ForeignObject(
            f"s3://{self.place.bucket}/{key} exists already with other contents: nothing was overwritten"
        )

    def digest(self, key: str) -> str:
        """The SHA-256 of an object: what the server was told when it was put, else of all its bytes; empty if gone."""
        try:
            answer = self._client.head_object(Bucket=self.place.bucket, Key=key, ChecksumMode="ENABLED")
        except aws.ClientError as error:
            if _status(error) == 404:
                return ""
            raise _explained(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error
        if kept := answer.get("ChecksumSHA256"):
            return base64.b64decode(kept).hex()
        digest = hashlib.sha256()
        try:
            for piece in self.pieces(key):
                digest.update(piece)
        except FileNotFoundError:
            return ""
        return digest.hexdigest()

    def _retention(self) -> dict[str, Any]:
        if not self.place.retain_days:
            return {}
        until = datetime.now(UTC) + timedelta(days=self.place.retain_days)
        return {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": until}

    def get(self, key: str) -> bytes:
        """Read an object. Raises FileNotFoundError if there is none."""
        return b"".join(self.pieces(key))

    def pieces(self, key: str) -> Iterator[bytes]:
        """Read an object piece by piece. Raises FileNotFoundError if there is none."""
        try:
            answer = self._client.get_object(Bucket=self.place.bucket, Key=key)
            with contextlib.closing(answer["Body"]) as body:
                yield from body.iter_chunks(_PIECE)
        except aws.ClientError as error:
            if _code(error) in ("NoSuchKey", "404"):
                raise FileNotFoundError(f"s3://{self.place.bucket}/{key}") from error
            raise _explained(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error

    def discard(self, key: str) -> bool:
        """Delete an object that is no evidence; say whether that is allowed here."""
        try:
            self._client.delete_object(Bucket=self.place.bucket, Key=key)
        except aws.ClientError as error:
            if _status(error) in (401, 403, 405):
                return False
            raise _explained(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explained(error, self.place) from error
        return True

    def names(self, prefix: str) -> Iterator[str]:
        """The keys below a prefix, in the order of their bytes."""
        return (found.key for found in self.objects(prefix))

    def objects(self, prefix: str) -> Iterator[Listed]:
        """What is below a prefix, in the order of the bytes of the keys.

        Empty objects named like folders are passed over: consoles make them, and nothing of ours is named so.
        """
        try:
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=prefix):
                for found in page.get("Contents", ()):
                    if found["Size"] or not found["Key"].endswith("/"):
                        yield Listed(found["Key"], found["Size"], found.get("ETag", "").strip('"'))
        except (aws.ClientError, aws.BotoCoreError) as error:
            raise _explained(error, self.place) from error
        except (ValueError, TypeError, KeyError) as error:  # boto3 reads numbers as they come
            raise StoreAway(
                f"{self.place.server} lists {self.place.uri} in a way that cannot be read: it is asked again"
            ) from error

    def hidden(self, prefix: str) -> int:
        """How many objects below a prefix were deleted, or written over, in a bucket that keeps their versions.

        Of the first thousand; 0 also where nobody may see it.
        """
        try:
            found = self._client.list_object_versions(Bucket=self.place.bucket, Prefix=prefix)
        except (aws.ClientError, aws.BotoCoreError):
            return 0
        return len({old["Key"] for old in found.get("Versions", ()) if not old.get("IsLatest")})

    def folders(self, prefix: str) -> Iterator[str]:
        """The names of what looks like folders right below a prefix that ends in a slash, or is empty."""
        try:
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=prefix, Delimiter="/"):
                for found in page.get("CommonPrefixes", ()):
                    yield found["Prefix"].removeprefix(prefix).rstrip("/")
        except (aws.ClientError, aws.BotoCoreError) as error:
            raise _explained(error, self.place) from error


def _on_this_machine(place: Place) -> str:
    """Return the endpoint by its loopback address. Without an endpoint a bucket is Amazon's."""
    try:
        if place.endpoint_url:
            return pinned_url(place.endpoint_url, socket.getaddrinfo, f"the bucket {place.uri}")
    except NotThisMachine as refused:
        raise StoreRefused(str(refused)) from refused
    raise StoreRefused(
        f"Local-only mode is on, and the bucket {place.uri} is Amazon's, for it has no endpoint: nothing was sent. "
        "Keep the evidence in a folder, or set AWS_ENDPOINT_URL to a server on this machine."
    )


class _Models(Loader):  # type: ignore[misc]
    """Reads what botocore knows of S3, once for all connections of a process: it is half a megabyte of JSON."""

    @property
    def search_paths(self) -> list[str]:
        # Each session of boto3 adds a folder of what is not used here.
        return list(super().search_paths)


@functools.cache
def _models(folders: str | None) -> _Models:
    found = [os.path.expanduser(folder) for folder in folders.split(os.pathsep)] if folders else None  # noqa: PTH111
    return _Models(extra_search_paths=found)


def _session(local_only: bool) -> botocore.session.Session:
    """Return a session; a local one looks for credentials in the environment and in files, and asks no server."""
    session = botocore.session.Session()
    session.register_component("data_loader", _models(session.get_config_variable("data_path")))
    if local_only:
        chain = session.get_component("credential_provider")
        chain.providers = [provider for provider in chain.providers if provider.METHOD in _KEYS_AT_HAND]
    return session


def _code(error: aws.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: aws.ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _explained(error: aws.ClientError | aws.BotoCoreError, place: Place) -> StoreTrouble:
    if isinstance(error, aws.ClientError):
        return _answered(error, place)
    if isinstance(error, (aws.NoCredentialsError, aws.PartialCredentialsError, aws.ProfileNotFound)):
        return StoreRefused(
            f"there are no credentials for {place.uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
            " or fill in the AuditBucket block"
        )
    if isinstance(error, (aws.HTTPClientError, aws.ConnectionError, aws.ResponseStreamingError)):
        return StoreAway(f"the S3 endpoint {place.server} cannot be reached: check its address and that it is running")
    return StoreRefused(f"{place.uri} cannot be used: {_flat(error)}")


def _answered(error: aws.ClientError, place: Place) -> StoreTrouble:
    code = _code(error)
    status = _status(error)
    if code == "NoSuchBucket" or (code == "404" and error.operation_name == "HeadBucket"):
        return StoreRefused(
            f"the bucket {place.bucket!r} does not exist at {place.server}: create it, or name another one"
        )
    if code in _WRONG_KEYS:
        return StoreRefused(f"{place.server} refuses the credentials for {place.uri} ({code}): check the keys")
    if status in (401, 403) and error.operation_name.startswith("List"):
        return StoreRefused(
            f"the credentials may not list {place.uri} ({code}), so nobody can see what is there: grant {_RIGHTS}"
        )
    if status in (401, 403):
        what = "read" if error.operation_name.startswith(("Get", "Head")) else "write to"
        return StoreRefused(f"the credentials may not {what} {place.uri} ({code}): grant {_RIGHTS}, or use others")
    if status in (409, 429) or status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
        return StoreAway(f"{place.server} is busy or failing ({code or status}): it is tried again")
    return StoreRefused(f"{place.server} refuses {place.uri}: {_flat(error)}")


def _flat(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

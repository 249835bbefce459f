"""Access a bucket the way evidence needs it: write each object once, read it back, and explain errors clearly.

Importing boto3 takes a third of a second, so only modules that use a bucket import this one. Without boto3 the import
raises `InvalidUsage`. `Bucket` is the connection.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import os
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from holo_tasks.audit.bucket_places import Keys, Listed, Place
from holo_tasks.audit.errors import ForeignObject, StoreAway, StoreRefused, StoreTrouble
from holo_tasks.core.extras import missing_extra
from holo_tasks.core.this_machine import NotThisMachine, pinned_url, switched_on

try:
    import boto3
    import botocore.exceptions as aws
    import botocore.session
    from botocore.config import Config
    from botocore.loaders import Loader
except ModuleNotFoundError:
    raise missing_extra("s3", "boto3", "A bucket") from None

_PIECE = 1 << 18
_PROBE = ".holo-tasks-may-read"
_WRITE_PROBE = ".holo-tasks-may-write-once"
_WRITE_PROBE_BYTES = b"holo-tasks wrote this to check that the store keeps an object once it is written.\n"
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


_LOCAL_CREDENTIALS = ("env", "shared-credentials-file", "config-file")


class Bucket:
    """A connection to one prefix of a bucket. Several threads may share it."""

    def __init__(self, place: Place, keys: Keys, *, connect_s: float = 5, read_s: float = 20, attempts: int = 2):
        self.place = place
        local_only = place.local_only or switched_on(os.environ)
        _check_authorities(os.environ.get("AWS_CA_BUNDLE", ""))
        endpoint = _loopback_endpoint(place) if local_only else place.endpoint_url
        config = Config(
            proxies={} if local_only else None,
            connect_timeout=connect_s,
            read_timeout=read_s,
            retries={"mode": "standard", "total_max_attempts": attempts},
            s3={"addressing_style": place.addressing_style},
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
            raise StoreRefused(f"{place.endpoint_url!r} is not an S3 endpoint: {_one_line(error)}") from error
        except aws.BotoCoreError as error:
            raise _explain(error, place) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def check(self) -> None:
        """Raise `StoreTrouble` unless the bucket can keep evidence: list, read, and write an object once.

        The only other copy is deleted after a check of the bucket (`delivery_check`). Write-only credentials would
        never complete a delivery, so they are rejected before the run. One small object at the start of the prefix
        stays there. It is written by the first check, and later checks find it.
        """
        probe = self.place.key(_PROBE)
        try:
            self._client.list_objects_v2(Bucket=self.place.bucket, Prefix=probe, MaxKeys=1)
            self._client.head_object(Bucket=self.place.bucket, Key=probe)
        except aws.ClientError as error:
            # The object does not exist. Credentials that may read and list get a 404.
            if error.operation_name != "HeadObject" or _status(error) in (401, 403):
                raise _explain(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error
        if self.place.retain_days:
            self._check_object_lock()
        self._check_conditional_put()

    def _check_conditional_put(self) -> None:
        """Raise `StoreRefused` if the store refuses or ignores the condition of `put_once`."""
        key = self.place.key(_WRITE_PROBE)
        if self._put(key, _WRITE_PROBE_BYTES) and self._put(key, _WRITE_PROBE_BYTES):
            raise StoreRefused(
                f"{self.place.server} ignores conditional writes (If-None-Match), so a second write could replace"
                " evidence: use a store that supports them, or keep the evidence in a folder"
            )

    def _check_object_lock(self) -> None:
        try:
            found = self._client.get_object_lock_configuration(Bucket=self.place.bucket)
        except aws.ClientError as error:
            if _code(error) == "AccessDenied":
                raise StoreRefused(
                    f"the credentials may not read the object lock settings of {self.place.bucket!r}: grant"
                    " s3:GetBucketObjectLockConfiguration and s3:PutObjectRetention, or set no retention"
                ) from error
            if (_status(error) >= 500 and not _is_unsupported(error)) or _code(error) in _WRONG_KEYS | {"NoSuchBucket"}:
                raise _explain(error, self.place) from error
            found = {}
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error
        if found.get("ObjectLockConfiguration", {}).get("ObjectLockEnabled") != "Enabled":
            raise StoreRefused(
                f"the bucket {self.place.bucket!r} has no object lock, so objects cannot be retained for"
                f" {self.place.retain_days} days: use a bucket created with object lock, or set no retention"
            )

    def put_once(self, key: str, data: bytes, *, retain: bool = True) -> None:
        """Write an object that must not exist yet. Finding the same bytes there counts as success.

        ``retain`` applies the place's retention; pass false for objects that are not evidence. The mode is COMPLIANCE,
        because an authorized user can lift GOVERNANCE.

        boto3 repeats a conditional put whose reply was lost, and the repetition fails with 412. So after a 412 the
        object is read and compared. Raises `ForeignObject` if it differs.
        """
        if not self._put(key, data, retain=retain) and self.get(key) != data:
            raise self.foreign(key)

    def _put(self, key: str, data: bytes, *, retain: bool = False) -> bool:
        """Write an object unless it exists. Return whether it was written."""
        try:
            self._client.put_object(
                Bucket=self.place.bucket,
                Key=key,
                Body=data,
                IfNoneMatch="*",
                ContentType=_CONTENT_TYPES.get(key.rpartition(".")[2], "application/octet-stream"),
                ChecksumSHA256=base64.b64encode(hashlib.sha256(data).digest()).decode(),
                **(self._retention() if retain else {}),
            )
        except aws.ClientError as error:
            if _code(error) not in ("PreconditionFailed", "412"):
                raise _explain(error, self.place) from error
            return False
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error
        return True

    def foreign(self, key: str) -> ForeignObject:
        """Return the error for an object with other contents."""
        return ForeignObject(
            f"s3://{self.place.bucket}/{key} exists already with other contents: nothing was overwritten"
        )

    def digest(self, key: str) -> str:
        """Return the SHA-256 of an object, or an empty string if it does not exist.

        The server's stored checksum is used if there is one. Otherwise the whole object is read.
        """
        try:
            answer = self._client.head_object(Bucket=self.place.bucket, Key=key, ChecksumMode="ENABLED")
        except aws.ClientError as error:
            if _status(error) == 404:
                return ""
            raise _explain(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error
        if stored := answer.get("ChecksumSHA256"):
            return base64.b64decode(stored).hex()
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
        """Return an object's bytes. Raises `FileNotFoundError` if it does not exist."""
        return b"".join(self.pieces(key))

    def pieces(self, key: str) -> Iterator[bytes]:
        """Yield an object's bytes in pieces. Raises `FileNotFoundError` if it does not exist."""
        try:
            answer = self._client.get_object(Bucket=self.place.bucket, Key=key)
            with contextlib.closing(answer["Body"]) as body:
                yield from body.iter_chunks(_PIECE)
        except aws.ClientError as error:
            if _code(error) in ("NoSuchKey", "404"):
                raise FileNotFoundError(f"s3://{self.place.bucket}/{key}") from error
            raise _explain(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error

    def discard(self, key: str) -> bool:
        """Delete an object that is not evidence. Return whether the bucket allowed it."""
        try:
            self._client.delete_object(Bucket=self.place.bucket, Key=key)
        except aws.ClientError as error:
            if _status(error) in (401, 403, 405):
                return False
            raise _explain(error, self.place) from error
        except aws.BotoCoreError as error:
            raise _explain(error, self.place) from error
        return True

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the keys below a prefix, in byte order."""
        return (found.key for found in self.objects(prefix))

    def objects(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects below a prefix, in byte order of their keys.

        Empty objects whose key ends in a slash are skipped: S3 consoles create them as folders.
        """
        try:
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=prefix):
                for found in page.get("Contents", ()):
                    if found["Size"] or not found["Key"].endswith("/"):
                        yield Listed(found["Key"], found["Size"], found.get("ETag", "").strip('"'))
        except (aws.ClientError, aws.BotoCoreError) as error:
            raise _explain(error, self.place) from error
        except (ValueError, TypeError, KeyError) as error:  # boto3 does not validate numbers in the listing
            raise StoreAway(
                f"the listing of {self.place.uri} by {self.place.server} cannot be parsed: it will be requested again"
            ) from error

    def hidden(self, prefix: str) -> int:
        """Return how many objects below a prefix have older versions: deleted or overwritten, in a versioned bucket.

        Counts the first thousand versions. Returns 0 if listing versions is not permitted.
        """
        try:
            found = self._client.list_object_versions(Bucket=self.place.bucket, Prefix=prefix)
        except (aws.ClientError, aws.BotoCoreError):
            return 0
        return len({old["Key"] for old in found.get("Versions", ()) if not old.get("IsLatest")})

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly below a prefix. The prefix ends in a slash or is empty."""
        try:
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=prefix, Delimiter="/"):
                for found in page.get("CommonPrefixes", ()):
                    yield found["Prefix"].removeprefix(prefix).rstrip("/")
        except (aws.ClientError, aws.BotoCoreError) as error:
            raise _explain(error, self.place) from error


def _check_authorities(file: str) -> None:
    """Raise `StoreRefused` if the file of trusted certificates does not exist. boto3 raises a bare error."""
    if file and not Path(file).exists():
        raise StoreRefused(
            f"the environment variable AWS_CA_BUNDLE names {file}, which does not exist: correct or unset it"
        )


def _loopback_endpoint(place: Place) -> str:
    """Return the endpoint with its loopback IP address. Raises `StoreRefused` if it is another machine, or if no
    endpoint is set."""
    try:
        if place.endpoint_url:
            return pinned_url(place.endpoint_url, socket.getaddrinfo, f"the bucket {place.uri}")
    except NotThisMachine as refused:
        raise StoreRefused(str(refused)) from refused
    raise StoreRefused(
        f"Local-only mode is on, and the bucket {place.uri} is Amazon's, because no endpoint is set. "
        "Nothing was sent. Keep the evidence in a folder, or set AWS_ENDPOINT_URL to a server on this machine."
    )


class _ServiceModels(Loader):  # type: ignore[misc]
    """Loader of botocore's service models that is shared by all sessions: S3's model is half a megabyte of JSON."""

    @property
    def search_paths(self) -> list[str]:
        # A copy, because each boto3 session appends a folder that is not needed here.
        return list(super().search_paths)


@functools.cache
def _service_models(folders: str | None) -> _ServiceModels:
    found = [os.path.expanduser(folder) for folder in folders.split(os.pathsep)] if folders else None  # noqa: PTH111
    return _ServiceModels(extra_search_paths=found)


def _session(local_only: bool) -> botocore.session.Session:
    """Return a botocore session. In local-only mode it reads credentials from the environment and files only."""
    session = botocore.session.Session()
    session.register_component("data_loader", _service_models(session.get_config_variable("data_path")))
    if local_only:
        chain = session.get_component("credential_provider")
        chain.providers = [provider for provider in chain.providers if provider.METHOD in _LOCAL_CREDENTIALS]
    return session


def _code(error: aws.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: aws.ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _explain(error: aws.ClientError | aws.BotoCoreError, place: Place) -> StoreTrouble:
    if isinstance(error, aws.ClientError):
        return _explain_response(error, place)
    if isinstance(error, (aws.NoCredentialsError, aws.PartialCredentialsError, aws.ProfileNotFound)):
        return StoreRefused(
            f"there are no credentials for {place.uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
            " or fill in the AuditBucket block"
        )
    if isinstance(error, aws.SSLError):
        return StoreRefused(_explain_tls(error, place))
    if isinstance(error, (aws.HTTPClientError, aws.ConnectionError, aws.ResponseStreamingError)):
        return StoreAway(f"the S3 endpoint {place.server} cannot be reached: check its address and that it is running")
    return StoreRefused(f"{place.uri} cannot be used: {_one_line(error)}")


def _explain_response(error: aws.ClientError, place: Place) -> StoreTrouble:
    code = _code(error)
    status = _status(error)
    if code == "NoSuchBucket" or (code == "404" and error.operation_name == "HeadBucket"):
        return StoreRefused(
            f"the bucket {place.bucket!r} does not exist at {place.server}: create it, or name another one"
        )
    if code in _WRONG_KEYS:
        return StoreRefused(f"{place.server} refuses the credentials for {place.uri} ({code}): check the keys")
    if code in ("RequestTimeTooSkewed", "RequestExpired"):
        return StoreRefused(f"{place.server} refuses requests because {_clock_difference(error)}: set the clock")
    if code == "SecondLevelDomainForbidden":
        return StoreRefused(
            f"{place.server} accepts virtual-hosted addresses only: set HOLO_AUDIT_ADDRESSING_STYLE=virtual, or the"
            " addressing style of the AuditBucket block"
        )
    if _is_unsupported(error):
        does = "conditional writes with checksums" if error.operation_name == "PutObject" else error.operation_name
        return StoreRefused(
            f"{place.server} does not support {does} ({code or status}), which evidence needs: use another store or a"
            " newer version, or keep the evidence in a folder"
        )
    if status in (401, 403) and error.operation_name.startswith("List"):
        return StoreRefused(
            f"the credentials may not list {place.uri} ({code}), so its contents cannot be checked: grant {_RIGHTS}"
        )
    if status in (401, 403):
        verb = "read" if error.operation_name.startswith(("Get", "Head")) else "write to"
        return StoreRefused(f"the credentials may not {verb} {place.uri} ({code}): grant {_RIGHTS}, or use others")
    if status in (409, 429) or status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
        return StoreAway(f"{place.server} is busy or failing ({code or status}): the request will be retried")
    return StoreRefused(f"{place.server} refused the request for {place.uri}: {_one_line(error)}")


def _is_unsupported(error: aws.ClientError) -> bool:
    """Return whether the store says that it lacks the operation or one of its headers. A retry cannot help."""
    return _status(error) == 501 or _code(error) in ("NotImplemented", "UnsupportedOperation", "MethodNotAllowed")


def _explain_tls(error: aws.SSLError, place: Place) -> str:
    text = _one_line(error)
    if re.search("Hostname mismatch|IP address mismatch|hostname .* (doesn't|either of) ", text):
        return f"the certificate of {place.server} is for another host name: use an address with a name in it"
    if "certificate has expired" in text:
        return f"the certificate of {place.server} has expired: renew it at the store, or check this machine's clock"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"the certificate of {place.server} is not trusted: set AWS_CA_BUNDLE to a file with the certificate of its"
            " authority"
        )
    return f"{place.server} does not speak TLS as expected ({text}): check http:// or https:// in its address"


def _clock_difference(error: aws.ClientError) -> str:
    """Describe the difference between the clock of this machine and that of the store."""
    date = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
    try:
        seconds = (datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        seconds = 0.0
    if abs(seconds) < 60:
        return "they say that the clock of this machine is wrong"
    return f"the clock of this machine is {abs(seconds) / 60:.0f} minutes {'ahead' if seconds > 0 else 'behind'}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

"""The block for the place of the evidence."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema
from holo_tasks.audit import Destination, Trace, open_trace
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home

_NO_PLAIN_KEY = ("aws_session_token", "profile_name", "assume_role_arn")
"""Fields of AwsCredentials whose keys change or come from elsewhere."""


class AuditBucket(OneSchema, Block):
    """
    An S3 bucket or a local folder that keeps every frame and action as evidence.

    Example:
        ```python
        from holo_blocks import AuditBucket

        bucket = AuditBucket.load("BLOCK_NAME")

        AuditBucket(bucket="evidence", prefix="holo", retain_days=365).save("evidence", overwrite=True)
        ```
    """

    _block_type_name: ClassVar[str] = "Holo Audit Bucket"
    _block_type_slug: ClassVar[str] = "holo-audit-bucket"
    _logo_url = picture()
    _documentation_url = page("holo-audit-bucket")

    bucket: str | None = Field(
        default=None, description="The name of the bucket. Leave it empty to use a local folder."
    )
    prefix: str = Field(default="", description="The start of the key of every object, for example holo/audit.")
    endpoint_url: str | None = Field(
        default=None, title="Endpoint URL", description="The address of an S3 server that is not Amazon's."
    )
    region: str | None = Field(default=None, description="The region of the bucket, if the server needs one.")
    access_key_id: SecretStr | None = Field(
        default=None, title="Access key ID", description="Leave it empty to use the AWS credentials of the machine."
    )
    secret_access_key: SecretStr | None = Field(
        default=None, description="The secret for the access key ID. Prefect encrypts it."
    )
    retain_days: int = Field(
        default=0,
        ge=0,
        le=36_500,
        description="Days for which object lock forbids changes and deletion of evidence. 0 uses the bucket's setting.",
    )
    addressing_style: Literal["path", "virtual"] | None = Field(
        default=None,
        description="Where the name of the bucket stands: in the path of the address, or before the host (virtual). "
        "Empty is HOLO_AUDIT_ADDRESSING_STYLE, else path.",
    )
    local_folder: str | None = Field(
        default=None, description="A folder on the machine that runs the agent. It is used if bucket is empty."
    )

    @classmethod
    def from_s3_bucket(cls, block: Block) -> Self:
        """Return the audit bucket for an S3Bucket block of prefect-aws, with its AwsCredentials or MinIOCredentials.

        Raises `InvalidUsage` for credentials of a session, a profile or a role: evidence is written with plain keys, or
        with the AWS credentials of the machine.
        """
        bucket: Any = block
        given: Any = bucket.credentials
        refused = [name for name in _NO_PLAIN_KEY if getattr(given, name, None)]
        if refused:
            raise InvalidUsage(f"The credentials of the S3 bucket {bucket.bucket_name!r} use {refused[0]}: give keys.")
        minio = hasattr(given, "minio_root_user")
        user, secret = (
            (given.minio_root_user, given.minio_root_password)
            if minio
            else (given.aws_access_key_id, given.aws_secret_access_key)
        )
        return cls(
            bucket=bucket.bucket_name,
            prefix=bucket.bucket_folder,
            endpoint_url=given.aws_client_parameters.endpoint_url,
            region=given.region_name,
            access_key_id=SecretStr(user) if user else None,
            secret_access_key=secret,
        )

    def destination(self) -> Destination:
        """Return the destination of evidence that this block describes."""
        if self.bucket and self.local_folder:
            raise InvalidUsage("The audit block has a bucket and a local folder: leave one empty.")
        if not self.bucket:
            return Destination.parse(self.local_folder or str(holo_home() / "runs"))
        return Destination.parse(f"s3://{self.bucket}/{self.prefix}", **self._access(), retain_days=self.retain_days)

    def trace(self, uri: str) -> Trace:
        """Return the trace of a run at this destination, to read it."""
        return open_trace(uri, **self._access())

    def _access(self) -> dict[str, Any]:
        return {
            "endpoint_url": self.endpoint_url,
            "access_key": self.access_key_id,
            "secret_key": self.secret_access_key,
            "region": self.region,
            "addressing_style": self.addressing_style or "",
        }

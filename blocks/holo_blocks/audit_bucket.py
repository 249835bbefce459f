"""Where the evidence goes, as a block."""

from __future__ import annotations

from typing import Any, ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema
from holo_tasks.audit import Destination, Trace, open_trace
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home


class AuditBucket(OneSchema, Block):
    """
    An S3 bucket, or a local folder, that keeps every frame and action as evidence.

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

    bucket: str | None = Field(default=None, description="The bucket's name; leave it empty to use a local folder.")
    prefix: str = Field(default="", description="Put before the name of every object, for example holo/audit.")
    endpoint_url: str | None = Field(
        default=None, title="Endpoint URL", description="For S3 servers other than Amazon's own."
    )
    region: str | None = Field(default=None, description="The bucket's region, where the server needs one.")
    access_key_id: SecretStr | None = Field(
        default=None, title="Access key ID", description="Leave it empty to use the machine's own AWS credentials."
    )
    secret_access_key: SecretStr | None = Field(
        default=None, description="Goes with the access key ID; encrypted by Prefect."
    )
    retain_days: int = Field(
        default=0,
        ge=0,
        le=36_500,
        description="Object lock: for so many days nobody can change or delete evidence; 0 leaves it to the bucket.",
    )
    local_folder: str | None = Field(
        default=None, description="A folder on the machine that runs the agent, used when there is no bucket."
    )

    def destination(self) -> Destination:
        """Return the place for evidence this block describes."""
        if self.bucket and self.local_folder:
            raise InvalidUsage("The audit block names a bucket and a local folder; leave one of them empty.")
        if not self.bucket:
            return Destination.parse(self.local_folder or str(holo_home() / "runs"))
        return Destination.parse(f"s3://{self.bucket}/{self.prefix}", **self._access(), retain_days=self.retain_days)

    def trace(self, uri: str) -> Trace:
        """Open the trace of a run that was recorded here, to read it."""
        return open_trace(uri, **self._access())

    def _access(self) -> dict[str, Any]:
        return {
            "endpoint_url": self.endpoint_url,
            "access_key": self.access_key_id,
            "secret_key": self.secret_access_key,
            "region": self.region,
        }

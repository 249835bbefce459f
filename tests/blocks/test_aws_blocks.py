"""Blocks of prefect-aws are accepted: S3Bucket as the place of the evidence, AwsSecret as the source of a secret."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from prefect_aws import AwsCredentials, AwsSecret, MinIOCredentials, S3Bucket
from prefect_aws.client_parameters import AwsClientParameters
from pydantic import SecretStr

from holo_blocks import AuditBucket
from holo_blocks.agent import _audit_bucket
from holo_tasks import InvalidUsage
from holo_tasks.run.rules.secret_sources import SecretSpec, resolved

KEY = SecretStr("s3-canary")
AT = AwsClientParameters(endpoint_url="http://127.0.0.1:9")
AWS = AwsCredentials(
    aws_access_key_id="id", aws_secret_access_key=KEY, region_name="eu-west-1", aws_client_parameters=AT
)
MINIO = MinIOCredentials(
    minio_root_user="id", minio_root_password=KEY, region_name="eu-west-1", aws_client_parameters=AT
)


@pytest.mark.parametrize("credentials", [AWS, MINIO], ids=["aws", "minio"])
async def test_a_saved_s3_bucket_is_a_place_for_evidence(
    prefect: str, credentials: AwsCredentials | MinIOCredentials
) -> None:
    block = S3Bucket(bucket_name="evidence", bucket_folder="holo/audit", credentials=credentials)
    await block.asave("evidence", overwrite=True)
    wanted = AuditBucket(
        bucket="evidence",
        prefix="holo/audit",
        endpoint_url="http://127.0.0.1:9",
        region="eu-west-1",
        access_key_id=SecretStr("id"),
        secret_access_key=KEY,
    )
    for given in (block, "s3-bucket/evidence"):
        assert (await _audit_bucket(given)).destination() == wanted.destination()


async def test_an_s3_bucket_without_keys_uses_the_credentials_of_the_machine() -> None:
    found = await _audit_bucket(S3Bucket(bucket_name="evidence", credentials=AwsCredentials()))
    assert found.destination() == AuditBucket(bucket="evidence").destination()


async def test_keys_of_a_session_or_a_role_are_refused() -> None:
    for given in (
        {"aws_session_token": "t-canary"},
        {"profile_name": "p"},
        {"assume_role_arn": "arn:aws:iam::1:role/r"},
    ):
        with pytest.raises(InvalidUsage, match=next(iter(given))) as raised:
            await _audit_bucket(S3Bucket(bucket_name="evidence", credentials=AwsCredentials(**given)))
        assert "canary" not in str(raised.value)


async def test_another_block_is_refused_and_a_missing_library_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidUsage, match="not a block of the kind AuditBucket"):
        await _audit_bucket(AWS)
    monkeypatch.setitem(sys.modules, "prefect_aws", None)
    with pytest.raises(InvalidUsage, match=r"pip install 'prefect-holo\[aws\]'"):
        await _audit_bucket("s3-bucket/evidence")


@pytest.fixture
def secrets_manager() -> Iterator[str]:
    """The HTTP interface of AWS Secrets Manager with one secret; returns its URL."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = asked["SecretId"] == "portal"
            body = (
                {"ARN": "a", "SecretString": json.dumps({"password": "Kranich"})}
                if found
                else {"__type": "AccessDenied"}
            )
            said = json.dumps(body).encode()
            self.send_response(200 if found else 400)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def test_a_secret_comes_from_aws_secrets_manager(prefect: str, secrets_manager: str) -> None:
    credentials = AwsCredentials(
        aws_access_key_id="id",
        aws_secret_access_key=KEY,
        region_name="eu-west-1",
        aws_client_parameters=AwsClientParameters(endpoint_url=secrets_manager),
    )
    for name in ("portal", "other"):
        await AwsSecret(aws_credentials=credentials, secret_name=name).asave(name, overwrite=True)
    spec = SecretSpec(name="password", source="block:aws-secret/portal#password")
    assert (await resolved([spec], environ={}))["password"].value == "Kranich"
    with pytest.raises(InvalidUsage, match=r"the aws-secret block 'other' \(ClientError\)"):
        await resolved([SecretSpec(name="password", source="block:aws-secret/other")], environ={})

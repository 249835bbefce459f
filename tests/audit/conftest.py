"""Provide fixtures of the audit tests: shots, a real S3 server, and a small file system that fills up."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image, ImageDraw

from holo_tasks.audit import Destination
from holo_tasks.core.events import Corrected, Decided
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size

HERE = Path(__file__).parent
SMALL = Size(320, 200)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def loader() -> Callable[[Path], ModuleType]:
    return load


@pytest.fixture(scope="session")
def s3_module() -> ModuleType:
    return load(HERE.parent.parent / "flows" / "demo" / "s3_server.py")


@pytest.fixture(scope="module")
def s3(s3_module: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A SeaweedFS server for the tests of a module. Starting it is faster than waiting for one that has been idle for
    minutes.

    A test that stops it must start it again.
    """
    with s3_module.S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="module")
def bucket(s3: Any) -> Any:
    """A boto3 client of the server."""
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}),
    )


@pytest.fixture
def to_s3(s3: Any, request: pytest.FixtureRequest) -> Callable[..., Destination]:
    """Return a function that makes a destination with a new prefix for the test."""

    def make(**changes: Any) -> Destination:
        options = {"endpoint_url": s3.endpoint, "access_key": s3.access_key, "secret_key": s3.secret_key}
        where = changes.pop("where", f"s3://{s3.bucket}/{request.node.name.replace('[', '-').strip(']')}")
        return Destination.parse(where, **(options | changes))

    return make


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 kB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount)], check=False)
    if done.returncode:
        pytest.skip("this machine does not let root mount")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def event(step: int = 1, text: str = "no such key", subgoal: int = 1) -> Corrected:
    return Corrected(subgoal=subgoal, step=step, reason=text)


def shot(number: int, *, size: Size = SMALL, noise: int = 0) -> Shot:
    """Return a small picture with a number on it. ``noise`` bytes make it larger."""
    image = Image.new("RGB", (size.width, size.height), (236, 236, 228))
    ImageDraw.Draw(image).text((10, 10), f"screen {number}", fill=(20, 20, 20))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=80, comment=os.urandom(noise) if noise else str(number).encode())
    data = out.getvalue()
    return Shot(data, "image/jpeg", hashlib.sha256(data).hexdigest(), size, size, f"frame-{number}")


@pytest.fixture(name="event")
def event_fixture() -> Callable[..., Corrected]:
    return event


@pytest.fixture(name="shot")
def shot_fixture() -> Callable[..., Shot]:
    return shot


@pytest.fixture
def odd_event() -> Decided:
    """An event whose values are difficult to write in canonical form."""
    return Decided(
        subgoal=1,
        step=1,
        note=None,
        thought='Zoë – €10 – 東京 – 🙂 "quoted"\n\t\x00\u2028',
        tool_name="wait",
        arguments={"z": 2.5, "a": [1, {"é": None}], "seconds": 2.0},
        label="wait 2.5 s",
    )

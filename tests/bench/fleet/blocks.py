"""The blocks that a fleet's flow loads by name."""

from __future__ import annotations

import shlex
from pathlib import Path

from pydantic import SecretStr

from holo_blocks import AuditBucket, HoloDesktop, HoloModel
from holo_tasks.desktop import tk_python
from tests.bench.fleet.parts import Parts

BLOCK = "fleet"


async def save_blocks(parts: Parts, log: Path) -> None:
    """Save a model, a desktop whose program files reports to a log, and the bucket for evidence."""
    program = Path(__file__).with_name("program.py")
    model = HoloModel(base_url=parts.model_url, model="holo3-1-35b-a3b")
    desktop = HoloDesktop(app=shlex.join([tk_python(), str(program), str(log)]))
    evidence = AuditBucket(
        bucket=parts.s3.bucket,
        prefix="fleet",
        endpoint_url=parts.s3.endpoint,
        access_key_id=SecretStr(parts.s3.access_key),
        secret_access_key=SecretStr(parts.s3.secret_key),
    )
    for block in (model, desktop, evidence):
        await block.asave(BLOCK, overwrite=True)

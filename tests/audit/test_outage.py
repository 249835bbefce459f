"""Test a bucket that fails under load, comes back, and then refuses the keys: nothing is lost, waits are limited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import Destination
from holo_tasks.audit.resume import resume_spool
from holo_tasks.cli.verify import public_pem, verify_trace
from holo_tasks.core.events import RunClosed, RunOpened
from tests.support.long import few

STEPS_A_SECOND = 2
"""At least this number is recorded while the bucket is away, on however busy a machine; one if that is waited for."""


@pytest.mark.parametrize("away_s", few([2.0, 60.0]))
async def test_an_outage_under_load_then_wrong_credentials(
    to_s3: Callable[..., Destination], s3: Any, tmp_path: Path, event: Any, shot: Any, away_s: float, monkeypatch: Any
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    run_id = f"run-{away_s:g}"
    where = to_s3()
    trace = where.open(run_id, home=tmp_path)
    slowest, step = 0.0, 0

    async def work(for_s: float) -> None:
        nonlocal slowest, step
        until = time.monotonic() + for_s
        while time.monotonic() < until:
            step += 1
            begun = time.monotonic()
            await trace.keep(shot(step, noise=20_000))
            await trace.record(event(step))
            slowest = max(slowest, time.monotonic() - begun)
            await asyncio.sleep(0.1)

    await trace.record(RunOpened(run_id=run_id, title="", library=""))
    while not trace.head.delivered:
        await work(0.3)
    await asyncio.to_thread(s3.kill)
    before = step
    await work(away_s)
    meanwhile = step - before
    s3.start()  # in this thread, because the server ends with the thread that started it
    await work(0.3)
    # Revoked keys: a new process with wrong keys reports them and deletes nothing.
    assert not (await trace.close(timeout_s=0)).complete
    wrong = to_s3(secret_key="not-the-key")
    refused: list[Any] = []
    async with asyncio.timeout(120):
        while not refused:  # the abandoned thread ends after the current object
            refused = await asyncio.to_thread(resume_spool, tmp_path, wrong.place, wrong.keys, timeout_s=10)  # type: ignore[attr-defined]
            await asyncio.sleep(0.1)
    assert not refused[0].complete
    assert "refuses the credentials" in refused[0].message
    assert "not-the-key" not in refused[0].message
    key = tmp_path / "public.pem"
    key.write_text(public_pem(tmp_path))
    assert verify_trace(trace.uri, key, None, tmp_path).verdict == "INCOMPLETE"
    # The same run continues with the right keys.
    trace = where.open(run_id, home=tmp_path)
    await trace.record(RunClosed(status="answered", answer="", steps=step, cost_micro_usd=0))
    assert (await trace.close(timeout_s=120)).complete
    found = verify_trace(trace.uri, key, None, tmp_path)
    assert (found.verdict, found.records) == ("VALID", step + 2), found.reason
    assert meanwhile >= STEPS_A_SECOND * away_s
    print(f"away for {away_s:g} s: {step} steps recorded and delivered, the slowest took {slowest * 1000:.0f} ms")

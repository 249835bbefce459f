"""Test that concurrent records are written in one batch, pictures first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.audit import Destination
from holo_tasks.audit.trace import LocalTrace

PAIRS = 20


async def test_a_picture_is_kept_before_the_event_that_names_it(
    tmp_path: Path, event: Any, shot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, unseen, largest = set[str](), list[str](), 0
    keep, append = LocalTrace.keep, LocalTrace.append

    def kept_first(trace: LocalTrace, what: Any) -> Any:
        name = keep(trace, what)
        kept.add(what.sha256)
        return name

    def named_later(trace: LocalTrace, records: Any) -> Any:
        nonlocal largest
        largest = max(largest, len(records))
        unseen.extend(what.reason for _, what in records if what.reason not in kept)
        return append(trace, records)

    monkeypatch.setattr(LocalTrace, "keep", kept_first)
    monkeypatch.setattr(LocalTrace, "append", named_later)
    async with Destination.parse(str(tmp_path / "audit")).open("run-1", home=tmp_path) as trace:
        pictures = [shot(number) for number in range(PAIRS)]
        pairs = [(trace.keep(each), trace.record(event(1, each.sha256))) for each in pictures]
        await asyncio.gather(*(one for pair in pairs for one in pair))
    assert unseen == []
    assert len(kept) == PAIRS
    assert largest > 1, "some were written together"

"""Fixtures of the tests: a Prefect server, a rehearsal model, and blocks with a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.testing.utilities import prefect_test_harness

import blocks
from holo_blocks import rehearsal_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the program's records, the evidence and the report."""
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    monkeypatch.setenv("HOLO_REPORTS", str(tmp_path))
    with prefect_test_harness(server_startup_timeout=120), rehearsal_model(blocks.HERE / "playbook.yaml") as model:
        blocks.save(model, tmp_path)
        yield tmp_path

"""Temporary Prefect servers start here as for users: without preloaded modules."""

from __future__ import annotations

import subprocess

import pytest

from holo_tasks.prefect_server import temporary


@pytest.fixture(autouse=True)
def started_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "subprocess", subprocess)

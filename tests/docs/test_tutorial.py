"""The tutorial works word by word: its files, its program, its playbook, and a real Prefect server."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.doc_pages import DOCS, blocks
from tests.support.prefect_api import PrefectAPI

TUTORIAL = DOCS / "tutorial.md"
ADDRESS = "http://127.0.0.1:8077/v1"


@pytest.fixture
def folder(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder, with all files of the page. The model's address is that of the fixture ``model``."""
    for block in blocks("python", "yaml", pages=[TUTORIAL]):
        (tmp_path / block.title).write_text(block.text.replace(ADDRESS, model), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def model(tmp_path: Path) -> Iterator[str]:
    playbook = next(block for block in blocks("yaml", pages=[TUTORIAL]) if block.title.endswith("playbook.yaml"))
    (tmp_path / playbook.title).write_text(playbook.text, encoding="utf-8")
    command = [sys.executable, "-m", "holo_tasks.rehearsal", "--playbook", playbook.title, "--log", "warning"]
    process = warm.ScriptPopen(command, cwd=tmp_path, env=dict(os.environ), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline())["base_url"]
    finally:
        process.terminate()
        process.wait()


@pytest.mark.desktop
@pytest.mark.slow
async def test_the_tutorials_flow_looks_up_each_article_once(folder: Path, prefect: str) -> None:
    await asyncio.to_thread(runpy.run_path, "blocks.py")
    count_stock = importlib.import_module("stock").count_stock
    assert await count_stock(["A-100", "A-200"]) == {"A-100": 12, "A-200": 0}
    api = PrefectAPI(prefect)
    before = len(api.post("/flow_runs/filter", {"flows": {"name": {"any_": ["look up"]}}}))
    assert await count_stock(["A-100", "A-200", "B-310"]) == {"A-100": 12, "A-200": 0, "B-310": 48}
    assert len(api.post("/flow_runs/filter", {"flows": {"name": {"any_": ["look up"]}}})) == before + 1
    assert list((folder / "evidence").glob("*"))

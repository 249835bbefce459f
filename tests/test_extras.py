"""Without extras the core imports and works, and each feature that needs an extra names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.without_extras import PROJECT, plain

OPTIONAL: dict[str, list[str]] = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
EVERY_MODULE = """
import importlib, json, pkgutil, holo_blocks, holo_tasks, prefect_holo
failed = {}
for package in (holo_tasks, holo_blocks):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".starters" not in found.name and not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except Exception as error:
                failed[found.name] = f"{type(error).__name__}: {error}"
for name in prefect_holo.__all__:
    getattr(prefect_holo, name)
print(json.dumps(failed))
"""
USES = """
import argparse, asyncio, json
from pathlib import Path
from holo_blocks.agent import _audit_bucket
from holo_tasks import SecretSpec, read_rows
from holo_tasks.audit import Destination, open_trace
from holo_tasks.audit.anchor_places import anchor_places
from holo_tasks.cli.mcp.server import serve
from holo_tasks.office import Column, Workbook
from holo_tasks.office.charsets import codec_of
from holo_tasks.office.html_text import html_to_text
from holo_tasks.office.pdf_text import pdf_to_text
from holo_tasks.run.rules.secret_sources import resolved
from holo_tasks.safety.masking.presidio import PresidioDetector

home = Path("home")
bucket = Destination.parse("s3://evidence/runs", endpoint_url="http://127.0.0.1:9")
Path("rows.xlsx").write_bytes(b"PK")
uses = {
    "s3 check": bucket.check,
    "s3 open": lambda: bucket.open("run-1", home=home),
    "s3 read": lambda: open_trace("s3://evidence/runs/run-1"),
    "s3 anchors": lambda: anchor_places(home, {"HOLO_ANCHORS": "s3://anchors/heads"}),
    "office pdf": lambda: pdf_to_text(b"%PDF-1.4"),
    "office mail": lambda: codec_of("latin1"),
    "office html": lambda: html_to_text("<p>a</p>"),
    "office book": lambda: Workbook("rows.xlsx", columns=[Column("A", "text")], key="A").upsert({"A": "1"}),
    "office rows": lambda: read_rows("rows.xlsx"),
    "keyring secret": lambda: asyncio.run(resolved([SecretSpec(name="a", source="keyring:portal/ada")], environ={})),
    "aws block": lambda: asyncio.run(_audit_bucket("s3-bucket/evidence")),
    "mcp server": lambda: serve(argparse.Namespace()),
    "presidio texts": lambda: PresidioDetector(language="en"),
}
told = {}
for name, use in uses.items():
    try:
        told[name] = f"no error: {use()!r}"
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"
told["left behind"] = [path.name for path in home.rglob("*")]
print(json.dumps(told))
"""
CORE = """
import sys
from holo_tasks.audit import Destination
from holo_tasks.cli.commands import main
Destination.parse("evidence").check()

def ended(*words):
    sys.argv[1:] = words
    try:
        return main() or 0
    except SystemExit as ended:
        return ended.code or 0

assert ended("init", "stock") == ended("runs") == 0
sys.exit(ended("demo"))
"""


def without_extras(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python source in a folder, which is also the home folder."""
    paths = [PROJECT.parent, PROJECT.parent / "blocks"]
    return subprocess.run(
        [sys.executable, "-m", "tests.support.without_extras", source],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=180,
    )


def told_by(source: str, folder: Path) -> dict[str, Any]:
    """Return the JSON object that Python source prints."""
    ran = without_extras(source, folder)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.slow
def test_all_modules_but_those_of_an_extra_can_be_imported(tmp_path: Path) -> None:
    failed = told_by(EVERY_MODULE, tmp_path)
    assert failed.keys() == {
        *(f"holo_tasks.audit.{name}" for name in ("s3", "delivery_check", "upload", "uploader", "resume")),
        "holo_tasks.cli.mcp.tools",
        "holo_tasks.telemetry.providers",
    }, failed


def test_each_use_names_its_extra(tmp_path: Path) -> None:
    told = told_by(USES, tmp_path)
    assert told.pop("left behind") == []
    for use, message in told.items():
        extra = use.partition(" ")[0]
        assert extra in OPTIONAL
        assert message.startswith("InvalidUsage: "), (use, message)
        assert message.endswith(f"pip install 'prefect-holo[{extra}]'."), (use, message)


def test_the_commands_work_without_extras(tmp_path: Path) -> None:
    ran = without_extras(CORE, tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert (tmp_path / "stock" / "flow.py").is_file()
    assert "before it runs, run `pip install 'prefect-holo[rehearsal]'`" in ran.stderr
    assert ran.stderr.endswith("not installed: run `pip install 'prefect-holo[office,rehearsal]'`.\n")


def test_the_extra_all_has_every_extra_of_users() -> None:
    (line,) = OPTIONAL["all"]
    assert line.startswith("prefect-holo[")
    assert set(line[len("prefect-holo[") : -1].split(",")) == OPTIONAL.keys() - {"all", "demo", "presidio"}
    assert all(plain(extra) == extra for extra in OPTIONAL)

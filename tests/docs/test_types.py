"""mypy accepts the project and the Python of README and docs, in one run, so that it reads libraries once."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.test_code_blocks import modules
from tests.support.doc_pages import ROOT

CACHE = ROOT / ".mypy_cache"


@pytest.mark.timeout(1800)
def test_mypy_accepts_the_project_and_the_python_of_all_pages(tmp_path: Path) -> None:
    """Use the project's settings, and the cache that `make check` left, if there is one.

    Without such a cache, none is written: writing it takes a quarter of the time.
    """
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    keep = [] if CACHE.exists() else [f"--cache-dir={os.devnull}"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *keep, *map(str, modules(tmp_path)), *ours],
        cwd=ROOT,
        env={"MYPYPATH": f"{ROOT}/blocks:{ROOT}:{tmp_path}/tutorial", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr

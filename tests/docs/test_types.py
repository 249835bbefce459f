"""All that is ours fits the types, and so does the Python of README and docs: together, libraries are read once."""

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
def test_all_that_is_ours_and_the_python_of_all_pages_fits_the_types(tmp_path: Path) -> None:
    """By the settings of the project. Where `make check` has found out about it before, that is used.

    Otherwise nothing is kept: to write it down takes a quarter of the work.
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

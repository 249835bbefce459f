"""mypy accepts the project and the Python of README and docs, in one run, so that it reads libraries once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from holo_tasks.cli.init import EVERY, FLOWS, STARTERS
from tests.docs.test_code_blocks import modules
from tests.support.doc_pages import ROOT

CACHE = ROOT / ".mypy_cache"


def starters(folder: Path) -> list[Path]:
    """Write each template of `holo-tasks init` as a package, because their modules have the same names."""
    paths = []
    for template in FLOWS:
        sources = [path for part in (EVERY, template) for path in (STARTERS / part).glob("*.py")]
        names = "|".join(path.stem for path in sources)
        package = folder / f"starter_{template}"
        package.mkdir()
        paths.append(package / "__init__.py")
        paths[-1].touch()
        for source in sources:
            text = re.sub(rf"^from ({names}) import", r"from .\1 import", source.read_text("utf-8"), flags=re.MULTILINE)
            text = re.sub(rf"^import ({names})$", r"from . import \1", text, flags=re.MULTILINE)
            paths.append(package / source.name)
            paths[-1].write_text(text, encoding="utf-8")
    return paths


@pytest.mark.timeout(1800)
def test_mypy_accepts_the_project_and_the_python_of_all_pages_and_templates(tmp_path: Path) -> None:
    """Use the project's settings, and the cache that `make check` left, if there is one.

    Without such a cache, none is written: writing it takes a quarter of the time.
    """
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    keep = [] if CACHE.exists() else [f"--cache-dir={os.devnull}"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *keep, *map(str, [*modules(tmp_path), *starters(tmp_path)]), *ours],
        cwd=ROOT,
        env={"MYPYPATH": f"{ROOT}/blocks:{ROOT}:{tmp_path}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr

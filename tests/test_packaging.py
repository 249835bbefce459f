"""What the package says of itself is so: what it imports is declared, and what it serves has a limit."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.test_arrows import imports

ROOT = Path(__file__).parent.parent
SHIPPED = ("holo_tasks", "blocks")
FLOWS = sorted((ROOT / "flows").glob("*.py"))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [one for extra in project["optional-dependencies"].values() for one in extra]
    return {plain(re.split(r"[\[<>=!~; ]", line)[0]) for line in lines}


def imported() -> set[str]:
    found = {
        name.partition(".")[0] for folder in SHIPPED for path in (ROOT / folder).rglob("*.py") for name in imports(path)
    }
    return found - set(sys.stdlib_module_names) - {"holo_tasks", "holo_blocks"}


def test_all_that_is_imported_is_declared_by_the_package_itself() -> None:
    by_module, known = packages_distributions(), declared()
    assert {"websockets", "sqlalchemy", "rapidocr"} <= imported()
    astray = {name for name in imported() if not known & {plain(one) for one in by_module.get(name, [name])}}
    assert not astray, "another package brings them today, and need not tomorrow"


def served(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "serve":
            yield node


@pytest.mark.parametrize("path", [path for path in FLOWS if any(served(path))], ids=lambda path: path.stem)
def test_no_more_runs_of_a_flow_begin_at_once_than_it_says(path: Path) -> None:
    for call in served(path):
        (limit,) = (given.value for given in call.keywords if given.arg == "limit")
        assert isinstance(limit, ast.Constant)
        assert isinstance(limit.value, int)


def test_the_version_stands_in_one_place() -> None:
    from holo_tasks.core.version import __version__
    from holo_tasks.run.run import LIBRARY

    assert f"prefect-holo {__version__}" == LIBRARY
    texts = [ROOT / "pyproject.toml", *(path for folder in SHIPPED for path in (ROOT / folder).rglob("*.py"))]
    assert [path.name for path in texts if f'{__version__}"' in path.read_text(encoding="utf-8")] == ["version.py"]

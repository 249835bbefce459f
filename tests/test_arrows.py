"""The direction of imports is what keeps the house in order (ARCHITECTURE.md draws it)."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ["core"]
MACHINE = ["machine"]
LEAVES = ["models", "desktop", "safety", "audit", "office"]
MAY_IMPORT = {
    "core": CORE,
    "machine": [*CORE, *MACHINE],
    **{leaf: [*CORE, *MACHINE, leaf] for leaf in LEAVES},
    "playbooks": [*CORE, *MACHINE, *LEAVES, "playbooks"],
}
PREFECT_FREE = set(MAY_IMPORT)
NOT_IN_CORE = {"asyncio.subprocess", "socket", "httpx", "openai", "boto3", "mss", "sqlite3", "subprocess", "time", "os"}


def imports(path: Path) -> set[str]:
    """Every module a file names in an import, also inside functions."""
    found: set[str] = set()
    gc.disable()  # Python 3.11.7 takes objects that are collected meanwhile for an error of the parser
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.enable()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def files(package: str) -> list[Path]:
    return sorted((ROOT / "holo_tasks" / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_a_package_imports_only_what_stands_before_it(package: str) -> None:
    assert files(package)
    for path in files(package):
        for name in imports(path):
            if name.startswith("holo_tasks."):
                room = name.split(".")[1]
                assert room in MAY_IMPORT[package], f"{path.relative_to(ROOT)} imports {name}"
            assert not name.startswith(("holo_blocks", "flows")), f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("package", sorted(PREFECT_FREE))
def test_only_the_edge_knows_prefect(package: str) -> None:
    for path in files(package):
        guilty = [name for name in imports(path) if name.split(".")[0] == "prefect"]
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


def test_the_core_touches_nothing_outside() -> None:
    for path in files("core"):
        guilty = imports(path) & NOT_IN_CORE
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"


def test_the_library_does_not_know_its_blocks() -> None:
    for path in (ROOT / "holo_tasks").rglob("*.py"):
        guilty = [name for name in imports(path) if name.startswith("holo_blocks")]
        assert not guilty, f"{path.relative_to(ROOT)} imports {guilty}"

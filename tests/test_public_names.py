"""The shipped flows and the pages import public names only, so that a user can copy them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.doc_pages import DOCS, PAGES, ROOT, blocks
from tests.test_arrows import STARTERS

PUBLIC = ("holo_blocks", "holo_tasks", "holo_tasks.audit", "holo_tasks.desktop", "holo_tasks.office")
"""Packages with public names, each in its ``__all__``."""
FLOWS = [
    *sorted((ROOT / "flows").glob("*.py")),
    *sorted((ROOT / "flows" / "receipts").glob("*.py")),
    *sorted(STARTERS.rglob("*.py")),
]
AUDIT_LINES = 250
PAGES_WITH_PYTHON = [page for page in PAGES if page.name != "CONTRIBUTING.md" and blocks("python", pages=[page])]
"""Pages for users. CONTRIBUTING.md is for maintainers, who import from inside."""


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Yield the library's packages that a source names in imports, each with a name from it, or with an empty one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield from ((node.module, alias.name) for alias in node.names)


def from_inside(source: str) -> list[str]:
    """Return the imports in a source that are not public."""
    return [
        f"{package}.{name}".rstrip(".")
        for package, name in imported(source)
        if package not in PUBLIC or (name and name not in import_module(package).__all__)
    ]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("holo_blocks", "holo_tasks")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from holo_tasks import subgoal, usd", []),
        ("from holo_tasks.office import Letter\nfrom holo_blocks import holo_agent\nimport holo_tasks.audit", []),
        ("from receipts.finding import Finding\nimport httpx", []),
        ("from holo_tasks.office.letter import Letter, sender_name", ["Letter", "sender_name"]),
        ("import holo_tasks.run.run", ["holo_tasks.run.run"]),
        ("from holo_tasks import run", ["run"]),
        ("def late():\n    from holo_blocks.loading import load_block", ["load_block"]),
    ],
)
def test_imports_from_inside_are_counted_and_public_ones_are_not(source: str, found: list[str]) -> None:
    inside = from_inside(source)
    assert len(inside) == len(found)
    assert all(one.endswith(name) for one, name in zip(inside, found, strict=True))


def test_the_shipped_flows_import_public_names_only() -> None:
    assert len(FLOWS) > 15
    inside = [f"{path.relative_to(ROOT)}: {name}" for path in FLOWS for name in from_inside(_text(path))]
    assert not inside, f"make these names public, or unnecessary: {inside}"


@pytest.mark.parametrize("page", PAGES_WITH_PYTHON, ids=lambda page: page.stem)
def test_the_samples_of_a_page_import_public_names_only(page: Path) -> None:
    assert not [name for block in blocks("python", pages=[page]) for name in from_inside(block.text)]


def test_each_name_that_flows_and_pages_import_is_on_the_page_of_the_api() -> None:
    page = _text(DOCS / "reference" / "api.md")
    described = set(re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)) | {"holo_tasks.NOT_DONE"}
    sources = [*map(_text, FLOWS), *(block.text for block in blocks("python", pages=PAGES_WITH_PYTHON))]
    used = {f"{package}.{name}" for source in sources for package, name in imported(source) if name}
    assert used - described == set()
    assert len(used) > 50


def test_the_page_of_the_api_describes_public_names_only() -> None:
    for full in re.findall(r"^::: ([\w.]+)$", _text(DOCS / "reference" / "api.md"), re.MULTILINE):
        package, _, name = full.rpartition(".")
        assert package in PUBLIC, full
        assert name in import_module(package).__all__, full


def test_the_expense_audit_is_short_enough_to_copy() -> None:
    assert len(_text(ROOT / "flows" / "expense_audit.py").splitlines()) < AUDIT_LINES


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_packages_own_name_has_all_public_names() -> None:
    """In a process of its own: the import of the package loads neither Prefect nor the blocks."""
    script = """
import sys, holo_tasks, prefect_holo
assert not {"prefect", "holo_blocks"} & sys.modules.keys()
import holo_blocks
assert sorted(prefect_holo.__all__) == sorted([*holo_tasks.__all__, *holo_blocks.__all__])
for module in (holo_tasks, holo_blocks):
    assert all(getattr(prefect_holo, name) is getattr(module, name) for name in module.__all__)
assert not hasattr(prefect_holo, "HoloThing")
"""
    subprocess.run([sys.executable, "-c", script], check=True)

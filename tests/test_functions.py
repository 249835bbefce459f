"""No function is longer than a screen without a reason. Ruff (C901) limits their complexity."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_arrows import ROOT, parsed

MOST_LINES = 60
"""The limit of lines, not counting the docstring, which is for callers."""
LONGER = {
    "holo_tasks/agent/open_agent.py:open_agent": "opens a run: one part in each line, each named once",
}
"""Longer functions, by file and name, each with the reason."""


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function, including functions inside it, without its docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def functions() -> Iterator[tuple[str, int]]:
    for folder in ("holo_tasks", "blocks", "flows"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{path.relative_to(ROOT)}:{node.name}", lines_of(node)


def test_no_function_is_longer_than_a_screen_without_a_reason() -> None:
    longer = {name: lines for name, lines in functions() if lines > MOST_LINES}
    assert {name: lines for name, lines in longer.items() if name not in LONGER} == {}
    assert sorted(LONGER) == sorted(longer), "remove the reason of a function that is short by now"


def test_lines_are_counted_without_the_docstring(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('def one(\n    a,\n):\n    """Say.\n\n    More.\n    """\n    return a\n')
    (function,) = parsed(tmp_path / "one.py").body
    assert isinstance(function, ast.FunctionDef)
    assert lines_of(function) == 4

"""Served flows have a limit, because without one Prefect starts any number of runs at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FLOWS = Path(__file__).parents[2] / "flows"


def served(path: Path) -> list[ast.Call]:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = {"serve"}
    return [one for one in calls if (getattr(one.func, "attr", "") or getattr(one.func, "id", "")) in named]


SERVED = [path for path in sorted(FLOWS.glob("*.py")) if served(path)]


def test_there_are_served_flows() -> None:
    assert len(SERVED) >= 7


@pytest.mark.parametrize("path", SERVED, ids=lambda path: path.stem)
def test_each_served_flow_has_a_limit(path: Path) -> None:
    assert all(any(word.arg == "limit" for word in call.keywords) for call in served(path))

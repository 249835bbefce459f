"""Mark similar test cases: `make test` runs the first ones, `make test-long` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], first: int = 1) -> list[Any]:
    """Mark all cases except the first ``first`` ones as `long`."""
    marked = []
    for number, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=[pytest.mark.long] if number >= first else []))
    return marked

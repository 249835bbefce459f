"""A budget reset affects one business item only."""

from __future__ import annotations

from pathlib import Path

import pytest

from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.budgets import Budgets, forget, item_key
from tests.support.spending import balance

TOKENS = ("INV", "INV:2024", "INV:2024:file flag", "inv", "INV%3A2024", "IN_", "INV/2024")


@pytest.mark.parametrize("token", TOKENS)
def test_a_budget_reset_of_one_item_keeps_those_of_others(tmp_path: Path, token: str) -> None:
    store = store_at(tmp_path)
    budgets = Budgets(store)
    for one in TOKENS:
        budgets.act([Guard("a limit", Limits(max_actions=9), 0, key=item_key(one, "file flag/press"))])
    store.do(lambda db: forget(db, item_key(token)))
    left = {one for one in TOKENS if balance(budgets, item_key(one, "file flag/press")).actions}
    assert left == set(TOKENS) - {token}

"""A value that no database can store is the caller's error, not a lost database."""

from __future__ import annotations

from typing import Any

import pytest

from holo_tasks.core.errors import InvalidUsage, StoreLost
from holo_tasks.safety.records.budgets import BUDGETS
from holo_tasks.safety.records.items import Items
from tests.support.spending import open_store


def keep(url: str, **odd: Any) -> str:
    """Store a row; return the name of the error, or an empty string."""
    row = {"scope": "s", "name": "n", "spent_micro": 0, "held_micro": 0, "actions": 0}
    try:
        with open_store(url).transaction() as db:
            db.execute(BUDGETS.insert().values({**row, **odd}))
    except Exception as error:
        return type(error).__name__
    return ""


def test_a_text_that_is_not_utf8_names_no_item(store_url: str) -> None:
    with pytest.raises(InvalidUsage) as caught:
        Items(open_store(store_url)).of("item-\udc80")
    assert not isinstance(caught.value, StoreLost)


def test_a_value_that_cannot_be_stored_is_not_a_lost_database(store_url: str) -> None:
    assert keep(store_url, spent_micro=10**30) == "InvalidUsage"
    assert keep(store_url, name="\udc80") == "InvalidUsage"
    assert keep(store_url, name="a\0b") in ("", "InvalidUsage")  # SQLite stores it
    assert keep(store_url, scope="t") == ""

"""The dead-letter list: two kinds of work on one business item are two items, and one failure is one item."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from holo_tasks.safety.database import schema
from holo_tasks.safety.records.items import ALONE, Item, Items, NestedItems
from tests.support.postgres import EVERY_DATABASE
from tests.support.spending import open_store

OUTSIDE: dict[str, Any] = {"status": "limit", "trace": "t", "flow_run_id": "f"}


def failed(items: Items, goal: str, reason: str = "spent", within: NestedItems = ALONE) -> None:
    items.file("INV-1", goal, reason=reason, how={"goal": goal}, within=within, **OUTSIDE)


def listed(items: Items) -> list[tuple[str, str, int, object]]:
    return sorted((item.goal, item.reason, item.attempts, item.how["goal"]) for item in items.of("INV-1"))


def test_two_kinds_of_work_on_one_item_are_two_items(store_url: str) -> None:
    items = Items(open_store(store_url))
    failed(items, "file invoice", "the form is gone")
    failed(items, "pay invoice", "the bank is closed")
    failed(items, "pay invoice", "the bank is away")
    both = [
        ("file invoice", "the form is gone", 1, "file invoice"),
        ("pay invoice", "the bank is away", 2, "pay invoice"),
    ]
    assert listed(items) == both
    assert items.settle("INV-1", "pay invoice")
    assert not items.settle("INV-1", "pay invoice")
    assert listed(items) == both[:1]


def test_nested_goals_have_one_item_with_the_inner_way_to_finish(store_url: str) -> None:
    items = Items(open_store(store_url))
    for attempt in (1, 2):
        failed(items, "file flag")
        failed(items, "enter", within=NestedItems({"file flag"}, "file flag"))
        failed(items, "audit", within=NestedItems({"enter"}, "enter"))
        assert listed(items) == [("audit", "spent", attempt, "file flag")]


def test_an_outer_failure_replaces_the_item_of_an_inner_goal(store_url: str) -> None:
    items = Items(open_store(store_url))
    failed(items, "look up")
    failed(items, "audit", "nothing helps", NestedItems({"look up"}))
    assert listed(items) == [("audit", "nothing helps", 2, "audit")]


def test_a_late_item_replaces_the_inner_one_unless_it_failed_again(store_url: str) -> None:
    items = Items(open_store(store_url))
    item = Item("INV-1", "audit", reason="noted", how={"goal": "audit"}, attempts=1, at="2026-01-01", **OUTSIDE)
    failed(items, "file flag")
    assert items.file_late(item, NestedItems({"file flag"}, "file flag"))
    assert listed(items) == [("audit", "noted", 1, "file flag")]
    failed(items, "file flag")
    assert not items.file_late(item, NestedItems({"file flag"}, "file flag"))
    assert [goal for goal, *_ in listed(items)] == ["audit", "file flag"]


@EVERY_DATABASE
def test_a_list_with_one_item_per_token_is_migrated(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(store_url).transaction() as db:
        columns = "token, goal, status, reason, trace, flow_run_id, how, attempts, at"
        kinds = columns.replace(",", " TEXT NOT NULL,").replace("attempts TEXT", "attempts BIGINT")
        db.execute(sa.text("DROP TABLE items"))
        db.execute(sa.text(f"CREATE TABLE items ({kinds} TEXT NOT NULL, PRIMARY KEY (token))"))
        row = "'INV-1', 'file invoice', 'limit', 'spent', 't', 'f', '{\"goal\"\\: \"file invoice\"}', 3, '2026-01-01'"
        db.execute(sa.text(f"INSERT INTO items ({columns}) VALUES ({row})"))
        db.execute(sa.text("UPDATE holo_version SET version = 1"))
    items = Items(open_store(store_url))
    assert listed(items) == [("file invoice", "spent", 3, "file invoice")]
    failed(items, "pay invoice")
    failed(items, "file invoice")
    assert [(goal, attempts) for goal, _, attempts, _ in listed(items)] == [("file invoice", 4), ("pay invoice", 1)]
    monkeypatch.setattr(schema, "STEPS", (lambda db: pytest.fail("it is as new as can be"),) * len(schema.STEPS))
    assert len(Items(open_store(store_url)).all()) == 2

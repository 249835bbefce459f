"""A request to stop, left in the database, is for the runs that it names and for no later ones."""

from __future__ import annotations

import pytest

from holo_tasks.safety.kills import Kills
from tests.support.spending import open_store


@pytest.fixture
def kills(store_url: str) -> Kills:
    return Kills(open_store(store_url))


def set_clock(kills: Kills, by_s: float) -> None:
    true_s = type(kills._store).now_s
    kills._store.now_s = lambda db: true_s(kills._store, db) + by_s  # type: ignore[method-assign]


def test_a_flow_run_that_is_tried_again_is_not_stopped_by_what_was_asked_before(kills: Kills) -> None:
    first = kills.since()
    kills.ask("flow", "the first attempt")
    assert kills.asked("first", ["flow"], first)
    assert kills.asked("second", ["flow"], kills.since()) is None


def test_a_run_without_a_flow_run_is_not_stopped_by_what_was_asked_of_all_before_it_began(kills: Kills) -> None:
    kills.ask("", "all of that time")
    assert kills.asked("run", [""], kills.since()) is None


def test_what_was_asked_while_a_run_came_up_is_meant_for_it(kills: Kills) -> None:
    kills.ask("", "all")
    assert kills.asked("run", [], kills.since(ago_s=60))


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_request_reaches_runs_although_the_servers_clock_was_set(kills: Kills, hours: int) -> None:
    began = kills.since()
    set_clock(kills, 3600 * hours)
    kills.ask("", "all")
    assert kills.asked("run", [], began)


def test_a_clock_that_was_set_back_brings_no_old_request_to_new_runs(kills: Kills) -> None:
    kills.ask("", "all of that time")
    set_clock(kills, -3600)
    assert kills.asked("run", [], kills.since(ago_s=1)) is None

"""A request to stop, left in the database, is for the runs that it names and for no later ones."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.safety.kill_requests import Kills
from holo_tasks.safety.store import store_at


def test_a_flow_run_that_is_tried_again_is_not_stopped_by_what_was_asked_before(tmp_path: Path) -> None:
    kills = Kills(store_at(tmp_path))
    began_s = kills.now_s()
    kills.ask("flow", "the first attempt")
    assert kills.asked("first", ["flow"], began_s)
    assert kills.asked("second", ["flow"], kills.now_s() + 1) is None


def test_a_run_without_a_flow_run_is_not_stopped_by_what_was_asked_of_all_before_it_began(tmp_path: Path) -> None:
    kills = Kills(store_at(tmp_path))
    kills.ask("", "all of that time")
    assert kills.asked("run", [""], kills.now_s() + 1) is None

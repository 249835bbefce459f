"""A request to stop in the database applies to the named runs, and not to later ones."""

from __future__ import annotations

from pathlib import Path

from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.kill_requests import Kills


def test_an_earlier_request_does_not_stop_a_retried_flow_run(tmp_path: Path) -> None:
    kills = Kills(store_at(tmp_path))
    began_s = kills.now_s()
    kills.ask("flow", "the first attempt")
    assert kills.find_request("first", ["flow"], began_s)
    assert kills.find_request("second", ["flow"], kills.now_s() + 1) is None


def test_an_earlier_request_to_all_does_not_stop_a_new_run(tmp_path: Path) -> None:
    kills = Kills(store_at(tmp_path))
    kills.ask("", "all of that time")
    assert kills.find_request("run", [""], kills.now_s() + 1) is None

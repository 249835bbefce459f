"""What a run asks Prefect twice a second: no more requests than it takes, however many flow runs it is part of."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from holo_tasks.kill.run_registry import Running
from holo_tasks.kill.sources import Asking, StateSource

URL = "http://prefect.invalid/api"


class Prefect:
    """Flow runs by id, each with the one that it is part of; which of them were cancelled; and what was asked."""

    def __init__(self, wholes: dict[str, str]) -> None:
        self.wholes, self.cancelled = wholes, set[str]()
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        kind, _, name = request.url.path.removeprefix("/api/").partition("/")
        self.asked.append(kind if name != "filter" else "filter")
        if name == "filter":
            wanted = json.loads(request.content)["flow_runs"]
            assert wanted["state"] == {"type": {"any_": ["CANCELLED", "CANCELLING"]}}
            found = [one for one in wanted["id"]["any_"] if one in self.cancelled]
            return httpx.Response(200, json=[{"name": f"run {one}"} for one in found])
        if kind == "task_runs":
            return httpx.Response(200, json={"flow_run_id": name.removeprefix("task of ")})
        whole = self.wholes.get(name)
        return httpx.Response(200, json={"parent_task_run_id": f"task of {whole}" if whole else None})

    def since(self) -> list[str]:
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def prefect() -> Prefect:
    return Prefect({"agent": "part", "part": "whole"})


@pytest.fixture
def source(prefect: Prefect) -> Iterator[StateSource]:
    asking = Asking(URL)
    asking._client.close()
    asking._client = httpx.Client(base_url=URL, transport=httpx.MockTransport(prefect))
    yield StateSource(asking, Running.here("run", "title", "trace", "agent"))
    asking._client.close()


def test_once_it_is_known_what_a_run_is_part_of_one_request_asks_for_all(prefect: Prefect, source: StateSource) -> None:
    assert [source.look(["sub-goal"]), source.look(["sub-goal"]), source.look(["sub-goal"])] == ["", "", ""]
    assert prefect.since() == 2 * ["filter", "flow_runs", "task_runs"] + ["filter", "flow_runs"]
    assert source.look(["sub-goal", "another"]) == source.look([]) == ""
    assert prefect.since() == ["filter", "filter"]


@pytest.mark.parametrize("cancelled", ["agent", "part", "whole", "sub-goal"])
def test_each_of_them_that_is_cancelled_stops_the_run(prefect: Prefect, source: StateSource, cancelled: str) -> None:
    for _ in range(3):
        assert source.look(["sub-goal"]) == ""
    prefect.cancelled.add(cancelled)
    assert source.look(["sub-goal"]) == f"killed by cancelling the flow run run {cancelled} in Prefect"


def test_what_was_cancelled_before_stops_it_at_once(prefect: Prefect, source: StateSource) -> None:
    prefect.cancelled.add("agent")
    assert source.look([])
    assert prefect.since() == ["filter"]

"""Test how a run polls Prefect for cancellations: with few requests, however deeply its flow runs are nested."""

from __future__ import annotations

import json
from uuid import uuid4

import httpx
import pytest

from holo_tasks.kill.run_registry import Running
from holo_tasks.kill.sources import VARIABLE, PrefectApi, StateSource, cancelled_filter
from tests.support.prefect_api import PrefectAPI

URL = "http://prefect.invalid/api"


class Prefect:
    """Fake API: flow runs by id with their parents, the cancelled ones, and the requests received."""

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


def source_of(prefect: Prefect, *, part: bool) -> StateSource:
    api = PrefectApi(URL)
    api._client = httpx.Client(base_url=URL, transport=httpx.MockTransport(prefect))
    return StateSource(api, Running.here("run", "title", "trace", "agent"), part=part)


@pytest.fixture
def source(prefect: Prefect) -> StateSource:
    return source_of(prefect, part=True)


def test_one_request_covers_all_parents_once_they_are_known(prefect: Prefect, source: StateSource) -> None:
    assert [source.look(["sub-goal"]), source.look(["sub-goal"]), source.look(["sub-goal"])] == ["", "", ""]
    assert prefect.since() == 2 * ["filter", "flow_runs", "task_runs"] + ["filter", "flow_runs"]
    assert source.look(["sub-goal", "another"]) == source.look([]) == ""
    assert prefect.since() == ["filter", "filter"]


def test_a_top_level_flow_run_is_not_looked_up(prefect: Prefect) -> None:
    whole = source_of(prefect, part=False)
    assert whole.look([]) == whole.look(["sub-goal"]) == ""
    assert prefect.since() == ["filter", "filter"]


@pytest.mark.parametrize("cancelled", ["agent", "part", "whole", "sub-goal"])
def test_cancelling_any_of_the_flow_runs_stops_the_run(prefect: Prefect, source: StateSource, cancelled: str) -> None:
    for _ in range(3):
        assert source.look(["sub-goal"]) == ""
    prefect.cancelled.add(cancelled)
    assert source.look(["sub-goal"]) == f"killed by cancelling the flow run run {cancelled} in Prefect"


def test_an_earlier_cancellation_stops_the_run_at_once(prefect: Prefect, source: StateSource) -> None:
    prefect.cancelled.add("agent")
    assert source.look([])
    assert prefect.since() == ["filter"]


def test_the_shared_test_server_answers_like_prefect(prefect_url: str) -> None:
    api, nobody = PrefectAPI(prefect_url), [str(uuid4())]
    run = api.post("/flow_runs/", {"flow_id": api.post("/flows/", {"name": "stopped"})["id"], "name": "it"})["id"]
    client, of_prefect = PrefectApi(prefect_url), {"limit": 2}
    assert client.find("/flow_runs/filter", cancelled_filter([run])) == []
    assert client.find("/flow_runs/filter", cancelled_filter([run]) | of_prefect) == []
    api.post(f"/flow_runs/{run}/set_state", {"state": {"type": "CANCELLED"}, "force": True})
    for more in ({}, of_prefect):
        found = client.find("/flow_runs/filter", cancelled_filter([*nobody, run]) | more)
        assert [one["name"] for one in found] == ["it"]
    assert client.get(f"/variables/name/{VARIABLE}") is client.get("/variables/name/another") is None

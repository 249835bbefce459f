"""Test `RunKilled`, the exception that ends a killed run: pickling it, and its states while Prefect is unreachable."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Running

from holo_tasks.run.prefect_edge import killed
from holo_tasks.run.prefect_edge.killed import RunKilled


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_it_can_be_copied_and_pickled(again: Any, tmp_path: Path) -> None:
    error = RunKilled("the fire alarm", tmp_path)
    found = again(error)
    assert (type(found), str(found), found.__dict__) == (RunKilled, "the fire alarm", error.__dict__)


def test_an_unreachable_server_is_asked_once_for_all_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow_runs = [FlowRun(id=uuid4(), flow_id=uuid4(), state=Running()) for _ in range(3)]
    around = iter([*flow_runs, None])
    asked, noted = [], []
    monkeypatch.setattr(killed, "_current_flow_run", lambda: next(around))
    monkeypatch.setattr(killed, "end_tasks", lambda reason: None)
    monkeypatch.setattr(killed, "_report", lambda flow_run, state: asked.append(flow_run.id))
    monkeypatch.setattr(killed, "note_unreported", lambda home, id, begun, state: noted.append(id))
    error = RunKilled("the fire alarm", tmp_path)
    assert [error.state.name for _ in flow_runs] == ["Killed"] * 3
    assert asked == [flow_runs[0].id]
    assert noted == [str(run.id) for run in flow_runs]

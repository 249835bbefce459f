"""`holo-tasks retry` starts one flow run of a deployment per failure, and no second one while it is active."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from holo_tasks.cli.retry import retry
from holo_tasks.core.errors import InvalidUsage, StoreLost
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.run.items import retry_conflicts
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import WORKER, Items
from holo_tasks.safety.records.ledger import worker
from holo_tasks.safety.records.run_list import RunBook
from tests.support.prefect_api import PrefectAPI


class Failed:
    """A deployment's flow run that put an item on the list, and its later states."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.api = home, PrefectAPI(url)
        flow = self.api.post("/flows/", {"name": f"f-{uuid4()}"})["id"]
        self.deployment = self.api.post("/deployments/", {"name": "d", "flow_id": flow})["id"]
        self.first = self.api.post(f"/deployments/{self.deployment}/create_flow_run", {})["id"]
        self.store = store_at(home)
        self.file()

    def file(self, **how: str) -> None:
        how = {"kind": "flow", "deployment_id": self.deployment, **how}
        Items(self.store).file(
            "A-2", "file", status="needs_person", reason="", trace="", flow_run_id=self.first, how=how
        )

    def now(self, flow_run: str, state: str) -> None:
        self.api.set_state(flow_run, state, force=True)

    def retry(self) -> str:
        return retry(self.home, "A-2", done=None, not_done=False, again=lambda words: 0)[0]

    def runs(self) -> list[str]:
        wanted = {"deployments": {"id": {"any_": [self.deployment]}}, "sort": "EXPECTED_START_TIME_ASC"}
        return [str(run["id"]) for run in self.api.post("/flow_runs/filter", wanted)]

    def begun(self) -> str:
        """Retry; return the id of the one flow run that was started."""
        before = self.runs()
        said = self.retry()
        (made,) = set(self.runs()) - set(before)
        assert made in said
        return made

    def refused(self, why: str) -> None:
        before = self.runs()
        with pytest.raises(InvalidUsage, match=why):
            self.retry()
        assert self.runs() == before

    @contextmanager
    def agent(self, flow_run: str) -> Iterator[None]:
        """Run an agent in a flow run inside the block; afterwards its process counts as killed."""
        RunBook(self.store).began("R", title="", model="", limit_micro=None, trace="", flow_run_id=flow_run)
        registration = Registration(self.home, Running.here("R", "", "", flow_run))
        yield
        registration.close()


@pytest.fixture
def failed(tmp_path: Path, prefect: str, monkeypatch: pytest.MonkeyPatch) -> Failed:
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    return Failed(tmp_path / "holo", prefect)


def gone() -> str:
    """Return the worker name of a process that has ended."""
    named = "from holo_tasks.safety.records.ledger import worker; print(worker())"
    return subprocess.run([sys.executable, "-c", named], capture_output=True, text=True, check=True).stdout.strip()


def test_a_retry_starts_one_run_and_no_second_one_while_it_is_active(failed: Failed) -> None:
    failed.now(failed.first, "FAILED")
    second = failed.begun()
    failed.refused(f"has yet to begin .*`prefect flow-run cancel {second}`")
    failed.now(second, "PENDING")
    failed.refused("has just begun")
    failed.now(second, "RUNNING")
    failed.refused("has just begun")
    with failed.agent(second):
        failed.refused("is at work")
    third = failed.begun()
    failed.refused("has yet to begin")
    failed.now(third, "CANCELLED")
    assert failed.begun() not in (failed.first, second, third)


def test_no_run_is_started_while_the_worker_goes_on_with_other_items(failed: Failed) -> None:
    failed.now(failed.first, "RUNNING")
    failed.file(**{WORKER: worker()})
    failed.refused("is at work .* wait until it ends")
    failed.file(**{WORKER: gone()})
    failed.begun()
    failed.refused("has yet to begin")


def test_a_run_without_a_known_process_blocks_a_retry_for_a_minute(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed.now(failed.first, "RUNNING")
    failed.refused("ask again in a minute if it died")
    monkeypatch.setattr(retry_conflicts, "BEGINS_WITHIN", timedelta(0))
    failed.begun()


def test_concurrent_retries_start_one_run(failed: Failed) -> None:
    failed.now(failed.first, "FAILED")

    def again() -> str:
        try:
            return failed.retry()
        except InvalidUsage as refused:
            return str(refused)

    with ThreadPoolExecutor(4) as pool:  # the context holds the server's address
        futures = [pool.submit(copy_context().run, again) for _ in range(4)]
        said = [future.result() for future in futures]
    (second,) = set(failed.runs()) - {failed.first}
    assert all(second in words for words in said), said


def test_a_retry_that_could_not_be_recorded_is_found_in_prefect(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed.now(failed.first, "FAILED")

    def away(*_: object) -> None:
        raise StoreLost("the disk is full")

    with monkeypatch.context() as lost:
        lost.setattr(Items, "driven", away)
        second = failed.begun()
    failed.now(second, "CRASHED")
    third = failed.begun()
    assert third in failed.runs()
    failed.refused("has yet to begin")


def test_an_item_that_fails_again_can_be_retried_again(failed: Failed) -> None:
    failed.now(failed.first, "FAILED")
    second = failed.begun()
    (item,) = Items(failed.store).all()
    assert (item.flow_run_id, WORKER in item.how) == (second, False)
    failed.now(second, "FAILED")
    failed.file()  # the first flow run failed again after a retry in Prefect's UI
    failed.begun()

"""`deployments/prefect.yaml`: deployed by Prefect's command to a real server, and run by a real worker."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.schema_tools.validation import validate

from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.work_items import WorkItems
from tests.support import warm
from tests.support.prefect_api import PrefectAPI

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
FILE = "deployments/prefect.yaml"
PREFECT = ["-c", "from prefect.cli import app; app()", "--no-prompt"]
FORKING = """
from asyncio import unix_events
from tests.support import warm
warm.in_tests, unix_events.subprocess = True, warm.Starting(warm.ScriptPopen)
from prefect.cli import app
app()
"""
"""Prefect's command line, except that Python processes are forked from a preloaded one."""
COMMAND = [*PREFECT, "deploy", "--all", "--prefect-file", FILE]
POOL_MADE = ["deployments/pools/make.py", "process"]
POOL = "desktops"
WANTED = {
    "Expense audit/nightly": ("default", 1, "0 2 * * 2-6"),
    "Run a goal/goal": ("urgent", 4, None),
    "Benchmark/weekly": ("later", 1, "0 4 * * 0"),
    "Work through a list/list": ("lists", 10, None),
    "Work on goals/fleet": ("default", None, None),
    "Add to a list/item": ("lists", None, None),
    "Add a table to a list/table": ("lists", 1, None),
    "Review a playbook/proposals": ("lists", 20, None),
    "Janitor/janitor": ("urgent", 1, 300.0),
}
"""Each deployment with its queue, its limit of concurrent runs, and its schedule."""


class Clone(PrefectAPI):
    """This checkout, from which Prefect's command deploys to a server."""

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(url)
        self.home = home
        tools = Path(sys.executable).parent
        self.env = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PWD": str(ROOT),
            "PREFECT_API_URL": url,
            "PREFECT_WORKER_QUERY_SECONDS": "0.5",
            "HOLO_HOME": str(home),
        }

    def __call__(self, *command: str) -> str:
        """Run Python with these arguments at the top of the checkout."""
        line = [sys.executable, *command]
        done = warm.run_script(line, cwd=ROOT, env=self.env, timeout=300, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def deployments(self) -> dict[str, dict[str, Any]]:
        """Return the server's deployments in the pool, by ``flow/name``."""
        body = {"work_pools": {"name": {"any_": [POOL]}}}
        flows = {flow["id"]: flow["name"] for flow in self.post("/flows/filter", {})}
        found = self.post("/deployments/filter", body)
        return {f"{flows[one['flow_id']]}/{one['name']}": one for one in found}


@pytest.fixture(scope="module")
def clone(prefect_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    clone = Clone(prefect_url, tmp_path_factory.mktemp("home"))
    clone(*POOL_MADE)
    clone(*COMMAND)
    yield clone
    for one in clone.deployments().values():
        clone.delete(f"/deployments/{one['id']}")
    clone.delete(f"/work_pools/{POOL}")


def test_each_deployment_exists_with_its_queue_limit_and_schedule(clone: Clone) -> None:
    def due(one: dict[str, Any]) -> Any:
        schedules = [each["schedule"] for each in one["schedules"]]
        return schedules[0].get("cron", schedules[0].get("interval")) if schedules else None

    found = {
        name: (one["work_queue_name"], (one["global_concurrency_limit"] or {}).get("limit"), due(one))
        for name, one in clone.deployments().items()
    }
    assert found == WANTED
    assert all(one["tags"] and one["description"] for one in clone.deployments().values())


def test_a_heavy_deployments_schedule_is_off_by_default(clone: Clone) -> None:
    active = {name: [each["active"] for each in one["schedules"]] for name, one in clone.deployments().items()}
    assert active["Benchmark/weekly"] == [False]
    assert active["Expense audit/nightly"] == active["Janitor/janitor"] == [True]


def test_a_scheduled_run_does_not_queue_behind_a_running_one(clone: Clone) -> None:
    found = clone.deployments()
    for name in (name for name, (_, _, due) in WANTED.items() if due):
        assert found[name]["concurrency_options"]["collision_strategy"] == "CANCEL_NEW", name


@pytest.mark.parametrize("name", WANTED)
def test_parameters_match_the_flow_of_the_entrypoint(clone: Clone, name: str) -> None:
    one = clone.deployments()[name]
    flow = load_flow_from_entrypoint(str(ROOT / one["entrypoint"]))
    assert flow.name == name.partition("/")[0]
    assert one["parameters"].keys() <= one["parameter_openapi_schema"]["properties"].keys()
    validate(one["parameters"], one["parameter_openapi_schema"], raise_on_error=True, ignore_required=True)
    if one["schedules"]:  # a scheduled run uses these values
        flow.validate_parameters(one["parameters"])


def test_runs_work_in_the_checkout(clone: Clone) -> None:
    step = {"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}
    assert all(one["pull_steps"] == [step] for one in clone.deployments().values())


def test_urgent_runs_go_first(clone: Clone) -> None:
    queues = clone.post(f"/work_pools/{POOL}/queues/filter", {})
    by = {queue["name"]: queue["priority"] for queue in queues}
    assert sorted(by, key=by.__getitem__) == ["urgent", "lists", "default", "later"]


@pytest.mark.long  # deploying again takes as long as the first time
def test_a_second_deployment_changes_nothing(clone: Clone) -> None:
    def known() -> dict[str, dict[str, Any]]:
        seldom = {"updated", "schedules", "version", "version_id", "version_info"}
        return {
            name: {key: value for key, value in one.items() if key not in seldom}
            | {
                "due": [
                    {key: value for key, value in each.items() if key not in {"id", "updated", "created"}}
                    for each in one["schedules"]
                ]
            }
            for name, one in clone.deployments().items()
        }

    before = known()
    clone(*POOL_MADE)
    clone(*COMMAND)
    assert known() == before
    assert len(clone.post(f"/work_pools/{POOL}/queues/filter", {})) == 4


def test_every_flow_that_can_be_served_can_be_deployed() -> None:
    deployed = {one["entrypoint"] for one in yaml.safe_load((ROOT / FILE).read_text())["deployments"]}
    flows = {
        f"flows/{path.name}:{node.name}"
        for path in (ROOT / "flows").glob("*.py")
        if "serve(" in path.read_text(encoding="utf-8")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef) and any(_is_flow(each) for each in node.decorator_list)
    }
    assert deployed == flows


def _is_flow(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "flow"


def test_a_worker_of_the_pool_runs_a_deployment(clone: Clone) -> None:
    item = {"work_list": "goals", "key": "one", "payload": {"goal": "Look.", "token": "one"}, "priority": "high"}
    one = clone.deployments()["Add to a list/item"]
    run = clone.post(f"/deployments/{one['id']}/create_flow_run", {"parameters": item, "state": {"type": "SCHEDULED"}})
    said = clone("-c", FORKING, "worker", "start", "--pool", POOL, "--work-queue", "lists", "--run-once")
    assert clone.flow_run(run["id"])["state"]["type"] == "COMPLETED", said
    listed = WorkItems(store_at(clone.home)).find("goals", "one")
    assert listed is not None
    assert (listed.payload, listed.priority) == (item["payload"], "high")

"""A program's API as a layer of a sub-goal: accepted functions, their answers, and the state after a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from holo_tasks import (
    NOT_DONE,
    Api,
    Effect,
    InvalidUsage,
    LimitReached,
    Limits,
    NeedsPerson,
    Script,
    SubgoalOptions,
    pursue,
    subgoal,
)
from holo_tasks.audit import open_trace
from holo_tasks.audit.pages.report import write_report
from holo_tasks.core.errors import GaveUp
from holo_tasks.run.run import Run
from holo_tasks.scripts.hands import Hands
from tests.support import warm
from tests.support.agents import agent, events, in_a_flow
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
REPOSITORY = Path(__file__).parent.parent.parent
DONE = step("answer", content="by model")
CLICK = step("click", element="OK button", x=500, y=500)
ASK = step("ask_human", question="Which one?")


class Filed(BaseModel):
    number: int


class Looks(PaintedDesktop):
    """Counts its captures."""

    looks = 0

    async def look(self, *args: Any, **kwargs: Any) -> Any:
        self.looks += 1
        return await super().look(*args, **kwargs)


class Worked:
    """A flow with an agent around some work, and its results."""

    def __init__(self, folder: Path, *said: Any) -> None:
        self.folder, self.desktop, self.model = folder, Looks(), ScriptedModel(list(said) or [DONE])
        self.value: Any = None
        self.error: Exception | None = None
        self.run: Run

    async def by(self, work: Callable[[], Awaitable[Any]], *, in_flow: bool = False, **options: Any) -> Worked:
        async def around() -> None:
            async with agent(self.model, self.desktop, self.folder, **options) as self.run:
                try:
                    self.value = await work()
                except Exception as error:
                    self.error = error

        with self.model:
            await (in_a_flow(around) if in_flow else around())
        return self

    def kinds(self, *kinds: str) -> list[Any]:
        return [event for event in events(self.run.trace) if event.kind in kinds]


async def by_api(reference: str) -> str:
    return f"by api: {reference}"


async def not_there(reference: str) -> str:
    raise GaveUp(f"There is no API for {reference}.")


async def test_an_async_function_without_hands_replaces_the_screen(tmp_path: Path) -> None:
    @subgoal(layers=[by_api, "model"])
    async def read_it(reference: str, amount: int = 3) -> str:
        return str(await pursue("Read it."))

    worked = await Worked(tmp_path).by(lambda: read_it("TX-1"))
    assert worked.value == "by api: TX-1"
    assert (worked.model.requests, worked.desktop.looks) == ([], 0), "neither the model nor the screen was needed"
    assert worked.run.layers == {"api": 1}
    (closed,) = worked.kinds("subgoal_closed")
    assert (closed.status, closed.layer, closed.answer, closed.steps) == ("answered", "api", "by api: TX-1", 1)
    action, receipt, decided = worked.kinds("action", "receipt", "decision")
    assert (action.gesture_kind, action.label, action.gesture) == ("api", "API: by api", {"function": "by api"})
    assert receipt.input_events == 0
    assert (decided.tool_name, decided.arguments) == ("answer", {"content": "by api: TX-1"})
    write_report(open_trace(worked.run.trace), page := tmp_path / "report.html")
    assert "API: by api" in page.read_text()


async def test_an_api_that_gives_up_passes_its_reason_to_the_next_layer_as_data(tmp_path: Path) -> None:
    @subgoal(key="{reference}", layers=[not_there, "model"])
    async def file_it(reference: str) -> str:
        return str(await pursue("File it."))

    worked = await Worked(tmp_path, DONE).by(lambda: file_it("TX-1 <b>"))
    assert worked.value == "by model", "giving up means that the API did not act, so no check is needed"
    (changed,) = worked.kinds("layer_changed")
    assert (changed.source, changed.target, changed.reason) == ("api", "model", "There is no API for TX-1 <b>.")
    task = str(worked.model.requests[0]["messages"][1]["content"])
    assert "The program's API was called before and gave up" in task
    assert r"There is no API for TX-1 \u003cb>." in task
    assert [event.reason for event in worked.kinds("action_failed")] == ["it gave up: There is no API for TX-1 <b>."]


async def test_the_return_value_is_converted_to_the_goals_type(tmp_path: Path) -> None:
    async def model_of() -> Filed:
        return Filed(number=4)

    async def a_dict() -> dict[str, int]:
        return {"number": 5}

    async def nothing() -> None:
        return None

    async def strange() -> Any:
        return {"number": "many"}

    def work(api: Any, returns: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: pursue("File it.", returns=returns, options=SubgoalOptions(layers=[api]))

    found: list[Any] = []
    for number, (api, returns) in enumerate([(model_of, Filed), (a_dict, Filed), (nothing, int | None)]):
        worked = await Worked(tmp_path / str(number)).by(work(api, returns), in_flow=True)
        assert worked.error is None
        found.append(worked.value)
    assert found == [Filed(number=4), Filed(number=5), None]
    for api, returns, told in ((nothing, str, "it returned nothing"), (strange, Filed, "number")):
        worked = await Worked(tmp_path / told).by(work(api, returns), in_flow=True)
        assert isinstance(worked.error, GaveUp)
        assert told in str(worked.error)


@pytest.mark.parametrize(
    ("probe", "value"),
    [(None, None), (NOT_DONE, {"number": 7}), ("found", "found")],
    ids=["unknown", "not done", "done"],
)
async def test_after_an_invalid_answer_the_effect_is_probed_before_the_next_layer(
    tmp_path: Path, probe: Any, value: Any
) -> None:
    async def nonsense(item: str) -> str:
        return "[]"

    async def look(item: str) -> Any:
        return probe

    @subgoal(key="{item}", effect=Effect(probe=look), layers=[nonsense, "model"])
    async def file_it(item: str) -> Any:
        return await pursue("File it.", returns=Filed)

    worked = await Worked(tmp_path, step("answer", content='{"number": 7}')).by(lambda: file_it("I-1"))
    assert worked.value == value
    if value is None:
        assert isinstance(worked.error, NeedsPerson)
        assert "The program's API was called" in str(worked.error)


async def test_an_exception_propagates_and_the_next_attempt_checks_the_effect(tmp_path: Path) -> None:
    called: list[str] = []

    async def cut_off(item: str) -> str:
        called.append(item)
        raise ConnectionError("the line was cut")

    @subgoal(key="{item}", layers=[cut_off, "model"])
    async def file_it(item: str) -> str:
        return str(await pursue("File it."))

    first = await Worked(tmp_path).by(lambda: file_it("I-1"))
    assert isinstance(first.error, ConnectionError)
    again = await Worked(tmp_path).by(lambda: file_it("I-1"))
    assert isinstance(again.error, NeedsPerson)
    assert "API: cut off, may have been done or not" in str(again.error)
    assert (called, again.model.requests) == (["I-1"], [])


async def test_an_api_without_effect_is_not_journaled_and_may_be_called_again(tmp_path: Path) -> None:
    called: list[str] = []

    async def cut_off_once(item: str) -> str:
        called.append(item)
        if len(called) == 1:
            raise ConnectionError("the line was cut")
        return "read"

    @subgoal(key="{item}", effect=None, layers=[cut_off_once])
    async def read_it(item: str) -> str:
        return str(await pursue("Read it."))

    assert isinstance((await Worked(tmp_path).by(lambda: read_it("I-1"))).error, ConnectionError)
    assert (await Worked(tmp_path).by(lambda: read_it("I-1"))).value == "read"


async def test_an_api_call_counts_as_an_action_and_stops_at_a_deadline(tmp_path: Path) -> None:
    async def slow(item: str) -> str:
        await asyncio.sleep(60)
        return "late"

    @subgoal(layers=[slow])
    async def file_it(item: str) -> str:
        return str(await pursue("File it."))

    @subgoal(layers=[by_api])
    async def read_it(reference: str) -> str:
        return str(await pursue("Read it."))

    late = await Worked(tmp_path).by(lambda: file_it("I-1"), limits=Limits(timeout_seconds=3))
    assert isinstance(late.error, LimitReached)
    none = await Worked(tmp_path).by(lambda: read_it("I-1"), limits=Limits(max_actions=0))
    assert isinstance(none.error, LimitReached)
    assert none.kinds("action") == []


@pytest.mark.usefixtures("recorded")
async def test_an_api_after_another_layer_is_shown_in_prefect(tmp_path: Path, prefect_url: str) -> None:
    @subgoal(layers=["model", by_api])
    async def read_it(reference: str) -> str:
        return str(await pursue("Read it."))

    worked = await Worked(tmp_path, ASK).by(lambda: read_it("TX-1"), in_flow=True)
    assert worked.value == "by api: TX-1"

    def found(what: str, **query: Any) -> list[Any]:
        answer: list[Any] = PrefectAPI(prefect_url).post(f"/{what}/filter", query)
        return answer

    runs = found("flow_runs", flow_runs={"parent_flow_run_id": {"any_": [worked.run.flow_run_id]}})
    assert [run["state"]["name"] for run in runs] == ["Completed by api"]
    names: dict[str, list[str]] = {}
    for _ in range(100):  # task runs reach the server as events, a moment later
        tasks = found("task_runs", flow_runs={"id": {"any_": [run["id"] for run in runs]}})
        names = {task["name"]: task["tags"] for task in tasks}
        if len(names) == 2:
            break
        await asyncio.sleep(0.1)
    assert names == {"1 · decide": [], "2 · api · by api": ["layer:api"]}


async def with_hands(hands: Hands, reference: str) -> str:
    return "by script"


async def by_another_name(ours: Hands) -> str:
    return "by script"


async def nobody_knows(it: Any) -> str:
    return "by script"


def plain(reference: str) -> str:
    return "not awaited"


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (
            [with_hands],
            r"'with hands' takes hands, so it works on the screen: it is a script\. In layers= write Script\(",
        ),
        ([by_another_name], "takes ours, so it works on the screen"),
        ([Api(by_api), by_api], "an API"),
        (["api"], r"Put the API's function itself"),
        ([nobody_knows], r"takes 'it', and ‘read it’ has no such argument \(it has: reference\)"),
    ],
)
def test_unsuitable_functions_are_refused_as_an_api(layers: list[Any], told: str) -> None:
    with pytest.raises(InvalidUsage, match=told):

        @subgoal(layers=layers)
        async def read_it(reference: str) -> str:
            return ""


async def test_a_plain_function_is_refused_and_api_declares_a_callable_as_an_api(tmp_path: Path) -> None:
    @subgoal(layers=[plain])
    async def read_it(reference: str) -> str:
        return str(await pursue("Read it."))

    @subgoal(layers=[Api(plain)])  # type: ignore[arg-type]
    async def read_again(reference: str) -> str:
        return str(await pursue("Read it."))

    @subgoal(layers=[Api(lambda reference: by_api(reference)), Script(with_hands, reference="")])
    async def read_well(reference: str) -> str:
        return str(await pursue("Read it."))

    assert "write `async def`, or wrap it in Api(…)" in str((await Worked(tmp_path).by(lambda: read_it("TX-1"))).error)
    assert "make it `async def`" in str((await Worked(tmp_path).by(lambda: read_again("TX-1"))).error)
    assert (await Worked(tmp_path).by(lambda: read_well("TX-1"))).value == "by api: TX-1"


async def test_an_api_in_pursue_is_refused_without_arguments(tmp_path: Path) -> None:
    async def work() -> Any:
        return await pursue("Read it.", options=SubgoalOptions(layers=[by_api]))

    worked = await Worked(tmp_path).by(work, in_flow=True)
    assert isinstance(worked.error, InvalidUsage)
    assert "pursue() has no arguments" in str(worked.error)


@pytest.mark.parametrize("probe", few(["", "done", "not done"], first=1))
def test_a_kill_between_effect_and_record_causes_no_second_effect(tmp_path: Path, prefect_url: str, probe: str) -> None:
    script = tmp_path / "filing.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, os, signal, sys
            from pathlib import Path
            from prefect import flow
            from holo_tasks import NOT_DONE, Effect, pursue, subgoal
            from tests.support.agents import agent
            from tests.support.painted_desktop import PaintedDesktop
            from tests.support.scripted_model import ScriptedModel

            here, probe, kills = Path(sys.argv[1]), sys.argv[2], "kill" in sys.argv

            async def post(item: str) -> str:
                if probe != "not done" or not kills:
                    with open(here / "log", "a") as file:
                        file.write(item)
                if kills:
                    os.kill(os.getpid(), signal.SIGKILL)
                return "posted"

            async def look(item: str):
                return {"": None, "done": "found", "not done": NOT_DONE}[probe]

            @subgoal(key="{item}", effect=Effect(probe=look), layers=[post, "model"])
            async def file_it(item: str) -> str:
                return await pursue("File it.")

            @flow(persist_result=False)
            async def filing() -> str:
                with ScriptedModel([]) as model:
                    async with agent(model, PaintedDesktop(), here):
                        return await file_it("R-1")

            print(asyncio.run(filing()))
            """
        )
    )
    env = {**os.environ, "PREFECT_API_URL": prefect_url, "PYTHONPATH": str(REPOSITORY)}
    runs = [
        warm.run_script([sys.executable, script, tmp_path, probe, *more], env=env, timeout=240)
        for more in (["kill"], [])
    ]
    assert runs[0].returncode == -signal.SIGKILL
    if probe:
        assert runs[1].returncode == 0, runs[1].stderr[-2000:]
        assert runs[1].stdout.split() == ["found" if probe == "done" else "posted"]
    else:
        assert "Nothing was repeated" in runs[1].stderr
    assert (tmp_path / "log").read_text() == "R-1"

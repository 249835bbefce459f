"""`@step`: a flow's work off the screen is done once per key, even if the process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import (
    NOT_DONE,
    InvalidUsage,
    LimitReached,
    NeedsPerson,
    TokenConflict,
    cost_guardrail,
    step,
    subgoal,
)
from holo_tasks.cli.retry import retry
from holo_tasks.core.events import Skipped
from holo_tasks.handoff.suspend import Suspended
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Ledger
from tests.support import warm
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.usefixtures("prefect")
REPOSITORY = Path(__file__).parent.parent.parent
sent: list[str] = []
fails: list[str] = []


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sent.clear()
    fails.clear()
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    return tmp_path / "holo"


async def note(item: str) -> int:
    sent.append(item)
    if item in fails:
        raise ConnectionError("the line was cut")
    return len(sent)


@step(key="{item}", inputs=["item", "amount"])
async def pay(item: str, amount: int = 5, note_only: str = "") -> int:
    return await note(item)


@step(key="{item}", repeatable=True)
async def write_row(item: str) -> int:
    return await note(item)


async def look(item: str) -> Any:
    return {"there": 7, "not there": NOT_DONE, "who knows": None}[item]


@step(key="{item}", probe=look)
async def create(item: str) -> int:
    return await note(item)


async def in_flow(work: Callable[[], Awaitable[Any]]) -> Any:
    @flow(name="chain", persist_result=False)
    async def around() -> Any:
        return await work()

    return await around()


async def test_a_step_is_done_once_for_each_key_and_its_result_is_kept() -> None:
    assert [await in_flow(lambda item=item: pay(item)) for item in ("a", "b", "a")] == [1, 2, 1]
    assert await in_flow(lambda: pay("a", note_only="is not about the work")) == 1
    with pytest.raises(TokenConflict):
        await in_flow(lambda: pay("a", 6))
    assert sent == ["a", "b"]


async def test_inside_an_agent_a_step_uses_the_same_ledger_and_is_listed_as_skipped(tmp_path: Path) -> None:
    async def work() -> tuple[int, str]:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                return await pay("a"), run.trace

    assert await in_flow(lambda: pay("a")) == 1
    found, trace = await in_flow(work)
    assert (found, sent) == (1, ["a"])
    (skipped,) = (event for event in events(trace) if isinstance(event, Skipped))
    assert [(one.token, one.goal) for one in skipped.items] == [("a", "pay")]


async def test_a_failed_step_is_not_repeated_before_a_person_has_checked(home: Path) -> None:
    fails.append("a")
    with pytest.raises(ConnectionError):
        await in_flow(lambda: pay("a"))
    fails.clear()
    for _ in range(2):
        with pytest.raises(NeedsPerson, match="Nothing was repeated"):
            await in_flow(lambda: pay("a"))
    items = Items(store_at(home))
    assert [(item.token, item.goal, item.status) for item in items.all()] == [("a", "pay", "needs_person")]
    retry(home, "a", done=None, not_done=True, again=lambda arguments: 0)
    assert await in_flow(lambda: pay("a")) == 2
    assert (sent, items.all()) == (["a", "a"], [])


async def test_a_persons_result_is_accepted(home: Path) -> None:
    fails.append("a")
    with pytest.raises(ConnectionError):
        await in_flow(lambda: pay("a"))
    retry(home, "a", done="41", not_done=False, again=lambda arguments: 0)
    assert await in_flow(lambda: pay("a")) == 41
    assert sent == ["a"]


@pytest.mark.parametrize(("item", "times", "found"), [("there", 1, 7), ("not there", 2, 2), ("who knows", 1, None)])
async def test_a_probe_finds_the_result_of_an_interrupted_step(item: str, times: int, found: int | None) -> None:
    fails.append(item)
    with pytest.raises(ConnectionError):
        await in_flow(lambda: create(item))
    fails.clear()
    if found is None:
        with pytest.raises(NeedsPerson):
            await in_flow(lambda: create(item))
    else:
        assert await in_flow(lambda: create(item)) == found
    assert sent == [item] * times


async def test_a_repeatable_step_is_repeated(home: Path) -> None:
    fails.append("a")
    with pytest.raises(ConnectionError):
        await in_flow(lambda: write_row("a"))
    assert [item.goal for item in Items(store_at(home)).all()] == ["write row"], "a person should know"
    fails.clear()
    assert [await in_flow(lambda: write_row("a")) for _ in range(2)] == [2, 2]
    assert (sent, Items(store_at(home)).all()) == (["a", "a"], [])


async def test_an_empty_key_is_refused_and_none_means_no_key() -> None:
    @step(key="{item}")
    async def greet(item: str | None) -> int:
        return await note("greeting")

    assert [await in_flow(lambda: greet(None)) for _ in range(2)] == [1, 2]
    with pytest.raises(InvalidUsage, match="which two items may share"):
        await in_flow(lambda: greet(""))


async def test_of_two_simultaneous_calls_one_does_the_work() -> None:
    @step(key="{item}")
    async def slow(item: str) -> int:
        await asyncio.sleep(0.05)
        return await note(item)

    both = await in_flow(lambda: asyncio.gather(slow("a"), slow("a"), return_exceptions=True))
    assert sent == ["a"]
    assert 1 in both


async def test_a_failed_step_is_listed_under_its_sub_goals_item(tmp_path: Path) -> None:
    @subgoal(key="{item}")
    async def settle_bill(item: str) -> int:
        return await pay(item)

    async def work() -> int:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path):
                return await settle_bill("a")

    home, items = tmp_path / "holo", Items(store_at(tmp_path / "holo"))
    fails.append("a")
    with pytest.raises(ConnectionError):
        await work()
    fails.clear()
    assert [item.goal for item in items.all()] == ["settle bill"]
    with pytest.raises(NeedsPerson):
        await work()
    retry(home, "a", done=None, not_done=True, again=lambda arguments: 0)
    assert await work() == 2
    assert (sent, items.all()) == (["a", "a"], [])


async def test_a_step_stopped_by_a_deadline_is_listed_with_the_limit(home: Path) -> None:
    @step(key="{item}")
    async def wait(item: str) -> None:
        await asyncio.sleep(60)

    @flow(name="short", persist_result=False)
    @cost_guardrail(timeout_seconds=2)
    async def short() -> None:
        await wait("a")

    with pytest.raises(LimitReached):
        await short()
    assert [(item.token, item.status) for item in Items(store_at(home)).all()] == [("a", "limit")]


async def test_a_suspending_run_starts_no_step(tmp_path: Path) -> None:
    async def work() -> None:
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path) as run:
                run.suspended = Suspended("abcd", "May it be filed?")
                await pay("a")

    with pytest.raises(Suspended):
        await in_flow(work)
    assert sent == []


async def test_a_known_result_is_stored_despite_a_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = asyncio.Event(), threading.Event()
    finish = Ledger.finish

    def slow(*args: Any) -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(60)
        finish(*args)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(Ledger, "finish", slow)
    paying = asyncio.ensure_future(in_flow(lambda: pay("a")))
    await begun.wait()
    paying.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await paying
    assert await in_flow(lambda: pay("a")) == 1
    assert sent == ["a"]


async def test_a_stored_result_of_an_old_type_raises_an_error_without_an_item(home: Path) -> None:
    def version(returns: Any) -> Any:
        async def tell(item: str) -> Any:
            return await note(item)

        tell.__annotations__["return"] = returns
        return step(key="{item}", ledger="tell")(tell)

    assert await in_flow(lambda: version(int)("a")) == 1
    with pytest.raises(InvalidUsage, match="does not fit its present return type"):
        await in_flow(lambda: version(list[str])("a"))
    assert Items(store_at(home)).all() == []


def test_invalid_step_declarations_are_refused_at_declaration() -> None:
    def plain(item: str) -> int:
        return 1

    async def fine(item: str) -> int:
        return 1

    with pytest.raises(InvalidUsage, match="async def"):
        step(key="{item}")(plain)  # type: ignore[arg-type]
    with pytest.raises(InvalidUsage, match="itme"):
        step(key="{itme}")(fine)
    with pytest.raises(InvalidUsage, match="all calls would be one item"):
        step(key=" ")(fine)
    with pytest.raises(InvalidUsage, match="there is no 'amuont'"):
        step(key="{item}", inputs=["amuont"])(fine)
    with pytest.raises(InvalidUsage, match="repeatable= or probe="):
        step(key="{item}", repeatable=True, probe=look)


def test_a_step_of_a_killed_process_is_left_to_a_person(tmp_path: Path, prefect_url: str) -> None:
    script = tmp_path / "chain.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, os, signal, sys
            from pathlib import Path
            from prefect import flow
            from holo_tasks import step

            @step(key="{item}")
            async def send(item: str, log: str) -> str:
                with open(log, "a") as file:
                    file.write(item)
                if "kill" in sys.argv:
                    os.kill(os.getpid(), signal.SIGKILL)
                return "sent"

            @flow(persist_result=False)
            async def chain() -> str:
                return await send("R-1", sys.argv[1])

            print(asyncio.run(chain()))
            """
        )
    )
    log = tmp_path / "log"
    env = {**os.environ, "PREFECT_API_URL": prefect_url, "PYTHONPATH": str(REPOSITORY)}
    runs = [warm.run_script([sys.executable, script, log, *more], env=env, timeout=240) for more in (["kill"], [])]
    assert [run.returncode for run in runs] == [-signal.SIGKILL, 1]
    assert "Nothing was repeated" in runs[1].stderr
    assert log.read_text() == "R-1"

"""Prefect repeats a flow or a task after an error that may pass, and never after a lasting one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.settings import PREFECT_FLOWS_DEFAULT_RETRIES, PREFECT_TASKS_DEFAULT_RETRIES, temporary_settings

from holo_tasks import cost_guardrail, step, subgoal
from holo_tasks.audit.errors import DiskFull, StoreAway, StoreRefused
from holo_tasks.core import errors
from holo_tasks.core.errors import HoloError, LimitReached, TransientModelFault
from holo_tasks.office.atomic_file import FileBusy
from holo_tasks.office.imap import MailboxUnreachable
from holo_tasks.safety.records.ledger import TokenInUse
from tests.support.agents import agent
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel

FINAL: list[tuple[HoloError, str]] = [
    (LimitReached("a", limit="max_cost_usd"), "Limit: max_cost_usd"),
    (LimitReached("a", limit="max_actions"), "Limit: max_actions"),
    (LimitReached("a", limit="max_steps"), "Limit: max_steps"),
    (errors.NeedsPerson("a"), "Needs person"),
    (errors.GaveUp("a", layer="script"), "Needs person"),
    (errors.PolicyRefused("a"), "Refused"),
    (errors.RedactionFailed("a"), "Refused"),
    (errors.SecretRefused("a"), "Refused"),
    (errors.InvalidUsage("a"), "Invalid"),
    (errors.BusinessFailure("a"), "Invalid"),
    (errors.TokenConflict("a"), "Invalid"),
    (StoreRefused("a"), "Invalid"),
    (errors.Killed("a"), "Killed"),
]
PASSING: list[HoloError] = [
    LimitReached("a", limit="timeout_seconds"),
    LimitReached("a", limit="max_calls_per_5_minutes"),
    errors.Unavailable("a"),
    errors.DatabaseAway("a"),
    errors.ScreenHeld("a"),
    errors.ModelFailed("a"),
    TransientModelFault("a"),
    errors.DesktopFailed("a"),
    errors.ScreenChanged("a"),
    TokenInUse("a"),
    FileBusy("a"),
    MailboxUnreachable("a"),
    DiskFull("a"),
    StoreAway("a"),
]
RETRIES = 1


def named(error: HoloError) -> str:
    return f"{type(error).__name__}-{getattr(error, 'limit', '')}".strip("-")


def guarded(decorator: Any, error: HoloError, *, sync: bool = False) -> tuple[Callable[[], Any], list[int]]:
    """Return a guarded flow or task that raises an error, and the list of its tries."""
    tries: list[int] = []
    options = {"name": "ends", "retries": RETRIES, "retry_delay_seconds": 0, "persist_result": False}

    def work() -> None:
        tries.append(1)
        raise error

    async def work_async() -> None:
        work()

    return decorator(**options)(cost_guardrail(max_cost_usd=1.0)(work if sync else work_async)), tries


def all_errors(kind: type[HoloError] = HoloError) -> Iterator[type[HoloError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from all_errors(below)


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize(("error", "name"), FINAL, ids=lambda one: named(one) if isinstance(one, HoloError) else "")
async def test_a_flow_with_retries_ends_at_a_final_state(error: HoloError, name: str) -> None:
    ends, tries = guarded(flow, error)
    state = await ends(return_state=True)  # type: ignore[call-arg]
    assert (len(tries), state.name, state.is_final()) == (1, name, True)
    with pytest.raises(type(error)):
        await state.aresult()


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize("error", [error for error, _ in FINAL], ids=named)
async def test_a_task_with_retries_ends_at_a_final_error(error: HoloError) -> None:
    ends, tries = guarded(task, error)
    state = await ends(return_state=True)  # type: ignore[call-arg]
    assert (len(tries), state.is_failed()) == (1, True)
    with pytest.raises(type(error)):
        await ends()
    assert len(tries) == 2


@pytest.mark.usefixtures("prefect")
async def test_a_tasks_own_condition_decides_about_retries() -> None:
    tries: list[int] = []

    @task(retries=RETRIES, retry_condition_fn=lambda *_: True)
    @cost_guardrail(max_cost_usd=1.0)
    async def refused() -> None:
        tries.append(1)
        raise errors.PolicyRefused("a")

    with pytest.raises(errors.PolicyRefused):
        await refused()
    assert len(tries) == 1 + RETRIES


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize("error", PASSING, ids=named)
@pytest.mark.parametrize("decorator", [flow, task])
async def test_a_fault_that_may_pass_is_tried_again(decorator: Any, error: HoloError) -> None:
    ends, tries = guarded(decorator, error)
    state = await ends(return_state=True)  # type: ignore[call-arg]
    assert (len(tries), state.is_failed()) == (1 + RETRIES, True)


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize("decorator", [flow, task])
def test_a_synchronous_function_ends_at_a_final_state_too(decorator: Any) -> None:
    ends, tries = guarded(decorator, errors.NeedsPerson("a"), sync=True)
    state = ends(return_state=True)  # type: ignore[call-arg]
    assert (len(tries), state.is_failed()) == (1, True)


@pytest.mark.usefixtures("prefect")
async def test_prefects_default_retries_repeat_no_sub_goal_and_no_step(tmp_path: Path) -> None:
    tries: list[str] = []

    @subgoal(effect=None)
    async def hopeless() -> None:
        tries.append("sub-goal")
        raise errors.NeedsPerson("a")

    @step(key="{item}")
    async def refused(item: str) -> None:
        tries.append("step")
        raise errors.PolicyRefused("a")

    with temporary_settings({PREFECT_FLOWS_DEFAULT_RETRIES: 2, PREFECT_TASKS_DEFAULT_RETRIES: 2}):
        with ScriptedModel([]) as model:
            async with agent(model, PaintedDesktop(), tmp_path):
                state: Any = await hopeless(return_state=True)  # type: ignore[call-arg]
        with pytest.raises(errors.PolicyRefused):
            await refused("I-1")
    assert state.name == "Needs person"
    assert tries == ["sub-goal", "step"]


def test_an_error_that_may_pass_is_not_lasting() -> None:
    assert not [kind.__name__ for kind in all_errors() if kind.transient and kind.lasting]

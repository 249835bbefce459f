"""A business token has at most one effect: the effect of an interrupted attempt is probed, and never repeated
blindly.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from holo_tasks import (
    NOT_DONE,
    Effect,
    InvalidUsage,
    LimitReached,
    ModelFailed,
    NeedsPerson,
    agent_step,
    cost_guardrail,
    current_run,
    pursue,
    subgoal,
)
from holo_tasks.cli.retry import retry
from holo_tasks.cli.runs import listing
from holo_tasks.core.errors import DesktopFailed, HoloError, StoreLost
from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.kill import switch as kill_switch
from holo_tasks.kill.run_registry import running
from holo_tasks.machine import pending_notes
from holo_tasks.run import run as runs
from holo_tasks.run.items.dead_letters import file_noted
from holo_tasks.safety.database import database_time_limit
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records import ledger as ledgers
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Claim, Intent, Ledger
from tests.support.agents import events
from tests.support.interruptions import BABBLE, CLICK, DONE, SEEN, World, cut_off, pressing
from tests.support.postgres import Postgres
from tests.support.scripted_model import step

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_each_action_has_an_intent_before_it_is_tried(world: World) -> None:
    seen: list[tuple[Intent, ...]] = []
    world.desktop._on_gesture = lambda gesture: seen.append(world.intents("I-1"))
    press = pressing()
    assert await world.run(lambda: press("I-1"), [CLICK, CLICK, DONE]) == "done"
    assert [[intent.done for intent in intents] for intents in seen] == [[False], [True, False]]
    assert seen[0][0].action == "click ‘OK button’"
    assert len(seen[0][0].frame) == 64
    assert Path(seen[0][0].trace).is_dir()


async def test_an_existing_effect_is_not_repeated(world: World) -> None:
    press = pressing("found it")
    await world.interrupted(lambda: press("I-1"))
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "found it"
    assert world.cost == (0, 0)
    assert press.probes == ["I-1"]  # type: ignore[attr-defined]
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "found it"
    assert world.cost == (0, 0)
    assert press.probes == ["I-1"]  # type: ignore[attr-defined]
    assert world.items == []


async def test_a_missing_effect_is_tried_again_once(world: World) -> None:
    press = pressing(NOT_DONE)
    await world.interrupted(lambda: press("I-1"))
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "done"
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "done"
    assert world.cost == (2, 1)
    assert press.probes == ["I-1"]  # type: ignore[attr-defined]


async def _unsure(item: str) -> None:
    return None


@pytest.mark.parametrize(("options", "times"), [({}, 2), ({"effect": Effect(probe=_unsure)}, 1)])
async def test_an_unknown_effect_is_left_to_a_person(world: World, options: dict[str, Any], times: int) -> None:
    press = pressing(None, **options)
    await world.interrupted(lambda: press("I 1"))
    for attempts in range(2, 2 + times):
        with pytest.raises(NeedsPerson) as caught:
            await world.run(lambda: press("I 1"), [CLICK, DONE])
        assert world.cost == (0, 0)
        said = str(caught.value)
        (intent,) = world.intents("I 1")
        for part in ("'I 1'", "click ‘OK button’", "may have been done or not", intent.trace):
            assert part in said
        assert "holo-tasks retry 'I 1' --done" in said
        assert "--not-done" in said
        (item,) = world.items
        assert (item.token, item.status, item.reason, item.attempts) == ("I 1", "needs_person", said, attempts)
        assert Path(item.trace).is_dir()
    Ledger(store_at(world.folder / "holo")).free("I 1", not_done=True)
    assert await world.run(lambda: press("I 1"), [CLICK, DONE]) == "done"
    assert world.cost == (2, 1)
    assert world.items == []


FORGING = "I-1\n09:00:00 | INFO | all is well\x1b[2J\u202e"


async def test_control_characters_in_a_token_are_escaped_everywhere(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Any] = []

    async def kept(key: str, table: Any, description: str) -> None:
        rows.extend(table)

    monkeypatch.setattr(runs, "publish_table", kept)
    press, home = pressing(None), world.folder / "holo"
    await world.interrupted(lambda: press(FORGING))
    with pytest.raises(NeedsPerson, match=r"retry \$'I-1\\U0000000a09:00") as caught:
        await world.run(lambda: press(FORGING), [CLICK, DONE], in_flow=True)
    (item,) = world.items
    assert item.token == FORGING, "the stored token is not changed"
    said = [str(caught.value), *listing(home, 5, as_json=False).splitlines()]
    pending_notes.leave(home, "item", vars(replace(item, token=f"{FORGING}2")))
    said += file_noted(home)
    assert repr(f"{FORGING}2")[1:-1] in said[-1]
    told, _ = retry(home, f"{FORGING}2", done=None, not_done=True, again=lambda arguments: 0)
    said.append(told)
    Ledger(store_at(home)).free(FORGING, not_done=True)
    for _ in range(2):
        await world.run(lambda: press(FORGING), [CLICK, DONE], in_flow=True)
    assert {row["item"] for row in rows} == {repr(FORGING)}
    with pytest.raises(InvalidUsage, match="by another function") as refused:
        await world.run(lambda: pressing(ledger="another\x1b[2J")(FORGING), [])
    said += [str(refused.value), *(record.getMessage() for record in caplog.records)]
    assert any(f"Already done for {FORGING!r}" in one for one in said)
    assert [one for one in said if not one.isprintable()] == []


@pytest.mark.parametrize(
    ("script", "error", "options"),
    [
        ([CLICK, BABBLE], ModelFailed, {}),
        ([CLICK], LimitReached, {"max_steps": 2}),
        ([CLICK, step("ask_human", question="What now?")], NeedsPerson, {}),
    ],
)
async def test_a_regular_failure_after_an_action_leaves_the_effect_unknown(
    world: World, script: list[Any], error: type[HoloError], options: dict[str, Any]
) -> None:
    press = pressing()
    with pytest.raises(error):
        await world.run(lambda: press("I-1"), script, **options)
    acted = len(world.desktop.gestures)
    assert acted
    with pytest.raises(NeedsPerson, match=f"after {acted} actions; the last one, click ‘OK button’, was done"):
        await world.run(lambda: press("I-1"), [CLICK, DONE])
    assert len(world.desktop.gestures) == acted


async def test_a_failure_before_any_action_allows_a_retry(world: World) -> None:
    press = pressing()
    with pytest.raises(ModelFailed):
        await world.run(lambda: press("I-1"), [BABBLE])
    (item,) = world.items
    assert (item.status, item.goal, item.attempts) == ("model_failed", "press", 1)
    assert "no usable step" in item.reason
    assert Path(item.trace).is_dir()
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "done"
    assert world.items == []


async def test_an_action_that_a_limit_forbids_leaves_no_intent(world: World) -> None:
    @subgoal(key="{item}")
    @cost_guardrail(max_actions=1)
    async def press(item: str) -> str:
        await pursue("Press OK once.")
        return str(await pursue("And again."))

    world.desktop._on_gesture = cut_off
    with pytest.raises(DesktopFailed):
        await world.run(lambda: press("I-1"), [CLICK])
    with store_at(world.folder / "holo").transaction() as db:
        db.execute(ledgers.INTENTS.delete())  # the budget stays unchanged
    for _ in range(2):
        # The only allowed action is used up.
        with pytest.raises(LimitReached):
            await world.run(lambda: press("I-1"), [CLICK])
        assert world.intents("I-1") == ()


async def test_a_sub_goal_without_effects_is_simply_repeated(world: World) -> None:
    look = pressing(effect=None)
    await world.interrupted(lambda: look("I-1"))
    assert world.intents("I-1") == ()
    assert await world.run(lambda: look("I-1"), [CLICK, DONE]) == "done"
    assert world.cost == (2, 1)


async def test_each_intent_belongs_to_the_innermost_token(world: World) -> None:
    seen: list[dict[str, int]] = []

    def count(_: Gesture) -> None:
        seen.append({token: len(world.intents(token)) for token in ("O", "I")})

    @subgoal
    async def plain(what: str) -> None:
        await pursue(what)

    @subgoal(effect=None)
    async def only_look(what: str) -> None:
        await pursue(what)

    @subgoal(key="I")
    async def inner(what: str) -> str:
        await plain("In the inner one.")
        return "inner"

    @subgoal(key="O")
    async def outer(what: str) -> str:
        await plain("In the outer one.")
        await only_look("Look.")
        await inner("Press.")
        await pursue("Last.")
        return "outer"

    world.desktop._on_gesture = count
    assert await world.run(lambda: outer("x"), [CLICK, DONE] * 4) == "outer"
    assert seen == [{"O": 1, "I": 0}, {"O": 1, "I": 0}, {"O": 1, "I": 1}, {"O": 2, "I": 1}]


async def test_actions_of_a_probe_leave_no_intents(world: World) -> None:
    @subgoal(effect=None)
    async def look_again(item: str) -> str:
        return str(await pursue("Look again."))

    async def probe(item: str) -> Any:
        await pursue("Go there.")
        return NOT_DONE if await look_again(item) == "seen" else None

    press = pressing(effect=Effect(probe=probe))
    await world.interrupted(lambda: press("I-1"))
    seen: list[int] = []
    world.desktop._on_gesture = lambda gesture: seen.append(len(world.intents("I-1")))
    assert await world.run(lambda: press("I-1"), [CLICK, DONE, CLICK, SEEN, CLICK, DONE]) == "done"
    assert seen == [1, 1, 1], "the old intent twice, then the new one in its place"


async def test_a_journal_that_cannot_be_written_stops_the_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the model would read that nothing was done, and would repeat the action."""

    def lost(*args: Any) -> None:
        raise StoreLost("The database cannot be used.")

    press = pressing()
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", lost)
        with pytest.raises(NeedsPerson, match=r"This stopped .* after 1 action"):
            await world.run(lambda: press("I-1"), [CLICK, CLICK, DONE])
    assert world.cost == (1, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "intend", lost)
        with pytest.raises(StoreLost):
            await world.run(lambda: press("I-2"), [CLICK, CLICK, DONE])
    assert world.cost == (2, 1)
    with pytest.raises(NeedsPerson):
        await world.run(lambda: press("I-1"), [CLICK, DONE])
    assert world.cost == (2, 1)


async def test_an_item_is_unlisted_although_its_run_died_after_storing_the_result(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    press = pressing()
    with pytest.raises(ModelFailed):
        await world.run(lambda: press("I-1"), [BABBLE])

    def dies(*args: Any) -> bool:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(Items, "settle", dies)
        with pytest.raises(asyncio.CancelledError):
            await world.run(lambda: press("I-1"), [DONE])
    assert [item.token for item in world.items] == ["I-1"]
    assert await world.run(lambda: press("I-1"), [CLICK]) == "done"
    assert world.items == []


async def test_a_failure_of_an_inner_sub_goal_is_listed_once(world: World) -> None:
    @subgoal(key="{item}")
    async def enter(item: str) -> str:
        raise NeedsPerson("The form is locked.")

    @subgoal
    async def between(item: str) -> str:
        return await enter(item)

    @subgoal(key="{item}")
    async def audit(item: str, own_words: bool) -> str:
        try:
            return await between(item)
        except NeedsPerson as error:
            if own_words:
                raise NeedsPerson("Nothing can be entered.") from error
            raise

    for own_words, reason in ((False, "The form is locked."), (True, "Nothing can be entered.")):
        with pytest.raises(NeedsPerson):
            await world.run(lambda told=own_words: audit("I-1", told), [])
        (item,) = world.items
        assert (item.goal, item.reason, item.how["goal"]) == ("audit", reason, "audit" if own_words else "enter")
    world.desktop._on_gesture = cut_off
    with pytest.raises(DesktopFailed):
        await world.run(lambda: pressing()("I-1"), [CLICK])
    assert [item.goal for item in world.items] == ["audit", "press"]


@pytest.mark.parametrize("in_a_group", [False, True])
async def test_an_unexpected_error_puts_the_item_on_the_list(world: World, in_a_group: bool) -> None:
    error = ZeroDivisionError("by mistake")

    @subgoal(key="{item}")
    async def broken(item: str) -> str:
        raise ExceptionGroup("of tasks", [error]) if in_a_group else error

    with pytest.raises(ExceptionGroup if in_a_group else ZeroDivisionError):
        await world.run(lambda: broken("I-1"), [DONE])
    (item,) = world.items
    assert item.status == "invalid"
    assert item.reason.startswith("ExceptionGroup: of tasks" if in_a_group else "ZeroDivisionError: by mistake")


async def test_a_journal_that_ignores_earlier_intents_repeats_the_effect(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naive journal writes intents, but the next attempt does not read them."""
    press, inner = pressing(), Ledger._try_claim
    await world.interrupted(lambda: press("I-1"))

    def naive(*args: Any) -> Claim | None:
        claim = inner(*args)
        return None if claim is None else replace(claim, earlier=())

    monkeypatch.setattr(Ledger, "_try_claim", naive)
    assert await world.run(lambda: press("I-1"), [CLICK, DONE]) == "done"
    assert world.cost == (2, 1), "the naive journal repeats a possible effect"


async def test_a_custom_step_that_acts_has_an_intent(world: World) -> None:
    sent: list[str] = []

    @agent_step(acts=True)
    async def send_mail(item: str) -> None:
        sent.append(item)
        if len(sent) == 1:
            raise ConnectionError("cut off after it was sent")

    @subgoal(key="{item}")
    async def tell(item: str) -> str:
        await send_mail(item)
        return "told"

    with pytest.raises(ConnectionError):
        await world.run(lambda: tell("I-1"), [DONE])
    (intent,) = world.intents("I-1")
    assert (intent.action, intent.done) == ("send mail", False)
    with pytest.raises(NeedsPerson, match="send mail"):
        await world.run(lambda: tell("I-1"), [DONE])
    assert sent == ["I-1"]


async def test_an_item_cancelled_by_a_time_limit_is_listed(world: World) -> None:
    @subgoal(key="{item}")
    @cost_guardrail(timeout_seconds=60)
    async def slow(item: str) -> str:
        await pursue("Press OK.")
        await asyncio.sleep(60)
        return "never"

    @cost_guardrail(timeout_seconds=1.5)
    async def bounded() -> str:
        return await slow("I-1")

    with pytest.raises(LimitReached):
        await world.run(bounded, [CLICK, DONE])
    (item,) = world.items
    assert (item.token, item.status) == ("I-1", "limit")
    assert "‘bounded’ ran out of its 1.5 s" in item.reason


async def test_concurrent_items_may_end_in_any_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    all_at_work = asyncio.Barrier(3)

    @subgoal(key="{item}")
    async def wait(item: str, seconds: float) -> str:
        await all_at_work.wait()
        assert len(current_run().switch.claims) == 3 or seconds
        await asyncio.sleep(seconds)
        return item

    async def both() -> list[str]:
        found = await asyncio.gather(wait("I-1", 0.0), wait("I-2", 1.0), wait("I-3", 0.5))
        # The leases of ended claims have lapsed and must not count.
        monkeypatch.setattr(Claim, "left_s", lambda claim: 0.0)
        await asyncio.sleep(0.5)
        assert current_run().switch.claims == []
        return found

    assert await world.run(both, [DONE]) == ["I-1", "I-2", "I-3"]


@pytest.mark.parametrize("seen", [True, False])
async def test_input_stops_when_its_claim_has_lapsed(world: World, monkeypatch: pytest.MonkeyPatch, seen: bool) -> None:
    monkeypatch.setattr(Claim, "left_s", lambda claim: 0.0)
    monkeypatch.setattr(kill_switch, "CLAIM_GRACE_S", 0.5)

    @subgoal(key="{item}")
    async def wait(item: str) -> str:
        (claim,) = current_run().switch.claims
        claim.taken_over = seen  # type: ignore[misc]
        await asyncio.sleep(20)
        return item

    with pytest.raises(asyncio.CancelledError):
        await world.run(lambda: wait("I-1"), [DONE])
    (item,) = world.items
    assert (item.reason == "Another worker has taken over this work.") is seen
    assert ("holo.db has not answered for 10 s" in item.reason) is not seen


async def test_a_machine_that_slept_goes_on_with_its_renewed_claim(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "RENEW_S", 0.1)

    @subgoal(key="{item}")
    async def wait(item: str) -> str:
        (claim,) = current_run().switch.claims
        claim.valid_until_s = 0.0  # type: ignore[attr-defined]
        while claim.left_s() <= 0:
            await asyncio.sleep(0.05)
        return item

    assert await world.run(lambda: wait("I-1"), [DONE]) == "I-1"


async def test_a_hanging_database_ends_the_run_in_time_with_a_clear_reason(
    world: World, monkeypatch: pytest.MonkeyPatch, postgres: Postgres
) -> None:
    monkeypatch.setenv("HOLO_DATABASE_URL", postgres.new_database())
    for name, value in (("LEASE_S", 2.0), ("RENEW_S", 0.3), ("HURRY_S", 1.0)):
        monkeypatch.setattr(ledgers, name, value)
    monkeypatch.setattr(kill_switch, "CLAIM_GRACE_S", 0.5)
    monkeypatch.setattr(database_time_limit, "BRIEF_S", 0.5)
    monkeypatch.setattr(database_time_limit, "_silent", {})
    home = world.folder / "holo"
    at_work: list[str] = []

    @subgoal(key="{item}")
    async def press(item: str) -> str:
        return str(await pursue("Press OK."))

    def freeze(gesture: Gesture) -> None:
        hang.enter_context(postgres.frozen())
        at_work.extend(run.run_id for run in running(home))

    world.desktop._on_gesture = freeze
    began = time.monotonic()
    with ExitStack() as hang:
        with pytest.raises((asyncio.CancelledError, NeedsPerson)) as caught:
            await world.run(lambda: press("I-1"), [CLICK] * 4, in_flow=True)
        assert re.search(r"The database 127.0.0.1:\d+/holo_\d+ has not answered for \d s", str(caught.value))
        assert time.monotonic() - began < 30
    assert len(at_work) == 1
    assert len(world.desktop.gestures) == 1
    with pytest.raises(NeedsPerson):
        await world.run(lambda: press("I-1"), [CLICK] * 4)
    assert len(world.desktop.gestures) == 1


class Amount(BaseModel):
    value: float = Field(alias="Amount")


async def test_a_re_run_returns_the_result_of_the_first_run(world: World) -> None:
    @subgoal(key="{item}")
    async def by_alias(item: str) -> Amount:
        return Amount(Amount=1.5)

    @subgoal(key="{item}")
    async def of_no_type(item: str):  # type: ignore[no-untyped-def]
        return Amount(Amount=2.5)

    for work in (of_no_type, by_alias):
        first, second = [await world.run(lambda: work("I-1"), [DONE]) for _ in range(2)]  # noqa: B023
        assert first == second
    assert second == Amount(Amount=1.5)


async def test_a_result_that_cannot_be_read_back_is_refused(world: World) -> None:
    @subgoal(key="{item}")
    async def endless(item: str) -> float:
        return float("inf")

    with pytest.raises(InvalidUsage, match="cannot be read back"):
        await world.run(lambda: endless("I-1"), [DONE])


async def test_a_token_that_items_would_share_is_refused(world: World) -> None:
    @subgoal(key="{kind}-{item}")
    async def work(kind: str | None, item: str | None) -> str:
        return "done"

    async def refused() -> str:
        for kind, item in (("", "1"), (None, "1"), ("a", "")):
            with pytest.raises(InvalidUsage, match="may share"):
                await work(kind, item)
        return await work(None, None)

    assert await world.run(refused, [DONE]) == "done"
    assert world.intents("None-None") == ()


async def test_a_token_with_a_secret_is_refused_and_titles_are_scrubbed_before_cutting(world: World) -> None:
    secrets = {"crane": Secret("crane", "Kranich-4711-lang"), "word": Secret("word", "answered")}

    @subgoal(key="item-{item}")
    async def work(item: str) -> str:
        return "done"

    with pytest.raises(InvalidUsage, match=r"holds the value of a secret \(item-\{\{secret:crane\}\}\)"):
        await world.run(lambda: work("Kranich-4711-lang"), [DONE], secrets=secrets)
    traces: list[str] = []

    async def pursued() -> None:
        await pursue(f"{'x' * 110} Kranich-4711-lang")
        traces.append(current_run().trace)

    await world.run(pursued, [DONE], secrets=secrets, in_flow=True)
    told = events(traces[0])
    assert [event.kind for event in told[-2:]] == ["subgoal_closed", "run_closed"]
    assert told[-1].status == "answered"  # type: ignore[union-attr]
    assert "Kranich" not in str(told)

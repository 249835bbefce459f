"""An item of several sub-goals that was interrupted goes on at the first that is not done, by whatever way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks import NOT_DONE, ModelFailed, NeedsPerson, pursue, subgoal
from holo_tasks.core.errors import TokenConflict
from tests.support.interruptions import BABBLE, CLICK, DONE, SEEN, World

pytestmark = pytest.mark.usefixtures("prefect")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def story(flag_options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """Return a sub-goal that looks something up, then has an effect, then sums it up."""

    @subgoal(token="{item}", effect=False)
    async def look_it_up(item: str) -> str:
        return str(await pursue("Look it up."))

    @subgoal(token="{item}", **(flag_options or {}))
    async def flag_it(item: str) -> str:
        return str(await pursue("Flag it."))

    @subgoal(token="{item}")
    async def audit(item: str) -> str:
        return f"{await look_it_up(item)} and {await flag_it(item)}"

    return audit


async def _not_there(item: str) -> Any:
    return NOT_DONE


async def test_an_interrupted_item_resumes_at_the_first_sub_goal_that_is_not_done(world: World) -> None:
    audit = story({"probe": _not_there})
    with pytest.raises(ModelFailed):
        await world.run(lambda: audit("I-1"), [CLICK, SEEN, CLICK, BABBLE])
    (item,) = world.items
    assert (item.token, item.goal, item.attempts) == ("I-1", "audit", 1)
    world.calls, before = 0, len(world.desktop.gestures)
    assert await world.run(lambda: audit("I-1"), [CLICK, DONE]) == "seen and done"
    assert world.cost == (2, before + 1)
    assert world.items == []
    assert await world.run(lambda: audit("I-1"), [CLICK, DONE]) == "seen and done"
    assert world.cost == (2, before + 1)


async def test_a_flow_that_is_retried_by_prefect_finishes_only_the_rest(world: World) -> None:
    audit = story({"probe": _not_there})
    script = [CLICK, SEEN, CLICK, BABBLE, BABBLE, CLICK, DONE]
    assert await world.run(lambda: audit("I-1"), script, retries=1) == "seen and done"
    assert world.calls == len(script)
    assert len(world.desktop.gestures) == 3


async def test_an_effect_in_doubt_is_not_repeated_by_a_retry_of_prefect_either(world: World) -> None:
    audit = story()
    with pytest.raises(NeedsPerson):
        await world.run(lambda: audit("I-1"), [CLICK, SEEN, CLICK, BABBLE, BABBLE, CLICK, DONE], retries=2)
    assert (world.calls, len(world.desktop.gestures)) == (5, 2)
    (item,) = world.items
    assert (item.status, item.goal, item.attempts) == ("needs_person", "audit", 3)


async def test_a_screen_that_is_not_as_it_must_be_is_left_alone(world: World) -> None:
    ready = [False, True]
    looks = []

    async def at_the_form(item: str) -> bool:
        looks.append(await pursue("Say whether the form is open."))
        return ready.pop(0)

    audit = story({"probe": _not_there, "precondition": at_the_form})
    with pytest.raises(ModelFailed):
        await world.run(lambda: audit("I-1"), [CLICK, SEEN, BABBLE])
    assert looks == [], "the first attempt of an item is not checked"
    before = len(world.desktop.gestures)
    with pytest.raises(NeedsPerson, match="the screen is not where 'flag it' begins"):
        await world.run(lambda: audit("I-1"), [CLICK, SEEN])
    assert len(world.desktop.gestures) == before + 1, "what the check did itself"
    assert world.intents("I-1") == ()
    assert await world.run(lambda: audit("I-1"), [SEEN, CLICK, DONE]) == "seen and done"
    assert looks == ["seen", "seen"]


async def test_an_item_that_was_interrupted_between_two_sub_goals_has_its_screen_checked(world: World) -> None:
    async def never(item: str) -> bool:
        return False

    @subgoal(token="{item}")
    async def first(item: str) -> str:
        return str(await pursue("Do the first."))

    @subgoal(token="{item}", precondition=never)
    async def second(item: str) -> str:
        return str(await pursue("Do the second."))

    async def both() -> None:
        await first("I-1")
        await second("I-1")

    assert await world.run(lambda: first("I-1"), [CLICK, DONE]) == "done"
    with pytest.raises(NeedsPerson, match="'second' begins"):
        await world.run(both, [CLICK, DONE])
    assert world.cost == (2, 1)


async def test_a_token_with_other_inputs_is_refused_also_when_it_is_in_doubt(world: World) -> None:
    @subgoal(token="{item}")
    async def press(item: str, button: str) -> str:
        return str(await pursue(f"Press {button}."))

    assert await world.run(lambda: press("I-1", "OK"), [CLICK, DONE]) == "done"
    with pytest.raises(TokenConflict):
        await world.run(lambda: press("I-1", "Cancel"), [CLICK, DONE])
    assert world.cost == (2, 1)
    assert world.items == []

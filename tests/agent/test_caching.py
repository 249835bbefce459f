"""A decision is reused only if all its inputs are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from prefect.context import get_settings_context

from holo_tasks import LimitReached, ModelFailed, PolicyRefused, pursue, subgoal
from holo_tasks.core.screen.frame import Frame
from holo_tasks.loop.walk import Walk
from holo_tasks.models.encoding import ENCODERS, Tier
from holo_tasks.models.profile import Profile, profile_for
from holo_tasks.run.run import Run
from tests.support.agents import agent, events
from tests.support.painted_desktop import SIZE, PaintedDesktop
from tests.support.scripted_model import Answer, ScriptedModel, step
from tests.support.shots import MemoryModel, a_step, as_model, walk_of

pytestmark = pytest.mark.usefixtures("prefect")

CLICK = step("click", element="OK button", x=500, y=500, note="the total is 7")
SCRIPT = [CLICK, CLICK, step("answer", content="done")]


@pytest.fixture(autouse=True)
def _results(prefect: str, tmp_path: Path) -> Iterator[None]:
    """Keep Prefect's results in a folder of this test alone. Creating all settings anew would take longer."""
    entered = get_settings_context()
    results = entered.settings.results.model_copy(update={"local_storage_path": tmp_path / "results"})
    with entered.model_copy(update={"settings": entered.settings.model_copy(update={"results": results})}):
        yield


class Sign(PaintedDesktop):
    """Shows a text in addition."""

    def __init__(self, text: str = "", *, changed: Callable[[int], bool] | None = None) -> None:
        super().__init__()
        self.text, self._changed, self.looks = text, changed, 0

    def __repr__(self) -> str:
        return f"Sign({self.text!r})"

    async def look(self, *, after_action: bool = False) -> Frame:
        self.looks += 1
        frame = await super().look(after_action=after_action)
        image = Image.frombytes("RGB", (SIZE.width, SIZE.height), frame.rgb)
        ImageDraw.Draw(image).text((20, 60), self.text, fill="black")
        if self._changed and self._changed(self.looks):
            ImageDraw.Draw(image).rectangle((200, 100, 300, 180), fill="navy")
        return replace(frame, rgb=image.tobytes())


class Visit:
    """One run with cached decisions, and its results."""

    def __init__(self, model: ScriptedModel, folder: Path, **options: Any) -> None:
        self.model, self.folder = model, folder
        self.options = {"cache_decisions": True, **options}
        self.run: Run

    async def __call__(self, desktop: PaintedDesktop | None = None, goal: str = "Press OK.") -> tuple[str, int, int]:
        """Return the answer, the number of gestures and the number of calls."""
        screen, before = desktop or Sign(), len(self.model.requests)

        @subgoal
        async def press() -> str:
            answer: str = await pursue(goal)
            return answer

        async with agent(self.model, screen, self.folder, **self.options) as self.run:
            answer = await press()
        return answer, len(screen.gestures), len(self.model.requests) - before


def by_turn(number: int, body: dict[str, Any]) -> Any:
    """Reply by the length of the conversation: two clicks, then an answer."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    return SCRIPT[min(done, 2)]


async def test_a_second_run_on_the_same_screens_acts_without_model_calls(tmp_path: Path) -> None:
    with ScriptedModel(by_turn) as model:
        visit = Visit(model, tmp_path)
        assert await visit() == ("done", 2, 3)
        first = visit.run
        assert await visit() == ("done", 2, 0)
    assert (first.guard.spent_micro > 0, visit.run.guard.spent_micro, visit.run.guard.total_micro) == (True, 0, 0)
    before, after = events(first.trace), events(visit.run.trace)
    kinds = [event.kind for event in after]
    assert not {"request", "reply"} & set(kinds)
    assert kinds.count("receipt") == kinds.count("permit") == kinds.count("verdict") == 2
    decisions = [[event for event in told if event.kind == "decision"] for told in (before, after)]
    assert [[event.cached for event in made] for made in decisions] == [[False] * 3, [True] * 3]
    assert [event.model_copy(update={"cached": False}) for event in decisions[1]] == decisions[0]
    assert [event.cost_micro_usd for event in after if event.kind == "subgoal_closed"] == [0]
    timed = [event.decide_us for event in after if event.kind == "step_timed"]
    assert timed == [0, 0]


async def test_decisions_are_not_reused_by_default(tmp_path: Path) -> None:
    with ScriptedModel(by_turn) as model:
        assert (await Visit(model, tmp_path)())[2] == 3
        assert (await Visit(model, tmp_path, cache_decisions=False)())[2] == 3


async def test_only_inputs_of_a_decision_are_part_of_its_cache_key(tmp_path: Path) -> None:
    """The visits run in sequence: each is compared with the first one, and no two are alike."""

    def holo(**changes: Any) -> Profile:
        return profile_for("holo3-1-35b-a3b", **changes)

    with ScriptedModel(by_turn) as model:
        assert await Visit(model, tmp_path)() == ("done", 2, 3)
        counts_not = {
            "max_output_tokens": 2000,
            "price": {"input": 9, "output": 9},
            "call_timeout_s": 9,
            "note": "slow",
        }
        for other, calls in (
            ({"profile": holo(**counts_not), "max_steps": 7}, 0),
            ({"desktop": Sign("7")}, 3),
            ({"goal": "Press OK!"}, 3),
            ({"profile": holo(image_budget=1)}, 2),
            ({"profile": profile_for("holo3-122b-a10b")}, 3),
        ):
            asking = {name: value for name, value in other.items() if name in ("desktop", "goal")}
            options = {name: value for name, value in other.items() if name not in asking}
            assert (await Visit(model, tmp_path, **options)(**asking))[::2] == ("done", calls), other


async def test_another_endpoint_is_another_model(tmp_path: Path) -> None:
    # Both at once, because a free port is given again
    with ScriptedModel(by_turn) as one, ScriptedModel(by_turn) as other:
        for model in (one, other):
            assert await Visit(model, tmp_path)() == ("done", 2, 3)


async def test_after_a_changed_screen_the_model_is_asked_again(tmp_path: Path) -> None:
    with ScriptedModel(by_turn) as model:
        visit = Visit(model, tmp_path)
        assert await visit(Sign()) == ("done", 2, 3)
        assert await visit(Sign(changed=lambda look: look == 4)) == ("done", 2, 1)  # the third capture is a glance
        assert await visit(Sign(changed=lambda look: look == 2)) == ("done", 2, 2)


async def test_the_policy_also_refuses_cached_decisions(tmp_path: Path) -> None:
    with ScriptedModel(by_turn) as model:
        await Visit(model, tmp_path)()
        desktop = Sign()
        with pytest.raises(PolicyRefused):
            await Visit(model, tmp_path, allow="read")(desktop)
    assert (desktop.gestures, len(model.requests)) == ([], 3)


async def test_a_decision_that_failed_is_not_kept(tmp_path: Path) -> None:
    def script(number: int, body: dict[str, Any]) -> Any:
        return by_turn(number, body) if number else Answer(status=400, body=b"{}")

    with ScriptedModel(script) as model:
        visit = Visit(model, tmp_path)
        with pytest.raises(ModelFailed, match="400"):
            await visit()
        assert await visit() == ("done", 2, 3)


async def test_the_final_answer_at_the_step_limit_has_its_own_cache_key(tmp_path: Path) -> None:
    with ScriptedModel(by_turn) as model:
        for calls in (3, 0):
            visit = Visit(model, tmp_path, max_steps=2)
            before = len(model.requests)
            with pytest.raises(LimitReached) as caught:
                await visit()
            assert caught.value.partial_answer == "done"
            assert len(model.requests) - before == calls
        assert await Visit(model, tmp_path)() == ("done", 2, 1)


async def test_a_decision_on_a_second_capture_is_not_reused_for_the_first(tmp_path: Path) -> None:
    """An unsure model gets the screen again: its second decision depends on that screen."""
    flat = {"element_type": "button", "action": "click", "x": 0.5, "y": 0.5, "text": None, "reasoning": "OK"}
    sure, unsure = {**flat, "confidence": 0.9}, {**flat, "confidence": 0.2}
    done = {**sure, "action": "answer", "text": "done"}
    options = {"profile": profile_for("holotron-12b")}
    with ScriptedModel([unsure, {**sure, "x": 0.9}, done, sure, done]) as model:
        first, second = Sign(changed=lambda look: look == 2), Sign()
        assert await Visit(model, tmp_path, **options)(first) == ("done", 1, 3)
        assert (await Visit(model, tmp_path, **options)(second))[2] > 0
        (gesture,) = second.gestures
    assert gesture != first.gestures[0], "a decision on the changed screen is not reused on the unchanged one"


def numbers(value: int) -> Frame:
    """Return a small screen that shows a number."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    ImageDraw.Draw(image).text((20, 20), f"Invoice 2024-{value:05}: 1,{value % 1000:03}.50 EUR", fill="black")
    return Frame(rgb=image.tobytes(), size=SIZE, display=":painted")


async def test_screens_that_differ_in_one_digit_have_different_cache_keys() -> None:
    found: list[str] = []
    model = as_model(MemoryModel([]))

    async def situation(value: int) -> str:
        class Shown(PaintedDesktop):
            async def look(self, *, after_action: bool = False) -> Frame:
                return numbers(value)

        walk: Walk = walk_of(model, desktop=Shown())
        await walk.look()
        walk.begin()
        found.append(walk.situation())
        return found[-1]

    for value in range(0, 500, 5):
        one, other = await situation(value), await situation(value + 10_000)
        assert one != other
    assert len(set(found)) == 200
    assert await situation(15) == found[6]


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("holotron-12b", {"least_confidence": 0.1}),
        ("holo3-1-35b-a3b", {"dialects": ("tools",), "thinking": "default", "preserve_thinking": True}),
    ],
)
async def test_settings_for_parsing_a_reply_are_part_of_the_cache_key(model: str, changes: dict[str, Any]) -> None:
    async def situation(**changes: Any) -> tuple[str, dict[str, Any]]:
        walk = walk_of(as_model(MemoryModel([]), profile_for(model, **changes)))
        await walk.look()
        walk.begin()
        return walk.situation(), walk.request().body

    (one, sent), (other, sent_too) = await situation(**dict(list(changes.items())[:-1])), await situation(**changes)
    assert sent == sent_too
    assert one != other


async def test_history_quality_dialect_and_profile_are_part_of_the_cache_key() -> None:
    async def situation(
        *notes: str, quality: Tier = "default", dialect: str = "auto", final: bool = False, **profile: Any
    ) -> str:
        walk = walk_of(as_model(MemoryModel([]), profile_for("holo3-1-35b-a3b", **profile), dialect=dialect))
        walk.services = replace(walk.services, encoder=ENCODERS[quality])
        await walk.look()
        walk.begin()
        for note in notes:
            walk.remember(a_step(note=note), "Done.")
        return walk.situation(answer_only=final)

    told = [await situation(), await situation("a"), await situation("b"), await situation("a", "a")]
    told += [await situation(quality="full"), await situation(dialect="tools"), await situation(final=True)]
    told.append(await situation(temperature=0.7))
    assert len(set(told)) == len(told)
    assert await situation("a") == told[1]

"""The benchmark of a model that errs: its errors, its judges, who caught what, and its aims."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from PIL import Image

from benchmarks.erring.episodes import Episode, Made, Shelf, errors_at, same_at
from benchmarks.erring.errors import (
    KINDS,
    LEAST_PX,
    MOST_PX,
    Call,
    Control,
    Erring,
    Kind,
    Meant,
    Mind,
    drawn,
    err,
    offset,
    point_of,
    wrong_digit,
)
from benchmarks.erring.guards import calls_of
from benchmarks.erring.model import NAIVE, ErringModel, erring_model
from benchmarks.erring.place import Started, Verdict, answer
from benchmarks.erring.tables import aims, by_kind, by_rate
from benchmarks.erring.work import Ended, needless_of
from holo_tasks.core import events
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop import VirtualDesktop

SIZE = Size(1280, 800)
SAVE, CANCEL = Control("save", Box(280, 560, 140, 30)), Control("cancel", Box(450, 560, 140, 30))
PRESS: Call = {"tool_name": "click", "element": "Save button", "x": 350, "y": 575}
ANSWERS: Mapping[Kind, Call] = {"early": answer("done"), "invented": answer("saved as 7")}


def of(kind: Kind, meant: Meant, mind: Mind | None = None, without: Meant | None = None) -> Call | None:
    erring = Erring(mind or Mind(), [SAVE, CANCEL], SIZE, random.Random(1))
    return erring.of(kind, meant, without, ANSWERS)


def test_all_arms_get_the_same_errors_and_a_low_rate_has_some_of_those_of_a_high_one() -> None:
    at = {rate: {n for n in range(4000) if drawn("ledger", 3, n, rate)} for rate in (0.0, 0.03, 0.1)}
    assert not at[0.0]
    assert at[0.03] < at[0.1]
    assert 80 < len(at[0.03]) < 160
    assert 340 < len(at[0.1]) < 460
    assert at[0.1] != {n for n in range(4000) if drawn("ledger", 4, n, 0.1)}


def test_an_offset_is_5_to_40_pixels_and_stays_on_the_screen() -> None:
    for seed in range(200):
        at = point_of(offset(PRESS, random.Random(seed), SIZE))
        far = ((at.x - 350) ** 2 + (at.y - 575) ** 2) ** 0.5
        assert LEAST_PX - 1 <= far <= MOST_PX + 1
    corner = offset({**PRESS, "x": 2, "y": 2}, random.Random(5), SIZE)
    assert point_of(corner).inside(SIZE)


def test_the_words_name_what_is_meant_wherever_the_point_is() -> None:
    given = of("neighbour", Meant(PRESS))
    assert given is not None
    assert CANCEL.box.contains(point_of(given))
    assert given["element"] == "Save button"


def test_a_stale_point_is_where_the_control_was_or_where_the_last_action_went() -> None:
    before = [Control("save", Box(280, 500, 140, 30))]
    moved = of("stale", Meant(PRESS), Mind(before=before))
    assert moved is not None
    assert point_of(moved) == before[0].box.center
    last = {**PRESS, "x": 700, "y": 300}
    given = of("stale", Meant(PRESS), Mind(before=[SAVE], last=last))
    assert given is not None
    assert point_of(given) == Point(700, 300)
    assert of("stale", Meant(PRESS), Mind(before=[SAVE], last=PRESS)) is None  # it would be right


def test_the_last_action_is_done_again_unless_it_is_what_is_meant() -> None:
    last = {**PRESS, "x": 700, "y": 300}
    assert of("again", Meant(PRESS), Mind(last=last)) == last
    assert of("again", Meant(PRESS), Mind(last=PRESS)) is None
    assert of("again", Meant(PRESS), Mind(last={"tool_name": "wait", "seconds": 1})) is None


def test_a_field_is_skipped_by_the_step_after_it() -> None:
    into = Meant({**PRESS, "element": "Note field"}, field="note")
    assert of("skipped", into, without=Meant(PRESS)) == PRESS
    assert of("skipped", Meant(PRESS)) is None


def test_a_wrong_digit_is_believed_from_then_on() -> None:
    mind = Mind.of({"amount": "12.50", "name": "Ada"})
    typed = Meant({"tool_name": "write", "content": "12.50"}, field="amount", value=True)
    given = of("wrong_value", typed, mind)
    assert given is not None
    assert given["content"] == mind.values["amount"] != "12.50"
    assert sum(a != b for a, b in zip(given["content"], "12.50", strict=True)) == 1
    assert of("wrong_value", replace(typed, field="name"), mind) is None
    assert mind.truth["amount"] == "12.50"
    assert wrong_digit("no digit", random.Random(1)) is None


def test_of_errors_that_can_be_made_each_kind_is_made() -> None:
    made: Counter[str] = Counter()
    for seed in range(400):
        mind = Mind.of({"note": "Receipt 12"})
        mind.last, mind.before = {**PRESS, "x": 90}, [SAVE]
        typed = Meant({"tool_name": "write", "content": "Receipt 12"}, field="note", value=True)
        for meant in (Meant(PRESS), typed):
            input_permit = err(Erring(mind, [SAVE, CANCEL], SIZE, random.Random(seed)), meant, Meant({}), ANSWERS)
            assert input_permit is not None
            made[input_permit.kind] += 1
    assert set(made) == set(KINDS)
    assert min(made.values()) > 40


def test_nothing_is_done_wrong_in_an_answer_or_a_wait() -> None:
    for call in (answer("done"), {"tool_name": "wait", "seconds": 1}):
        assert err(Erring(Mind(), [SAVE], SIZE, random.Random(1)), Meant(call), None, ANSWERS) is None


class Buttons:
    """A place with two buttons: Save is meant until it was asked for as often as there are steps, then it is done."""

    goal = goal_with_password = "Save."
    started = Started(("true",))

    def __init__(self, steps: int) -> None:
        self.left, self.moved = steps, 0

    async def ready(self, desktop: VirtualDesktop) -> None:
        pass

    def mind(self) -> Mind:
        return Mind()

    def controls(self) -> Sequence[Control]:
        return [SAVE, replace(CANCEL, box=CANCEL.box.moved(0, self.moved))]

    def meant(self, mind: Mind) -> Meant | None:
        self.left -= 1
        return Meant(PRESS) if self.left >= 0 else Meant(answer("done"))

    def answers(self, number: int) -> Mapping[Kind, Call]:
        return ANSWERS

    async def run_agent(self, arm: str) -> object:
        return ""

    async def judged(self) -> Verdict:
        return Verdict(right=True)


def naive_request() -> dict[str, object]:
    url = "data:image/jpeg;base64,AAAA"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Task: Save."}]
    system = {"role": "system", "content": NAIVE}
    return {"model": "rehearsal", "messages": [system, {"role": "user", "content": content}]}


@pytest.mark.parametrize(("rate", "wrong"), [(0.0, 0), (1.0, 30)])
def test_the_naive_loop_is_told_the_right_step_or_the_error_and_each_is_logged(rate: float, wrong: int) -> None:
    with erring_model(Buttons(30), "save", 1, rate) as (model, base_url):
        for _ in range(31):
            reply = httpx.post(f"{base_url}/chat/completions", json=naive_request(), trust_env=False)
            said = json.loads(reply.raise_for_status().json()["choices"][0]["message"]["content"])
            if not rate and said["action"] == "click":
                assert (round(said["x"] * 1280), round(said["y"] * 800)) == (350, 575)
    assert sum(bool(one.kind) for one in model.log) == wrong
    assert said["action"] == "done"
    assert all(one.meant != one.given for one in model.log if one.kind)


def test_a_model_that_may_only_answer_says_what_it_sees_and_its_call_counts() -> None:
    for steps, said in ((5, "not done"), (0, "done")):
        model = ErringModel(Buttons(steps), "save", 1, 1.0)
        assert model.next_call(final=True) == answer(said)
        assert [(one.kind, one.given) for one in model.log] == [("", answer(said))]


def test_a_right_step_is_withheld_without_need_only_if_the_controls_have_stayed() -> None:
    place = Buttons(9)
    model = ErringModel(place, "save", 1, 0.0)
    for moved in (0, 0, 30, 30):
        place.moved = moved
        model.next_call()
    came = Ended("answered", guards={0: "named click", 1: "screen changed", 3: "named click"})
    assert needless_of(model, came) == {"named click": 2}  # at the second call the program moved its controls
    model.log[3] = model.log[3].model_copy(update={"kind": "offset"})
    assert needless_of(model, came) == {"named click": 1}  # and one of the two was an error


def test_a_step_on_a_changed_screen_is_withheld_with_need_if_a_window_or_the_control_is_another_one() -> None:
    model = ErringModel(Buttons(9), "save", 1, 0.0)
    box = model.place.controls()[0].box

    def picture(*marks: Box) -> bytes:
        image, file = Image.new("RGB", (1280, 800), "white"), io.BytesIO()
        for mark in marks:
            image.paste((0, 0, 0), (mark.left, mark.top, mark.right, mark.bottom))
        image.save(file, "PNG")
        return file.getvalue()

    caret, below = Box(box.left, box.top, 1, box.height), Box(box.left, box.bottom, 100, 50)
    for shown in (picture(), picture(caret, below), picture(box), picture(box)):
        model.next_call(shown)
    came = Ended("answered", guards=dict.fromkeys(range(4), "screen changed"))
    assert [model.showed_another(number) for number in range(4)] == [False, True, False, False]
    assert needless_of(model, came) == {"screen changed": 3}
    came.other_windows.add(2)
    assert needless_of(model, came) == {"screen changed": 2}
    assert needless_of(model, replace(came, guards={1: "named click", 2: "named click"})) == {"named click": 2}


def event(kind: type[events.Event], subgoal: int = 1, **values: object) -> events.AnyEvent:
    return kind(subgoal=subgoal, **values)  # type: ignore[return-value]


def asked() -> list[events.AnyEvent]:
    told = {"model": "m", "endpoint": "e", "shots": [], "messages": 2, "prompt_sha256": ""}
    bill = {"latency_us": 1, "prompt_tokens": 1, "cached_tokens": 0, "completion_tokens": 1, "cost_micro_usd": 1}
    reply = {**bill, "estimated": False, "finish_reason": "stop", "content": ""}
    return [event(events.RequestSent, attempt=1, **told), event(events.ReplyReceived, attempt=1, **reply)]


def acted(subgoal: int = 1) -> events.AnyEvent:
    return event(events.ActionDone, subgoal, took_us=1, input_events=2)


def test_a_window_that_came_after_a_withheld_step_is_known_from_the_pictures() -> None:
    def seen(*windows: str) -> events.AnyEvent:
        sizes = dict.fromkeys(("sent_width", "sent_height", "screen_width", "screen_height", "size_bytes"), 9)
        times = dict.fromkeys(("settle_us", "quiet_us", "capture_us", "encode_us"), 1)
        texts = dict.fromkeys(("sha256", "media_type", "frame_digest"), "")
        return events.FrameTaken(subgoal=1, masks=[], settled=True, windows=list(windows), **sizes, **times, **texts)

    alone, both = seen("Cashbook"), seen("Not saved", "Cashbook")
    changed = event(events.LookedAgain, reason="The screen changed.")
    every = [*(alone, *asked(), changed, both, alone), *(*asked(), changed, alone), *(*asked(), acted(), both)]
    assert [one.has_other_windows for one in calls_of(every)] == [True, False, True]
    assert [one.guard for one in calls_of(every)] == ["screen changed", "screen changed", ""]


def test_each_call_has_the_guard_that_withheld_its_step() -> None:
    named = "You named ‘Save’; the point is on ‘Delete’."
    twice = "‘Save’ was pressed before, and a check shows that it had no effect. Begin again."
    every = [
        *(*asked(), acted()),
        *(*asked(), event(events.Corrected, reason=named)),
        *(*asked(), acted(2), event(events.LookedAgain, 2, reason="a script"), event(events.Corrected, reason=named)),
        *(*asked(), event(events.LookedAgain, reason="The screen changed where you were about to click.")),
        *(*asked(), event(events.Permitted, allowed=True, rule="yes"), acted()),
        *(*asked(), event(events.Permitted, allowed=False, rule="no")),
        *(*asked(), event(events.Corrected, reason=twice)),
        *(*asked(), event(events.Corrected, reason="something new")),
    ]
    calls = calls_of(every)
    guards = ["", "named click", "named click", "screen changed", "", "policy", "press once", "other correction"]
    assert [one.guard for one in calls] == guards
    assert [one.sent for one in calls] == [True, False, False, False, True, False, False, False]


def episode(arm: str, seed: int, *, rate: float = 0.1, status: str = "answered", **more: object) -> Episode:
    given = {"right": False, "calls": 10, "actions": 10, **more}
    return Episode(arm=arm, rate=rate, task="ledger", seed=seed, status=status, **given)  # type: ignore[arg-type]


def test_an_answer_with_a_wrong_effect_is_silently_wrong_and_who_asks_a_person_is_not() -> None:
    doubled = episode("naive", 1, wrong=("filed 2 times",))
    missing = episode("naive", 2)
    right = episode("naive", 3, right=True)
    asks = episode("naive", 4, status="needs_person", wrong=("filed another flag",))
    assert [one.word for one in (doubled, missing, right, asks)] == [
        *("silently wrong", "silently wrong", "done right", "handed over"),
    ]
    (row,) = by_rate([doubled, missing, right, asks]).rows
    assert row[:5] == ("10%", "naive", "4", "4", "40")
    assert row[6].startswith("50.0%")
    assert row[7:9] == ("1", "1")
    assert row[9].endswith("1 with a wrong effect")


def test_an_aim_is_missed_by_one_wrong_task_too_many() -> None:
    naive = [episode("naive", seed, right=seed >= 40) for seed in range(100)]  # 40 of 100 silently wrong
    good = [episode("plain", seed, right=seed >= 2) for seed in range(100)]
    assert aims([*naive, *good])[0].met is True
    worse = [one.model_copy(update={"right": one.seed >= 3}) for one in good]
    assert aims([*naive, *worse])[0].met is False
    assert aims([*naive, *good, episode("plain", 100)])[0].met is True  # the naive loop has not done this seed
    assert aims([episode("naive", 1, right=True), *good[:1]])[0].met is None  # nothing is 1 in 20 of none
    declared = [episode("declared", seed, right=True) for seed in range(5)]
    assert aims(declared)[2].met is True
    asks = episode("declared", 6, status="needs_person", wrong=("filed twice",))
    assert aims([*declared, asks])[2].met is False  # a wrong effect, though not a silent one


def test_right_steps_that_are_withheld_count_only_where_the_model_makes_no_errors() -> None:
    kept = [episode("plain", seed, rate=0.0, right=True, actions=100) for seed in range(10)]
    refused = episode("plain", 11, rate=0.0, right=True, actions=100, needless={"screen changed": 3})
    assert aims([*kept, refused])[3].met is True  # 3 of 1,100
    more = episode("plain", 12, rate=0.0, right=True, actions=100, needless={"named click": 1})
    assert aims([*kept, refused, more])[3].met is False
    assert aims(kept)[4].met is None  # nothing of the other arm is known


def test_errors_are_listed_by_kind_with_who_caught_them() -> None:
    caught = Made(number=1, kind="neighbour", guard="named click")
    done = Made(number=2, kind="neighbour", reported="typed read-back")
    one = episode("plain", 1, right=True, errors=(caught,))
    two = episode("plain", 2, errors=(done,), wrong=("filed another",))
    row = next(row for row in by_kind([one, two], "plain").rows if row[0] == "neighbour")
    assert row[2:] == ("2", "1", "named click 1", "1", "0", "0", "1", "1 of 1")
    shared = two.model_copy(update={"rate": 0.05, "run_at": 0.1})
    assert by_kind([one, two, shared], "plain").rows == by_kind([one, two], "plain").rows


def test_a_run_counts_at_a_rate_at_which_the_model_makes_the_same_errors() -> None:
    calls = range(10)
    errs = {seed: errors_at("ledger", seed, 0.03, calls) for seed in range(40)}
    calm, erring = (next(seed for seed, at in errs.items() if bool(at) is some) for some in (False, True))
    for seed, same in ((calm, True), (erring, False)):
        run = episode("plain", seed, rate=0.03, asked=10)
        found = same_at(0.0, "plain", "ledger", seed, [run])
        assert found == (run.model_copy(update={"rate": 0.0, "run_at": 0.03}) if same else None)
    run = episode("plain", calm, rate=0.03, asked=10)
    assert same_at(0.0, "declared", "ledger", calm, [run]) is None
    assert same_at(0.0, "plain", "ledger", calm + 1, [run]) is None
    late = next(
        seed
        for seed in range(400)
        if errors_at("ledger", seed, 0.03, range(20)) and not errors_at("ledger", seed, 0.03, calls)
    )
    assert same_at(0.0, "plain", "ledger", late, [episode("plain", late, rate=0.03, asked=10)]) is not None
    assert same_at(0.0, "plain", "ledger", late, [episode("plain", late, rate=0.03, asked=20)]) is None
    copied = episode("plain", calm, rate=0.05, asked=10, run_at=0.03)
    assert same_at(0.0, "plain", "ledger", calm, [copied]) is None  # only a run counts for another rate
    assert same_at(0.0, "plain", "ledger", calm, [episode("plain", calm, rate=0.03, calls=0)]) is None


def test_what_was_kept_is_read_again_and_a_line_that_was_cut_off_is_not(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    one = episode("plain", 1, right=True, errors=(Made(number=1, kind="again"),))
    shelf.keep(one)
    with shelf.path.open("a") as file:
        file.write(one.model_dump_json()[:40])
    assert shelf.read() == {one.key: one}

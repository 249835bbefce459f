"""The layers of a sub-goal: which one follows after giving up, probes in between, and their display in Prefect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from holo_tasks import (
    NOT_DONE,
    Effect,
    InvalidUsage,
    LimitReached,
    Limits,
    NeedsPerson,
    PolicyRefused,
    SubgoalOptions,
    cost_guardrail,
    pursue,
    recover_to,
    subgoal,
)
from holo_tasks.agent.playbooks import replay_task
from holo_tasks.core.errors import GaveUp
from holo_tasks.core.events import AnyEvent
from holo_tasks.core.input.gestures import Click, Hotkey
from holo_tasks.loop.presses import press_once
from holo_tasks.loop.screens import Interruption, Screens, Way
from holo_tasks.run.run import Run
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script
from tests.support.agents import agent, events, in_a_flow
from tests.support.coloured_program import ColouredProgram, Colours, state
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel, step

CLICK = step("click", element="OK button", x=500, y=500)
ASK = step("ask_human", question="Which one?")
DONE = step("answer", content="by model")

pytestmark = pytest.mark.usefixtures("prefect")


async def press_enter(hands: Hands) -> str:
    await hands.hotkey("enter")
    return "by script"


async def give_up(hands: Hands) -> str:
    raise hands.give_up("I do not know this screen.")


ENTER, LOST = Script(press_enter), Script(give_up)


class Worked:
    """A flow with an agent around some work, its results and its events."""

    def __init__(self, folder: Path, said: Sequence[Any], desktop: PaintedDesktop | None = None) -> None:
        self.folder, self.desktop = folder, desktop or PaintedDesktop()
        self.model = ScriptedModel(said or [DONE])
        self.value: Any = None
        self.error: Exception | None = None
        self.run: Run

    async def by(self, work: Callable[[], Awaitable[Any]], *, in_flow: bool = False, **options: Any) -> Worked:
        async def around() -> None:
            async with agent(self.model, self.desktop, self.folder, **options) as self.run:
                self.run.sees = Colours()
                try:
                    self.value = await work()
                except Exception as error:
                    self.error = error

        with self.model:
            await (in_a_flow(around) if in_flow else around())
        return self

    @property
    def events(self) -> list[AnyEvent]:
        return events(self.run.trace)

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(event.source, event.target) for event in self.events if event.kind == "layer_changed"]

    @property
    def closed(self) -> list[tuple[str, str]]:
        return [(event.status, event.layer) for event in self.events if event.kind == "subgoal_closed"]


@pytest.mark.parametrize(
    ("layers", "said", "value", "changes"),
    [
        (("model", ENTER), [CLICK, ASK], "by script", [("model", "script")]),
        (("model", ENTER), ["babble"], "by script", [("model", "script")]),
        (("model", ENTER), [CLICK], "by script", [("model", "script")]),
        (("model", LOST), [DONE], "by model", []),
        ((ENTER, "model"), [DONE], "by script", []),
        ((LOST, "model"), [DONE], "by model", [("script", "model")]),
    ],
)
async def test_a_layer_that_gives_up_hands_over_to_the_next(
    tmp_path: Path, layers: Sequence[Any], said: list[Any], value: str, changes: list[Any]
) -> None:
    worked = Worked(tmp_path, said)
    await worked.by(lambda: pursue("Press OK.", max_steps=2, options=SubgoalOptions(layers=layers)), in_flow=True)
    assert worked.value == value
    assert worked.changes == changes
    layer = value.removeprefix("by ")
    assert worked.closed == [("answered", layer)]
    assert worked.run.layers == {layer: 1}
    if layers[0] != "model":
        assert len(worked.model.requests) == len(changes), "a script needs no model call"
        assert ("gave up: I do not know this screen." in str(worked.model.requests)) == bool(changes)


async def test_with_the_model_alone_giving_up_ends_the_sub_goal(tmp_path: Path) -> None:
    worked = await Worked(tmp_path, [ASK]).by(lambda: pursue("Press OK."), in_flow=True)
    assert isinstance(worked.error, NeedsPerson)
    assert str(worked.error) == "The agent needs a person: Which one?"
    assert worked.closed == [("needs_person", "")]
    assert worked.changes == []


async def test_after_a_refusal_or_a_limit_no_other_layer_follows(tmp_path: Path) -> None:
    async def work() -> Any:
        return await pursue("Press OK.", options=SubgoalOptions(layers=["model", ENTER]))

    refused = await Worked(tmp_path, [CLICK]).by(work, allow="read", in_flow=True)
    limited = await Worked(tmp_path, [CLICK]).by(work, limits=Limits(max_actions=1), in_flow=True)
    assert isinstance(refused.error, PolicyRefused)
    assert isinstance(limited.error, LimitReached)
    assert refused.changes == limited.changes == []
    assert [type(gesture) for gesture in limited.desktop.gestures] == [Click]


def filing(probe: Any, layers: Sequence[Any] = ("model", ENTER)) -> Callable[[str], Awaitable[str]]:
    """Return a sub-goal with an effect, whose model clicks and then asks a person."""

    @subgoal(title="File {item}", key="{item}", effect=Effect(probe=probe), layers=layers)
    async def file_it(item: str) -> str:
        return str(await pursue("File it.", returns=str)) + "!"

    return file_it


async def test_between_layers_the_probe_decides_whether_the_next_one_acts(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    async def absent(item: str) -> Any:
        asked.append(item)
        return NOT_DONE

    async def present(item: str) -> Any:
        return "filed before"

    async def unknown(item: str) -> Any:
        return None

    runs = {}
    for name, probe in (("absent", absent), ("present", present), ("unknown", unknown), ("no", None)):
        worked = Worked(tmp_path / name, [CLICK, ASK])
        runs[name] = await worked.by(lambda name=name, probe=probe: filing(probe)(f"I-{name}"))  # type: ignore[misc]
    pressed = {name: Hotkey(("enter",)) in worked.desktop.gestures for name, worked in runs.items()}
    assert pressed == {"absent": True, "present": False, "unknown": False, "no": False}
    assert asked == ["I-absent"]
    assert (runs["absent"].value, runs["absent"].closed) == ("by script!", [("answered", "script")])
    assert (runs["present"].value, runs["present"].closed) == ("filed before", [("answered", "model")])
    for name in ("unknown", "no"):
        assert isinstance(runs[name].error, NeedsPerson)
        assert "Nothing was repeated" in str(runs[name].error)


async def test_without_an_action_no_probe_is_made(tmp_path: Path) -> None:
    worked = Worked(tmp_path, [ASK])
    await worked.by(lambda: filing(None)("I-1"))
    assert worked.value == "by script!"


@pytest.mark.parametrize(
    ("said", "choices", "value", "layer"),
    few(
        [
            ([ASK, ASK, DONE], ["try again", "done"], "by model", "person"),
            ([ASK], ["give up"], None, ""),
            ([ASK, DONE], ["done"], "by model", "person"),
            ([ASK, DONE], ["try again"], "by model", "model"),
        ],
        first=2,
    ),
)
async def test_a_person_is_the_last_layer(
    tmp_path: Path, said: list[Any], choices: list[str], value: str | None, layer: str
) -> None:
    worked = Worked(tmp_path, said)
    handoffs = Handoffs(store_at(tmp_path / "holo"))

    async def answering() -> None:
        for choice in choices:
            while not (found := handoffs.waiting()):
                await asyncio.sleep(0.05)
            handoffs.answer(found[0].id, choice, note="as you say", by="ada")

    person = asyncio.ensure_future(answering())
    await worked.by(lambda: pursue("Press OK.", options=SubgoalOptions(layers=("model", "person"))), in_flow=True)
    await person
    assert worked.value == value
    assert worked.changes == [("model", "person")]
    assert worked.closed == [("answered" if value else "needs_person", layer)]
    if value is None:
        assert "ada gave up (as you say)" in str(worked.error)
    else:
        assert "as you say" in str(worked.model.requests[-1])


class Person:
    """Answers ‘done’ to each question after an action; ``asked`` are the questions."""

    def __init__(self, folder: Path, *does: Callable[[], Any]) -> None:
        self._handoffs, self._does = Handoffs(store_at(folder / "holo")), does
        self.asked: list[str] = []

    async def __aenter__(self) -> Person:
        self._working = asyncio.ensure_future(self._work())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._working.cancel()

    async def _work(self) -> None:
        for do in self._does:
            while not (found := self._handoffs.waiting()):
                await asyncio.sleep(0.05)
            self.asked.append(found[0].question)
            do()
            self._handoffs.answer(found[0].id, "done", by="ada")


async def test_a_person_who_leaves_a_wrong_screen_is_asked_again(tmp_path: Path) -> None:
    program = ColouredProgram("form")
    known = Screens([state("form"), state("filed")], timeout_seconds=0.1)

    @subgoal(layers=("model", "person"), screens=known.route(ends="filed"))
    async def file_it() -> str:
        return str(await pursue("File it."))

    def file_by_hand() -> None:
        program.screen = "filed"

    worked = Worked(tmp_path, [ASK, DONE], program)
    async with Person(tmp_path, lambda: None, file_by_hand) as person:
        await worked.by(file_it)
    assert (worked.value, worked.closed) == ("by model", [("answered", "person")])
    assert [question.partition("File it. ")[2] for question in person.asked] == [
        "The agent needs a person: Which one?",
        "After ‘done’: The screen is not ‘filed’, and the work may end only there.",
    ]
    told = [(event.state, event.how) for event in worked.events if event.kind == "state" and event.wanted == "filed"]
    assert told == [("form", "not there"), ("filed", "")]
    assert len(worked.model.requests) == 2, "no answer was read from the wrong screen"


async def test_the_probe_overrides_a_persons_answer(tmp_path: Path) -> None:
    found: list[Any] = [NOT_DONE, "filed by hand"]

    async def probe() -> Any:
        return found.pop(0)

    @subgoal(key="I-1", effect=Effect(probe=probe), layers=("model", "person"))
    async def file_it() -> str:
        return str(await pursue("File it."))

    worked = Worked(tmp_path, [ASK, DONE])
    async with Person(tmp_path, lambda: None, lambda: None) as person:
        await worked.by(file_it)
    assert (worked.value, worked.closed) == ("filed by hand", [("answered", "person")])
    assert person.asked[1:] == ["File it. After ‘done’: The probe does not find the effect."]
    assert len(worked.model.requests) == 1, "the probe's result is not read again"


@pytest.mark.usefixtures("recorded")
async def test_layers_are_shown_in_prefect(tmp_path: Path, prefect_url: str) -> None:
    @subgoal(layers=("model", ENTER))
    async def press_it() -> str:
        return str(await pursue("Press it."))

    worked = await Worked(tmp_path, [ASK]).by(press_it, in_flow=True)

    def found(what: str, **query: Any) -> list[Any]:
        answer: list[Any] = PrefectAPI(prefect_url).post(f"/{what}/filter", query)
        return answer

    (table,) = found("artifacts", artifacts={"key": {"any_": [f"layers-{worked.run.run_id}"]}})
    assert table["description"] == "Resolved by: script 1"
    assert '"resolved by": "script"' in table["data"]
    runs = found("flow_runs", flow_runs={"parent_flow_run_id": {"any_": [worked.run.flow_run_id]}})
    assert [run["state"]["name"] for run in runs] == ["Completed by script"]
    names: dict[str, list[str]] = {}
    for _ in range(100):  # task runs reach the server as events, a moment later
        tasks = found("task_runs", flow_runs={"id": {"any_": [run["id"] for run in runs]}})
        names = {task["name"]: task["tags"] for task in tasks}
        if len(names) == 4:
            break
        await asyncio.sleep(0.1)
    by = ["layer:script"]
    assert names == {"1 · decide": [], "2 · script · decide": by, "2 · script · press enter": by,
                     "3 · script · decide": by}  # fmt: skip


ONCE = """
name: pressing
goals:
  press-it:
    press_once: Enter
    rules:
      - {id: stop, after: press, do: [{ask_human: Go on by hand., thought: Nobody knows what comes then.}]}
      - {id: press, once: true, do: [{hotkey: [enter], thought: Press it.}]}
"""


@pytest.mark.parametrize("declared", [True, False])
async def test_press_once_of_a_playbook_also_applies_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: bool
) -> None:
    monkeypatch.setattr(press_once, "PATIENCE_S", 0)
    written = ONCE if declared else ONCE.replace("    press_once: Enter\n", "")

    @subgoal(layers=(Script(parse_playbook(written)), "model"))
    async def press_it() -> str:
        return str(await pursue("Press it."))

    again = step("hotkey", keys=["enter"])
    worked = await Worked(tmp_path, [again, DONE]).by(press_it)
    pressed = [gesture for gesture in worked.desktop.gestures if isinstance(gesture, Hotkey)]
    assert len(pressed) == (1 if declared else 2)
    if declared:
        assert isinstance(worked.error, NeedsPerson)
        assert "‘Enter’ was pressed, and the effect is unknown" in str(worked.error)


@pytest.mark.parametrize("retried", [("Save",), ("Enter",)])
async def test_press_once_and_retry_click_of_one_button_are_refused(tmp_path: Path, retried: tuple[str, ...]) -> None:
    @subgoal(layers=(Script(parse_playbook(ONCE)), "model"), effect=Effect(retry_click=retried))
    async def press_it() -> str:
        return str(await pursue("Press it."))

    worked = await Worked(tmp_path, [DONE]).by(press_it)
    assert isinstance(worked.error, InvalidUsage) is (retried == ("Enter",)), worked.error


FILING = """
name: filing
goals:
  file-it:
    rules:
      - {id: lost, waited: 1, do: [{answer: not there, thought: It did not come.}]}
      - {id: said, after: file, do: [{answer: by heart, thought: It was done.}]}
      - {id: filed, screen: {state: filed}, after: file, do: [{answer: by playbook, thought: It is filed.}]}
      - {id: file, screen: {state: form}, do: [{ask_human: File it., thought: Somebody has to file it.}]}
"""


@pytest.mark.parametrize(("left", "read_by"), [("filed", "by playbook"), ("record", "by model")])
async def test_the_result_of_a_persons_work_is_read_by_the_playbook_or_the_model(
    tmp_path: Path, left: str, read_by: str
) -> None:
    program = ColouredProgram("form")
    known = Screens([state("form"), state("filed"), state("record")], closed=False)

    @subgoal(layers=(Script(parse_playbook(FILING)), "model", "person"), screens=known)
    async def file_it() -> str:
        return str(await pursue("File it."))

    def file_by_hand() -> None:
        program.screen = left

    worked = Worked(tmp_path, [ASK, DONE], program)
    async with Person(tmp_path, file_by_hand):
        await worked.by(file_it)
    assert (worked.value, worked.closed) == (read_by, [("answered", "person")])


PRESSING = """
name: pressing
goals:
  press:
    rules:
      - {id: say-so, after: press-it, do: [{answer: by playbook, thought: It is pressed.}]}
      - {id: press-it, once: true, do: [{hotkey: [enter], thought: Press it.}, {hotkey: [tab], thought: Go on.}]}
"""


@pytest.mark.usefixtures("recorded")
async def test_a_replayed_playbook_is_one_task_in_prefect(
    tmp_path: Path, prefect_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_task, "FIRST_S", 0.0)

    @subgoal(layers=(Script(parse_playbook(PRESSING)), "model"))
    async def press_it() -> str:
        return str(await pursue("Press it."))

    worked = await Worked(tmp_path, [DONE]).by(press_it, in_flow=True)
    api = PrefectAPI(prefect_url)
    assert worked.value == "by playbook"
    assert [event.label for event in worked.events if event.kind == "action"] == ["press enter", "press tab"]

    def found(what: str, **query: Any) -> list[Any]:
        answer: list[Any] = api.post(f"/{what}/filter", query)
        return answer

    (inside,) = found("flow_runs", flow_runs={"parent_flow_run_id": {"any_": [worked.run.flow_run_id]}})
    tasks: list[Any] = []
    for _ in range(100):  # task runs reach the server as events, a moment later
        tasks = found("task_runs", flow_runs={"id": {"any_": [inside["id"]]}})
        if tasks and tasks[0]["state"]["name"] == "Completed":
            break
        await asyncio.sleep(0.1)
    assert [(task["name"], task["tags"]) for task in tasks] == [("playbook · press", ["layer:playbook"])]
    keys = [f"{name}-{worked.run.run_id}-1" for name in ("replaying", "replay")]
    progress, picture = (found("artifacts", artifacts={"key": {"any_": [key]}})[0] for key in keys)
    assert (progress["type"], float(progress["data"]), progress["task_run_id"]) == ("progress", 100, tasks[0]["id"])
    assert "```mermaid" in picture["data"]
    assert "r1 --> r0" in picture["data"]


@pytest.mark.usefixtures("recorded")
async def test_a_playbook_that_gives_up_is_not_a_failed_task(tmp_path: Path, prefect_url: str) -> None:
    lost = "{name: p, goals: {g: {rules: [{id: ask, do: [{ask_human: Who, thought: Ask.}]}]}}}"

    @subgoal(layers=Script(parse_playbook(lost)))
    async def press_it() -> str:
        return str(await pursue("Press it."))

    worked = await Worked(tmp_path, [DONE]).by(press_it, in_flow=True)
    assert isinstance(worked.error, NeedsPerson)
    tasks: list[Any] = []
    for _ in range(100):
        flows = {"parent_flow_run_id": {"any_": [worked.run.flow_run_id]}}
        inside = PrefectAPI(prefect_url).post("/flow_runs/filter", {"flow_runs": flows})
        tasks = PrefectAPI(prefect_url).post("/task_runs/filter", {"flow_runs": {"id": {"any_": [inside[0]["id"]]}}})
        if tasks and tasks[0]["state"]["type"] == "COMPLETED":
            break
        await asyncio.sleep(0.1)
    assert [task["state"]["name"] for task in tasks] == ["Gave up"]
    keys = [f"{name}-{worked.run.run_id}-1" for name in ("replaying", "replay")]
    about = PrefectAPI(prefect_url).post("/artifacts/filter", {"artifacts": {"key": {"any_": keys}}})
    assert [artifact["key"] for artifact in about] == keys[1:], "a short replay has no progress bar"


async def test_an_interruption_may_be_cleared_by_a_whole_sub_goal(tmp_path: Path) -> None:
    """Signing in again while the interrupted sub-goal has the screen."""
    program = ColouredProgram("sign on", lambda screen, gesture: "menu" if isinstance(gesture, Click) else None)

    @subgoal
    async def sign_on() -> str:
        return str(await pursue("Sign on."))

    known = Screens([state("menu")], [Interruption(state("sign on"), sign_on, name="session")])

    @subgoal(screens=known.route(begins="menu", ends="menu"))
    @cost_guardrail(max_actions=5)
    async def read_it() -> str:
        return str(await pursue("Read it."))

    worked = Worked(tmp_path, [CLICK, step("answer", content="signed on"), DONE], program)
    await worked.by(read_it)
    assert worked.value == "by model"
    opened = [(event.subgoal, event.title) for event in worked.events if event.kind == "subgoal_opened"]
    assert opened == [(1, "read it"), (2, "sign on")]
    assert [event.name for event in worked.events if event.kind == "interruption"] == ["session"]
    closed = {event.subgoal: event.cost_micro_usd for event in worked.events if event.kind == "subgoal_closed"}
    assert sum(cost or 0 for cost in closed.values()) == worked.run.guard.spent_micro, "no cost is counted twice"
    assert "‘session’ appeared" in str(worked.model.requests[-1])


async def test_an_inner_sub_goal_is_charged_to_the_outer_guardrails(tmp_path: Path) -> None:
    @subgoal
    async def sign_on() -> str:
        return str(await pursue("Sign on."))

    known = Screens([state("menu")], [Interruption(state("sign on"), sign_on)])

    @subgoal(screens=known)
    @cost_guardrail(max_actions=2)
    async def read_it() -> str:
        return str(await pursue("Read it."))

    scroll = step("scroll", element="the list", x=500, y=500, direction="down", scroll_size=1)
    worked = await Worked(tmp_path, [scroll], ColouredProgram("sign on")).by(read_it)
    assert isinstance(worked.error, LimitReached)
    assert len(worked.desktop.gestures) == 2


async def test_recover_to_brings_the_program_to_a_state(tmp_path: Path) -> None:
    program = ColouredProgram("record")
    known = Screens([state("record"), state("menu")], ways=[Way(program.going("menu"), "menu")])

    async def work() -> None:
        await recover_to("menu", screens=known)
        with pytest.raises(GaveUp):
            await recover_to("record", screens=Screens(known.states, timeout_seconds=0.1))
        with pytest.raises(InvalidUsage, match="No screens are declared"):
            await recover_to("menu")

    worked = await Worked(tmp_path, [], program).by(work, in_flow=True)
    assert worked.error is None
    assert program.screen == "menu"
    assert [event.how for event in worked.events if event.kind == "state" and event.how] == ["takes the way to ‘menu’"]


MENU = Screens([state("menu")])


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (lambda: subgoal(layers=()), "at least one of the model"),
        (lambda: subgoal(layers=("person", "model")), "put 'person' at the end"),
        (lambda: subgoal(layers=("model", "oracle")), "not 'oracle'"),
        (lambda: subgoal(layers=("model", "script")), r"Put the Script\(…\) itself"),
        (lambda: subgoal(layers=[ENTER, LOST]), "a script"),
        (lambda: subgoal(screens="menu"), r"screens= is a Screens, or SCREENS\.route"),
        (lambda: subgoal(effect=False), "or None for a sub-goal that only reads"),
        (lambda: subgoal(secrets=[""]), "secrets= holds texts"),
        (lambda: MENU.route(), "needs begins= or ends="),
        (lambda: MENU.route(begins="form"), "no state 'form'; there are: menu"),
        (lambda: MENU.route(ends=("menu", "form")), "no state 'form'"),
        (lambda: Effect(probe="look"), "give the function itself"),
        (lambda: Effect(press_once=("Save", "OK"), retry_click="OK"), "OK cannot be both"),
        (lambda: Effect(changes=False, press_once="OK"), "leave out probe=, precondition= and press_once="),
        (lambda: subgoal(limits=0.5), r"limits= is Limits\(max_cost_usd=…"),
    ],
)
def test_conflicting_options_are_refused_at_declaration(declared: Callable[[], Any], told: str) -> None:
    with pytest.raises(InvalidUsage, match=told):
        declared()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"token": "{item}"}, "write key="),
        ({"probe": print}, r"write effect=Effect\(probe=…\)"),
        ({"once": ("Save",)}, r"write effect=Effect\(press_once=…\)"),
        ({"safe_to_repeat": ("Save",)}, r"write effect=Effect\(retry_click=…\)"),
        ({"before": "menu"}, r"write screens=SCREENS\.route\(begins=…\)"),
        ({"script": ENTER}, r"write layers=\[…, Script\(…\)\]"),
    ],
)
async def test_an_old_option_name_is_refused_with_the_new_one(old: dict[str, Any], new: str) -> None:
    with pytest.raises(InvalidUsage, match=new):
        subgoal(**old)
    if "token" not in old and "probe" not in old:
        with pytest.raises(InvalidUsage, match=r"write options=SubgoalOptions\("):
            await pursue("Press OK.", **old)


def test_a_single_label_is_not_split_into_letters() -> None:
    found = Effect(retry_click="Refresh", press_once="Submit")
    assert (found.retry_click, found.press_once) == (("Refresh",), ("Submit",))
    assert SubgoalOptions(layers="model", secrets="password").secrets == ("password",)


def test_missing_options_come_from_the_outer_ones() -> None:
    around = SubgoalOptions(MENU.route(begins="menu"), ["model", "person"], Effect(press_once="Save"), "password")
    inner = SubgoalOptions().inside(around)
    assert (inner.known_screens, inner.begins, inner.ends) == (MENU, "menu", ())
    assert (inner.order, inner.press_once, inner.secrets) == (("model", "person"), ("Save",), ("password",))
    other = SubgoalOptions(MENU, ENTER, None, ()).inside(around)
    assert (other.begins, other.order, other.script, other.press_once, other.secrets) == (
        "",
        ("script",),
        ENTER,
        (),
        (),
    )


def test_a_script_factory_gets_the_arguments_and_is_refused_in_pursue() -> None:
    options = SubgoalOptions(layers=["model", lambda item: ENTER if item == "I-1" else None])
    assert options.called(("I-1",), {}).script is ENTER
    with pytest.raises(InvalidUsage, match="makes a Script of the sub-goal's arguments, not None"):
        options.called((), {"item": "I-2"})
    with pytest.raises(InvalidUsage, match="no arguments to make a script of"):
        options.check_for_pursue()
    with pytest.raises(InvalidUsage, match=r"give them to @subgoal\(effect=Effect\(…\)\)"):
        SubgoalOptions(effect=Effect(probe=print)).check_for_pursue()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "error"), [("seen", ""), (NOT_DONE, "does not find the effect"), (None, "cannot tell")]
)
async def test_a_confirmed_answer_counts_only_if_the_probe_finds_the_effect(
    tmp_path: Path, found: Any, error: str
) -> None:
    async def look(item: str) -> Any:
        return found

    @subgoal(key="{item}", effect=Effect(probe=look, confirm=True))
    async def pay(item: str) -> str:
        answer: str = await pursue("Press OK.")
        return answer

    worked = await Worked(tmp_path, [CLICK, DONE]).by(lambda: pay("I-1"))
    assert worked.value == (None if error else "by model")
    assert error in str(worked.error or "")
    assert isinstance(worked.error, NeedsPerson) == bool(error)


def test_a_confirmed_effect_needs_a_probe() -> None:
    with pytest.raises(InvalidUsage, match="probe="):
        Effect(confirm=True)


@pytest.mark.parametrize(("options", "calls"), [({}, 3), ({"check_answers": False}, 2)])
async def test_answers_are_checked_unless_a_run_turns_that_off(
    tmp_path: Path, options: dict[str, Any], calls: int
) -> None:
    typed = step("write", content="CB-1042")
    worked = Worked(tmp_path, [typed, DONE])
    await worked.by(lambda: pursue("Enter CB-1042."), **options)
    assert worked.value == "by model"
    assert len(worked.model.requests) == calls

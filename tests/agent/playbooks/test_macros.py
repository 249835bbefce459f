"""Playbooks as tools: their declaration to a model in both dialects, and the actions and records of a call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks import (
    Effect,
    InvalidUsage,
    LimitReached,
    Limits,
    PolicyRefused,
    Script,
    SubgoalOptions,
    pursue,
    subgoal,
)
from holo_tasks.core.errors import UnusableReply
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.core.prompts.macros import Macro
from holo_tasks.core.prompts.toolbox import Toolbox
from holo_tasks.core.screen.geometry import Box
from holo_tasks.models.profile import profile_for
from holo_tasks.scripts import playbook_brain
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.playbook import Playbook, parse_playbook
from tests.agent.test_layers import Worked
from tests.support.scripted_model import completion, function_call, step

BOOK = parse_playbook("""
name: counting
about: The counter of the harbor.
goals:
  count-it:
    params: {who: text, times: int, from: date}
    values: {unit: boxes}
    rules:
      - id: said
        done: counted
        do:
          - answer: "{who} has counted {times} {unit}"
            thought: It is counted.
      - id: counted
        once: true
        do:
          - write: "{who}"
            thought: Write who it is.
          - hotkey: [enter]
            thought: Count it.
  lost:
    rules:
      - id: ask
        done: enter
        do:
          - ask_human: Nobody knows this screen.
            thought: It is not here.
      - id: enter
        once: true
        do:
          - hotkey: [f2]
            thought: Look for it.
""")
VALUES = {"who": "Zoë", "times": 3, "from": "2026-11-22"}
DONE = step("answer", content="by the model")

pytestmark = pytest.mark.usefixtures("prefect")


def count_it(**values: Any) -> dict[str, Any]:
    return step("count_it", thought="Count it in one go.", **VALUES | values)


def working(tools: list[Any], options: SubgoalOptions | None = None, **how: Any) -> Callable[[], Awaitable[Any]]:
    return lambda: pursue("Count.", tools=tools, options=options, **how)


BOTH = [Script(BOOK, "count-it"), Script(BOOK, "lost")]


async def test_a_call_runs_the_whole_sequence_and_returns_its_answer(tmp_path: Path) -> None:
    worked = await Worked(tmp_path, [count_it(), DONE]).by(working(BOTH))
    assert worked.value == "by the model"
    assert worked.desktop.gestures == [Write("Zoë"), Hotkey(("enter",))]
    assert len(worked.model.requests) == 2
    _, told = (json.dumps(request["messages"], ensure_ascii=False) for request in worked.model.requests)
    assert '<tool_output tool=\\"count_it\\">\\nDone: count_it, in 3 steps.' in told
    assert "Zoë has counted 3 boxes" in told
    decided = [event for event in worked.events if event.kind == "decision"]
    assert [(event.tool_name, event.macro) for event in decided] == [
        ("macro", ""),
        ("write", "count_it"),
        ("hotkey", "count_it"),
        ("answer", "count_it"),
        ("answer", ""),
    ]
    assert decided[0].arguments == {"name": "count_it", "arguments": VALUES}
    kinds = [event.kind for event in worked.events]
    assert kinds.count("permit") == kinds.count("action") == kinds.count("verdict") == 2
    assert worked.closed == [("answered", "model")]
    assert [event.steps for event in worked.events if event.kind == "subgoal_closed"] == [5]


async def test_the_trace_names_the_version_of_each_callable_playbook(tmp_path: Path) -> None:
    file = tmp_path / "book.yaml"
    file.write_text("{name: book, goals: {look-on: {rules: [{id: end, do: [{answer: ok, thought: It is.}]}]}}}")
    worked = await Worked(tmp_path, [DONE]).by(working([Script(file), *BOTH]))
    (opened,) = (event for event in worked.events if event.kind == "subgoal_opened")
    assert opened.macros == [f"look-on {hashlib.sha256(file.read_bytes()).hexdigest()}"]


async def test_the_items_text_must_stay_for_its_steps_but_not_for_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbook_brain, "item_boxes", lambda *_: (Box(1, 2, 30, 40),))
    click = step("click", element="OK", x=500, y=500)
    worked = await Worked(tmp_path, [count_it(), click, DONE]).by(working(BOTH))
    assert [input_permit and input_permit.held for input_permit in worked.desktop.slips] == [
        (Box(1, 2, 30, 40),)
    ] * 2 + [()]


async def test_a_macro_that_gives_up_is_reported_with_its_step_and_the_model_continues(tmp_path: Path) -> None:
    worked = await Worked(tmp_path, [step("lost"), DONE]).by(working(BOTH))
    assert worked.value == "by the model"
    told = json.dumps(worked.model.requests[1]["messages"])
    assert '<error tool=\\"lost\\">\\nlost gave up at its step 2. Its earlier steps are done.' in told
    assert "Nobody knows this screen." in told
    assert worked.changes == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (step("count_all"), "there is no tool named 'count_all'; there are: click"),
        (step("count_it", who="Zoë"), "times: is not given"),
        (count_it(times="many"), "times: "),
        (count_it(color="red"), "color: is not one of its parameters"),
        (count_it(who="{{secret:pin}}"), "a script names its secrets itself"),
        (step("lost", who="Zoë"), "who: is not one of its parameters"),
    ],
)
def test_an_invalid_macro_call_is_refused(call: dict[str, Any], said: str) -> None:
    macros = [script.macro() for script in BOTH]
    with pytest.raises(UnusableReply) as error:
        Toolbox(macros=macros).read(call["tool_call"])
    assert said in error.value.correction


async def test_an_invalid_macro_call_is_sent_back_for_correction(tmp_path: Path) -> None:
    worked = await Worked(tmp_path, [count_it(times="many"), count_it(), DONE]).by(working(BOTH))
    assert worked.value == "by the model"
    assert len(worked.desktop.gestures) == 2
    assert "times: " in json.dumps(worked.model.requests[1]["messages"][-2])


async def test_limits_and_policy_apply_to_a_macros_actions(tmp_path: Path) -> None:
    limited = await Worked(tmp_path, [count_it()]).by(working(BOTH), limits=Limits(max_actions=1))
    assert isinstance(limited.error, LimitReached)
    assert limited.desktop.gestures == [Write("Zoë")]
    refused = await Worked(tmp_path, [count_it()]).by(working(BOTH), allow="read")
    assert isinstance(refused.error, PolicyRefused)
    assert refused.desktop.gestures == []
    patient = await Worked(tmp_path, [count_it(), DONE]).by(working(BOTH, max_steps=3))
    assert isinstance(patient.error, LimitReached), "its steps count as steps of the sub-goal"
    assert "was not reached within 2 steps" in json.dumps(patient.model.requests[1]["messages"])


async def test_press_once_applies_to_the_model_and_its_macros_together(tmp_path: Path) -> None:
    once = SubgoalOptions(effect=Effect(press_once=["Enter"]))
    worked = await Worked(tmp_path, [count_it(), step("hotkey", keys=["enter"]), DONE]).by(working(BOTH, once))
    assert worked.desktop.gestures.count(Hotkey(("enter",))) == 1
    assert "It was not pressed again" in str(worked.error)


async def test_function_calling_declares_macros_and_replays_the_call(tmp_path: Path) -> None:
    said = [
        completion({"content": None, "tool_calls": [function_call("count_it", VALUES, "a")]}),
        completion({"content": None, "tool_calls": [function_call("answer", {"content": "7"}, "b")]}),
    ]
    worked = await Worked(tmp_path, said).by(working(BOTH), profile=profile_for("holo4-35b-a3b"))
    assert worked.value == "7"
    first, second = worked.model.requests
    (declared,) = [tool["function"] for tool in first["tools"] if tool["function"]["name"] == "count_it"]
    assert "‘count-it’" in declared["description"]
    assert "The counter of the harbor." in declared["description"]
    types = {name: rule["type"] for name, rule in declared["parameters"]["properties"].items()}
    assert types == {"unit": "string", "who": "string", "times": "integer", "from": "string"}
    assert declared["parameters"]["required"] == ["who", "times", "from"]
    (call,) = [message["tool_calls"][0] for message in second["messages"] if message["role"] == "assistant"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("count_it", VALUES)
    (told,) = [message for message in second["messages"] if message["role"] == "tool"]
    assert told["tool_call_id"] == "a"
    assert "Zoë has counted 3 boxes" in told["content"]


async def test_a_script_with_values_is_declared_without_parameters(tmp_path: Path) -> None:
    given = Script(BOOK, "count-it", **VALUES)
    assert given.macro().parameters == {}
    worked = await Worked(tmp_path, [step("count_it"), DONE]).by(working([given]))
    assert worked.desktop.gestures == [Write("Zoë"), Hotkey(("enter",))]


def test_macros_are_not_offered_for_a_final_answer() -> None:
    toolbox = Toolbox(macros=[Script(BOOK, "lost").macro()])
    assert "Macro_lost" in toolbox.step_schema()["$defs"]
    assert list(toolbox.step_schema(answer_only=True)["$defs"]) == ["AnswerCall"]
    with pytest.raises(UnusableReply):
        toolbox.read({"tool_name": "lost"}, answer_only=True)


def _named(*names: str) -> list[Macro]:
    return [Macro(name, "", {}, (), lambda values: None) for name in names]


async def _handy(hands: Hands) -> str:
    return ""


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Toolbox(macros=_named("click")), "tools= holds a playbook whose tool name 'click'"),
        (lambda: Toolbox(macros=_named("one", "one")), "tools= holds two"),
        (lambda: Toolbox(macros=_named(*(f"tool_{n}" for n in range(21)))), "20 is the limit"),
        (lambda: SubgoalOptions(layers=[Script(BOOK, "count-it")]), "who: is not given"),
        (lambda: SubgoalOptions(layers=lambda: Script(BOOK, "count-it")).called((), {}), "who: is not given"),
        (lambda: Script(BOOK, "count-it").brain(), "who: is not given"),
        (lambda: Script(BOOK, "count-it", **VALUES).given({"who": "me"}), "has all its values"),
    ],
)
def test_invalid_tools_are_refused_at_declaration(made: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidUsage, match=said):
        made()


async def test_tools_need_a_model_layer_with_tool_support(tmp_path: Path) -> None:
    for tools, options, said in (
        ([Playbook], None, "holds Script"),
        ([Script(BOOK, "lost")], SubgoalOptions(layers=[Script(_handy)]), "add 'model'"),
    ):
        worked = await Worked(tmp_path, []).by(working(tools, options))
        assert said in str(worked.error)
    flat = await Worked(tmp_path, []).by(working(BOTH), profile=profile_for("holo4-35b-a3b", dialects=["holotron"]))
    assert "it can be offered no tools=" in str(flat.error)
    assert not any(isinstance(gesture, Click) for gesture in flat.desktop.gestures)


async def test_an_effect_found_during_a_macro_is_the_result(tmp_path: Path) -> None:
    async def there(item: str) -> str:
        return f"filed {item}"

    @subgoal(key="{item}", effect=Effect(probe=there, press_once=["Enter"]))
    async def file_it(item: str) -> str:
        return str(await pursue("File it.", tools=BOTH))

    worked = await Worked(tmp_path, [step("hotkey", keys=["enter"]), count_it()]).by(lambda: file_it("R-1"))
    assert worked.value == "filed R-1"
    assert worked.desktop.gestures.count(Hotkey(("enter",))) == 1

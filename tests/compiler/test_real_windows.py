"""Runs on a real program with known windows and states compile into expectations after each step."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from holo_tasks import Screens, State, Text, pursue, subgoal
from holo_tasks.cli.compile import compile_traces
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.scripts.playbook import Playbook, load_playbook, parse_playbook
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.steps_and_targets import AtState, ShownWindow
from tests.support.agents import agent, events
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect")]
APPS = Path(__file__).parent.parent / "apps"
SCREENS = Screens([State("record", Text("ORDER RECORD")), State("search", Text("FIND AN ORDER"))], timeout_seconds=5)
BY_HAND = """
name: orders
goals:
  open-it:
    params: {order: text}
    rules:
      - id: opened
        screen: ORDER RECORD
        read: {customer: {right_of: Customer}}
        do: [{answer: {customer: "{customer}"}, thought: It is open.}]
      - id: open
        screen: [FIND AN ORDER, "{order}"]
        do: [{click: Open order, thought: Open it.}]
      - id: type
        screen: FIND AN ORDER
        do: [{click: {field: Order number}, thought: Go there.}, {write: "{order}", thought: Write it.}]
"""


async def worked(playbook: Playbook, order: str, folder: Path) -> str:
    """Run a playbook that opens an order on its own desktop; return the trace."""

    @subgoal(layers=[Script(playbook, order=order)], screens=SCREENS, effect=None)
    async def open_it() -> dict[str, str]:
        found: dict[str, str] = await pursue(f"Open the order {order}.", returns=dict[str, str])
        return found

    app = shlex.join([tk_python(), str(APPS / "probe_orders.py")])

    async with VirtualDesktop(size=Size(640, 560), app=app) as desktop:
        with ScriptedModel([]) as model:
            async with agent(model, desktop, folder) as run:
                assert await open_it() == {"customer": "Kite Supplies"}
    return run.trace


async def test_the_window_and_state_after_a_press_are_compiled_and_expected(tmp_path: Path) -> None:
    by_hand = parse_playbook(BY_HAND)
    traces = [await worked(by_hand, order, tmp_path) for order in ("AB-1207", "CD-3391")]
    windows = [event.windows for event in events(traces[0]) if event.kind == "frame"]
    assert windows[0] == ["Order Desk"]
    assert windows[-1] == ["Order AB-1207", "Order Desk"]
    out = tmp_path / "made.yaml"
    compile_traces(traces, out, "open-it", ["order=AB-1207"], None, tmp_path / "holo", as_json=False)
    made = load_playbook(out)
    (then,) = (action.then for rule in made.rules_of("open-it") for action in rule.do if action.click and action.then)
    assert {ShownWindow(window="Order {order}"), AtState(state="record")} <= {*then}
    await worked(made, "EF-5050", tmp_path)

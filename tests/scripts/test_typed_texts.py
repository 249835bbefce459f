"""Playbooks and scripts end with an error if a field shows another text than typed, unless `shows` permits it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from holo_tasks.core.errors import GaveUp
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.prompts.step import Step
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.loop import pursue
from holo_tasks.loop.script_port import Brain, apply_intent
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.accessibility.test_programs import until_there
from tests.support.long import few
from tests.support.shots import MemoryModel, as_model, walk_of

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(not has_gtk("3.0"), reason="needs the Debian packages python3-gi and gir1.2-gtk-3.0"),
]
PLAYBOOK = """name: fields
goals:
  fill:
    rules:
      - id: fill
        screen: {{role: text field, name: {field}}}
        once: true
        do:
          - click: {{role: text field, name: {field}}}
            thought: Go to the field.
          - write: {{text: {text}, overwrite: true{shows}}}
            thought: Write the text.
      - id: end
        after: fill
        screen: {{role: text field, name: Plain}}
        do:
          - answer: done
            thought: It is written.
"""


@pytest.fixture(scope="module", params=few(["gtk3", "qt"]))
def desktop(request: pytest.FixtureRequest) -> Iterator[VirtualDesktop]:
    """One program for all tests of a toolkit, each with its own event loop."""
    if request.param == "qt":
        pytest.importorskip("PySide6", reason="needs the package PySide6, a test dependency")
    python = sys.executable if request.param == "qt" else DEBIAN_PYTHON
    app = [python, str(APPS / f"fields_{request.param}.py")]
    started = asyncio.run(VirtualDesktop.start(app=app, app_timeout_s=60))
    asyncio.run(until_there(started, "text field", "Plain"))
    yield started
    asyncio.run(started.close())


async def done(walk: Walk, brain: Brain) -> str:
    """Return a script's answer. The walk applies each step's intent, as a layer does."""

    async def decide(walk: Walk, final: bool) -> Step:
        step = await brain.decide(walk)
        apply_intent(walk, brain.intent, ())
        return step

    try:
        return (await pursue(Executor(walk, Walk.act), read=str, decide=decide, max_steps=20)).text
    finally:
        await brain.close()


async def walk_on(desktop: VirtualDesktop) -> Walk:
    for field in (await desktop.elements()).find("text field"):
        if field.name in ("Plain", "Short", "Completed"):
            await desktop.do(Write("-", overwrite=True, at=field.box.center))
    await desktop.look(after_action=True)
    walk = walk_of(as_model(MemoryModel([])), desktop=desktop)
    walk.services = replace(walk.services, elements=Elements(desktop))
    return walk


def playbook(folder: Path, field: str, text: str, shows: str = "") -> Script:
    file = folder / "fields.playbook.yaml"
    file.write_text(PLAYBOOK.format(field=field, text=text, shows=shows and f", shows: '{shows}'"), encoding="utf-8")
    return Script(file, "fill")


async def fill(hands: Hands, field: str, text: str, shows: str) -> str:
    await hands.click(role="text field", name=field)
    await hands.write(text, overwrite=True, shows=shows or None)
    return "done"


@pytest.mark.parametrize(("field", "text", "held"), [("Short", "abcdef", "abcd"), ("Completed", "Ap", "App*")])
async def test_a_playbook_gives_up_on_a_changed_text_unless_it_expects_that_text(
    desktop: VirtualDesktop, tmp_path: Path, field: str, text: str, held: str
) -> None:
    with pytest.raises(
        GaveUp, match=f"‘{field}’ holds ‘{held.rstrip('*')}(le)?’, not ‘{text}’. If that is right, give `shows`"
    ):
        await done(await walk_on(desktop), playbook(tmp_path, field, text).brain())
    assert await done(await walk_on(desktop), playbook(tmp_path, field, text, held).brain()) == "done"
    with pytest.raises(GaveUp, match="not ‘else’"):
        await done(await walk_on(desktop), playbook(tmp_path, field, text, "else").brain())


async def test_a_script_gives_up_on_a_changed_text_unless_it_expects_that_text(desktop: VirtualDesktop) -> None:
    def script(shows: str, text: str = "abcdef", field: str = "Short") -> Script:
        return Script(fill, field=field, text=text, shows=shows)

    with pytest.raises(GaveUp, match=r"The field ‘Short’ holds ‘abcd’, not ‘abcdef’. If that is right, give `shows`"):
        await done(await walk_on(desktop), script("").brain())
    assert await done(await walk_on(desktop), script("abcd").brain()) == "done"
    assert await done(await walk_on(desktop), script("*").brain()) == "done"
    # An expectation for one text does not apply to another.
    assert await done(await walk_on(desktop), script("", "abc").brain()) == "done"
    assert await done(await walk_on(desktop), script("", "Zoë 🙂", "Plain").brain()) == "done"


async def leave(hands: Hands, field: str, text: str, shows: str) -> None:
    await fill(hands, field, text, shows)
    await hands.click(role="text field", name="Plain")


LEFT = PLAYBOOK.replace(
    "      - id: end",
    """          - click: {{role: text field, name: Plain}}
            thought: Go on.
      - id: end""",
)


async def test_a_field_that_empties_itself_when_it_is_left_ends_a_playbook_and_a_script(
    desktop: VirtualDesktop, tmp_path: Path
) -> None:
    def script(text: str, shows: str = "") -> Brain:
        return Script(leave, field="Wiped", text=text, shows=shows).brain()

    told = "The field ‘Wiped’ is empty now and did not keep ‘12.50’. If that is right, give `shows`"
    with pytest.raises(GaveUp, match=told):
        await done(await walk_on(desktop), script("12.50"))
    assert await done(await walk_on(desktop), script("12.50", "*")) == "done"
    assert await done(await walk_on(desktop), script("12")) == "done"
    for text, ends in (("12.50", True), ("12", False)):
        file = tmp_path / "left.playbook.yaml"
        file.write_text(LEFT.format(field="Wiped", text=f"'{text}'", shows=""), encoding="utf-8")
        with pytest.raises(GaveUp, match="has changed the value of its field") if ends else nullcontext():
            assert await done(await walk_on(desktop), Script(file, "fill").brain()) == "done"


async def test_an_unchanged_text_ends_no_playbook(desktop: VirtualDesktop, tmp_path: Path) -> None:
    for text in ("Zoë", "1234.5", "two words"):
        assert await done(await walk_on(desktop), playbook(tmp_path, "Plain", f"'{text}'").brain()) == "done"

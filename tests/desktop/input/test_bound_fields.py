"""A secret bound to a field is typed into it only. Another field is recognized by labels, or gets a few characters at
most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.geometry import Size
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.input.typing import BATCH
from holo_tasks.loop.walk import Walk
from holo_tasks.vision.control_text import ScreenText
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, walk_of

VALUE = "hunter2-CANARY-77"
SECRET = a_step("write", content="{{secret:pw}}")
SIZE = Size(1000, 1000)


class Forms:
    """A desktop with a program that shows one form after another."""

    def __init__(self, desktop: VirtualDesktop, told: Any, until: Callable[..., Any]) -> None:
        self._desktop, self.told, self._until = desktop, told, until
        self._reader = ScreenText()
        self.typed: list[Typed] = []

    async def show(self, layout: str) -> Walk:
        self.told.path.with_suffix(".order").write_text(layout)
        assert await self._until(lambda: self.told.read().get("layout") == layout)
        self.typed.clear()
        walk = walk_of(as_model(MemoryModel([])), desktop=self._desktop, recorder=MemoryRecorder())
        walk.services = replace(
            walk.services, reader=self._reader, secret_fields={"pw": ("Password",)}, typed=self.typed.extend
        )
        await walk.look()
        return walk

    async def click(self, walk: Walk, field: str) -> None:
        at = self.told.at(field)
        x, y = (round(1000 * (v + 0.5) / size) for v, size in ((at.x, SIZE.width), (at.y, SIZE.height)))
        await walk.act(a_step("click", element=field, x=x, y=y))
        await walk.look(after_action=True)


@pytest.fixture(scope="module")
def started(tk: str, state: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VirtualDesktop, Any]]:
    from tests.desktop.conftest import APPS

    told = state(tmp_path_factory.mktemp("layouts") / "state")
    told.path.with_suffix(".order").write_text("beside")
    secrets = {"pw": Secret("pw", VALUE, fields=("Password",))}
    command = [tk, str(APPS / "probe_layouts.py"), str(told.path)]
    desktop = asyncio.run(VirtualDesktop.start(app=command, size=SIZE, secrets=secrets))
    yield desktop, told
    asyncio.run(desktop.close())


@pytest.fixture
def forms(started: tuple[VirtualDesktop, Any], until: Callable[..., Any]) -> Forms:
    return Forms(*started, until)


@pytest.mark.parametrize("layout", ["beside", "above", "narrow", "note"])
async def test_the_secret_is_typed_into_the_field_with_its_label(forms: Forms, layout: str) -> None:
    walk = await forms.show(layout)
    await forms.click(walk, "password")
    await walk.act(SECRET)
    assert await forms.told.becomes("password", VALUE) == VALUE
    assert not any(text for name, text in forms.told.read()["fields"].items() if name != "password")


@pytest.mark.parametrize("layout", ["same_row", "below", "note", "written"])
async def test_a_field_beside_or_below_the_labelled_one_gets_no_character(forms: Forms, layout: str) -> None:
    walk, before = await forms.show(layout), {}
    if layout == "written":
        await forms.click(walk, "user")
        await walk.act(a_step("write", content="Password"))
        await walk.look(after_action=True)
        before = {"user": "Password"}
    await forms.click(walk, "comment")
    with pytest.raises(SecretRefused, match="no such label"):
        await walk.act(SECRET)
    assert {name: text for name, text in forms.told.read()["fields"].items() if text} == before


@pytest.mark.parametrize(("layout", "own", "most"), [("disabled", 0, 1), ("moves_on", 8, BATCH)])
async def test_another_field_with_the_keyboard_focus_gets_few_characters(
    forms: Forms, layout: str, own: int, most: int
) -> None:
    walk = await forms.show(layout)
    await forms.click(walk, "comment")
    await forms.click(walk, "password")
    with pytest.raises(SecretRefused, match=r"(does|did) not show there"):
        await walk.act(SECRET)
    await walk.look(after_action=True)
    held = forms.told.read()["fields"]
    assert held["password"] == VALUE[:own]
    assert VALUE[own : own + most].startswith(held["comment"])
    assert held["comment"]
    at = forms.told.at("comment")
    assert any(t.box.left <= at.x < t.box.right and t.box.top <= at.y < t.box.bottom for t in forms.typed)
    with pytest.raises(SecretRefused, match="click that field"):
        await walk.act(SECRET)

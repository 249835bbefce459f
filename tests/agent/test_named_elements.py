"""`localize` without a model call: an element named by role and name is located by the tree, if the picture agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from holo_tasks import InvalidUsage, localize
from holo_tasks.audit.pages.report import write_report
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.events import Located, RequestSent
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.safety.masking.settings import Redaction
from tests.accessibility.conftest import APPS
from tests.accessibility.conftest import form as form
from tests.accessibility.test_programs import until_there
from tests.support.agents import agent, events
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]
MODEL = Point(0, 0)
"""The model's answer for every element."""


class Lying(VirtualDesktop):
    """Reports its programs' elements changed by ``lie``."""

    lie: Callable[[Element], Element] = staticmethod(lambda element: element)

    async def elements(self) -> ElementTree:
        tree = await super().elements()
        return replace(tree, elements=tuple(map(self.lie, tree.elements)))


Asked = tuple[str, dict[str, Any]]
Answered = tuple[Point, str, int]
"""The point, its source, and the number of requests."""


async def located(
    desktop: VirtualDesktop, folder: Path, *asked: Asked, before: Callable[[], None] = lambda: None, **options: Any
) -> list[Answered]:
    """Locate elements in one run in order; ``before`` is called before each."""

    @flow(name="locating", persist_result=False)
    async def locating() -> tuple[list[Point], str]:
        async with agent(model, desktop, folder, **options) as run:
            points = []
            for said, given in asked:
                before()
                points.append(await localize(said, **given))
            return points, run.trace

    with ScriptedModel([{"x": 0, "y": 0}]) as model:
        points, trace = await locating()
    found, requests = list[Answered](), 0
    for event in events(trace):
        requests += isinstance(event, RequestSent)
        if isinstance(event, Located):
            found.append((Point(*event.point), event.by, requests))
            requests = 0
    assert [point for point, _, _ in found] == points
    without = sum(not requests for _, _, requests in found)
    page = write_report(trace, folder / "report.html").read_text()
    assert (f"{without} without a call" in page) == (without > 0)
    return found


async def test_the_tree_locates_elements_without_a_model_call(form: Any, tmp_path: Path) -> None:
    async with Lying(app=form("gtk3", tmp_path / "done")) as desktop:
        tree = await until_there(desktop, "button", "Save")
        (save,), (name,) = tree.find("button", "Save"), tree.find("text field", "Name")
        told: list[Asked] = [("the Save button", {}), ("the field Name", {})]
        for_the_model: list[Asked] = [
            ("the save button", {}),
            ("the Save button", {"by": "model"}),
            ("the Save button", {"data": {"name": "Save"}}),
            ("the Save button", {"region": Box(0, 0, 10, 10)}),
            ("the Urgent button", {}),
            ("the field Address", {}),
        ]
        assert await located(desktop, tmp_path, *told, *for_the_model) == [
            (save.box.center, "accessibility", 0),
            (name.box.center, "accessibility", 0),
            *[(MODEL, "model", 1)] * len(for_the_model),
        ]
        masked = Redaction.read({"regions": [{"box": box_of(save), "kind": "button"}], "texts": []})
        assert await located(desktop, tmp_path, told[0], redaction=masked) == [(MODEL, "model", 1)]

        def swapped(element: Element) -> Element:
            names = {"Save": "Don't save", "Don't save": "Save", "Name": "Password", "Password": "Name"}
            return replace(element, name=names.get(element.name, element.name))

        def moved(element: Element) -> Element:
            return replace(element, box=element.box.moved(0, 60))

        def doubled(element: Element) -> Element:
            return replace(element, name="Save") if element.name == "Close" else element

        lies = [lie for lie in (swapped, moved, doubled) for _ in told]
        coming = iter(lies)

        def lie() -> None:
            desktop.lie = next(coming)

        answers = await located(desktop, tmp_path, *told * 3, before=lie)
        for (point, by, _), right, lied in zip(answers, [save.box, name.box] * 3, lies, strict=True):
            assert by == "model" or right.contains(point), lied
        with pytest.raises(InvalidUsage, match="any"):
            await located(desktop, tmp_path, ("the Save button", {"by": "text"}))


async def test_without_a_tree_buttons_are_located_by_ocr(tmp_path: Path) -> None:
    async with VirtualDesktop(app=[tk_python(), str(APPS / "probe_counter.py")]) as desktop:
        (point, by, asked), other = await located(desktop, tmp_path, ("the Count button", {}), ("the Reset button", {}))
        assert (by, asked) == ("text", 0)
        assert Box(200, 150, 500, 300).contains(point)
        assert other == (MODEL, "model", 1)


def box_of(element: Element) -> list[int]:
    return [element.box.left, element.box.top, element.box.width, element.box.height]

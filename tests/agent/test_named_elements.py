"""`localize` without a call: what is named by role and name is where its program says, if the picture agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from tk_python import tk_python

from holo_tasks import InvalidUsage, localize
from holo_tasks.audit.pages.report import write_report
from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.events import Located, RequestSent
from holo_tasks.core.geometry import Box, Point
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.safety.masking.settings import Redaction
from tests.accessibility.conftest import APPS
from tests.accessibility.conftest import form as form
from tests.accessibility.test_programs import until_there
from tests.support.agents import agent, events
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]
MODEL = Point(0, 0)
"""Where the model says that everything is."""


class Lying(VirtualDesktop):
    """Tells of its programs' elements what ``lie`` makes of it."""

    lie: Callable[[Element], Element] = staticmethod(lambda element: element)

    async def elements(self) -> ElementTree:
        tree = await super().elements()
        return replace(tree, elements=tuple(map(self.lie, tree.elements)))


async def located(
    desktop: VirtualDesktop, folder: Path, said: str, options: dict[str, Any] | None = None, **given: Any
) -> tuple[Point, str, int]:
    """Return where something is, who said so, and how many requests that took."""

    @flow(name="locating", persist_result=False)
    async def locating() -> tuple[Point, str]:
        async with agent(model, desktop, folder, **options or {}) as run:
            return await localize(said, **given), run.trace

    with ScriptedModel([{"x": 0, "y": 0}]) as model:
        point, trace = await locating()
    told = events(trace)
    (where,) = [event for event in told if isinstance(event, Located)]
    assert where.point == [point.x, point.y]
    asked = sum(isinstance(event, RequestSent) for event in told)
    page = write_report(trace, folder / "report.html").read_text()
    assert ("1 without a call" in page) == (asked == 0)
    return point, where.by, asked


async def test_a_program_says_where_its_elements_are_and_no_model_is_asked(form: Any, tmp_path: Path) -> None:
    async with Lying(app=form("gtk3", tmp_path / "done")) as desktop:
        tree = await until_there(desktop, "button", "Save")
        (save,), (name,) = tree.find("button", "Save"), tree.find("text field", "Name")
        assert await located(desktop, tmp_path, "the Save button") == (save.box.center, "accessibility", 0)
        assert await located(desktop, tmp_path, "the field Name") == (name.box.center, "accessibility", 0)
        for_the_model = [
            ("the save button", {}),
            ("the Save button", {"by": "model"}),
            ("the Save button", {"data": {"name": "Save"}}),
            ("the Save button", {"region": Box(0, 0, 10, 10)}),
            ("the Urgent button", {}),
            ("the field Address", {}),
        ]
        for said, given in for_the_model:
            assert await located(desktop, tmp_path, said, **given) == (MODEL, "model", 1), (said, given)
        masked = {"redaction": Redaction.read({"regions": [{"box": box_of(save), "kind": "button"}], "texts": []})}
        assert await located(desktop, tmp_path, "the Save button", masked) == (MODEL, "model", 1)

        def swapped(element: Element) -> Element:
            names = {"Save": "Don't save", "Don't save": "Save", "Name": "Password", "Password": "Name"}
            return replace(element, name=names.get(element.name, element.name))

        def moved(element: Element) -> Element:
            return replace(element, box=element.box.moved(0, 60))

        def doubled(element: Element) -> Element:
            return replace(element, name="Save") if element.name == "Close" else element

        for desktop.lie in (swapped, moved, doubled):
            for said in ("the Save button", "the field Name"):
                point, by, _ = await located(desktop, tmp_path, said)
                right = save.box if "Save" in said else name.box
                assert by == "model" or right.contains(point), (desktop.lie, said)
        with pytest.raises(InvalidUsage, match="any"):
            await located(desktop, tmp_path, "the Save button", by="text")


async def test_where_a_program_tells_nothing_its_buttons_are_read(tmp_path: Path) -> None:
    async with VirtualDesktop(app=[tk_python(), str(APPS / "probe_counter.py")]) as desktop:
        point, by, asked = await located(desktop, tmp_path, "the Count button")
        assert (by, asked) == ("text", 0)
        assert Box(200, 150, 500, 300).contains(point)
        assert await located(desktop, tmp_path, "the Reset button") == (MODEL, "model", 1)


def box_of(element: Element) -> list[int]:
    return [element.box.left, element.box.top, element.box.width, element.box.height]

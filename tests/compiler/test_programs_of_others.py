"""Programs on one page, as others write them: one run becomes a list of steps, which does other items right."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from holo_tasks import pursue, subgoal
from holo_tasks.cli.compile import compile_traces
from holo_tasks.contract.wire_messages import turns_of
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.errors import HoloError
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import Desktop, VirtualDesktop, tk_python
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.script import Script
from tests.support.agents import agent
from tests.support.scripted_model import ScriptedModel, step

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect")]
APPS = Path(__file__).parent.parent / "apps"
SIZE, WEB = Size(640, 480), Size(900, 620)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=900,620 --window-position=0,0"
)
Plan = Callable[[Desktop], Awaitable[list[dict[str, Any]]]]


def at(point: Sequence[int], name: str, size: Size = SIZE) -> dict[str, Any]:
    """Return a model's click on a point."""
    x, y = (-(-1000 * place // length) for place, length in zip(point, (size.width, size.height), strict=True))
    return step("click", element=name, x=x, y=y, button="left")


def types(text: str) -> dict[str, Any]:
    return step("write", content=text, overwrite=False, press_enter=False)


def press(role: str, name: str, beside: str = "") -> Callable[[ElementTree], dict[str, Any]]:
    """Return a model's click on an element, in the row of a text if one is given."""

    def click(tree: ElementTree) -> dict[str, Any]:
        found = tree.in_front(tree.find(role, name))
        if beside:
            (row,) = tree.find(None, beside)[-1:]
            found = [each for each in found if abs(each.box.center.y - row.box.center.y) < 12]
        window = tree.elements[0].box
        assert found, (role, name, [(each.role, each.name) for each in tree.elements if each.on_screen])
        size = Size(window.right, window.bottom)
        return at((found[0].box.center.x, found[0].box.center.y), name, WEB if size.width > SIZE.width else SIZE)

    return click


async def by_model(desktop: Desktop, folder: Path, goal: str, steps: Sequence[Any], **data: str) -> str:
    """Have a scripted model do some steps; return the trace. A step may be made of the elements at that moment.

    A step that was withheld is done again.
    """
    loop = asyncio.get_running_loop()

    def answers(number: int, body: Any) -> Any:
        done = sum(not turn.failed for turn in turns_of(body))
        one = steps[min(done, len(steps) - 1)]
        time.sleep(0.2)  # no model is faster, and the elements are read meanwhile
        return one(asyncio.run_coroutine_threadsafe(desktop.elements(), loop).result(20)) if callable(one) else one

    @subgoal(effect=None)
    async def work() -> str:
        answer: str = await pursue(goal, data=data)
        return answer

    with ScriptedModel(answers) as model:
        async with agent(model, desktop, folder) as run:
            await work()
    return run.trace


async def by_playbook(desktop: Desktop, folder: Path, file: Path, **values: str) -> str:
    """Have a playbook alone do an item; return its answer, or why it was handed over."""

    @subgoal(layers=[Script(file, **values)], effect=None)
    async def work() -> str:
        answer: str = await pursue("Do it.")
        return answer

    with ScriptedModel([]) as model:
        async with agent(model, desktop, folder):
            try:
                return await work()
            except HoloError as error:
                return f"handed over: {error}"


def lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def places(file: Path) -> dict[str, list[int]]:
    told = Path(f"{file}.places")
    async with asyncio.timeout(30):
        while not told.exists():
            await asyncio.sleep(0.05)
    found: dict[str, list[int]] = json.loads(told.read_text())
    return found


async def test_a_form_whose_labels_stay_is_done_for_other_items_from_one_run(tmp_path: Path) -> None:
    file, made = tmp_path / "stored", tmp_path / "made.yaml"
    app = shlex.join([tk_python(), str(APPS / "one_page_tk.py"), str(file)])
    async with VirtualDesktop(size=SIZE, app=app) as desktop:
        where = await places(file)
        steps = [
            *(at(where["Record number"], "the record number"), types("AB-1207"), at(where["Find"], "Find")),
            *(at(where["Paid"], "Paid"), at(where["Remark"], "the remark"), types("paid by card")),
            *(at(where["Store"], "Store"), step("answer", content="Stored as S-4137")),
        ]
        trace = await by_model(desktop, tmp_path, "Mark the record AB-1207 as paid, with a remark.", steps)
        compile_traces([trace], made, "mark-paid", (), None, tmp_path / "holo", as_json=False)
        file.unlink()
        items = [("CD-3391", "by transfer"), ("EF-5050", "half of it"), ("GH-7713", "see letter")]
        for number, (item, remark) in enumerate(items, start=2):
            said = await by_playbook(desktop, tmp_path, made, record_number=item, remark=remark)
            assert said == f"Stored as S-{4100 + 37 * number}"
            assert lines(file)[-1] == {"number": item, "status": "Paid", "remark": remark}
        said = await by_playbook(desktop, tmp_path, made, record_number="ZZ-0000", remark="none")
        assert said.startswith("handed over")
    assert len(lines(file)) == len(items)
    assert len(load_playbook(made).goals["mark-paid"].steps) == len(steps)


class Web(BaseHTTPRequestHandler):
    """Serves the page, and keeps the stored records."""

    stored: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        self._say((APPS / "one_page.html").read_bytes())

    def do_POST(self) -> None:
        self.stored.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self._say(b"{}")

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


async def test_icons_fields_without_labels_and_two_buttons_of_one_name_are_told_apart(tmp_path: Path) -> None:
    made, server = tmp_path / "made.yaml", ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    app = f"chromium {FLAGS} --user-data-dir={tmp_path / 'profile'} --app={url}"
    async with VirtualDesktop(size=WEB, app=app) as desktop:
        async with asyncio.timeout(60):
            while not (await desktop.elements()).find("text field", "Search customers"):
                await asyncio.sleep(0.1)
        steps = [
            *(press("text field", "Search customers"), types("AB-1207"), press("button", "Start search")),
            *(press("button", "Select", "AB-1207"), press("button", "Add"), press("text field", "Note")),
            *(types("call back"), press("check box", "Urgent"), press("button", "Add")),
            step("answer", content="Note 703 added"),
        ]
        trace = await by_model(
            desktop, tmp_path, "Add a note to the customer.", steps, number="AB-1207", note="call back"
        )
        assert Web.stored.pop() == {"number": "AB-1207", "note": "call back", "urgent": True}
        compile_traces([trace], made, "add-note", (), None, tmp_path / "holo", as_json=False)
        items = [("CD-3391", "by mail"), ("EF-5050", "is away")]
        for count, (number, note) in enumerate(items, start=2):
            said = await by_playbook(desktop, tmp_path, made, number=number, note=note)
            assert said == f"Note {700 + 3 * count} added"
            assert Web.stored.pop() == {"number": number, "note": note, "urgent": True}
        assert (await by_playbook(desktop, tmp_path, made, number="ZZ-0000", note="no")).startswith("handed over")
    server.shutdown()
    assert Web.stored == []

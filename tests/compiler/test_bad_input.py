"""Bad input to one program that keeps its records on a server: each case stores the right item or nothing."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from holo_tasks.cli.compile import compile_traces
from holo_tasks.desktop import VirtualDesktop
from tests.compiler.test_programs_of_others import APPS, FLAGS, WEB, by_model, by_playbook, press, types
from tests.support.scripted_model import step

pytestmark = [pytest.mark.desktop, pytest.mark.usefixtures("prefect"), pytest.mark.asyncio(loop_scope="module")]
NUMBERS = ("AB-1207", "AB-1201", "AB-l207", "CD-3391", "EF-5050", "EF-5050", "GH-7713", "KL-8080")


@dataclass
class Store:
    """The records of the server, and the switch of a case."""

    mode: str = ""
    message: str = "Customer {number} {done}"
    works: bool = True
    loaded: bool = False
    all: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for index, number in enumerate(NUMBERS):
            told = {"name": f"Customer{chr(65 + index)} Ltd", "phone": "", "email": "", "remark": "", "state": "open"}
            self.all.append({"id": index, "number": number, "company": number == "KL-8080", **told})
        self.all[6]["phone"] = "0777 1"

    def change(self, path: str, told: dict[str, Any]) -> dict[str, Any]:
        record = self.all[told.pop("id")]
        if self.works:
            record.update({"state": "paid"} if path == "/pay" else told)
        done = "paid" if path == "/pay" else "saved"
        return {"message": self.message.format(number=record["number"], done=done)}

    def changed(self) -> list[dict[str, Any]]:
        """Return the records that differ from those of the start: number and changed values."""
        pairs = zip(Store().all, self.all, strict=True)
        return [
            {"number": new["number"], **{key: new[key] for key in new if new[key] != old[key]}}
            for old, new in pairs
            if new != old
        ]


class Program:
    """The page in Chromium, and its store."""

    def __init__(self, desktop: VirtualDesktop, folder: Path, server: ThreadingHTTPServer) -> None:
        self.desktop, self.folder, self.server = desktop, folder, server
        self.made: dict[str, Path] = {}

    async def restart(self, **switches: Any) -> Store:
        store = self.server.store = Store(**switches)  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            while not store.loaded:
                await asyncio.sleep(0.05)
        await self.until_there("cell", "AB-1207")
        return store

    async def until_there(self, role: str, name: str) -> None:
        async with asyncio.timeout(60):
            while not (await self.desktop.elements()).find(role, name):
                await asyncio.sleep(0.1)

    async def record(self, goal: str, steps: Sequence[Any], **data: str) -> Path:
        trace = await by_model(self.desktop, self.folder, goal, steps, **data)
        made = self.folder / f"{Path(trace).name}.yaml"
        compile_traces([trace], made, "it", (), None, self.folder / "holo", as_json=False)
        playbook = yaml.safe_load(made.read_text())
        for one in playbook["goals"]["it"]["steps"]:
            one["patience"] = 2  # the program answers at once
        made.write_text(yaml.safe_dump(playbook))
        return made

    async def replay(self, made: Path, **values: str) -> str:
        return await by_playbook(self.desktop, self.folder, made, **values)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        store = self.server.store  # type: ignore[attr-defined]
        if self.path == "/restarts":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b": waiting\n\n")
            while self.server.store is store:  # type: ignore[attr-defined]
                time.sleep(0.05)
            with suppress(OSError):
                self.wfile.write(b"data: now\n\n")
        elif self.path == "/all":
            store.loaded = True
            self._say(json.dumps({"all": store.all, "mode": store.mode}).encode())
        else:
            self._say((APPS / "bad_input.html").read_bytes())

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._say(json.dumps(self.server.store.change(self.path, told)).encode())  # type: ignore[attr-defined]

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def program(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Program]:
    folder, server = tmp_path_factory.mktemp("bad"), ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.store = Store()  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    app = f"chromium {FLAGS} --user-data-dir={folder / 'profile'} --app=http://127.0.0.1:{server.server_port}/"
    async with VirtualDesktop(size=WEB, app=app) as desktop:
        found = Program(desktop, folder, server)
        await found.until_there("cell", "AB-1207")
        yield found
    server.shutdown()


SAVE = [
    *(press("button", "Edit", "AB-1207"), press("text field", "Phone"), types("030 1234")),
    *(press("text field", "Remark"), types("call back"), press("button", "Save")),
    step("answer", content="Customer AB-1207 saved"),
]
PAY = [press("button", "Pay", "AB-1207"), step("answer", content="Customer AB-1207 paid")]
DATA = {"number": "AB-1207", "phone": "030 1234", "remark": "call back"}
REMARK = "a remark that is longer than the field"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pay(program: Program) -> Path:
    await program.restart()
    return await program.record("Pay the customer.", PAY, number="AB-1207")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def save(program: Program) -> Path:
    await program.restart()
    return await program.record("Save the phone number and the remark.", SAVE, **DATA)


@pytest.mark.parametrize("mode", ["hover", "style"])
async def test_a_press_reaches_the_row_of_its_item_although_the_pointer_changes_the_list(
    program: Program, pay: Path, mode: str
) -> None:
    """The list is sorted anew when the pointer arrives (hover), or the row of the pointer turns bold (style)."""
    store = await program.restart(mode=mode)
    assert await program.replay(pay, number="CD-3391") == "Customer CD-3391 paid"
    assert store.changed() == [{"number": "CD-3391", "state": "paid"}]


async def test_a_list_that_the_press_sorts_anew_changes_no_item(program: Program, pay: Path) -> None:
    store = await program.restart(mode="press")
    assert (await program.replay(pay, number="CD-3391")).startswith("handed over")
    assert store.changed() == []


@pytest.mark.parametrize("number", ["AB-1201", "AB-l207"])
async def test_items_that_differ_in_one_letter_are_told_apart(program: Program, save: Path, number: str) -> None:
    store = await program.restart()
    said = await program.replay(save, number=number, phone="0221 55", remark="by mail")
    assert said == f"Customer {number} saved"
    assert store.changed() == [{"number": number, "phone": "0221 55", "remark": "by mail"}]


@pytest.mark.parametrize(
    ("number", "remark", "why"),
    [
        pytest.param("EF-5050", "by mail", "2 elements", id="the key in two rows"),
        pytest.param("AB-12O7", "by mail", "no button", id="an item that is not there"),
        pytest.param("CD-3391", REMARK, "a remark that is longer", id="a value longer than its field"),
        pytest.param("KL-8080", "by mail", "does not show its effect", id="a required field that was empty"),
    ],
)
async def test_a_bad_item_is_handed_over_and_nothing_is_stored(
    program: Program, save: Path, number: str, remark: str, why: str
) -> None:
    store = await program.restart()
    said = await program.replay(save, number=number, phone="0221 55", remark=remark)
    assert said.startswith("handed over")
    assert why in said
    assert store.changed() == []


@pytest.mark.parametrize(
    "message",
    ["Customer {number} not {done}", "Customer {number} could not be {done}"],
)
async def test_a_failure_in_the_words_of_success_is_no_answer(program: Program, pay: Path, message: str) -> None:
    await program.restart(message=message, works=False)
    assert (await program.replay(pay, number="CD-3391")).startswith("handed over")

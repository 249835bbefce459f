"""If a Prefect server dies, a later command reports how the flow run ended."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Completed, Running

from holo_tasks.machine import pending_notes
from holo_tasks.prefect_server.temporary import TemporaryServer
from holo_tasks.run.prefect_edge.flow_run_notes import FLOW_RUN, KEPT
from holo_tasks.run.prefect_edge.unreported_runs import note_unreported, report_noted
from tests.support.command_line import CommandLine, until
from tests.support.inputs import witnessed
from tests.support.long import few
from tests.support.outage import Outage
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel, step

WAIT = step("wait", seconds=0.1)
DONE = step("answer", content="done")


class Server:
    """A Prefect server at a fixed address, on the tests' own database."""

    def __init__(self) -> None:
        self._server = self._start()
        self._way = Outage(self._server.url)
        self.url = self._way.url

    def kill(self) -> None:
        self._server._process.kill()
        self._server._process.wait()

    def start(self) -> None:
        self._server = self._start()
        self._way._there = urlsplit(self._server.url)
        self._way.mend()

    def _start(self) -> TemporaryServer:
        server = TemporaryServer(os.environ, blocks=False, login=os.environ["PREFECT_API_AUTH_STRING"])
        server.wait()
        return server


class Unreachable:
    """The shared test server behind a connection that can be cut and mended. To a client it dies and comes back."""

    def __init__(self, url: str) -> None:
        self._way = Outage(url)
        self.url = self._way.url

    def kill(self) -> None:
        self._way.cut("refused")

    def start(self) -> None:
        self._way.mend()


@pytest.fixture
def server(cli: CommandLine, prefect_url: str, request: pytest.FixtureRequest) -> Iterator[Server | Unreachable]:
    made = Server() if request.param == "killed" else Unreachable(prefect_url)
    cli.env["PREFECT_API_URL"] = made.url
    yield made
    made.kill()


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("server", "back", "command"),
    few(
        [
            ("unreachable", "afterwards", "runs"),
            ("killed", "afterwards", "runs"),
            ("killed", "meanwhile", "runs"),
            ("killed", "afterwards", "doctor"),
        ]
    ),
    indirect=["server"],
)
def test_the_next_command_reports_an_ended_flow_run_to_prefect(
    cli: CommandLine, server: Server | Unreachable, back: str, command: str
) -> None:
    is_back = threading.Event()

    def script(number: int, _: object) -> Any:
        if number == 2:
            server.kill()
        if number == 4 and back == "meanwhile":
            is_back.wait(300)
        return DONE if number == 5 else WAIT

    with ScriptedModel(script) as model:
        app = shlex.join(witnessed(cli.home / "inputs"))
        command_line = cli.start("run", "Go.", "--app", app, "--base-url", model.base_url, "--json")
        if back == "meanwhile":
            until(lambda: len(model.requests) == 5)
            server.start()
            is_back.set()
        ended = command_line.end()
    assert (ended.code, ended.told["status"]) == (0, "answered")
    id = ended.told["flow_run_id"]
    if back == "afterwards":
        assert f"Prefect did not get the report that flow run {id} has ended" in ended.complaint
        assert len(list((cli.home / "holo" / "notes").iterdir())) == 1
        assert cli("runs").stderr == "", "the server is still unreachable"
        server.start()
    api = PrefectAPI(server.url)
    if back == "afterwards":
        assert api.flow_run(id)["state_type"] == "RUNNING"
    said = cli(*(["doctor", "--base-url", model.base_url, "--timeout", "5"] if command == "doctor" else [command]))
    if back == "afterwards":
        assert "Reported to Prefect" in said.stdout + said.stderr
    run = api.flow_run(id)
    assert (run["state_type"], run["state"]["message"]) == ("COMPLETED", "done")
    assert list((cli.home / "holo" / "notes").glob("*")) == []


@flow
async def works() -> str:
    return str(flow_run.id)


async def set_running(id: str) -> Any:
    async with get_client() as client:
        await client.set_flow_run_state(UUID(id), Running(), force=True)
        return (await client.read_flow_run(UUID(id))).state


async def state_of(id: str) -> Any:
    async with get_client() as client:
        return (await client.read_flow_run(UUID(id))).state


@pytest.mark.usefixtures("prefect")
async def test_only_a_flow_run_in_its_noted_state_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, again, over = [await works() for _ in range(3)]
    begun = {id: await set_running(id) for id in (left, again)}
    for id in (left, again, over):
        assert id in note_unreported(tmp_path, id, str(begun.get(id, begun[left]).id), Completed(message="It is done."))
    later = datetime.now(UTC) + timedelta(minutes=1)
    async with get_client() as client:
        await client.set_flow_run_state(UUID(again), Running(timestamp=later), force=True)  # another attempt
    before = await state_of(over)
    note_unreported(tmp_path, "no id", "", Completed())
    note_unreported(tmp_path, str(UUID(int=1)), "", Completed())
    (said,) = await report_noted(tmp_path)
    assert left in said
    now = await state_of(left)
    assert (now.is_completed(), now.message) == (True, "It is done.")
    assert (await state_of(again)).is_running()
    assert (await state_of(over)).id == before.id
    assert list(pending_notes.pending(tmp_path, FLOW_RUN)) == []


@pytest.mark.usefixtures("prefect")
async def test_a_note_stays_until_prefect_takes_the_report(tmp_path: Path, prefect_url: str) -> None:
    way = Unreachable(prefect_url)
    with temporary_settings({PREFECT_API_URL: way.url, PREFECT_CLIENT_MAX_RETRIES: 0}):
        id = await works()
        note_unreported(tmp_path, id, str((await set_running(id)).id), Completed(message="It is done."))
        way.kill()
        (said,) = await report_noted(tmp_path)
        assert "Prefect still has no record of their end" in said
        assert [note.says["flow_run_id"] for note in pending_notes.pending(tmp_path, FLOW_RUN)] == [id]
        way.start()
        (said,) = await report_noted(tmp_path)
        assert said.startswith("Reported to Prefect")
        assert (await state_of(id)).is_completed()
    assert list(pending_notes.pending(tmp_path, FLOW_RUN)) == []
    way.kill()


@pytest.mark.usefixtures("prefect")
async def test_a_note_for_another_server_stays(tmp_path: Path) -> None:
    id = await works()
    await set_running(id)
    note_unreported(tmp_path, id, "", Completed(), temporary=True)
    assert await report_noted(tmp_path) == []
    assert (await state_of(id)).is_running()
    (note,) = pending_notes.pending(tmp_path, FLOW_RUN)
    assert str(note.says["server"]).startswith("database of ")
    assert len(await report_noted(tmp_path, temporary=True)) == 1


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/api"])
def test_a_note_expires_if_its_server_never_comes_back(cli: CommandLine, url: str) -> None:
    home = cli.home / "holo"
    for id in ("old", "new"):
        pending_notes.leave(home, FLOW_RUN, {"flow_run_id": id, "server": "http://127.0.0.1:8/api"})
    (old,) = [note for note in pending_notes.pending(home, FLOW_RUN) if note.says["flow_run_id"] == "old"]
    os.utime(old.path, times=(old.path.stat().st_mtime - KEPT.total_seconds() - 1,) * 2)
    said = cli("runs", env={"PREFECT_API_URL": url})
    assert said.code == 0
    assert "flow run old has ended; the note was deleted" in said.stderr
    assert [note.says["flow_run_id"] for note in pending_notes.pending(home, FLOW_RUN)] == ["new"]
    assert cli("runs", env={"PREFECT_API_URL": url}).stderr == ""

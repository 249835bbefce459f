"""Work that stops half done, because the trace or the database failed, is put on the dead-letter list."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from s3_server import S3Server

from holo_tasks import InvalidUsage, NeedsPerson, pursue, subgoal
from holo_tasks.audit import Destination
from holo_tasks.audit.errors import DiskFull
from holo_tasks.audit.trace import LocalTrace
from holo_tasks.cli.run_command import flow as run_flow
from holo_tasks.cli.run_command.settings import Settings
from holo_tasks.core.errors import StoreLost
from holo_tasks.machine import pending_notes
from holo_tasks.models.profile import profile_for
from holo_tasks.run.items.dead_letters import file_noted
from holo_tasks.run.items.journal import current_journal
from holo_tasks.run.run_options import RunOptions
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.items import Items
from holo_tasks.safety.records.ledger import Ledger
from holo_tasks.safety.records.run_list import RunBook
from tests.support.command_line import CommandLine
from tests.support.interruptions import CLICK, DONE, World, pressing
from tests.support.scripted_model import ScriptedModel, step

COUNT = step("click", element="Count button", x=352, y=420)


@pytest.fixture
def world(tmp_path: Path, prefect: str) -> World:
    return World(tmp_path)


def fill(disk: Path) -> Path:
    """Fill a small disk completely; return the file that fills it."""
    large = disk / "large"
    with suppress(OSError), large.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 14))
    with suppress(OSError), large.open("ab", buffering=0) as file:
        while True:
            file.write(b"x")
    return large


def items(cli: CommandLine, **environment: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli("runs", "--json", env=environment).stdout)["items"]
    return found


def clicks(cli: CommandLine) -> int:
    return int((cli.home / "clicks").read_text() or 0)


@pytest.mark.desktop
def test_a_full_disk_for_the_trace_puts_the_item_on_the_list(cli: CommandLine, app: str, small_disk: Path) -> None:
    def script(number: int, _: object) -> Any:
        if number == 2:
            fill(small_disk)
        return COUNT

    with ScriptedModel(script) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--base-url", model.base_url, "--token", "I 7")
        ended = cli(*arguments, "--audit", str(small_disk / "runs"), "--json")
        assert (ended.code, ended.told["status"]) == (11, "needs_person"), ended.stderr
        assert "disk is full" in ended.complaint
        assert "holo-tasks retry 'I 7'" in ended.complaint
        (item,) = items(cli)
        assert (item["token"], item["status"], item["trace"]) == ("I 7", "needs_person", ended.told["trace"])
        assert "disk is full" in item["reason"]
        done = clicks(cli)
        assert done >= 1
        again = cli(*arguments, "--audit", str(cli.home / "runs"), "--json")
    assert (again.code, again.told["status"]) == (11, "needs_person")
    assert clicks(cli) == done
    assert [item["token"] for item in items(cli)] == ["I 7"]


@pytest.mark.desktop
def test_a_run_that_did_nothing_is_not_listed(cli: CommandLine, app: str, small_disk: Path) -> None:
    fill(small_disk)
    with ScriptedModel([COUNT]) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--base-url", model.base_url, "--token", "I 7")
        ended = cli(*arguments, "--audit", str(small_disk / "runs"), "--json")
    assert (ended.code, ended.told["status"]) == (2, "invalid")
    assert items(cli) == []


@pytest.mark.desktop
def test_an_item_noted_during_a_database_failure_is_listed_by_the_next_command(
    cli: CommandLine, app: str, small_disk: Path
) -> None:
    database = {"HOLO_DATABASE_URL": f"sqlite:///{small_disk}/shared.db"}

    def script(number: int, _: object) -> Any:
        if number == 2:
            fill(small_disk)
        return COUNT

    with ScriptedModel(script) as model:
        arguments = ("run", "Count.", "--app", app, "--allow", "act", "--base-url", model.base_url, "--token", "I 7")
        ended = cli(*arguments, "--json", env=database)
    assert (ended.code, ended.told["status"]) == (11, "needs_person"), ended.stderr
    assert "not on the list" in ended.complaint
    (noted,) = (cli.home / "holo" / "notes").iterdir()
    assert str(noted) in ended.complaint
    assert noted.stat().st_mode & 0o777 == 0o600
    (small_disk / "large").unlink()
    listed = cli("runs", "--json", env=database)
    (item,) = json.loads(listed.stdout)["items"]
    assert (item["token"], item["status"]) == ("I 7", "needs_person")
    assert "I 7 is on the list" in listed.stderr
    assert not noted.exists()
    assert cli("runs", env=database).stderr == ""


async def test_a_trace_failure_after_an_action_lists_the_item(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LocalTrace.append

    def full(self: LocalTrace, events: Any) -> Any:
        if world.desktop.gestures:
            raise DiskFull("the disk is full: no room for evidence")
        return real(self, events)

    monkeypatch.setattr(LocalTrace, "append", full)
    press = pressing()
    with pytest.raises(NeedsPerson, match=r"disk is full.*holo-tasks retry I-1"):
        await world.run(lambda: press("I-1"), [CLICK, CLICK, DONE])
    (item,) = world.items
    assert (item.token, item.status, item.attempts) == ("I-1", "needs_person", 1)


async def test_an_item_that_cannot_be_filed_is_noted_and_filed_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: Any, **kwargs: Any) -> None:
        raise StoreLost("The database cannot be used.")

    press, home = pressing(), world.folder / "holo"
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", lost)
        patch.setattr(Items, "file", lost)
        with pytest.raises(NeedsPerson):
            await world.run(lambda: press("I-1"), [CLICK, CLICK, DONE])
    assert world.items == []
    with monkeypatch.context() as patch:
        patch.setattr(Items, "file_late", lost)
        assert file_noted(home) == []
    assert len(list(pending_notes.pending(home, "item"))) == 1
    (told,) = file_noted(home)
    assert "I-1" in told
    assert [item.token for item in world.items] == ["I-1"]
    assert file_noted(home) == []


async def test_a_noted_item_is_filed_in_its_own_database(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lost(*args: Any, **kwargs: Any) -> None:
        raise StoreLost("The database cannot be used.")

    home, shared = world.folder / "holo", f"sqlite:///{tmp_path}/shared.db"
    monkeypatch.setenv("HOLO_DATABASE_URL", shared)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", lost)
        patch.setattr(Items, "file", lost)
        press = pressing()
        with pytest.raises(NeedsPerson):
            await world.run(lambda: press("I-1"), [CLICK, CLICK, DONE])
    monkeypatch.delenv("HOLO_DATABASE_URL")
    (told,) = file_noted(home)
    assert "1 unfinished items" in told
    assert f"{tmp_path}/shared.db" in told
    assert Items(store_at(home)).all() == []
    monkeypatch.setenv("HOLO_DATABASE_URL", shared)
    (told,) = file_noted(home)
    assert "I-1 is on the list" in told
    assert [item.token for item in Items(store_at(home)).all()] == ["I-1"]
    assert list(pending_notes.pending(home, "item")) == []


async def test_a_noted_item_that_was_finished_since_is_not_listed(world: World) -> None:
    home = world.folder / "holo"
    press = pressing()
    assert await world.run(lambda: press("I-1"), [DONE]) == "done"
    says = {"token": "I-1", "goal": "press", "status": "killed", "reason": "", "trace": "", "flow_run_id": ""}
    pending_notes.leave(home, "item", says | {"how": {}, "attempts": 1, "at": "2026-01-01T00:00:00+00:00"})
    (home / "notes" / "item-torn.json").write_text('{"token": ')
    pending_notes.leave(home, "item", {"from": "another version"})
    assert file_noted(home) == []
    assert Items(store_at(home)).all() == []
    assert [path.name for path in (home / "notes").iterdir()] == ["item-torn.json"]


async def test_a_usage_error_after_an_action_is_listed_unchanged(world: World) -> None:
    @subgoal(key="{item}")
    async def enter(item: str) -> str:
        await pursue("Press OK.")
        raise InvalidUsage("The second half is missing.")

    with pytest.raises(InvalidUsage, match="second half"):
        await world.run(lambda: enter("I-1"), [CLICK, DONE])
    (item,) = world.items
    assert (item.token, item.status) == ("I-1", "invalid")

    @subgoal(key="{item}")
    async def refuse(item: str) -> str:
        raise InvalidUsage("Nothing was done.")

    with pytest.raises(InvalidUsage):
        await world.run(lambda: refuse("I-2"), [])
    assert [item.token for item in world.items] == ["I-1"]


@pytest.mark.parametrize("begun", [True, False])
async def test_a_usage_error_in_a_run_of_one_goal_is_listed_after_an_action(
    world: World, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    async def broken(*args: Any, **kwargs: Any) -> str:
        journal = current_journal()
        assert journal is not None
        if begun:
            await journal.intend("click ‘OK button’", "frame")
        raise InvalidUsage("The second half is missing.")

    monkeypatch.setattr(run_flow, "pursue", broken)
    where, home = Destination.parse(str(world.folder / "runs")), world.folder / "holo"
    settings = Settings(
        "Press OK.", "http://127.0.0.1:9/v1", profile_for("rehearsal"), where, RunOptions(key="I-1"), home=home
    )
    outcome = await run_flow._claimed(settings, world.desktop)
    assert (outcome.status, outcome.message) == ("invalid", "The second half is missing.")
    assert [(item.token, item.goal, item.status) for item in world.items] == [("I-1", "run", "invalid")] * begun


@pytest.mark.parametrize("fails", ["at once", "when the run is written down", "as its trace is opened"])
async def test_a_run_that_cannot_begin_leaves_no_threads_or_files(
    world: World, s3: S3Server, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def lost(*args: Any, **kwargs: Any) -> Any:
        raise StoreLost("The database cannot be used.")

    match fails:
        case "at once":
            monkeypatch.setattr(RunBook, "check", lost, raising=False)
            monkeypatch.setattr(RunBook, "began", lost)
        case "when the run is written down":
            monkeypatch.setattr(RunBook, "began", lost)
        case _:
            monkeypatch.setattr(LocalTrace, "append", lost)
    where = Destination.parse(
        f"s3://{s3.bucket}/begins", endpoint_url=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key
    )
    press = pressing()
    for _ in range(2):
        with pytest.raises(StoreLost):
            await world.run(lambda: press("I-1"), [DONE], destination=where)
    begun = [each for each in threading.enumerate() if each.name.split("-")[0] in ("upload", "trace", "anchors")]
    for thread in begun:
        await asyncio.to_thread(thread.join, 10)  # one that ends now is not left over
    assert [thread.name for thread in begun if thread.is_alive()] == []
    spool = world.folder / "holo" / "spool"
    assert not spool.exists() or list(spool.iterdir()) == []
    assert {row.status for row in RunBook(store_at(world.folder / "holo")).latest(9)} <= {"invalid"}

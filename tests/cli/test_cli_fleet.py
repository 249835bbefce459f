"""`holo-tasks fleet`: the states of lists, seats and runs, as one page and as one JSON object."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from holo_tasks.cli.commands import exit_code
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.safety.database.database_address import DATABASE_VARIABLE
from holo_tasks.safety.database.store import Store, store_at
from holo_tasks.safety.records.budgets import BUDGETS
from holo_tasks.safety.records.ledger import CLAIMS, Ledger
from holo_tasks.safety.records.run_list import RunBook
from holo_tasks.safety.records.seats import GOAL as SEAT
from holo_tasks.safety.records.seats import Seat, Seats
from holo_tasks.safety.records.work_items import GOAL, NewItem, WorkItems, new_worker

HOSTILE = "bills\x1b[2J\n\u202e"
PAST = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(DATABASE_VARIABLE, raising=False)
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def begin(store: Store, run: str, flow_run: str, title: str = "", limit_micro: int | None = None) -> None:
    RunBook(store).began(run, title=title, model="m", limit_micro=limit_micro, trace="", flow_run_id=flow_run)


def end(store: Store, run: str, spent_micro: int | None) -> None:
    RunBook(store).ended(run, status="answered", reason="", steps=1, spent_micro=spent_micro)


def work(store: Store, name: str, flow_run: str, items: int) -> None:
    """Finish a number of items, as a worker in a flow run does."""
    mine = WorkItems(store)
    with Ledger(store).claim(new_worker(flow_run), GOAL) as claim:
        for _ in range(items):
            taken = mine.take(name, claim, flow_run)
            assert taken is not None
            mine.end_with_result(taken)
        mine.leave(claim)


def told(capsys: pytest.CaptureFixture[str], *given: str) -> dict[str, Any]:
    assert exit_code(["fleet", "--json", *given]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def page(capsys: pytest.CaptureFixture[str], *given: str) -> str:
    assert exit_code(["fleet", *given]) == 0
    return capsys.readouterr().out


def test_without_any_work_the_page_says_so_and_no_file_is_created(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert page(capsys) == "No work list exists yet.\n\nNo run is at work.\n"
    assert told(capsys) == {"lists": [], "seats": [], "runs": []}
    assert not (home / "holo.db").exists()
    store_at(home).examine()  # an empty database gives the same output
    assert page(capsys) == "No work list exists yet.\n\nNo run is at work.\n"
    assert page(capsys, "--list", HOSTILE).startswith(f"The work list {HOSTILE!r} does not exist.\n")


def test_an_unreachable_database_is_reported_in_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv(DATABASE_VARIABLE, f"postgresql://me@127.0.0.1:{nobody.getsockname()[1]}/holo")
        assert exit_code(["fleet", "--json"]) == 16
    said = capsys.readouterr()
    assert json.loads(said.out) == {"lists": [], "seats": [], "runs": []}
    assert said.err.startswith("holo-tasks: unavailable: ")
    assert said.err.count("\n") == 1


def test_a_list_is_shown_with_the_errors_of_its_items(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = store_at(home)
    items = WorkItems(store)
    new = [NewItem(str(number), {}) for number in range(4)]
    items.add("reports", [*new, NewItem("urgent", {}, priority="high"), NewItem("late", {}, priority="low", due=PAST)])
    items.add(HOSTILE, [NewItem("x", {})])
    with Ledger(store).claim(new_worker("F-1"), GOAL) as claim:
        urgent, first, second = (items.take("reports", claim, "F-1") for _ in range(3))
        assert urgent is not None
        assert first is not None
        assert second is not None
        items.end_with_result(urgent)
        items.end_without_result(first, "failed", "invalid", "There is no such report.")
        items.record_failed_try(second, "desktop_failed", "The screen is gone.", 600.0)
        assert items.take("reports", claim, "F-1") is not None
        seen = told(capsys)
        shown = page(capsys)
    (hostile, reports) = seen["lists"]
    assert hostile["name"] == HOSTILE
    assert reports == {
        "name": "reports",
        "open": 4,
        "ready": 2,
        "ready_by": {"normal": 1, "low": 1},
        "waiting": 1,
        "taken": 1,
        "done": 1,
        "failed": 1,
        "exhausted": 0,
        "person": 0,
        "late": 1,
        "done_last_hour": 1,
        "errors": [
            {"state": "failed", "status": "invalid", "items": 1},
            {"state": "ready", "status": "desktop_failed", "items": 1},
        ],
        "cost_item_usd": None,
        "cost_items": 0,
    }
    assert "reports" in shown
    assert "2 (normal 1, low 1)" in shown
    assert "desktop_failed" in shown
    assert repr(HOSTILE) in shown
    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert [one["name"] for one in told(capsys, "--list", "reports")["lists"]] == ["reports"]
    assert HOSTILE not in page(capsys, "--list", "reports")


def test_the_cost_per_item_uses_only_runs_with_a_known_cost(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = store_at(home)
    for name in ("reports", "others"):
        WorkItems(store).add(name, [NewItem(str(number), {}) for number in range(20)])
    for flow_run, done in {"known": 4, "unpriced": 3, "under way": 2, "both": 1, "": 5}.items():
        work(store, "reports", flow_run, done)
        begin(store, f"R-{flow_run}", flow_run)
    work(store, "others", "both", 1)
    begin(store, "R-known again", "known")
    for run, spent_micro in {"known": 60_000, "known again": 20_000, "unpriced": None, "both": 900_000, "": 1}.items():
        end(store, f"R-{run}", spent_micro)
    reports = told(capsys, "--list", "reports")["lists"][0]
    assert (reports["cost_item_usd"], reports["cost_items"], reports["done"]) == (0.02, 4, 15)
    assert "$0.0200" in page(capsys)
    assert told(capsys, "--list", "others")["lists"][0]["cost_item_usd"] is None


def test_a_seat_is_shown_with_its_holders(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = store_at(home)
    login = Seat("SAP login", 3)
    Seats(store).declare(login)
    ledger = Ledger(store)
    with (
        ledger.claim(new_worker("F-1"), GOAL),
        ledger.claim(login.tokens[0], SEAT),
        ledger.claim(login.tokens[2], SEAT),
    ):
        with store.transaction() as db:
            elsewhere = {"holder": f"{HOSTILE}/boot/pid:[1]|77|1"}
            db.execute(sa.update(CLAIMS).where(CLAIMS.c.token == login.tokens[2]).values(**elsewhere))
        (seat,) = told(capsys)["seats"]
        shown = page(capsys)
    mine = {"number": 1, "machine": socket.gethostname(), "process": str(os.getpid()), "flow_run_id": "F-1"}
    other = {"number": 3, "machine": HOSTILE, "process": "77", "flow_run_id": "", "alive": None}
    assert seat == {"name": "SAP login", "seats": 3, "taken": 2, "holders": [mine | {"alive": True}, other]}
    assert "2 of 3" in shown
    assert f"process 77 on {HOSTILE!r}" in shown
    assert "flow run F-1" in shown


def test_active_runs_are_shown_and_dead_runs_of_this_machine_are_not(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = store_at(home)
    begin(store, "R-1", "F-1", title=f"File {HOSTILE}", limit_micro=500_000)
    begin(store, "R-2", "")
    begin(store, "R-dead", "F-9")
    WorkItems(store).add("reports", [NewItem("1", {}), NewItem("2", {})])
    with store.transaction() as db:
        db.execute(sa.insert(BUDGETS).values(scope="flow:F-1", name="The run", spent_micro=250_000))
    open_ones = [Registration(home, Running.here(run, "", "", "")) for run in ("R-1", "R-2")]
    try:
        with Ledger(store).claim(new_worker("F-1"), GOAL) as claim:
            assert WorkItems(store).take("reports", claim, "F-1") is not None
            runs = {run["run_id"]: run for run in told(capsys)["runs"]}
            shown = page(capsys)
            assert [run["run_id"] for run in told(capsys, "--list", "reports")["runs"]] == ["R-1"]
    finally:
        for one in open_ones:
            one.close()
    assert runs.keys() == {"R-1", "R-2"}
    known = {"lists": ["reports"], "items": 1, "machine": socket.gethostname(), "spent_usd": 0.25, "limit_usd": 0.5}
    assert runs["R-1"].items() >= known.items()
    assert runs["R-2"].items() >= {"lists": [], "items": 0, "spent_usd": None, "limit_usd": None}.items()
    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert "$0.2500" in shown

"""A work list processed on desktops: the outcome of an item is recorded, and decides whether it is retried."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from openpyxl import Workbook

from holo_tasks import (
    BusinessFailure,
    DesktopFailed,
    InvalidUsage,
    LimitReached,
    Limits,
    NeedsPerson,
    TokenConflict,
    WorkList,
    pursue,
    read_rows,
    step,
    subgoal,
)
from holo_tasks.cli.drain import drain
from holo_tasks.cli.retry import retry
from holo_tasks.core.errors import UnfitItem
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.kill import draining
from holo_tasks.kill.run_registry import Registration, Running
from holo_tasks.run.items.business_item import ItemRecords
from holo_tasks.safety.records.work_items import QueueCounts
from holo_tasks.safety.scrubbing import secrets_registered
from tests.agent.test_many_desktops import Shop, clicks
from tests.support.agents import agents
from tests.support.scripted_model import ScriptedModel
from tests.support.spending import PROFILE

pytestmark = pytest.mark.usefixtures("prefect")
LATE = datetime(2030, 1, 31, 18, tzinfo=UTC)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    return tmp_path / "holo"


@subgoal(title="File {report}", key="file-{report}")
async def file(report: str, amount: Decimal = Decimal(0)) -> str:
    assert isinstance(amount, Decimal)
    return str(await pursue(f"Press OK for {report}."))


@step(key="check-{report}")
async def check(report: str) -> str:
    if report == "closed":
        raise BusinessFailure("The account is closed.")
    if report == "doubtful":
        raise NeedsPerson("Nobody knows.")
    if report == "broken":
        raise ConnectionError("The line is cut.")
    return report.upper()


async def checked(reports: WorkList, **options: bool) -> dict[str, str]:
    return {
        one.item.key: one.outcome or type(one.error).__name__ async for one in reports.map(check, at_once=2, **options)
    }


async def test_flows_process_each_item_of_a_list_once(tmp_path: Path) -> None:
    reports, shop = WorkList("reports", file, pause_s=0), Shop({2: "seen"})
    assert await reports.add_rows([{"report": f"R-{number}", "amount": "1.50"} for number in range(3)]) == 3
    assert not await reports.add({"report": "R-0", "amount": "1.50"})
    assert await reports.add({"report": "R-urgent"}, priority="high", deadline=LATE)
    seen = []

    async def batch(most: int | None) -> None:
        async with agents(model, shop.start, tmp_path, desktops=2, profile=PROFILE) as opened:
            async for one in reports.map(file, opened, most=most):
                seen.append((one.item.key, one.result))

    with ScriptedModel(clicks(1)) as model:
        await batch(1)
        assert seen == [("file-R-urgent", "done")]
        assert await reports.counts() == QueueCounts(ready=3, done=1, ready_by={"normal": 3})
        await batch(None)
        await batch(None)
    assert sorted(seen) == sorted([("file-R-urgent", "done"), *((f"file-R-{number}", "done") for number in range(3))])
    assert await reports.counts() == QueueCounts(done=4)
    assert shop.gestures == 4


async def test_the_outcome_of_an_item_decides_whether_it_is_retried(home: Path) -> None:
    reports = WorkList("reports", pause_s=0)
    for name in ("fine", "closed", "doubtful", "broken"):
        await reports.add({"report": name}, key=name, most_tries=2)
    await reports.add({"wrong": 1}, key="wrong")
    found = await checked(reports, to_the_end=True)
    assert found == {
        "fine": "FINE", "closed": "BusinessFailure", "doubtful": "NeedsPerson", "broken": "NeedsPerson",
        "wrong": "UnfitItem",
    }  # fmt: skip
    # The second try of "broken" found that the first may have had an effect.
    assert await reports.counts() == QueueCounts(done=1, failed=2, person=2)
    waiting = {item.token for item in ItemRecords.of_current_run().items.all()}
    assert waiting == {"check-closed", "check-doubtful", "check-broken"}
    said, code = retry(home, "check-broken", done=None, not_done=True, again=lambda arguments: 1)
    assert (code, "free to be worked on again" in said) == (0, True)
    assert (await reports.counts()).ready == 1
    retry(home, "check-doubtful", done="DOUBTFUL", not_done=False, again=lambda arguments: 1)
    assert (await checked(reports))["doubtful"] == "DOUBTFUL"


async def test_a_technical_failure_waits_for_a_retry_without_a_person() -> None:
    reports, tries = WorkList("reports", pause_s=600), []

    @step(key="read-{report}", repeatable=True)
    async def read(report: str) -> str:
        tries.append(report)
        raise DesktopFailed("The screen is gone.")

    await reports.add({"report": "1"}, key="1")
    outcomes = [one async for one in reports.map(read)]
    assert isinstance(outcomes[0].error, DesktopFailed)
    assert await reports.counts() == QueueCounts(waiting=1)
    assert ItemRecords.of_current_run().items.all() == []
    found = await reports.find("1")
    assert found is not None
    assert (found.tries, found.status, found.reason) == (1, "desktop_failed", "The screen is gone.")
    assert [one async for one in reports.map(read)] == []
    assert tries == ["1"]


async def test_a_limit_of_the_run_returns_items_without_counting_a_try(tmp_path: Path) -> None:
    reports, shop = WorkList("reports", file, pause_s=0), Shop()
    await reports.add_rows([{"report": str(number)} for number in range(4)])

    async def batch() -> None:
        most = Limits(max_actions=1)
        async with agents(model, shop.start, tmp_path, desktops=1, profile=PROFILE, limits=most) as opened:
            async for _ in reports.map(file, opened):
                pass

    with ScriptedModel(clicks(1)) as model, pytest.raises(LimitReached):
        await batch()
    assert await reports.counts() == QueueCounts(ready=3, done=1, ready_by={"normal": 3})
    first = await reports.find("file-1")
    assert first is not None
    assert first.tries == 0


async def test_a_drained_machine_finishes_its_items_and_takes_no_more(home: Path) -> None:
    reports, begun = WorkList("reports"), []

    @step(key="slowly-{report}")
    async def slowly(report: str) -> str:
        begun.append(report)
        if len(begun) == 2:
            assert drain(home, 0, off=False) == ("No more items are taken on this machine; no run is at work.", 0)
        return report

    await WorkList("reports", slowly).add_rows([{"report": str(number)} for number in range(6)])
    outcomes = [one.result async for one in reports.map(slowly, at_once=2, to_the_end=True)]
    assert sorted(outcomes) == sorted(begun)
    assert 2 <= len(begun) <= 3  # one may have been taken already
    assert await reports.counts() == QueueCounts(
        ready=6 - len(begun), done=len(begun), ready_by={"normal": 6 - len(begun)}
    )
    assert drain(home, 0, off=True) == ("Items are taken again.", 0)
    assert drain(home, 0, off=True) == ("This machine was not being drained.", 0)
    left = 6 - len(begun)
    assert [one.item.tries async for one in reports.map(slowly)] == [0] * left
    assert await reports.counts() == QueueCounts(done=6)


def test_drain_waits_for_the_machines_runs_and_lists_them(home: Path) -> None:
    home.mkdir()
    working = Registration(home, Running.here("r-1", "File reports", "t", ""))
    assert drain(home, 0, off=False) == (
        "No more items are taken on this machine; one run is at work.\nr-1  File reports", 0,
    )  # fmt: skip
    assert drain(home, 0.01, off=False)[1] == 15
    working.close()
    assert drain(home, 60, off=False)[1] == 0
    (home / "draining").write_text("before the machine was started")
    assert not draining.is_draining(home)
    with pytest.raises(InvalidUsage, match="--wait"):
        drain(home, float("nan"), off=False)


async def test_leaving_the_loop_early_returns_items_not_begun() -> None:
    reports = WorkList("reports", check)
    await reports.add_rows([{"report": str(number)} for number in range(9)])
    async for _ in reports.map(check):
        break
    rest = await checked(reports, to_the_end=True)
    assert len(rest) >= 6
    assert await reports.counts() == QueueCounts(done=9)


async def test_an_unfit_item_or_one_with_a_secret_is_not_added() -> None:
    reports = WorkList("reports", file)
    with pytest.raises(UnfitItem, match="amount"):
        await reports.add({"report": "1", "amount": "much"})
    with pytest.raises(UnfitItem, match=r"Row 2: .*Nothing was added"):
        await reports.add_rows([{"report": "1"}, {"reports": "2"}])
    with pytest.raises(UnfitItem, match="time zone"):
        await reports.add({"report": "1"}, deadline="2026-01-01T10:00")
    with pytest.raises(InvalidUsage, match="priority"):
        await reports.add({"report": "1"}, priority="urgent")  # type: ignore[arg-type]
    with pytest.raises(UnfitItem, match="key"):
        await WorkList("reports").add({"report": "1"})
    with (
        secrets_registered(Scrubber([Secret("login", "hunter2-hunter2")])),
        pytest.raises(InvalidUsage, match="secret"),
    ):
        await reports.add({"report": "hunter2-hunter2"})
    await reports.add({"report": "1"})
    with pytest.raises(TokenConflict):
        await reports.add({"report": "1", "amount": "2"})
    assert (await reports.counts()).open == 1

    async def plain(report: str) -> str:
        return report

    with pytest.raises(InvalidUsage, match="with a key"):
        [one async for one in reports.map(plain)]


def test_rows_are_read_from_csv_and_excel_files(tmp_path: Path) -> None:
    (tmp_path / "reports.csv").write_bytes("﻿report;amount\n17;1,50\n\n18;\n".encode())
    assert read_rows(tmp_path / "reports.csv") == [{"report": "17", "amount": "1,50"}, {"report": "18", "amount": ""}]
    book = Workbook()
    assert book.active is not None
    for row in (["report", "on"], [17, datetime(2026, 1, 2)], [None, None], ["a", None]):
        book.active.append(row)
    book.save(tmp_path / "reports.xlsx")
    assert read_rows(tmp_path / "reports.xlsx") == [{"report": 17, "on": "2026-01-02"}, {"report": "a", "on": ""}]
    for name, data in (
        ("twice.csv", b"a,a\n1,2\n"), ("wide.csv", b"a\n1,2\n"), ("latin.csv", b"a\n\xe4\n"), ("no.xlsx", b"PK no"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InvalidUsage, match=name):
            read_rows(tmp_path / name)

"""Functions of one name in two flows are different work; a function is the same work however it is imported."""

from __future__ import annotations

import importlib
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.utilities.importtools import load_script_as_module

from holo_tasks import is_done
from holo_tasks.cli.run_command.settings import GOAL, Settings
from holo_tasks.core.errors import InvalidUsage, ModelFailed, TokenConflict
from holo_tasks.run.items.work_identity import work_of
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.ledger import WORKS, Ledger, WorkIdentity
from tests.support.agents import agent
from tests.support.interruptions import BABBLE, World
from tests.support.long import few
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")

FLOW = """
from holo_tasks import NOT_DONE, Effect, pursue, subgoal

async def nothing_there(invoice):
    return NOT_DONE

@subgoal(key="{{invoice}}", effect=Effect(probe=nothing_there){options})
async def pay(invoice: str) -> str:
    return await pursue(f"Pay {{invoice}} in the portal of {portal}.")
"""
PAID = step("answer", content="paid")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a flow's file and returns its path."""

    def write(place: str, portal: str, options: str = "") -> Path:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FLOW.format(portal=portal, options=options))
        return path

    return write


def loaded(path: Path) -> Any:
    """Load a flow's file as Prefect does for a deployment."""
    return load_script_as_module(str(path)).pay


async def outcome(world: World, pay: Any, *script: Any) -> str:
    return str(await world.run(lambda: pay("A-1"), list(script)))


@pytest.mark.parametrize("place", few(["b/flow.py", "b.py"]))
async def test_a_function_of_the_same_name_in_another_flow_gets_no_foreign_result(
    world: World, written: Any, place: str
) -> None:
    ours, theirs = loaded(written("a/flow.py", "A")), loaded(written(place, "B"))
    assert await outcome(world, ours, PAID) == "paid"
    with pytest.raises(
        TokenConflict, match=r"another function: by a/flow:pay.*new release.*@subgoal\(ledger='a/flow:pay'\)"
    ):
        await outcome(world, theirs, PAID)
    with ScriptedModel([]) as model:
        async with agent(model, world.desktop, world.folder):
            with pytest.raises(TokenConflict):
                is_done(theirs, "A-1")
    assert world.calls == 1


async def test_unfinished_work_of_another_flow_is_neither_taken_over_nor_forgotten(world: World, written: Any) -> None:
    ours, theirs = loaded(written("a.py", "A")), loaded(written("b.py", "B"))
    await world.interrupted(lambda: ours("A-1"))
    with pytest.raises(TokenConflict):
        await outcome(world, theirs, PAID)
    assert len(world.intents("A-1")) == 1  # the other flow's probe was not asked: it checks another portal
    assert await outcome(world, ours, PAID) == "paid"


async def test_work_that_did_nothing_is_free_for_another_flow(world: World, written: Any) -> None:
    ours, theirs = loaded(written("a.py", "A")), loaded(written("b.py", "B"))
    with pytest.raises(ModelFailed):
        await outcome(world, ours, BABBLE, BABBLE)
    assert await outcome(world, theirs, PAID) == "paid"


async def test_a_function_has_one_identity_however_it_is_imported(
    world: World, written: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = written("ways/ways_of_import.py", "A")
    assert await outcome(world, loaded(path), PAID) == "paid"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(path.parent)
    again = [
        loaded(path),  # under another name, because the module's name is already taken
        importlib.import_module("ways.ways_of_import").pay,
        runpy.run_path(str(path), run_name="__main__")["pay"],
    ]
    sys.modules.pop("ways_of_import", None)
    again.append(importlib.import_module("ways_of_import").pay)

    async def each() -> list[str]:
        return [await pay("A-1") for pay in again]

    assert await world.run(each, [PAID]) == ["paid"] * 4
    written("ways/ways_of_import.py", "another wording")
    assert await outcome(world, loaded(path), PAID) == "paid"
    assert world.calls == 1


async def test_the_same_file_in_a_new_folder_is_the_same_work(world: World, written: Any, tmp_path: Path) -> None:
    path = written("first/flow.py", "A")
    assert await outcome(world, loaded(path), PAID) == "paid"
    shutil.move(path.parent, tmp_path / "second")
    assert await outcome(world, loaded(tmp_path / "second" / "flow.py"), PAID) == "paid"
    assert world.calls == 1


def checked_out(folder: Path, commit: str, work_tree: bool = False) -> None:
    """Write the files that Git leaves in a folder after it checks out a commit."""
    git = folder / ".git"
    if work_tree:
        git.write_text(f"gitdir: {folder}/elsewhere\n")
        git = folder / "elsewhere"
    git.mkdir()
    (git / "HEAD").write_text(f"{commit}\n")


RELEASES = (("3fa9c1d0" * 5, "A"), ("0123456789" * 4, "A, since spring"))


@pytest.mark.parametrize(
    ("name", "given", "work_tree"),
    [("flows-{}", 40, False), ("flows@{}", 12, True), ("releases/{}", 40, False)],
)
def test_a_release_in_a_folder_with_a_commit_id_keeps_its_name(
    written: Any, name: str, given: int, work_tree: bool
) -> None:
    known = []
    for commit, wording in RELEASES:
        path = written(f"{name.format(commit[:given])}/flow.py", wording)
        checked_out(path.parent, commit, work_tree=work_tree)
        known.append(work_of(loaded(path).fn))
    old, new = known
    assert old.name == new.name
    assert old.code != new.code


async def test_a_new_release_is_the_same_work(world: World, written: Any) -> None:
    for commit, wording in RELEASES:
        path = written(f"flows-{commit}/flow.py", wording)
        checked_out(path.parent, commit)
        assert await outcome(world, loaded(path), PAID) == "paid"
    assert world.calls == 1


@pytest.mark.parametrize("says", ["", "ref: refs/heads/main", "3fa9c1d0" * 5])
def test_a_number_that_is_not_a_commit_belongs_to_the_name(written: Any, says: str) -> None:
    names = set()
    for customer in ("1234567", "7654321"):
        path = written(f"customer-{customer}/flow.py", "A")
        if says:
            checked_out(path.parent, says)
        names.add(work_of(loaded(path).fn).name)
    assert names == {"customer-1234567/flow:pay", "customer-7654321/flow:pay"}


async def test_a_ledger_name_survives_a_move_of_the_function(world: World, written: Any) -> None:
    assert await outcome(world, loaded(written("old.py", "A")), PAID) == "paid"
    place = work_of(loaded(written("old.py", "A")).fn).name
    moved = loaded(written("new.py", "A, since spring", f", ledger={place!r}"))
    assert await outcome(world, moved, PAID) == "paid"
    assert world.calls == 1
    with pytest.raises(InvalidUsage, match="ledger="):
        work_of(loaded, " ")


async def test_results_from_before_identities_are_taken_over(world: World, written: Any) -> None:
    ours = loaded(written("a.py", "A"))
    assert await outcome(world, ours, PAID) == "paid"
    with store_at(world.folder / "holo").transaction() as db:
        db.execute(sa.delete(WORKS))
    assert await outcome(world, ours, PAID) == "paid"
    assert world.calls == 1
    with pytest.raises(TokenConflict):  # the first caller owns the result now
        await outcome(world, loaded(written("b.py", "B")), PAID)


def test_a_file_in_a_package_is_identified_by_its_dotted_name(
    written: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written("my_company/portals/flow.py", "A")
    for folder in (path.parent, path.parent.parent):
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    known = work_of(importlib.import_module("my_company.portals.flow").pay.fn)
    assert known.name == "my_company.portals.flow:pay"
    assert work_of(loaded(path).fn) == known
    assert work_of(eval("lambda: 1")).code == ""


def test_a_run_of_the_command_line_is_not_a_sub_goal_of_the_same_name(tmp_path: Path) -> None:
    ledger = Ledger(store_at(tmp_path))
    work = Settings.work.fget(None)  # type: ignore[attr-defined]
    with ledger.claim("T", GOAL, WorkIdentity("flow:run")) as claim:
        ledger.finish(claim, "x", "{}", "")
    with pytest.raises(TokenConflict), ledger.claim("T", GOAL, work):
        pass
    with pytest.raises(TokenConflict):
        ledger.find("T", GOAL, "x", work)

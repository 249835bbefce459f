"""A sub-goal becomes a playbook automatically: compiled from runs, compared in shadow, then promoted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import InvalidUsage, Learn, learned, pursue, subgoal
from holo_tasks.agent.playbooks import one_step
from holo_tasks.agent.playbooks.learning import PlaybookLearner, _begun_learner
from holo_tasks.audit.keys import SigningKey
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.compiler.playbook_stores import store_at
from holo_tasks.compiler.versions import Versions
from holo_tasks.core.errors import HoloError
from holo_tasks.run.run import Run
from holo_tasks.scripts import rules
from tests.support.agents import agent, events
from tests.support.paged_program import RECEIPT, PagedProgram, place
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
ORDERS = ("AB-1207", "CD-3391", "EF-5050", "GH-7777", "JK-2468", "LM-1357")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A painted program needs no waiting times."""
    monkeypatch.setattr(one_step, "UNKNOWN_SCREEN_S", 0.0)
    monkeypatch.setattr(one_step, "RESUME_S", 0.0)
    monkeypatch.setattr(rules, "LEAST_WAITS", 0)


def says(order: str, *does: str) -> list[dict[str, Any]]:
    """Return a model's replies that save the note of an order."""
    find, save = ("Look it up", "Put on file") if does else ("Start search", "Save note")
    return [
        step("click", element="Order number", **place("Order number", at="search")),
        step("write", content=order, overwrite=True),
        step("click", element=find, **place(find, *does, at="search")),
        step("click", element=save, **place(save, *does)),
        step("answer", content=json.dumps({"receipt": RECEIPT})),
    ]


def saving(learn: Any = False, layers: Any = "model") -> Callable[[str], Any]:
    @subgoal(title="Save the note of {order}", data=["order"], learn=learn, layers=layers, effect=None, ledger="notes")
    async def save_note(order: str) -> dict[str, int]:
        found: dict[str, int] = await pursue("Save the note of the order.", returns=dict[str, int])
        return found

    return save_note


class Night:
    """A run that works on some orders, and its results."""

    def __init__(self, folder: Path, work: Callable[[str], Any], *does: str) -> None:
        self.folder, self.work, self.does = folder, work, does
        self.found: list[Any] = []
        self.calls = 0
        self.run: Run

    async def over(self, *orders: str, model: Callable[[str], list[Any]] | None = None) -> Night:
        for order in orders:
            program, said = PagedProgram(*self.does), (model or (lambda one: says(one, *self.does)))(order)

            await self._around(program, said, order)
        return self

    async def _around(self, program: PagedProgram, said: list[Any], order: str) -> None:
        with ScriptedModel(said) as served:
            async with agent(served, program, self.folder) as self.run:
                try:
                    self.found.append(await self.work(order))
                except HoloError as error:
                    self.found.append(str(error))
            self.calls += len(served.requests)

    @property
    def opened(self) -> list[str]:
        return [event.playbook for event in events(self.run.trace) if event.kind == "subgoal_opened"]


def told(place: Path) -> list[str]:
    """Return the kinds of the notes about a goal's versions, in order."""
    return [json.loads(path.read_bytes())["learned"]["kind"] for path in sorted(place.glob("*/*.json"))]


async def test_after_equal_runs_and_shadows_the_playbook_is_promoted(tmp_path: Path) -> None:
    place = tmp_path / "playbooks"
    work = saving(Learn(into=place, after=2, shadow=1))
    first = await Night(tmp_path, work).over(*ORDERS[:2])
    assert (first.calls, told(place)) == (10, ["version"])
    shadowed = await Night(tmp_path, work).over(ORDERS[2])
    assert (shadowed.calls, shadowed.opened) == (5, [""]), "the playbook did not act yet"
    assert told(place) == ["version", "shadow", "promoted"]
    acting = await Night(tmp_path, work).over(ORDERS[3])
    assert (acting.found, acting.calls) == ([{"receipt": RECEIPT}], 0)
    (path,) = place.glob("*/*.playbook.yaml")
    assert acting.opened == [f"save-note {path.name.partition('.')[0]}"], "the trace names the version"
    assert acting.run.layers == {"playbook": 1}
    assert told(place)[3:] == ["acted"]
    assert not any(order in path.read_text() for order in ORDERS)
    by_layer = await Night(tmp_path, saving(layers=[learned(place, "save-note"), "model"])).over(ORDERS[4])
    assert (by_layer.found, by_layer.calls) == ([{"receipt": RECEIPT}], 0)

    # A file that no longer matches its signature is not used; automatic learning never fails an item for that.
    signed = path.read_text()
    path.write_text(signed.replace("Start search", "Delete order"))
    refused = await Night(tmp_path, saving(layers=[learned(place), "model"])).over(ORDERS[5])
    assert "was changed after it was signed" in refused.found[0]
    quiet = await Night(tmp_path, work).over(ORDERS[5])
    assert (quiet.found, quiet.calls) == ([{"receipt": RECEIPT}], 5)
    path.write_text(signed)

    # After a change of the program it gives up more often than it fits, and is demoted.
    other = [step("answer", content=json.dumps({"receipt": 1}))]
    changed = await Night(tmp_path, work, "another record").over(*ORDERS[:3], model=lambda order: other)
    assert changed.found == [{"receipt": 1}] * 3
    assert told(place)[-2:] == ["acted", "demoted"]
    behind = await Night(tmp_path, saving(layers=[learned(place), "model"])).over(ORDERS[5])
    assert (behind.opened, behind.calls) == ([""], 5)
    alone = await Night(tmp_path, saving(layers=learned(place))).over(ORDERS[5])
    assert "is promoted yet" in alone.found[0]


def test_a_note_with_a_wrong_signature_or_goal_is_refused(tmp_path: Path) -> None:
    own, strange = SigningKey.new(), SigningKey.new()
    versions = [
        Versions(store_at(tmp_path), name, PublicKey(own.public_pem.encode()), key)
        for name, key in (("one", own), ("one", strange), ("two", own))
    ]
    version = versions[0].add_version("name: one\n", "one", [])
    assert versions[0].newest() == version
    versions[1].note(version, "promoted")
    with pytest.raises(InvalidUsage, match="is not signed with the key"):
        versions[0].newest()
    versions[2].note(version, "promoted")
    (note,) = (tmp_path / "two").iterdir()
    (tmp_path / "three").mkdir()
    note.rename(tmp_path / "three" / note.name)
    with pytest.raises(InvalidUsage, match="is of another goal"):
        replace(versions[2], name="three").newest()


async def test_a_playbook_that_differs_in_shadow_is_dropped(tmp_path: Path) -> None:
    place_, work = tmp_path / "playbooks", saving(Learn(into=tmp_path / "playbooks", after=1, shadow=1))
    await Night(tmp_path, work).over(ORDERS[0])
    assert told(place_) == ["version"]
    other = await Night(tmp_path, work).over(
        ORDERS[1], model=lambda order: [*says(order)[:-1], step("answer", content=json.dumps({"receipt": 7}))]
    )
    assert other.found == [{"receipt": 7}]
    assert told(place_) == ["version", "shadow", "dropped"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Learn(after=0), "a number from 1 to 100"),
        (lambda: Learn(shadow=True), "a number from 1 to 100"),
        (lambda: saving("yes"), "learn= is True, or Learn"),
        (lambda: saving(True, layers="person"), "layers= needs the model and no script"),
        (lambda: learned(""), "takes the folder or s3://BUCKET/PREFIX"),
    ],
)
def test_invalid_learn_options_are_refused_at_declaration(made: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidUsage, match=said):
        made()


async def test_desktops_that_start_together_share_one_look_at_the_versions(tmp_path: Path) -> None:
    looks = []

    class Slow(PlaybookLearner):
        async def begin(self) -> None:
            looks.append(await asyncio.sleep(0))
            self.why_off = "looked up"
            self.begun.set()

    run: Any = SimpleNamespace(learning={})
    run.whole = run
    asked = [Slow(run, "one", None, "place") for _ in range(2)]
    found = await asyncio.gather(*(_begun_learner(run, "place/one", one) for one in asked))
    assert [one.why_off for one in found] == ["looked up"] * 2
    assert len(looks) == 1

"""Nasty programs as a benchmark suite: the program's store is the judge, and a careless playbook acts as the model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from benchmarks.nasty.programs.seeds import VARIANTS, Entry, plan
from benchmarks.nasty.programs.store import Store
from benchmarks.nasty.suite import CLERK, LATE, Nasty, NastyTrial
from benchmarks.oracle import serving
from benchmarks.values import Item, Judgement, Outcome, Word
from benchmarks.work import Bench, worked_on, working_on
from holo_blocks import AuditBucket, HoloModel, holo_agent

PLAYBOOK = Path(__file__).parents[2] / "flows" / "expense_audit.playbook.yaml"
Did = Literal["nothing", "once", "twice", "another", "deleted"]


@pytest.mark.parametrize(
    ("kind", "variant", "did", "status", "word"),
    [
        ("popups", "over the submit button", "once", "answered", "success"),
        ("popups", "over the submit button", "nothing", "answered", "silent wrong"),
        ("popups", "over the submit button", "twice", "answered", "silent wrong"),
        ("popups", "over the submit button", "another", "answered", "silent wrong"),
        ("shift", "when complete", "deleted", "answered", "silent wrong"),
        ("shift", "when complete", "nothing", "needs_person", "over-halt"),
        ("puzzle", "gate", "nothing", "needs_person", "handed over"),
        ("puzzle", "gate", "deleted", "needs_person", "over-halt"),
        ("puzzle", "gate", "once", "answered", "silent wrong"),
    ],
)
async def test_an_entry_is_judged_by_the_programs_own_store(
    tmp_path: Path, kind: str, variant: str, did: Did, status: str, word: Word
) -> None:
    item = Item("nasty", kind, VARIANTS[kind].index(variant))
    store, wanted = Store(tmp_path / "store.db"), plan(kind, item.seed).entry
    store.prepare()
    for entry in {"once": [wanted], "twice": [wanted, wanted], "another": [Entry("X", "1.00", "")]}.get(did, []):
        store.submit(entry)
    if did == "deleted":
        store.harm("deleted")
    assert kind not in LATE
    judged = await NastyTrial(item, "key", store).judged(None)
    assert outcome(item, status, judged).word == word
    assert bool(judged.why) == (did != "once")


def outcome(item: Item, status: str, judged: Judgement) -> Outcome:
    return Outcome(suite="nasty", task=item.task, seed=item.seed, scale=1.0, status=status, judged=judged)


def test_a_second_attempt_starts_with_an_empty_store(tmp_path: Path) -> None:
    suite, item = Nasty(), Item("nasty", "deaf", 0)
    suite.desktop(tmp_path, item)
    store = Store(tmp_path / suite.program(item) / "store.db")
    store.prepare()
    store.submit(plan("deaf", 0).entry)
    suite.desktop(tmp_path, item)
    assert not store.path.exists()


@pytest.mark.desktop
async def test_a_careless_model_files_once_in_a_program_that_counts_every_click(prefect: str, tmp_path: Path) -> None:
    suite, item = Nasty(), Item("nasty", "double", 0)
    if why := suite.missing():
        pytest.skip(why)
    with serving(PLAYBOOK, CLERK) as (oracle, url):
        model = HoloModel(base_url=url, model="rehearsal")
        bucket = AuditBucket(local_folder=str(tmp_path / "evidence"))
        screen = suite.desktop(tmp_path, item)
        async with holo_agent("nasty", model=model, desktop=screen, audit=bucket, allow="act", max_steps=45):
            with working_on(Bench("b", suite, tmp_path, oracle)):
                came = await worked_on(item)
    assert came.word == "success", came

"""The default folder of a learning sub-goal, and the status of its versions from run to run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks import SubgoalOptions, learned
from holo_tasks.agent.playbooks import learning as learning_module
from holo_tasks.agent.playbooks.learning import PlaybookLearner, _AnsweredGoal, learner_of_run, resolve_learned_layer
from holo_tasks.agent.subgoal import _learn_of
from holo_tasks.compiler.recording import Picture, Recording
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.script import Script

TEXT = "name: one\ngoals: {look-up: {params: {order: text}, rules: [{id: a, do: [{answer: done, thought: Done.}]}]}}\n"
NUMBERS = iter(range(100))
LAST = Picture("last", Box(0, 0, 10, 10), Size(10, 10))
KNOWN: Any = SimpleNamespace(goal="look up", same=SimpleNamespace(name="orders:look_up"))


@pytest.fixture
def differences(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace reading and compiling: each three runs give one playbook, with these differences to the model."""
    said: list[str] = []

    def found(self: PlaybookLearner, note: _AnsweredGoal) -> Any:
        return SimpleNamespace(uri=note.trace), Recording(note.trace, "0" * 64, "", "", {}, (), "done", LAST, 1)

    def compiled(traces: Any, chosen: Any, reader: Any, name: str) -> Any:
        return SimpleNamespace(text=f"# {len(chosen)} runs\n{TEXT}", parameters={"order": "text"})

    monkeypatch.setattr(PlaybookLearner, "_find_recording", found)
    monkeypatch.setattr(learning_module, "compiled_of", compiled)
    monkeypatch.setattr(learning_module, "difference", lambda *given: said.pop(0) if said else "")
    return said


def a_run(home: Path) -> Any:
    log = SimpleNamespace(info=lambda *said: None, warning=lambda *said: pytest.fail(str(said)))
    run: Any = SimpleNamespace(home=home, learning={}, log=log, run_id=f"run-{next(NUMBERS):02}")
    run.whole = run
    return run


async def night(home: Path) -> PlaybookLearner:
    """Answer one item in a run, and learn from it as ``learn=True`` declares."""
    run, learn = a_run(home), _learn_of(True, SubgoalOptions())
    assert learn is not None
    found = await learner_of_run(run, KNOWN, learn)
    if found.script({"order": "AB-1207"}) is None:
        found.noted = [_AnsweredGoal(f"runs/{run.run_id}", 1, {"order": "AB-1207"})]
    else:
        found.fitted = 1
    await found.finish()
    assert not found.why_off
    return found


def noted(home: Path) -> list[str]:
    """Return the kinds of the notes in the default folder."""
    notes = sorted(home.glob("learned/*/*.json"))
    assert {path.parent.name.rpartition("-")[0] for path in notes} <= {"look-up"}
    return [json.loads(path.read_bytes())["learned"]["kind"] for path in notes]


async def test_versions_are_kept_in_the_home_and_promoted_after_three_runs_and_three_shadows(
    tmp_path: Path, differences: list[str]
) -> None:
    for _ in range(2):
        await night(tmp_path)
    assert noted(tmp_path) == [], "two runs are not enough"
    await night(tmp_path)
    (file,) = tmp_path.glob("learned/look-up-*/*.playbook.yaml")
    assert file.read_text() == f"# 3 runs\n{TEXT}"
    assert (tmp_path / "learned").stat().st_mode & 0o777 == 0o700
    differences += ["it presses another button"]
    for _ in range(4):
        assert (await night(tmp_path)).fitted == 0, "a shadowed playbook does not act"
    assert noted(tmp_path) == ["version", *["shadow"] * 4, "promoted"], "it differed once, and agreed three times"
    acted = await night(tmp_path)
    assert (acted.version.status, acted.version.id) == ("promoted", file.name.partition(".")[0])
    assert noted(tmp_path)[-1] == "acted"
    place = learned(tmp_path / "learned", "look-up")
    options, _ = await resolve_learned_layer(
        a_run(tmp_path), SubgoalOptions(layers=[place, "model"]), {"order": "AB-1207"}
    )
    assert [type(layer) for layer in options.in_order] == [Script, str]


async def test_a_version_with_three_differences_is_dropped_and_replaced(tmp_path: Path, differences: list[str]) -> None:
    differences += ["another button"] * 3
    for _ in range(9):
        await night(tmp_path)
    assert noted(tmp_path) == ["version", *["shadow"] * 3, "dropped", "version"]

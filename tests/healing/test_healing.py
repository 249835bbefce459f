"""Proposals for steps that no longer fit, how they are written into a playbook, and counts and warnings."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from holo_tasks.agent.layers import Layers
from holo_tasks.agent.playbooks.replay_results import ReplayResults
from holo_tasks.cli.playbook import review, settle
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.healing.apply import applied, apply
from holo_tasks.healing.folder import Counts, GoalCounts, HealingFolder
from holo_tasks.healing.proposal import ModelsStep, Proposal, proposal_of, screen_proposal_of
from holo_tasks.healing.replay_results import FollowedGoal, SampleScreen, store_results, warning
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import load_playbook, parse_playbook
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.scripts.step_outcome import Heal, StepOutcome
from holo_tasks.vision.screen_text import Line, Sight
from tests.support.pages import HOSTILE, tags

TEXT = """\
# A person wrote this.
name: orders
goals:
  find:
    params: {order: text}
    rules:
      - id: search   # the button has moved before
        screen: ORDER SEARCH
        do:
          - click: Start search
            thought: Click Start search.
            then: ORDER RECORD
      - id: note
        screen: ORDER RECORD
        do:
          - click:
              field: Note
              right_of: "{order}"   # of this order

            thought: Click the field Note.
          - scroll: {at: {text: "Lines", or: [Rows]}, direction: down}
            thought: Scroll down.
"""
GO = Point(75, 310)
HEALS: tuple[Heal, ...] = get_args(Heal)
VALUES = {"order": "AB-1207"}


def sight(*texts: tuple[int, int, str]) -> Sight:
    """Return a screen with texts at given places."""
    lines = [Line(text, Box(left, top, 9 * len(text), 18)) for left, top, text in texts]
    return Sight(tuple(lines), Size(720, 420), fields=(Box(200, 118, 220, 24),))


MOVED = sight((20, 50, "ORDER SEARCH"), (60, 300, "Go and look"), (20, 120, "Order"), (60, 360, "Delete"))


def done(screen: Sight = MOVED, at: Point = GO, text: str = TEXT, rule: int = 0, **how: object) -> ModelsStep:
    """Return a step that the model did."""
    found = parse_playbook(text).rules_of("find")[rule]
    step = ModelsStep("find", Misfit(found, 0, "target", "it is gone"), VALUES, at, screen, True, True, "runs/1")
    return replace(step, **how)  # type: ignore[arg-type]


def proposed(step: ModelsStep) -> Proposal:
    found = proposal_of(step)
    assert found is not None
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "orders.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_the_control_that_the_model_pressed_is_proposed_as_a_target() -> None:
    found = proposed(done())
    assert (found.old, found.new, found.verified, found.run) == ("Start search", "Go and look", True, "runs/1")
    assert found.diff[1:] == ["  - Start search", "  + Start search, or: Go and look"]


@pytest.mark.parametrize("held", [None, False])
def test_a_step_without_its_expected_result_is_not_verified(held: bool | None) -> None:
    assert not proposed(done(held=held)).verified


def test_a_control_that_was_in_the_way_is_not_proposed() -> None:
    assert proposal_of(done(counted=False)) is None
    assert proposal_of(done(point=None)) is None
    assert proposal_of(done(misfit=replace(done().misfit, cause="effect"))) is None


def test_no_value_of_an_item_and_no_masked_text_gets_into_a_proposal() -> None:
    other = sight((60, 300, "Order 4711 of today"))
    assert proposal_of(done(other)) is None
    assert proposed(done(sight((60, 300, "Open AB-1207")))).new == "Open {order}"
    masked = replace(sight((60, 300, "Pay Zoe Meyer")), shown=sight())
    assert proposal_of(done(masked)) is None


def test_an_ambiguous_target_is_made_unique_or_not_proposed() -> None:
    twice = sight((160, 300, "Go"), (160, 60, "Go"), (20, 300, "Search"), (20, 60, "Clear"))
    assert proposed(done(twice, Point(165, 305))).new == {"text": "Go", "right_of": "Search"}
    assert proposal_of(done(sight((60, 300, "Go"), (60, 60, "Go")), Point(65, 305))) is None


def test_a_proposal_is_written_into_its_place_and_nothing_else_changes(file: Path) -> None:
    apply(file, proposed(done()))
    assert file.read_text() == TEXT.replace("click: Start search\n", "click: {text: Start search, or: [Go and look]}\n")
    apply(file, proposed(done()))
    assert file.read_text().count("Go and look") == 1
    later = proposed(done(sight((60, 300, "Find it now"))))
    apply(file, later)
    (target,) = load_playbook(file).rules_of("find")[0].do[0].targets
    assert [way.text for way in target.ways] == ["Start search", "Go and look", "Find it now"]


@pytest.mark.parametrize("place", [0, 1])
def test_targets_in_other_notations_are_changed(place: int) -> None:
    playbook = parse_playbook(TEXT)
    rule = playbook.rules_of("find")[1]
    old = {"field": "Note", "right_of": "{order}"} if place == 0 else {"text": "Lines", "or": ["Rows"]}
    told = {"goal": "find", "rule": rule.id, "place": place, "step": "", "why": "", "verified": False, "run": ""}
    one = Proposal.model_validate({"id": "0a1b2c3d", "old": old, "new": {"text": "New", "below": "Old: 'x'"}, **told})
    made = parse_playbook(applied(TEXT, playbook, one, "file"))
    (target,) = made.rules_of("find")[1].do[place].targets
    assert target.ways[-1] == one.target
    assert made.rules_of("find")[1].do[1 - place] == rule.do[1 - place]


def test_a_proposal_for_a_changed_step_is_refused(file: Path) -> None:
    file.write_text(TEXT.replace("click: Start search", "click: Search"))
    with pytest.raises(InvalidUsage, match="was changed since"):
        apply(file, proposed(done()))
    assert "Go and look" not in file.read_text()


def run(*outcomes: str) -> FollowedGoal:
    steps = [StepOutcome("search", 0, "Click Start search.", outcome) for outcome in outcomes]  # type: ignore[arg-type]
    looks = [SampleScreen("search", 0, b"old", (500, 500))] if "fitted" in outcomes else []
    return FollowedGoal("find", steps, looks, [(done(), b"new")] if "healed" in outcomes else [])


def test_a_proposal_is_reviewed_and_applied_or_rejected(file: Path, tmp_path: Path) -> None:
    store_results(file, "propose", run("fitted"))
    (one,) = store_results(file, "propose", run("healed")).proposed
    assert (one.times, one.old_point) == (1, (500, 500))
    assert store_results(file, "propose", run("healed")).proposed[0].times == 2
    assert file.read_text() == TEXT
    folder = HealingFolder(file)
    assert [folder.picture(one, name).read_bytes() for name in ("old", "new")] == [b"old", b"new"]  # type: ignore[union-attr]
    assert folder.path.stat().st_mode & 0o777 == 0o700
    said = review(file, tmp_path / "page.html", as_json=False)
    assert "+ Start search, or: Go and look" in said
    assert "Go and look" in (tmp_path / "page.html").read_text()
    assert f"{one.id} applied" in settle(file, "apply", [], as_json=False)
    assert "or: [Go and look]" in file.read_text()
    with pytest.raises(InvalidUsage, match="Nothing is proposed"):
        settle(file, "apply", [], as_json=False)


def test_the_page_is_private_follows_the_dark_mode_and_contains_no_markup_of_a_screen(
    file: Path, tmp_path: Path
) -> None:
    store_results(file, "propose", run("healed"))
    (one,) = HealingFolder(file).proposals
    told = one.model_copy(update={"step": HOSTILE, "why": HOSTILE, "run": HOSTILE, "new": {"text": HOSTILE}})
    (HealingFolder(file).path / "proposals" / one.id / "proposal.json").write_text(told.model_dump_json())
    out = tmp_path / "page.html"
    review(file, out, as_json=False)
    page = out.read_text()
    assert page.count("document.title") >= 3
    assert "script" not in {tag for tag, _ in tags(page)}
    assert not [name for _, attributes in tags(page) for name in attributes if name.startswith("on")]
    (policy,) = [str(each["content"]) for tag, each in tags(page) if each.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "prefers-color-scheme:dark" in page
    assert out.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("heal", HEALS)
def test_steps_are_counted_in_every_mode(file: Path, heal: Heal) -> None:
    for outcomes in (("fitted", "healed"), ("failed",), ("fitted",)):
        store_results(file, heal, run(*outcomes))
    said = review(file, file.with_name("page.html"), as_json=False)
    assert "find: fitted, by the model, failed\n      2     1     1  Click Start search." in said
    (told,) = json.loads(review(file, None, as_json=True))["steps"]
    assert told == {"goal": "find", "at": "search.0", "step": "Click Start search."} | {
        "fitted": 2,
        "healed": 1,
        "failed": 1,
    }
    row = '<bdi>Click Start search.</bdi></td><td class="num">2</td><td class="num">1</td><td class="num">1</td>'
    assert row in file.with_name("page.html").read_text()
    kept = sorted(path.name for path in HealingFolder(file).path.iterdir())
    assert (kept == ["lock", "steps.json"]) == (heal == "off"), "with heal off, only counts are stored"
    assert (file.read_text() == TEXT) == (heal != "apply")


@pytest.mark.parametrize(("heal", "level"), [("off", "INFO"), ("propose", "WARNING")])
async def test_an_unwritable_folder_does_not_end_the_run(
    file: Path, heal: Heal, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    HealingFolder(file).path.write_text("in the way")
    heard: Any = SimpleNamespace(log=logging.getLogger("kept"), healing=[])
    brain: Any = SimpleNamespace(goal="find", values={}, outcomes=run("fitted").outcomes)
    caplog.set_level("INFO", "kept")
    await ReplayResults(brain, file, heal).store(heard, ())
    ((_, _, said),) = caplog.record_tuples
    assert (caplog.records[0].levelname, "could not be stored" in said, heard.healing) == (level, True, [])


def test_a_script_is_counted_only_with_a_heal_option(file: Path) -> None:
    script = Script(file, "find", order="AB-1207")
    brain = PlaybookBrain(load_playbook(file), "find", VALUES, ScreenReader(None))

    def keeping(one: Script) -> ReplayResults | None:
        layered: Any = SimpleNamespace(options=SimpleNamespace(script=one))
        return Layers._replay_results_of(layered, brain)

    assert keeping(script) is None
    assert [keeping(script.healing(heal)) for heal in HEALS] == [ReplayResults(brain, file, heal) for heal in HEALS]
    assert keeping(Script(load_playbook(file), "find", order="AB-1207").healing("off")) is None, (
        "the playbook has no file"
    )


def test_a_rejected_proposal_is_not_made_again(file: Path) -> None:
    (one,) = store_results(file, "propose", run("healed")).proposed
    settle(file, "reject", [one.id], as_json=True)
    assert store_results(file, "apply", run("healed")).proposed == ()
    assert file.read_text() == TEXT


def test_only_verified_proposals_are_applied_automatically(file: Path) -> None:
    doubtful = replace(run("healed"), done=[(done(held=None), b"new")])
    assert store_results(file, "apply", doubtful).applied == ()
    assert file.read_text() == TEXT
    assert len(store_results(file, "apply", run("healed")).applied) == 1
    assert "or: [Go and look]" in file.read_text()


def test_a_falling_hit_rate_gives_a_warning(file: Path) -> None:
    for outcome in ("fitted", "fitted", "fitted", "failed", "healed"):
        assert "fits less" not in " ".join(store_results(file, "propose", run(outcome)).said)
    said = store_results(file, "propose", run("failed")).said
    assert said[-1].startswith("The playbook's goal 'find' fits less and less: in 3 of its last 5 runs")
    assert "‘Click Start search.’ in 3" in said[-1]
    fit = HealingFolder(file).fits.goals["find"]
    assert fit.steps["search.0"] == Counts(step="Click Start search.", fitted=3, healed=1, failed=2, point=(500, 500))
    always = GoalCounts(runs=[["search.0"]] * 12)
    assert warning("find", always) == ""


def test_a_renamed_heading_is_proposed_as_a_version_of_the_screen(file: Path) -> None:
    text = TEXT.replace("screen: ORDER SEARCH", 'screen: [ORDER SEARCH, Order, "{order}"]')
    file.write_text(text)
    now = sight((20, 50, "FIND AN ORDER"), (20, 120, "Order"), (200, 120, "AB-1207"), (60, 300, "Start search"))
    seen = done(now, text=text)
    step = replace(seen, misfit=replace(seen.misfit, cause="screen"))
    assert proposal_of(step) is None, "the button is unchanged"
    one = screen_proposal_of(step)
    assert one is not None
    assert (one.new, one.verified) == (["FIND AN ORDER", "Order", "{order}"], False)
    for times in (1, 1, 2):
        apply(file, one if times == 1 else one.model_copy(update={"new": ["ORDERS", "Order", "{order}"]}))
        assert len(load_playbook(file).rules_of("find")[0].or_screen) == times
    assert "# the button has moved before" in file.read_text()
    other = replace(step, sight=sight((20, 50, "FIND AN ORDER"), (20, 120, "Order"), (60, 300, "Start search")))
    assert screen_proposal_of(other) is None, "the item is not visible"


def test_rules_on_one_line_are_changed() -> None:
    text = "name: x\ngoals: {find: {rules: [{id: search, screen: [A, B], do: [{click: Go, thought: t}]}]}}\n"
    told = {"goal": "find", "rule": "search", "place": 0, "step": "", "why": "", "verified": False, "run": ""}
    one = Proposal.model_validate({"id": "0a1b2c3d", "kind": "screen", "old": ["A", "B"], "new": ["C", "B"], **told})
    made = applied(text, parse_playbook(text), one, "file")
    assert made == text.replace("screen: [A, B]", "screen: [A, B], or_screen: [[C, B]]")


@pytest.mark.parametrize(("key", "value"), [("id", "../../etc"), ("rule", "../note"), ("place", "x"), ("more", 1)])
def test_a_proposal_that_was_tampered_with_is_refused(file: Path, key: str, value: object) -> None:
    (one,) = store_results(file, "propose", run("healed")).proposed
    path = HealingFolder(file).path / "proposals" / one.id / "proposal.json"
    path.write_text(json.dumps(one.model_dump(mode="json") | {key: value}))
    with pytest.raises(InvalidUsage, match="cannot be read"):
        settle(file, "apply", [], as_json=False)
    assert file.read_text() == TEXT

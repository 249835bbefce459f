"""A button's picture finds it if OCR reads its text as part of a longer line, and only then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holo_tasks.compiler.pictures import Pictures
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.healing.apply import applied
from holo_tasks.healing.proposal import ModelsStep, proposal_of, with_alternative
from holo_tasks.scripts.element_search import AmbiguousTarget, NotFound
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook import BadPlaybook, Playbook, load_playbook
from holo_tasks.scripts.rules import find, words_of
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.ocr_reader import shared_reader
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Line, Sight
from tests.compiler.test_compile import ORDERS, compiled, menu, run, search
from tests.support.recorded_runs import Page

BUTTON = "Start search"
PLACE = Point(75, 311)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Playbook, str]:
    """A playbook of two runs: its folder, its content and its text."""
    home = tmp_path_factory.mktemp("home")
    playbook, _, text = compiled(home, run(home, "AB-1207"), run(home, "CD-3391"))
    return home, playbook, text


def targets_of(playbook: Playbook) -> dict[str, Target]:
    actions = [action for rule in playbook.rules_of("look-up") for action in rule.do]
    return {words_of(target): target for action in actions for target in action.targets}


def live(page: Page, **read_as: str) -> Sight:
    """Return a script's view of a page; ``read_as`` replaces the text that OCR read for a button."""
    sight = shared_reader().read(page.picture).sight
    button = next(line for line in sight.lines if line.box.contains(PLACE))
    lines = [line for line in sight.lines if line is not button]
    if said := read_as.get("button", button.text):
        lines.append(replace(button, text=said))
    return with_pictures(replace(sight, lines=lines), page.picture)


def called(name: str) -> Page:
    page = search("EF-5050")
    return replace(page, texts={at: name if text == BUTTON else text for at, text in page.texts.items()})


def test_buttons_have_a_text_and_a_picture_and_fields_have_labels(made: Any) -> None:
    home, playbook, text = made
    targets = targets_of(playbook)
    pictures = {name: target.picture for name, target in targets.items()}
    assert {name for name, picture in pictures.items() if picture} == {"Find an order", BUTTON}
    assert pictures["Order number field"] is None
    for name, picture in pictures.items():
        if picture is not None:
            assert picture.parent == home
            with Image.open(picture) as cut:
                assert shared_reader().read_piece(_pixels(cut))[0].text == name
    assert str(home) not in text
    assert not any(value in text for number, told in ORDERS.items() for value in (number, *map(str, told[:2])))


def _pixels(picture: Image.Image) -> Any:
    import numpy as np

    return np.asarray(picture.convert("RGB").resize((picture.width * 2, picture.height * 2)))


def test_the_picture_finds_a_button_read_within_a_longer_line(made: Any) -> None:
    target = targets_of(made[1])[BUTTON]
    alone, among = (find(target, {}, live(search("EF-5050"), button=said)) for said in (BUTTON, f"{BUTTON} Cancel"))
    assert alone.intersects(among)
    assert among.contains(PLACE)


@pytest.mark.parametrize(
    "name",
    ["Start search 2", "Restart search", "Start searches", "Stop search", "Start seerched", "Start", "Begin"],
)
def test_a_similar_text_does_not_match_the_recorded_button(made: Any, name: str) -> None:
    """Not even if OCR reads the other words in one line with the recorded ones."""
    for said in (name, f"{name} {BUTTON}"):
        with pytest.raises(NotFound):
            find(targets_of(made[1])[BUTTON], {}, live(called(name), button=said))


@pytest.mark.parametrize("said", ["Start seerched", "Start 8 search", "Search", ""])
def test_a_button_read_as_another_text_is_not_found_by_its_picture(made: Any, said: str) -> None:
    with pytest.raises(NotFound):
        find(targets_of(made[1])[BUTTON], {}, live(search("EF-5050"), button=said))


def test_a_button_drawn_or_read_twice_is_ambiguous(made: Any) -> None:
    target = targets_of(made[1])[BUTTON]
    page = search("EF-5050")
    twice = replace(page, texts={**page.texts, (60, 350): BUTTON})
    with pytest.raises(AmbiguousTarget):
        find(target, {}, live(twice))
    lines = [replace(line, text=f"{line.text} now") if line.text == BUTTON else line for line in live(twice).lines]
    with pytest.raises(AmbiguousTarget):
        find(target, {}, replace(live(twice), lines=lines))
    # OCR read the text twice but it is drawn once, so the target is ambiguous.
    lines = [*live(page).lines, Line(BUTTON, Box(60, 350, 100, 20))]
    with pytest.raises(AmbiguousTarget):
        find(target, {}, replace(live(page), lines=lines))


def test_the_picture_of_a_text_is_not_used_for_an_unread_target(tmp_path: Path) -> None:
    """If the target's text was not read, the picture of another step's text is not used."""
    page = search("AB-1207")
    button = shared_reader().read(page.picture).sight
    before, unread = (Picture(name, Box(0, 0, 720, 420), Size(720, 420)) for name in ("before", "unread"))
    sights = {
        before: with_pictures(button, page.picture),
        unread: with_pictures(replace(button, lines=[one for one in button.lines if one.text != BUTTON]), page.picture),
    }
    steps = tuple(
        RecordedStep(number, "click", {}, "", on, on, (PLACE,)) for number, on in enumerate((before, unread), start=1)
    )
    one = Recording("runs/1", "0" * 64, "look", "look", {}, steps, "", before)
    (cut,) = Pictures(tmp_path, "look", sights, lambda on: page.picture).with_pictures([one])
    first, second = (step.picture for step in cut.steps)
    assert first is not None
    assert second != first


def test_a_button_with_a_value_of_the_item_has_no_picture(tmp_path: Path) -> None:
    """The button is named after the order, so its text has a parameter and no picture is kept."""
    from tests.support.recorded_runs import Act, record

    def asked(number: str) -> list[Act]:
        at = {"Start search": f"Look up {number}"}
        page = search(number)
        named = replace(page, texts={place: at.get(text, text) for place, text in page.texts.items()})
        first = [Act(menu(), click="Find an order"), Act(search(), click="Order number"), Act(search(), write=number)]
        return [*first, Act(named, click=f"Look up {number}")]

    from tests.compiler.test_compile import GOAL, order

    traces = [
        record(
            tmp_path, f"run-{number}", GOAL.format(number), asked(number), order(number, *ORDERS[number]), {"lines": 3}
        )
        for number in ("AB-1207", "CD-3391")
    ]
    playbook, _, _ = compiled(tmp_path, *traces)
    targets: Mapping[str, Target] = targets_of(playbook)
    assert targets["Look up {order_number}"].picture is None
    assert len(list(tmp_path.glob("*.png"))) == 1, "that of the button that opens the search"


def test_a_renamed_button_is_proposed_as_an_alternative_without_folder_names(made: Any) -> None:
    home, playbook, text = made
    rule = next(rule for rule in playbook.rules_of("look-up") if rule.id == "step-4")
    sight = live(called("Begin"))
    misfit = Misfit(rule, 0, "target", "it is not there")
    done = ModelsStep("look-up", misfit, {"order_number": "EF-5050"}, PLACE, sight, True, True, "runs/1")
    assert proposal_of(done, home / "elsewhere") is None, "a bare file name must be in the playbook's folder"
    proposal = proposal_of(done, home)
    assert proposal is not None
    assert proposal.new == "Begin"
    assert proposal.old == {"text": BUTTON, "picture": next(iter(rule.do[0].targets)).picture.name}
    changed = applied(text, playbook, proposal, "made.yaml", home)
    assert str(home) not in changed
    (home / "changed.yaml").write_text(changed)
    healed = targets_of(load_playbook(home / "changed.yaml"))[BUTTON]
    assert healed == with_alternative(targets_of(playbook)[BUTTON], Target(text="Begin"))
    assert find(healed, {}, sight).contains(PLACE)
    assert find(healed, {}, live(search("EF-5050"), button=f"{BUTTON} now")).contains(PLACE)


def test_a_playbook_without_its_picture_files_uses_its_texts(made: Any, tmp_path: Path) -> None:
    (tmp_path / "made.yaml").write_text(made[2])
    target = targets_of(load_playbook(tmp_path / "made.yaml"))[BUTTON]
    assert target == Target(text=BUTTON)
    assert find(target, {}, live(search("EF-5050"))).contains(PLACE)
    (tmp_path / "icon.yaml").write_text(made[2].replace(f"text: {BUTTON}, ", ""))
    with pytest.raises(BadPlaybook, match="cannot be read"):
        load_playbook(tmp_path / "icon.yaml")

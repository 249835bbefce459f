"""The screens: section of a playbook is equivalent to declarations in Python, and its mistakes are located."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Picture, State, Text, Window
from holo_tasks.scripts.playbook import BadPlaybook, parse_playbook
from holo_tasks.scripts.rules import NotFound, find
from holo_tasks.scripts.script import Script, screens_of
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight
from holo_tasks.vision.template_match import FoundPicture

SIZE = Size(480, 240)
SCREENS = """
name: ledger
screens:
  home: menu
  patience: 5
  states:
    menu: MAIN MENU
    form: [NEW ENTRY, {text: Reference, within: [0, 100, 400, 300]}, {not: {any_of: [WAIT, BUSY]}}]
    saving: {marks: "Saving*", busy: true}
    chart: [{picture: crest.png, likeness: 0.95}, {window: Chart*}, {asked: "Is there a chart?"}]
  interruptions:
    notice: {marks: NOTICE, most: 2, do: {click: Close, thought: A notice is in the way.}}
    sign-on: {marks: SESSION EXPIRED}
  ways:
    - {to: menu, from: form, do: back}
    - {to: menu, do: [{hotkey: [escape], thought: Out of here.}]}
goals:
  back:
    rules: [{id: back, screen: NEW ENTRY, do: [{click: Cancel, thought: Back., expect: menu}]}]
"""


def with_crest(folder: Path) -> Path:
    image = Image.new("RGB", (30, 20), "white")
    ImageDraw.Draw(image).ellipse((5, 5, 20, 15), fill="red")
    image.save(folder / "crest.png")
    path = folder / "ledger.playbook.yaml"
    path.write_text(SCREENS)
    return path


async def sign_on() -> None:
    """Replace a sub-goal."""


def test_a_playbook_declares_the_same_screens_as_python(tmp_path: Path) -> None:
    screens = screens_of(with_crest(tmp_path), {"sign-on": sign_on})
    box = Box(0, 100, 400, 300)
    assert screens.states == (
        State("menu", Text("MAIN MENU")),
        State("form", Text("NEW ENTRY"), Text("Reference", box), Absent(AnyOf(Text("WAIT"), Text("BUSY")))),
        State("saving", Text("Saving*"), busy=True),
        State("chart", Picture(tmp_path / "crest.png", likeness=0.95), Window("Chart*"), Asked("Is there a chart?")),
    )
    assert [(one.name, one.state, one.most) for one in screens.interruptions] == [
        ("notice", State("notice", Text("NOTICE")), 2),
        ("sign-on", State("sign-on", Text("SESSION EXPIRED")), 3),
    ]
    assert screens.interruptions[1].do is sign_on
    assert [(way.start, way.to) for way in screens.ways] == [("form", "menu"), ("*", "menu")]
    assert all(isinstance(way.do, Script) for way in screens.ways)
    assert (screens.home, screens.closed, screens.timeout_seconds) == ("menu", True, 5)


def test_exactly_the_actions_that_a_playbook_leaves_to_python_must_be_given(tmp_path: Path) -> None:
    path = with_crest(tmp_path)
    for given, said in (
        ({}, "declares no action for 'sign-on'"),
        ({"sign-on": sign_on, "other": sign_on}, "named 'other'"),
        ({"sign-on": sign_on, "notice": sign_on}, "has an action for 'notice'"),
    ):
        with pytest.raises(InvalidUsage, match=said):
            screens_of(path, given)
    with pytest.raises(InvalidUsage, match="declares no screens"):
        screens_of(parse_playbook(SCREENS.partition("screens:")[0] + "goals:" + SCREENS.partition("goals:")[2].replace(
            ", expect: menu", "")))  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "right", "line", "said"),
    [
        ("crest.png", "none.png", 9, "none.png cannot be read"),
        ("likeness: 0.95", "likeness: 2", 9, "at most 1"),
        ("{window: Chart*}", "{window: Chart*, text: Chart}", 9, "a mark is one of"),
        ("menu: MAIN MENU", "menu: []", 6, "at least 1"),
        ("home: menu", "home: nowhere", 2, "choose one of: menu"),
        ("from: form", "from: nowhere", 2, "not a declared state"),
        ("do: back", "do: forth", 1, "'forth' is not a goal"),
        ("most: 2", "most: 0", 11, "greater than or equal to 1"),
        ("click: Close", "click: {field: Close, picture: crest.png}", 11, "a target is one of"),
        ("expect: menu", "expect: nowhere", 1, "'nowhere', which is not under screens"),
        ("  back:\n", "  back:\n    params: {a: number}\n", 18, "'text', 'int', 'money', 'date' or 'bool'"),
        ("id: back,", "id: back, if: sure,", 1, "if: takes a parameter of type bool"),
    ],
)
def test_a_mistake_is_located(tmp_path: Path, wrong: str, right: str, line: int, said: str) -> None:
    path = with_crest(tmp_path)
    assert wrong in SCREENS
    path.write_text(SCREENS.replace(wrong, right, 1).lstrip())
    with pytest.raises(BadPlaybook, match=said) as error:
        screens_of(path, {"sign-on": sign_on})
    assert f"{path}:{line}:" in str(error.value)


def test_a_picture_is_a_target_and_the_nearest_one_beside_a_label_is_chosen() -> None:
    def found(left: int, likeness: float = 1.0) -> FoundPicture:
        return FoundPicture(Box(left, 10, 20, 20), likeness)

    target = Target.model_construct(picture=Path("crest.png"))
    lines = (Line("Total", Box(200, 10, 40, 20)),)
    once = Sight(lines, SIZE, pictures=lambda file: [found(300)])
    twice = Sight(lines, SIZE, pictures=lambda file: [found(300), found(400), found(100)])
    assert find(target, {}, once) == Box(300, 10, 20, 20)
    with pytest.raises(NotFound):
        find(target, {}, twice)
    with pytest.raises(NotFound):
        find(target, {}, Sight(lines, SIZE))
    beside = Target.model_construct(picture=Path("crest.png"), right_of="Total")
    assert find(beside, {}, twice) == Box(300, 10, 20, 20)

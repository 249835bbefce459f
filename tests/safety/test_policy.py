"""Each rule allows the right actions, refuses all others, and names the setting to change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.input.permit import Permit, Scene, TextReader
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.toolbox import CALLS, Toolbox
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.safety.policy import Rules
from tests.support.shots import shot

SCREEN = Size(1000, 1000)  # so that thousandths are pixels
EVERY = Toolbox(offered=tuple(CALLS))
EDITOR = Owner("/opt/text/editor", box=Box(100, 100, 400, 400))
SCRIPT = Owner("/usr/bin/python3.11", "/srv/ledger.py", box=Box(0, 0, 1000, 1000))
CLICK = {"tool_name": "click", "element": "the OK button", "x": 300, "y": 300}
WRITE = {"tool_name": "write", "content": "hello"}
DRAG = {"tool_name": "drag_and_drop", "element": "a row", "x1": 110, "y1": 110, "x2": 450, "y2": 450}


async def permit(
    rules: Rules,
    call: dict[str, Any],
    owner: Owner | Callable[[Point | None], Owner] = EDITOR,
    reader: TextReader | None = None,
) -> Permit:
    """Return the permit of the rules for a call of a model."""
    read = EVERY.read(call)
    gesture = to_gesture(read, shot(size=SCREEN))
    assert gesture is not None

    async def owner_at(at: Point | None) -> Owner:
        return owner(at) if callable(owner) else owner

    frame = Frame(bytes(SCREEN.width * SCREEN.height * 3), SCREEN, ":0")
    return await rules.permit(read, gesture, Scene(frame, owner_at, reader))


def hotkey(*keys: str) -> dict[str, Any]:
    return {"tool_name": "hotkey", "keys": list(keys)}


ACTIONS = [
    CLICK,
    WRITE,
    DRAG,
    hotkey("a"),
    {"tool_name": "double_click", "element": "e", "x": 1, "y": 1},
    {"tool_name": "move_to", "element": "e", "x": 1, "y": 1},
    {"tool_name": "scroll", "element": "e", "x": 1, "y": 1, "direction": "up"},
    {"tool_name": "write_at", "element": "e", "x": 1, "y": 1, "content": "e"},
    {"tool_name": "hold_and_tap_key", "hold_keys": ["shift"], "tap_keys": ["a"]},
]


@pytest.mark.parametrize("call", ACTIONS, ids=lambda call: str(call["tool_name"]))
async def test_no_input_until_trusted_and_all_usual_input_after(call: dict[str, Any]) -> None:
    for rules in (Rules(), Rules(trust="read")):
        found = await permit(rules, call)
        assert not found.allowed
        assert "--allow act" in found.rule
    assert (await permit(Rules(trust="act"), call)).allowed


async def test_waiting_is_always_allowed() -> None:
    assert (await permit(Rules(actions=(), programs=()), {"tool_name": "wait", "seconds": 1.0})).allowed


def test_the_stricter_of_rules_and_allow_counts() -> None:
    assert [Rules().under(allow).trust for allow in (None, "read", "act")] == ["read", "read", "act"]
    assert [Rules(trust="act").under(allow).trust for allow in (None, "read", "act")] == ["act", "read", "act"]
    assert [Rules(trust="read").under(allow).trust for allow in (None, "read", "act")] == ["read", "read", "read"]


async def test_only_listed_actions() -> None:
    rules = Rules(trust="act", actions=("click", "scroll"))
    assert (await permit(rules, CLICK)).allowed
    found = await permit(rules, WRITE)
    assert not found.allowed
    assert found.rule == (
        "The agent wanted to write ‘hello’, but write is not among the allowed actions; "
        "add it to actions if it is wanted."
    )
    assert not (await permit(Rules(trust="act", actions=()), CLICK)).allowed


# programs


@pytest.mark.parametrize(
    ("owner", "programs", "fits"),
    [
        (EDITOR, ["editor"], True),
        (EDITOR, ["/opt/text/editor"], True),
        (EDITOR, ["/opt/other/editor"], False),
        (EDITOR, ["edit", "Editor", "bin/editor"], False),
        (EDITOR, [], False),
        (SCRIPT, ["ledger.py"], True),
        (SCRIPT, ["/srv/ledger.py"], True),
        (SCRIPT, ["/usr/bin/python3.11"], True),
        (SCRIPT, ["/srv/other.py", "editor"], False),
        (Owner("/tmp/x", title="editor"), ["editor"], False),
        (Owner(why="it is the empty desktop"), ["editor"], False),
        (Owner("", "/srv/ledger.py"), ["ledger.py"], False),
        (Owner(str(Path(sys.executable).resolve())), [sys.executable], True),
    ],
)
async def test_programs_are_identified_by_their_files(owner: Owner, programs: list[str], fits: bool) -> None:
    rules = Rules(trust="act", programs=tuple(programs))
    for call in ACTIONS:
        found = await permit(rules, call, owner)
        assert found.allowed == fits
        if fits:
            assert found.owner == owner.name
        else:
            assert (owner.name or owner.why or "no known program") in found.rule


async def test_window_owners_are_not_looked_up_without_program_rules() -> None:
    def nobody(at: Point | None) -> Owner:
        raise AssertionError("asked")

    assert (await permit(Rules(trust="act"), CLICK, nobody)).owner == ""


async def test_both_ends_of_a_drag_and_the_keyboard_count() -> None:
    rules = Rules(trust="act", programs=("editor",))
    start, end = Point(110, 110), Point(450, 450)
    for wrong in (start, end):
        found = await permit(rules, DRAG, lambda at, wrong=wrong: Owner("/usr/bin/xterm") if at == wrong else EDITOR)
        assert not found.allowed
        assert "xterm" in found.rule
    both = Rules(trust="act", programs=("editor", "xterm"))
    found = await permit(both, DRAG, lambda at: Owner("/usr/bin/xterm") if at == end else EDITOR)
    assert "from /opt/text/editor to /usr/bin/xterm" in found.rule
    found = await permit(rules, WRITE, lambda at: EDITOR if at else Owner("/usr/bin/xterm"))
    assert "the keys would reach /usr/bin/xterm; add it to programs" in found.rule


# a person's yes


WRITE_AT = {"tool_name": "write_at", "element": "a field", "x": 300, "y": 300, "content": "hello"}
PAYING = Rules.read({"trust": "act", "confirm": [{"programs": ["pay"], "kinds": ["click", "write", "drag_and_drop"]}]})


@pytest.mark.parametrize("rule", [{"programs": ["pay"]}, {"text": "pay"}, {"kinds": ["hotkey"]}], ids=str)
@pytest.mark.parametrize("call", [CLICK, WRITE, WRITE_AT, DRAG], ids=lambda call: str(call["tool_name"]))
async def test_a_permit_is_for_one_program(rule: dict[str, Any], call: dict[str, Any]) -> None:
    async def reader(frame: Frame, where: Point | Box) -> str:
        return "Notes"

    found = await permit(Rules.read({"trust": "act", "confirm": [rule]}), call, reader=reader)
    assert (found.allowed, found.owner, found.rule) == (True, EDITOR.name, "allow=act, in /opt/text/editor")


@pytest.mark.parametrize("call", [CLICK, WRITE, DRAG], ids=lambda call: str(call["tool_name"]))
async def test_a_program_rule_refuses_an_unknown_program(call: dict[str, Any]) -> None:
    found = await permit(PAYING, call, Owner(why="it is the empty desktop"))
    assert (found.allowed, found.asks) == (False, False)
    assert "no known program (it is the empty desktop), and a rule of confirm names programs; aim at" in found.rule
    for harmless in ({"tool_name": "move_to", "element": "e", "x": 1, "y": 1}, hotkey("a")):
        assert (await permit(PAYING, harmless, Owner())).allowed


async def test_a_possible_program_needs_approval_and_is_not_allowed() -> None:
    maybe = Owner("/usr/bin/python3.11", said=("pay", "more"))
    asked = await permit(PAYING, CLICK, maybe)
    assert (asked.allowed, asked.asks, asked.owner) == (False, True, "/usr/bin/python3.11 pay? more?")
    for programs in ("pay", "/srv/pay"):
        assert not (await permit(Rules.read({"trust": "act", "programs": [programs]}), CLICK, maybe)).allowed
    assert (await permit(PAYING, CLICK, Owner("/usr/bin/python3.11", said=("play",)))).allowed


async def test_a_drag_between_programs_is_refused_if_approval_depends_on_programs() -> None:
    for start, end in ((EDITOR, SCRIPT), (SCRIPT, EDITOR), (EDITOR, Owner("/usr/bin/pay"))):
        found = await permit(PAYING, DRAG, lambda at, one=start, other=end: one if at == Point(110, 110) else other)
        assert (found.allowed, found.asks) == (False, False)
        assert f"it leads from {start.name} to {end.name}" in found.rule


# regions


PLACES = [{"regions": [[250, 250, 100, 100]]}, {"forbidden_regions": [[600, 600, 300, 300]]}]


@pytest.mark.parametrize("places", PLACES, ids=str)
async def test_text_only_goes_to_the_clicked_window(places: dict[str, Any]) -> None:
    rules = Rules.read({"trust": "act", **places})
    outside = Box(610, 610, 100, 100)

    async def written(at: Owner, keyboard: Owner) -> Permit:
        return await permit(rules, WRITE_AT, lambda point: at if point else keyboard)

    for keyboard in (EDITOR, Owner("/usr/bin/other", box=outside), Owner(why="no window has the keyboard")):
        found = await written(EDITOR, keyboard)
        assert (found.allowed, found.owner) == (True, EDITOR.name)  # and the gate holds the keys to it
    for nowhere in (Owner(why="it is the empty desktop"), Owner(box=EDITOR.box)):
        found = await written(nowhere, EDITOR)
        assert not found.allowed
        assert "no known program" in found.rule
        assert "write into a window whose program is known" in found.rule
    other_window, unplaced = Owner(EDITOR.executable, box=outside), Owner(EDITOR.executable)
    for at, keyboard in ((EDITOR, other_window), (EDITOR, unplaced), (unplaced, EDITOR)):
        found = await written(at, keyboard)
        assert not found.allowed
        assert "the window with the keyboard is" in found.rule


async def test_keys_are_permitted_for_the_checked_window() -> None:
    for places in PLACES:
        rules = Rules.read({"trust": "act", **places})
        assert (await permit(rules, WRITE)).owner == EDITOR.name
        assert not (await permit(rules, WRITE, Owner(box=EDITOR.box, why="its process is hidden"))).allowed


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ({**CLICK, "x": 100, "y": 100}, True),
        ({**CLICK, "x": 499, "y": 499}, True),
        ({**CLICK, "x": 500, "y": 300}, False),
        ({**CLICK, "x": 99, "y": 300}, False),
        ({**CLICK, "x": 850, "y": 850}, True),
        (DRAG, True),
        ({**DRAG, "x2": 850, "y2": 850}, False),
        ({**DRAG, "x2": 999}, False),
        ({"tool_name": "scroll", "element": "e", "x": 5, "y": 5, "direction": "down"}, False),
        ({"tool_name": "move_to", "element": "e", "x": 5, "y": 5}, False),
        ({"tool_name": "write_at", "element": "e", "x": 5, "y": 5, "content": "e"}, False),
        (WRITE, True),
    ],
)
async def test_a_gesture_must_be_inside_one_region(call: dict[str, Any], fits: bool) -> None:
    rules = Rules.read({"trust": "act", "regions": [[100, 100, 400, 400], [800, 800, 100, 100]]})
    found = await permit(rules, call)
    assert found.allowed == fits
    assert fits or "widen regions" in found.rule


async def test_keys_only_go_to_windows_in_the_regions() -> None:
    rules = Rules.read({"trust": "act", "regions": [[100, 100, 50, 50]]})
    for box, fits in ((Box(140, 140, 500, 500), True), (Box(150, 100, 9, 9), False), (None, False)):
        assert (await permit(rules, hotkey("a"), Owner("/usr/bin/x", box=box))).allowed == fits
    rules = Rules.read({"trust": "act", "forbidden_regions": [[100, 100, 50, 50]]})
    for box, fits in ((Box(100, 100, 50, 50), False), (Box(100, 100, 51, 50), True), (None, False)):
        assert (await permit(rules, hotkey("a"), Owner("/usr/bin/x", box=box))).allowed == fits


async def test_a_drag_through_a_forbidden_region_is_refused() -> None:
    rules = Rules.read({"trust": "act", "forbidden_regions": [{"left": 270, "top": 270, "width": 3, "height": 3}]})
    assert (await permit(rules, CLICK)).allowed
    assert not (await permit(rules, {**CLICK, "x": 271, "y": 272})).allowed
    found = await permit(rules, DRAG)
    assert not found.allowed
    assert "3x3+270+270" in found.rule


# texts


@pytest.mark.parametrize("tool", ["write", "write_at"])
async def test_long_text_and_control_characters_are_refused(tool: str) -> None:
    where = {"element": "a field", "x": 300, "y": 300} if tool == "write_at" else {}
    rules = Rules(trust="act")

    async def rule(content: str) -> str:
        found = await permit(rules, {"tool_name": tool, "content": content, **where})
        return "" if found.allowed else found.rule

    assert await rule("x" * 10_000) == ""
    assert "10001 characters; raise most_characters" in await rule("x" * 10_001)
    assert await rule("two\nlines\tof ëñ中\r\n") == ""
    for code in (*range(0x20), 0x7F, 0x80, 0x9B, 0x9F):
        if chr(code) not in "\n\r\t":
            assert f"U+{code:04X}" in await rule(f"a{chr(code)}b")
    assert (await permit(Rules(trust="act", most_characters=4), WRITE)).allowed is False

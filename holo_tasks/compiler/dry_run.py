"""Follow a new playbook over the pictures of its runs. It has to do the same as the run on each picture."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from string import ascii_uppercase

from holo_tasks.compiler.chosen_by_keys import months_on
from holo_tasks.compiler.read_pictures import ReadPicture
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import actions_of, pressed_places
from holo_tasks.compiler.targets import hits
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.element_anchors import numbered
from holo_tasks.core.elements.elements import FOCUSED, SHEET, SHOWING, Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.scripts.playbook import Playbook
from holo_tasks.scripts.rules import Decision, find, follow
from holo_tasks.scripts.steps_and_targets import Action, Target
from holo_tasks.scripts.values import Value, fill
from holo_tasks.vision.screen_text import Sight

BESIDE = "XXZ"
"""A column far from those of any recorded cell, for the other cells of its row."""
DESCRIBES = frozenset({"name", "within", "right_of", "below", "holds", "place", "column", "in_row"})
"""Facts that each suffice to find an element again."""


class DryRunMismatch(InvalidUsage):
    """A recording did something else than the playbook that is made from it and others."""

    def __init__(self, said: str, recording: Recording, place: int | None = None) -> None:
        super().__init__(said)
        self.recording = recording
        self.place = place
        """The number of steps before the one that differs; ``None`` if the answer differs."""


def check_dry_run(
    playbook: Playbook,
    goal: str,
    recording: Recording,
    values: Mapping[str, Value],
    seen: Mapping[str, ReadPicture],
    taken: Collection[RecordedStep],
    waits: int = 0,
) -> Decision:
    """Follow a playbook over a recording and return its last decision, the answer.

    ``taken`` are the steps that the playbook is made from. The other steps of the recording were detours. The
    playbook may wait up to ``waits`` times before it answers. Raises `DryRunMismatch` if the playbook decides otherwise
    than the run on some picture, or does not answer at the end.
    """
    history: list[Turn] = []
    tells = any(picture.windows for picture in recording.pictures)
    before: RecordedStep | None = None
    for place, step in enumerate(step for step in recording.steps if step in taken):
        sight = _with_context(seen[step.before.sha256].sight, step.before, step.begun_at, tells=tells)
        sight = replace(sight, elements=_reported(step, before, sight))
        before = step
        decision = follow(playbook, goal, values, history, sight, written=_pixels)
        if decision.action is not None and decision.action.by_model is not None:
            history.append(_turn(decision))
            continue
        for wanted in actions_of(step, sight, values):
            decision = follow(playbook, goal, values, history, sight, written=_pixels)
            if not _is_same(decision.action, wanted, step, sight, values):
                raise DryRunMismatch(
                    f"The playbook would not repeat step {step.number} ({step.tool}) of {recording.trace}: there it "
                    f"would do {_described(decision)}. Give runs without detours.",
                    recording,
                    place,
                )
            history.append(_turn(decision))
    last = _with_context(seen[recording.last.sha256].sight, recording.last, recording.ended_at, tells=tells)
    last = replace(last, elements=_reported(None, before, last))
    ended = follow(playbook, goal, values, history, last, written=_pixels)
    while waits and ended.step["tool_call"]["tool_name"] == "wait":
        waits -= 1
        history.append(_turn(ended))
        ended = follow(playbook, goal, values, history, last, written=_pixels)
    if ended.action is None or not ended.action.answers:
        said = f"The playbook would not answer where {recording.trace} was answered: it would do {_described(ended)}."
        raise DryRunMismatch(said, recording)
    return ended


def _reported(step: RecordedStep | None, before: RecordedStep | None, sight: Sight) -> ElementTree | None:
    """Return the elements that a recording reports for a picture: the one that was hit, and a check box set before.

    A combo box has the option that was chosen before. A step with keys also has the control with the
    keyboard. An element of a table comes with the other cells of its row, and with its column's heading above it.
    """
    tree = _ToldTree()
    for one, states in ((before, frozenset({SHOWING, "checked"})), (step, frozenset({SHOWING}))):
        if one is not None and one is before and "chosen_in" in one.element and one is not step:
            tree.add("combo box", one.element["chosen_in"], Box(0, 0, 5, 5), -1, value=one.element["name"])
        is_state = one is not None and one is before and one.element.get("checked") == "no"
        if one is None or not one.points or not _is_described(one) or not (one is step or is_state):
            continue
        facts, at = one.element, one.points[0]
        above = tree.add("panel", facts.get("within", ""), Box.whole(sight.size), -1, states)
        if "in_sheet" in facts:
            tree.add_sheet(facts, at, above)
            continue
        cells = numbered(facts, "cell")
        if cells and "in_form" not in facts:  # the cell in the row of a form is its label
            if heading := facts.get("column"):
                tree.add("column header", heading, Box(at.x - 2, at.y - 9, 5, 5), above)
            above = tree.add("row", "", Box(0, at.y - 2, sight.size.width, 5), above)
            for text in cells:
                tree.add("cell", text, Box(at.x + 5, at.y - 2, 5, 5), above)
        if "day_of" in facts:
            tree.add_days(facts, at, above, sight)
            continue
        tree.add_alike(facts, at, above, states)
    if tree.found and step is not None and not step.points and step.element.get("role"):
        # Without it, this tree would say that no field has the keyboard.
        facts = step.element
        above = tree.add("panel", facts.get("within", ""), Box.whole(sight.size), -1)
        tree.add(facts["role"], facts.get("name", ""), Box(0, 0, 5, 5), above, (SHOWING, FOCUSED))
    return ElementTree(tuple(tree.found), complete=False) if tree.found else None


class _ToldTree:
    """The elements that the facts of recorded steps describe."""

    def __init__(self) -> None:
        self.found: list[Element] = []

    def add(
        self, role: str, name: str, box: Box, parent: int, states: Collection[str] = (SHOWING,), value: str = ""
    ) -> int:
        """Add an element and return its id."""
        number = len(self.found)
        self.found.append(Element(number, role, name, frozenset(states), box, parent, "", 0, value))
        return number

    def add_alike(self, facts: Mapping[str, str], at: Point, parent: int, states: Collection[str]) -> None:
        """Add an element with the label next to it and the other elements of its group."""
        whole, role = self.found[parent].box, facts.get("role", "")
        above = self.add("panel", facts["group"], whole, parent) if facts.get("group") else parent
        for label in dict.fromkeys([*numbered(facts, "beside"), *filter(None, [facts.get("right_of")])]):
            self.add("label", label, Box(0, at.y - 2, 1, 5), above)
        if facts.get("below"):
            self.add("label", facts["below"], Box(at.x - 2, 0, 5, 1), above)
        number, count = map(int, facts.get("place", "1 of 1").split(" of "))
        for other in range(1, count + 1):
            box = Box(at.x - 2 + (other - number), at.y - 2, 5, 5)
            self.add(role, facts.get("name", ""), box, above, states, facts.get("holds", ""))

    def add_days(self, facts: Mapping[str, str], at: Point, parent: int, sight: Sight) -> None:
        """Add the days of a calendar, below the nearest month and year above the day that was pressed."""
        titles = [box for _, box in months_on(sight) if box.bottom <= at.y]
        title = max(titles, key=lambda box: (box.top, -box.width), default=Box(at.x, at.y, 1, 1))
        number, count = map(int, facts["day_of"].split(" of "))
        left, right = min(title.left, at.x - 2), max(title.right, at.x + 3)
        whole = Box.of_corners(left, title.top, right, sight.size.height)
        above = self.add("table", "", whole, parent)
        for day in range(1, count + 1):
            box = Box(at.x - 2, at.y - 2, 5, 5) if day == number else Box(left, title.bottom + 2, 5, 5)
            self.add(facts.get("role", ""), facts["name"] if day == number else str(day), box, above)

    def add_sheet(self, facts: Mapping[str, str], at: Point, parent: int) -> None:
        """Add a cell of a spreadsheet with the other cells of its row, the row above it, and its column's heading."""
        column, row = (facts["name"].strip(part) for part in ("0123456789", ascii_uppercase))
        sheet = self.add("table", "", Box(at.x - 2, at.y - 20, 30, 30), parent, (SHOWING, *SHEET))
        texts = numbered(facts, "cell")
        above = [(f"{column}1", facts.get("column", "")), (f"{BESIDE}{int(row) - 1}", facts.get("next_row", ""))]
        for name, text in above:
            self.add("cell", name, Box(at.x - 2, at.y - 9, 5, 5), sheet, value=text)
        for number, text in enumerate(texts):
            self.add(
                "cell", f"{BESIDE[:-1]}{ascii_uppercase[number]}{row}", Box(at.x + 5, at.y - 2, 5, 5), sheet, value=text
            )
        own = "" if "empty" in facts else "-"
        self.add("cell", facts["name"], Box(at.x - 2, at.y - 2, 5, 5), sheet, value=own)


def _is_described(step: RecordedStep) -> bool:
    """Return whether an element can be found by its name, its container, its row, a label or its place."""
    return not DESCRIBES.isdisjoint(name for name, text in step.element.items() if text)


def _with_context(sight: Sight, picture: Picture, state: str, *, tells: bool) -> Sight:
    """Return a read picture with the window titles and the state that were known at the time.

    ``tells`` says whether the recording contains window titles. An empty state was unknown.
    """
    return replace(sight, windows=picture.windows if tells else None, state=state or None)


def _turn(decision: Decision) -> Turn:
    call = dict(decision.step["tool_call"])
    return Turn(call["tool_name"], decision.step["thought"], call)


def _is_same(
    action: Action | None, wanted: Mapping[str, object], step: RecordedStep, sight: Sight, values: Mapping[str, Value]
) -> bool:
    if action is None or action.kind not in wanted:
        return False
    arguments = step.arguments
    if action.write is not None:
        typed = fill(action.write.text, values), action.write.press_enter
        return typed == (str(arguments["content"]), bool(arguments.get("press_enter")))
    if action.hotkey is not None:
        return _keys(action.hotkey) == _keys(arguments["keys"])
    if (keys := action.hold_and_tap_key) is not None:
        return (_keys(keys.hold), _keys(keys.tap)) == (_keys(arguments["hold_keys"]), _keys(arguments["tap_keys"]))
    if action.scroll is not None and action.scroll.direction != arguments["direction"]:
        return False
    ends = _targets_of(action)
    return all(
        hits(find(target, values, sight), point, of_field=target.field is not None)
        for target, point in zip(ends, pressed_places(step, sight), strict=False)
    )


def _keys(named: Iterable[str]) -> list[str]:
    return [name.casefold() if len(name) > 1 else name for name in named]


def _targets_of(action: Action) -> list[Target]:
    one = action.click or action.double_click or action.right_click or action.move_to
    if action.scroll is not None:
        one = action.scroll.at
    if action.drag is not None:
        return [action.drag.start, action.drag.end]
    return [] if one is None else [one]


def _described(decision: Decision) -> str:
    return f"{decision.step['tool_call']['tool_name']} (rule {decision.why})"


def _pixels(point: Point, size: Size) -> tuple[float, float]:
    return point.x, point.y

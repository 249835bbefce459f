"""Bring the target of a playbook's step into view: by the mouse wheel, a pager, a calendar, or a click into its field.

`IntoView` decides these moves. Each is an ordinary action of the trace. After each the playbook looks again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from holo_tasks.core.elements.elements import CELLS, Element, ElementTree
from holo_tasks.core.elements.role_names import role_of
from holo_tasks.core.screen.geometry import Point
from holo_tasks.scripts.calendar_view import MOST_MONTHS, month_control, shown_month
from holo_tasks.scripts.conditions import conditions_in_words, has_come, is_visible
from holo_tasks.scripts.element_search import (
    FIELDS,
    AmbiguousTarget,
    ContradictedTarget,
    NotFound,
    called,
    keyboard_elsewhere,
)
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.pager import next_page
from holo_tasks.scripts.playbook import Rule
from holo_tasks.scripts.rules import find, words_of
from holo_tasks.scripts.script_view import exactly
from holo_tasks.scripts.scrolling import (
    Turn,
    covering,
    direction_to,
    frame_of,
    knows_hidden_rows,
    list_in_front,
    names_in,
    notches_after,
    notches_for,
    reported_matches,
    scrolled_by,
    signature,
    visible_box,
    wheel_over,
)
from holo_tasks.scripts.steps_and_targets import Condition, Named, ShownElement, Target, texts_of
from holo_tasks.scripts.value_formats import month_number
from holo_tasks.scripts.values import PLACEHOLDER, Value, fill, filled_in, label_of
from holo_tasks.vision.screen_text import Sight

MOST_MOVES, MOST_TURNS, MOST_PAGES, MOST_WAITS, MOST_NOTCHES = 30, 25, 10, 10, 40
"""Most moves for one step, most turns of the mouse wheel on one page, most pages, and most waits for a page."""
MOST_LOOKS = 12
"""Most looks, of one search, at a list whose picture has changed and whose reported rows have not.

A scroll bar that fades in changes the picture of a list that is at its end.
"""
WAIT_FOR_MONTH = "Wait for the next month of the calendar."
WAIT_FOR_PAGE, WAIT_FOR_LIST = (
    "Wait for the next page of the list.",
    "Wait until the program reports the scrolled list.",
)
KEYBOARD = "Another field has the keyboard: click the one that the text is for."
WORDS, MOST_WORDS = re.compile(r"[^\W\d_]+"), 1
"""A word, and the most words that a row may show next to its key, as in ``Order {number}``."""
POINTER_AWAY = "Move the pointer away, because its tooltip may cover the target."
SMALL = 2
"""Notches to uncover a target."""

Wanted: TypeAlias = tuple[Named, Mapping[str, str], str]
"""An element, its relations, and the text that may be on it."""


Move: TypeAlias = dict[str, Any]
"""A move that only changes the view, as a model would give it."""


@dataclass
class _Search:
    """The past moves for one step: those on the current page of a list, and the pages that were left."""

    key: tuple[str, int]
    page: tuple[str, ...] = ()
    """The titles of the windows and documents."""
    seen: set[Condition] = field(default_factory=set)
    told: str = ""
    moves: int = 0
    turns: int = 0
    notches: int = 0
    direction: Turn | None = None
    turned_back: bool = False
    before: tuple[object, ...] = ()
    turned: int | None = None
    """The frame over which the wheel was turned last, until a look after it."""
    picture: str = ""
    looks: int = 0
    pages: list[tuple[str, ...]] = field(default_factory=list)
    """The names in the list on each page that was left."""
    waits: int = 0
    is_loading: bool = False
    in_list: bool = False
    months: tuple[int, int] | None = None
    """The month that a calendar showed before the last press that turned it, and the one that it must show then."""
    is_over: bool = False
    clicked_field: bool = False
    pointer_moved: bool = False

    def begin_page(self) -> None:
        self.turns, self.notches, self.direction, self.turned_back, self.before = 0, 0, None, False, ()
        self.is_loading, self.waits = False, 0


class IntoView:
    """Brings the targets and texts of a step into view. ``press_once`` are labels that it never presses."""

    def __init__(self, rules: Sequence[Rule], values: Mapping[str, Value], press_once: Sequence[str]) -> None:
        self._values, self._press_once = values, {label.casefold() for label in press_once}
        self._banned = [*press_once, *(name for rule in rules for name in _pressed_by(rule))]
        self._search = _Search(("", 0))

    def seen_on(self, sight: Sight) -> Mapping[str, Collection[Condition]]:
        """Return by rule the conditions that were seen since the first move for its step, if it is the same page.

        They count as visible, because these moves change nothing but the view.
        """
        search = self._search
        same = search.seen and sight.elements is not None and search.page == _titles(sight.elements)
        return {search.key[0]: frozenset(search.seen)} if same else {}

    @property
    def told(self) -> str:
        """The places that were searched without success, as a part of a sentence."""
        return self._search.told

    def forget(self) -> None:
        """Begin anew, because a step was done."""
        self._search = _Search(("", 0))

    def not_moved(self) -> None:
        """Note that the last move was withheld, so that an unchanged list does not count as its end."""
        search = self._search
        search.before, search.turned, search.months = (), None, None
        if search.is_loading:
            search.is_loading = False
            search.pages.pop()

    def move(self, misfit: Misfit, sight: Sight, late: bool, picture: str = "") -> Move | None:
        """Return the next move for a step that does not fit; ``None`` if the view is not the reason, or at the end.

        ``late`` is true if the playbook would hand over now. Before, only an element that a program reports out of view
        is brought into view. ``picture`` is the digest of the screen. Some programs report a scrolled list later than
        they draw it, so the reader looks again if only the picture has changed.
        """
        tree, key = sight.elements, (misfit.rule.id, misfit.place)
        if tree is None or misfit.cause in ("failed", "model"):
            return None
        page = _titles(tree)
        if key != self._search.key:
            self._search = _Search(key, page)
        if page != self._search.page:
            self._search.seen, self._search.page = set(), page
        if (click := self._into_field(misfit, sight)) is not None:
            return click
        needed = self._needed(misfit, sight)
        if self._search.is_over:
            return None
        if self._is_reported_late(tree, picture):
            return _said("wait", WAIT_FOR_LIST, seconds=0.5)
        if self._search.moves >= MOST_MOVES:
            self._search.is_over, self._search.told = True, f"{MOST_MOVES} moves did not bring it into view"
            return None
        move = self._to_month(misfit, sight, tree) or self._to_reported(needed, sight, tree)
        is_late = (late or self._search.in_list) and not self._search.is_over
        if move is None and is_late and self._is_by_key(misfit, sight):
            move = self._through_list(misfit, sight, tree)
        move = move or (self._pointer_away(misfit, sight) if late else None)
        self._search.moves += move is not None
        return move

    def _into_field(self, misfit: Misfit, sight: Sight) -> Move | None:
        """Return a click into the field or cell that a text is for, if another one has the keyboard, once for a step.

        A new field before it, or a new column, takes the Tab that led there.
        """
        focus = misfit.action.focus
        if misfit.action.write is None or focus is None or self._search.clicked_field:
            return None
        is_shown = any(all(self._shows(each, sight) for each in screen) for screen in misfit.rule.screens)
        if misfit.cause == "effect" or not is_shown:  # the text was typed already, or this is another screen
            return None
        wanted = Target.model_validate(focus.model_dump(exclude_none=True))
        takes_text = focus.role is not None and role_of(focus.role) in FIELDS | CELLS
        if not takes_text or not keyboard_elsewhere(focus.model_copy(update=filled_in(focus, self._values)), sight):
            return None
        try:
            box = find(wanted, self._values, sight)
        except NotFound:
            return None
        self._search.clicked_field = True
        return _step("click", KEYBOARD, box.center, sight, element=words_of(wanted), button="left")

    def _pointer_away(self, misfit: Misfit, sight: Sight) -> Move | None:
        """Return a move of the pointer to the edge of the screen, once for a step whose target something else covers.

        Programs report no tooltip that hangs at the pointer, and no address that a browser shows in its corner.
        """
        failures = [_failure(target, self._values, sight) for target in misfit.action.targets]
        is_covered = any(isinstance(each, ContradictedTarget) for each in failures)
        if misfit.cause != "target" or self._search.pointer_moved or not is_covered:
            return None
        self._search.pointer_moved = True
        edge = Point(sight.size.width - 1, sight.size.height // 2)
        return _step("move_to", POINTER_AWAY, edge, sight, element="edge of the screen")

    def _to_month(self, misfit: Misfit, sight: Sight, tree: ElementTree) -> Move | None:
        """Return a press that turns a calendar by one month toward the month of the step's date.

        Each press must have turned it by one month, else the search is over.
        """
        search, ways = self._search, [way for target in misfit.action.targets for way in target.ways if way.month]
        if misfit.cause != "target" or not ways:
            return None
        wanted, shown = month_number(fill(ways[0].month or "", self._values)), shown_month(ways[0].role, sight)
        before, after = search.months or (None, None)
        if search.months and (shown is None or shown.number == before) and search.waits < MOST_WAITS:
            search.waits += 1
            return _said("wait", WAIT_FOR_MONTH, seconds=0.5)
        if search.months and (shown is None or shown.number != after):
            search.is_over, search.told = True, "the calendar did not turn by one month"
            return None
        if wanted is None or shown is None or shown.number == wanted:
            return None
        forward = wanted > shown.number
        control = month_control(shown.first, forward, tree)
        is_banned = control is not None and control.name.casefold() in self._press_once
        if control is None or is_banned or sight.disagrees(control, "") or abs(wanted - shown.number) > MOST_MONTHS:
            search.told = "the calendar shows another month, and nothing certainly turns it to the one of the date"
            return None
        search.months, search.waits = (shown.number, shown.number + (1 if forward else -1)), 0
        thought = f"Turn the calendar to the {'next' if forward else 'previous'} month."
        element = f"{control.name} {control.role}"
        return _step("click", thought, control.box.center, sight, element=element, button="left")

    def _is_reported_late(self, tree: ElementTree, picture: str) -> bool:
        """Return whether the last turn changed the picture and nothing that is reported, for some looks at most."""
        search = self._search
        turned, search.picture, before = search.turned, picture, search.picture
        frame = tree.elements[turned] if turned is not None and turned < len(tree.elements) else None
        if frame is not None and search.before != signature(frame, tree):
            search.looks, frame = 0, None
        if frame is None or search.looks >= MOST_LOOKS or (search.looks == 0 and picture == before):
            search.turned = None
            return False
        search.looks += 1
        return True

    def _needed(self, misfit: Misfit, sight: Sight) -> list[list[Wanted]]:
        """Return the conditions and then the targets that the step lacks. Each has one or several ways."""
        rule, action = misfit.rule, misfit.action
        screen = max(rule.screens, key=lambda one: sum(self._shows(each, sight) for each in one))
        self._search.seen |= {each for each in screen if _stays(each) and is_visible(each, self._values, sight)}
        lacking = [each for each in screen if not self._shows(each, sight)]
        if misfit.cause == "effect":
            lacking = [each for each in action.then if not has_come(each, self._values, sight)]
        if lacking:
            return [[way] for each in lacking for way in self._of_condition(each)]
        if misfit.cause == "effect":
            return []
        found = [self._of_target(target) for target in action.targets if _failure(target, self._values, sight)]
        if not found and misfit.cause == "values":
            reads = [read.element for read in rule.read.values() if read.element is not None]
            filled = [each.model_copy(update=filled_in(each, self._values)) for each in reads]
            found = [[(each, each.relations, "")] for each in filled]
        return found

    def _shows(self, wanted: Condition, sight: Sight) -> bool:
        return wanted in self._search.seen or has_come(wanted, self._values, sight)

    def _of_condition(self, wanted: Condition) -> Iterable[Wanted]:
        match wanted:
            case str():
                yield _by_text(label_of(wanted, self._values))
            case ShownElement():
                filled = wanted.model_copy(update=filled_in(wanted, self._values))
                yield filled, filled.relations, filled.text or ""

    def _of_target(self, target: Target) -> list[Wanted]:
        found: list[Wanted] = []
        for way in target.ways:
            filled = way.model_copy(update=filled_in(way, self._values))
            if way.is_named:
                found.append((filled, filled.relations, filled.text or ""))
            elif (text := way.text or way.field) is not None:
                found.append((_by_text(label_of(text, self._values))[0], filled.relations, ""))
        return found

    def _to_reported(self, needed: Sequence[Sequence[Wanted]], sight: Sight, tree: ElementTree) -> Move | None:
        """Return a move to an element that is reported and out of view, or that is covered."""
        for wanted, relations, also in (way for ways in needed for way in ways):
            found = reported_matches(wanted, relations, tree)
            hidden = [each for each in found if not each.on_screen]
            if len(found) == len(hidden) == 1:
                return self._toward(hidden[0], tree, sight)
            if hidden and len(found) > 1:
                self._search.is_over, self._search.told = (
                    True,
                    f"{len(found)} matching elements are reported, and not all are in view",
                )
                return None
            shown = [each for each in tree.single(called(wanted, tree)) if sight.disagrees(each, also)]
            if len(shown) == 1 and covering(shown[0], tree) is not None:
                return self._toward(shown[0], tree, sight, SMALL)
        return None

    def _toward(self, element: Element, tree: ElementTree, sight: Sight, most: int = MOST_NOTCHES) -> Move | None:
        """Return a turn of the wheel toward an element. The turns grow until it is passed, and then get smaller."""
        frame, search = frame_of(element, tree), self._search
        if frame is None:
            return None
        direction = direction_to(element, frame, tree)
        if search.turned_back and search.direction is not None:
            direction = search.direction
        elif search.direction is not None and search.before == signature(frame, tree):
            search.turned_back, direction = True, "up" if search.direction == "down" else "down"
        elif search.direction is not None:
            search.notches = max(1, search.notches * 2 if search.direction == direction else search.notches // 2)
        search.notches = min(most, search.notches or notches_for(frame))
        words = f"{element.role} ‘{element.name}’" if element.name else element.role
        thought = f"Scroll {direction} to bring the {words} into view."
        return self._turn(element, frame, direction, search.notches, thought, sight, tree)

    def _turn(
        self,
        element: Element,
        frame: Element,
        direction: Turn,
        notches: int,
        thought: str,
        sight: Sight,
        tree: ElementTree,
    ) -> Move | None:
        """Return a turn of the wheel over a frame; ``None`` if the last one moved nothing, or after too many."""
        now, search = signature(frame, tree), self._search
        stuck = search.before == now and search.direction == direction
        wheel = wheel_over(frame, visible_box(element, tree), direction, tree)
        if wheel is None or stuck or search.turns >= MOST_TURNS:
            search.is_over, search.told = True, "scrolling did not bring it into view"
            return None
        search.turns, search.before, search.direction = search.turns + 1, now, direction
        search.turned = frame.id
        turn = {"direction": direction, "scroll_size": min(notches, wheel.notches)}
        return _step("scroll", thought, wheel.at, sight, element=frame.name or frame.role, **turn)

    def _is_by_key(self, misfit: Misfit, sight: Sight) -> bool:
        """Return whether the step finds a row by its key, or answers from it, and all else is as it must be."""
        rule, action = misfit.rule, misfit.action
        lacking = [each for each in rule.screen if not self._shows(each, sight)]
        if lacking:
            return action.answers and len(lacking) < len(rule.screen) and all(map(_is_key, lacking))
        if not all(_is_missing(target, self._values, sight) for target in action.targets):
            return False
        ways = [way for target in action.targets for way in target.ways]
        return any(_names_item(way.relations.get("row") or way.name or way.text) for way in ways)

    def _through_list(self, misfit: Misfit, sight: Sight, tree: ElementTree) -> Move | None:
        """Return a move through the list in front: to its upper end, to its lower end, and to its next page."""
        listed, search = list_in_front(tree), self._search
        if listed is None:
            return None
        search.in_list = True
        lacking = [each for each in misfit.rule.screen if not self._shows(each, sight)]
        what = conditions_in_words(lacking) if lacking else f"‘{words_of(misfit.action.targets[0])}’"
        names = names_in(listed, tree)
        if search.is_loading and names in search.pages and search.waits < MOST_WAITS:
            search.waits += 1
            return _said("wait", WAIT_FOR_PAGE, seconds=1.0)
        if search.is_loading and names not in search.pages:
            search.begin_page()
        move = None if search.is_loading or knows_hidden_rows(listed, tree) else self._along(listed, what, sight, tree)
        if move is None and names not in search.pages:
            move = self._to_next_page(listed, names, what, sight, tree)
        if move is None:
            self._end(what)
        return move

    def _along(self, listed: Element, what: str, sight: Sight, tree: ElementTree) -> Move | None:
        """Return a turn of the wheel along a list whose hidden rows are unknown: first up, then down to its end."""
        search = self._search
        search.notches = notches = notches_after(search.notches, search.before, listed, tree)
        if search.direction != "down":
            up = self._turn(listed, listed, "up", notches, f"Look for {what} further up in the list.", sight, tree)
            if up is not None:
                return up
            search.before = ()
        search.is_over = False
        thought = f"Look for {what} further down in the list."
        return self._turn(listed, listed, "down", notches, thought, sight, tree)

    def _to_next_page(
        self, listed: Element, names: tuple[str, ...], what: str, sight: Sight, tree: ElementTree
    ) -> Move | None:
        """Return the press on the list's pager, or a turn of the wheel to the pager or to the end of the page."""
        search, number = self._search, len(self._search.pages) + 1
        search.is_over = False
        control = next_page(tree, listed, self._banned)
        if control is None:
            frame = scrolled_by(listed, tree)
            thought = f"Scroll to the end of the list, to look for {what}."
            return self._turn(listed, frame, "down", MOST_NOTCHES, thought, sight, tree)
        if number >= MOST_PAGES:
            return None
        if not control.on_screen or sight.disagrees(control, ""):
            return self._toward(control, tree, sight)
        search.pages.append(names)
        search.is_loading = True
        thought = f"Go to page {number + 1} of the list, to look for {what}."
        element = f"{control.name} {control.role}"
        return _step("click", thought, control.box.center, sight, element=element, button="left")

    def _end(self, what: str) -> None:
        """End the search, and note the places that were searched."""
        search, count = self._search, len(self._search.pages) + (not self._search.is_loading)
        pages = f"{count} pages of the list were" if count > 1 else "the list was"
        is_long = count >= MOST_PAGES or search.turns >= MOST_TURNS
        more = ", and the list goes on" if is_long else ""
        search.is_over, search.told = True, f"{pages} searched for {what}{more}"


def _step(tool: str, thought: str, at: Point, sight: Sight, **arguments: Any) -> Move:
    x, y = exactly(at, sight.size)
    return _said(tool, thought, x=x, y=y, **arguments)


def _said(tool: str, thought: str, **arguments: Any) -> Move:
    return {"note": None, "thought": thought, "tool_call": {"tool_name": tool, **arguments}}


def _by_text(label: str) -> Wanted:
    return Named(name="*").model_copy(update={"name": label}), {}, ""


def _failure(target: Target, values: Mapping[str, Value], sight: Sight) -> NotFound | None:
    """Return the reason why a target is not found, or ``None`` if it is."""
    try:
        find(target, values, sight)
    except NotFound as error:
        return error
    return None


def _is_missing(target: Target, values: Mapping[str, Value], sight: Sight) -> bool:
    """Return whether nothing in view fits a target: neither two places, nor one that the picture contradicts."""
    failure = _failure(target, values, sight)
    return failure is not None and not isinstance(failure, AmbiguousTarget | ContradictedTarget)


def _titles(tree: ElementTree) -> tuple[str, ...]:
    return tuple(each.name for each in tree.elements if each.role in ("window", "document") and each.on_screen)


def _stays(wanted: Condition) -> bool:
    """Return whether a condition stays true while only the view changes: a text or an element that was seen."""
    return isinstance(wanted, str | ShownElement)


def _names_item(text: str | None) -> bool:
    return text is not None and PLACEHOLDER.search(text) is not None


def _is_key(wanted: Condition) -> bool:
    """Return whether a condition is a value of the item as a row shows it. A message about the item is in no list."""
    texts = [text for text in texts_of(wanted) if _names_item(text)]
    return bool(texts) and all(len(WORDS.findall(PLACEHOLDER.sub("", text))) <= MOST_WORDS for text in texts)


def _pressed_by(rule: Rule) -> Iterable[str]:
    """Yield the names of the controls that a rule presses."""
    for action in rule.do:
        for way in (way for target in action.targets for way in target.ways):
            yield from (name for name in (way.name, way.text) if name)

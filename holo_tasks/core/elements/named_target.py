"""Whether a description clearly names another control on the screen than the one at the point of a press.

Only a clear contradiction counts. The description is exactly the name of a control elsewhere, and has no significant
word in common with the control at the point, its contents or its containers. Anything else may be right: a
synonym, another language, a place, a color, an icon, a part of a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from holo_tasks.core.elements.elements import CLASS_NAME, PLACE_NAME, Element, ElementTree
from holo_tasks.core.elements.known_elements import HOLDERS
from holo_tasks.core.elements.target_words import (
    CHECK_ROLES,
    FIELD_ROLES,
    HEADER_ROLES,
    ITEM_ROLES,
    Subject,
    are_alike,
    leads_to,
    share_a_word,
    subject_named,
    words_of,
)
from holo_tasks.core.input.pressed_elements import BUTTONS, PRESSED
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point

TAB, COLUMN_HEADER, CELL = "tab", "column header", "cell"
PRESSABLE = PRESSED | FIELD_ROLES | HEADER_ROLES | {"slider", "switch"}
"""Roles of controls that react to a press."""
WINDOWS = frozenset({"window", "dialog", "alert", "document", "desktop frame", "application", "internal frame"})
"""Roles with a title. Words in a title say little about the controls in the window."""
NEAREST, FARTHEST = 2, 12
"""Distances in pixels at which a point counts as a miss of a small control. A nearer point may hit its border."""
WIDEST, HIGHEST = 400, 80
"""Maximal size of a small control, in pixels."""
BESIDE, ABOVE = 300, 40
"""Maximal distance of a label to the left of its control, and above it, in pixels."""
ALIGNED = 6
"""Maximal distance of the edges or the middles of two controls in one row or column, in pixels."""
TIGHT = 6
"""Maximal ratio of the areas of a container and the one control in it. Such a container may handle the press."""
MOST_TEXTS = 400
"""Maximal number of texts of a container that are compared."""


@dataclass(frozen=True)
class Control:
    """A control on the screen. ``role`` is empty if its text was read from pixels. ``id`` is its place in the tree.

    ``is_by_label`` is true for a field without a name of its own. Its name is then the text next to it.
    """

    name: str
    role: str
    box: Box
    id: int = -1
    is_by_label: bool = False


@dataclass(frozen=True)
class Spot:
    """The control at a point, with the texts on it, in it and around it.

    ``is_bare`` is true if nothing pressable is there. ``name`` is empty if no text names the place. ``kin`` are the
    ids of the elements that contain the control or that it contains. ``containers`` are the names and boxes of those
    that contain it. ``is_captioned`` is true if its pixels show a text in the middle, as on a button.
    """

    name: str
    role: str
    box: Box
    texts: tuple[str, ...]
    is_bare: bool = False
    kin: frozenset[int] = frozenset()
    id: int = -1
    containers: tuple[tuple[str, Box], ...] = ()
    is_captioned: bool = False

    def texts_beside(self, control: Control) -> tuple[str, ...]:
        """Return all texts that may describe the spot.

        The name of a container may list the names of all in it. Such a name tells nothing if it includes the other
        control.
        """
        listed = words_of(control.name)
        return self.texts + tuple(
            text
            for text, box in self.containers
            if not (
                box.encloses(control.box) and set(listed) <= set(words_of(text)) and len(words_of(text)) > len(listed)
            )
        )


@dataclass(frozen=True)
class Mismatch:
    """A contradiction: the control that a description names, and the spot at the point instead.

    ``others`` counts further controls of the same name. ``off`` tells how far the point is from the named control and
    on which side, if it only just missed it.
    """

    named: Control
    spot: Spot
    others: int = 0
    off: str = ""


def find_mismatch(
    description: str, at: Point, spot: Spot, controls: Iterable[Control], whole: str = ""
) -> Mismatch | None:
    """Return the contradiction between a description and the spot at a point, ``None`` if the description may be right.

    For a drag, ``whole`` describes both ends and ``description`` one end.
    """
    named = _controls_named_by(description, controls)
    if not named:
        return None
    subject = named[0][1]
    found = [control for control, _ in named]
    if any(control.id in spot.kin or control.box.contains(at) or _is_beside(control, at, spot) for control in found):
        return None
    if leads_to(description, spot.name) or (_address(spot) and _address(spot) in words_of(description)):
        return None
    nearest = min(found, key=lambda control: _gap(control.box, at))
    off = _missed_by(nearest, at) if spot.is_bare else ""
    if share_a_word(whole or description, spot.texts_beside(nearest)) and not (
        _are_twins(subject, spot, nearest)
        or (len(found) == 1 and _is_one_longer(description, subject, spot, nearest))
        or (off and not spot.name)
    ):
        return None
    if not (off or _is_clear(subject, at, spot, nearest, alone=len(found) == 1)):
        return None
    return Mismatch(nearest, spot, len(found) - 1, off)


def _controls_named_by(description: str, controls: Iterable[Control]) -> list[tuple[Control, Subject]]:
    """Return the controls with the longest name that a description is."""
    found: list[tuple[Control, Subject]] = []
    for control in controls:
        subject = subject_named(description, control.name)
        if subject is not None and (subject.roles is None or not control.role or control.role in subject.roles):
            found.append((control, subject))
    longest = max((len(subject.words) for _, subject in found), default=0)
    return [(control, subject) for control, subject in found if len(subject.words) == longest]


def _is_clear(subject: Subject, at: Point, spot: Spot, named: Control, *, alone: bool) -> bool:
    """Say whether the name of another control cannot mean the spot."""
    if named.is_by_label and not (subject.roles == FIELD_ROLES and spot.role in BUTTONS | {""}):
        return False
    if spot.is_bare:
        return alone and _gap(named.box, at) >= NEAREST and (subject.is_sure or named.role in BUTTONS)
    if spot.role in FIELD_ROLES and named.role not in FIELD_ROLES:
        return alone and subject.roles is not None and spot.role not in subject.roles
    if alone and spot.role in ITEM_ROLES and subject.roles is not None and subject.roles.isdisjoint(ITEM_ROLES):
        return True
    if named.name.strip().isdigit() and not spot.name.isdigit():
        return False
    if _are_in_a_sheet(named, spot):
        return True
    return _are_twins(subject, spot, named) or _has_letters(spot.name)


def _has_letters(name: str) -> bool:
    """Say whether a name has a word in it, rather than numbers and signs only."""
    return any(word.isalpha() and (len(word) > 1 or not word.isascii()) for word in words_of(name))


def _address(cell: Control | Spot) -> str:
    """Return the address of a cell of a sheet in small letters, as “b7”; empty for anything else."""
    return cell.name.lower() if cell.role == CELL and PLACE_NAME.fullmatch(cell.name) else ""


def _are_in_a_sheet(one: Control | Spot, other: Control | Spot) -> bool:
    """Say whether two cells of a sheet are named by their addresses, which have one number in a row.

    Other tables may have such names as codes, as of an order “R101” on shelf “B7”. There the row counts.
    """
    if not (_address(one) and _address(other)):
        return False
    (column, row), (other_column, other_row) = (PLACE_NAME.sub(r"\1 \2", each.name).split() for each in (one, other))
    in_row = abs(one.box.center.y - other.box.center.y) <= ALIGNED
    in_column = abs(one.box.center.x - other.box.center.x) <= ALIGNED
    return in_row == (row == other_row) and in_column == (column == other_column)


def _are_twins(subject: Subject, spot: Spot, named: Control) -> bool:
    """Say whether two controls of one kind share words of their names, and differ in others: “Invoice 1”, “Invoice 2”.

    A description that is exactly one of these names is not the other one.
    """
    mine = words_of(spot.name)
    lacking, more = set(subject.words) - set(mine), set(mine) - set(subject.words)
    one, other = "".join(mine), "".join(subject.words)
    are_numbers = all(map(str.isdigit, lacking | more))
    if one != other and _are_in_a_sheet(named, spot):
        return True
    if one == other or (not are_numbers and (one in other or other in one)):
        return False
    around = {word for text in spot.texts_beside(named) for word in words_of(text)}
    return (
        bool(lacking and more)
        and (not lacking.issuperset(subject.words) or not _has_letters(spot.name))
        and spot.role == named.role
        and lacking.isdisjoint(around)
        and not any(are_alike(one, other) for one in lacking for other in more)
    )


def _is_one_longer(description: str, subject: Subject, spot: Spot, named: Control) -> bool:
    """Say whether a description is one of two names in a row or a column, where one name has all words of the other.

    So “Save” is not “Save as”, and “Delete all” is not “Delete”. Elsewhere the longer name may be the same in full.
    """
    mine, words = set(words_of(spot.name)), set(subject.words)
    is_longer = mine > words and (mine - words).isdisjoint(words_of(description))
    across, down = spot.box.center.x - named.box.center.x, spot.box.center.y - named.box.center.y
    in_column = abs(spot.box.left - named.box.left) <= ALIGNED or abs(across) <= ALIGNED
    return (
        (is_longer or (bool(mine) and mine < words))
        and (subject.is_sure and spot.role == named.role)
        and (in_column or abs(down) <= ALIGNED)
        and max(abs(across), abs(down)) <= BESIDE
    )


def _is_beside(control: Control, at: Point, spot: Spot) -> bool:
    """Say whether a control describes the one at the point: as its row, its column or its label."""
    box = control.box
    in_row, in_column = box.top - 2 <= at.y < box.bottom + 2, box.left - 2 <= at.x < box.right + 2
    if control.role in HEADER_ROLES:
        if control.role != COLUMN_HEADER or control.id < 0:  # on a picture, it may be the header of a row
            return in_row or in_column
        return in_column and (at.y >= box.top or spot.role in ITEM_ROLES)
    if _are_in_a_sheet(control, spot):
        return False
    if control.role in ITEM_ROLES:  # a button of the row does something else than the row
        return in_row and not (spot.role == "button" and _has_letters(spot.name))
    if control.role in CHECK_ROLES - {"toggle button"}:  # its label may be a text of its own
        return in_row and spot.role not in PRESSABLE and _gap(box, at) <= BESIDE
    if control.role in FIELD_ROLES and spot.name and spot.role not in PRESSABLE:
        return (in_row and _gap(box, at) <= BESIDE) or (in_column and 0 <= box.top - at.y <= ABOVE)
    return False


def _gap(box: Box, at: Point) -> int:
    """Return how many pixels a point has to be moved to be in a box."""
    return max(0, *_sides(box, at))


def _sides(box: Box, at: Point) -> tuple[int, int, int, int]:
    """Return how far a point is beyond the left, right, upper and lower side of a box; negative if it is not."""
    return box.left - at.x, at.x - box.right + 1, box.top - at.y, at.y - box.bottom + 1


def _missed_by(control: Control, at: Point) -> str:
    """Return how far a point has missed a small control, and on which side; empty if it is not that near."""
    box, sides = control.box, _sides(control.box, at)
    far = max(sides)
    if not NEAREST <= far <= FARTHEST or box.width > WIDEST or box.height > HIGHEST:
        return ""
    return f"{far} px {('to the left of', 'to the right of', 'above', 'below')[sides.index(far)]}"


def spot_in(tree: ElementTree, at: Point) -> Spot | None:
    """Return the spot at a point of a tree, ``None`` if the tree has no elements there."""
    inner = tree.at(at)
    if inner is None:
        return None
    above = tree.ancestors(inner)
    if not above and not tree.children(inner):
        return None  # the program reports its window only
    pressed = next((each for each in (inner, *above) if each.role in PRESSABLE and each.box.contains(at)), None)
    it = pressed or inner
    below = [each for each in tree.below(it) if each.on_screen and (it.role != TAB or each.box.intersects(it.box))]
    inside = _pressable(below)
    if pressed is None and (it.role in WINDOWS or (it.role in HOLDERS and inside and not _is_tight(it, inside))):
        # The ground between several controls, or around one: that ground may still be part of the control.
        texts = tuple(each.name for each in inside) if len(inside) == 1 else ()
        return Spot("", it.role, it.box, texts, is_bare=True, id=it.id)
    up = [each for each in tree.ancestors(it) if each.role not in WINDOWS]
    if it.role in BUTTONS:  # a tab of GTK contains its page, and a button of the page is another control
        up = [each for each in up if each.role != TAB or each.box.contains(at)]
    reported = [text for each in (it, *below) for text in (name_of(each), each.value)] + _labels(tree, it)
    around = tuple((each.name, each.box) for each in up if each.name)
    name = name_of(it) or it.value.strip() or next(filter(None, map(name_of, below)), "")
    bare = pressed is None and not name and it.role in HOLDERS and not inside
    kin = frozenset(each.id for each in (it, *below, *up))
    return Spot(name, it.role, it.box, tuple(filter(None, reported[:MOST_TEXTS])), bare, kin, it.id, around)


def name_of(element: Element) -> str:
    """Return the name of an element for a person; empty if the program reports only the name of its class."""
    name = element.name.strip()
    return "" if element.role != "label" and CLASS_NAME.fullmatch(name) else name


def _labels(tree: ElementTree, it: Element) -> list[str]:
    """Return the texts at the sides of an element and right above: its label or its heading may be among these.

    A header has none: its neighbors are the other headers.
    """
    if it.role in HEADER_ROLES:
        return []
    row = Box(it.box.left - BESIDE, it.box.top, it.box.width + 2 * BESIDE, it.box.height)
    column = Box(it.box.left, it.box.top - ABOVE, it.box.width, ABOVE)
    near = (each for each in _texts(tree) if row.contains(each.box.center) or column.contains(each.box.center))
    return [each.name for each in near if not _is_on_button(tree, each)]


def _texts(tree: ElementTree) -> Iterator[Element]:
    """Yield the texts on a screen, including those on buttons."""
    for each in tree.elements:
        if each.name and each.on_screen and each.role not in PRESSABLE and each.role not in HOLDERS and name_of(each):
            yield each


def _is_on_button(tree: ElementTree, text: Element) -> bool:
    around = tree.ancestors(text)
    return any(above.role in BUTTONS and above.box.contains(text.box.center) for above in around)


def _labelled(tree: ElementTree) -> Iterator[Control]:
    """Yield the fields without a name that have a text right before them which occurs once on the screen."""
    fields = [each for each in tree.elements if each.role in FIELD_ROLES and each.on_screen and not each.name.strip()]
    texts = [each for each in _texts(tree) if not _is_on_button(tree, each)] if fields else []
    times = Counter(words_of(each.name) for each in texts)
    pressable = _pressable(tree.elements) if fields else []
    for it in fields:
        row = Box(it.box.left - BESIDE, it.box.top, BESIDE, it.box.height)
        before = (each for each in texts if row.contains(each.box.center) and each.box.right <= it.box.left)
        label = max(before, key=lambda each: each.box.right, default=None)
        if label is None or times[words_of(label.name)] > 1:
            continue
        gap = Box.of_corners(label.box.right, it.box.top, max(it.box.left, label.box.right + 1), it.box.bottom)
        if not any(each.id != it.id and each.box.intersects(gap) for each in pressable):
            yield Control(label.name.strip(" :*"), it.role, it.box, it.id, is_by_label=True)


def _pressable(elements: Iterable[Element]) -> list[Element]:
    return [each for each in elements if each.role in PRESSABLE and each.on_screen]


def _is_tight(it: Element, inside: Sequence[Element]) -> bool:
    """Say whether a container is hardly larger than the one control in it: then it may handle presses itself."""
    return len(inside) == 1 and it.box.area <= TIGHT * max(1, inside[0].box.area)


def controls_in(tree: ElementTree) -> list[Control]:
    """Return all controls with a name on a screen, and the fields with a text before them instead."""
    pressable = _pressable(tree.elements)
    named = [Control(each.name, each.role, each.box, each.id) for each in pressable if name_of(each)]
    return [*named, *_labelled(tree)]


def ends_of_drag(description: str) -> tuple[str, str]:
    """Split the description of a drag into those of its start and its end. The end is empty if it is not described."""
    words = description.strip()
    for lead in ("drag and drop ", "drag ", "move ", "ziehe ", "verschiebe "):
        if words.casefold().startswith(lead):
            words = words[len(lead) :]
    for between in (" into ", " onto ", " to ", " -> ", " → ", " auf ", " nach ", " in "):
        start, found, end = words.partition(between)
        if found:
            return start, end
    return words, ""


class ReadsSpots(Protocol):
    """Reads the controls of programs without an accessibility tree from pixels."""

    async def spot(self, frame: Frame, at: Point) -> tuple[Spot, list[Control]] | None:
        """Return the control at a point or, on bare ground, the nearest one at its side, from one small crop.

        Returns ``None`` if the pixels show neither.
        """
        ...

    async def controls(self, frame: Frame) -> list[Control]:
        """Return all controls with a readable text."""
        ...

    async def texts(self, frame: Frame) -> list[tuple[str, Box]]:
        """Return all texts with their places."""
        ...

    async def fields(self, frame: Frame, at: Point) -> list[Control]:
        """Return the fields with a readable label that occurs once on the screen.

        Fields that look like the control at the point are left out, and those whose label is nearer to that control.
        """
        ...

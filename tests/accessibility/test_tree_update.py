"""A cached tree is updated in place after a clear change, and else read anew, so it always equals the program's own."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from holo_tasks.accessibility import protocol
from holo_tasks.accessibility.application import AGAIN_NS, CONFIRM_NS, LAGS_NS, MAY_LAG_NS, Application
from holo_tasks.accessibility.changes import MOST_TOLD, Changes
from holo_tasks.accessibility.node import Node
from holo_tasks.accessibility.placement import MOST_BOXES, Extents, TopWindow, View
from holo_tasks.accessibility.reader import Reader
from holo_tasks.accessibility.scrolling import may_show_more
from holo_tasks.accessibility.tree_update import MOST_HIDDEN, ReadFunctions, UnclearChanges, drawn_over, update_tree
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.elements.element_messages import from_tree, to_tree
from tests.accessibility.test_lies import SCREEN, WINDOW, address, at, window
from tests.support.element_trees import element, tree_of
from tests.support.liar import CACHED, ENTRY, PANEL, PASSWORD, SHOWS, Liar, Told

__all__ = ["address"]
ROWS = 30
OBJECT = protocol.EVENTS + "Object"
TOP = TopWindow(1, os.getpid(), "Form", WINDOW, WINDOW)


class Kept:
    """A fake program under the test's control, and a reader that caches its tree."""

    def __init__(self, address: str, **below: Told) -> None:
        rows = {f"row{n}": Told(f"Row {n}", extents=(110, 130 + 8 * n, 50, 8)) for n in range(ROWS)}
        self.liar = Liar(window(save=Told("Save"), **rows, **below))
        self.address, self.reader = address, Reader(address)

    async def read(self, *drawn: Box, anew: Sequence[Box] | None = None) -> ElementTree:
        """Read again as if these boxes had been drawn; with ``anew``, only those boxes look different."""
        now = time.monotonic_ns()
        other = None if anew is None else tuple((now, box) for box in anew)
        view = View(
            (TOP,), SCREEN, now if drawn else 0, at_ns=now, drawn=tuple((now, box) for box in drawn), anew=other
        )
        self.liar.asked.clear()
        return await asyncio.wrap_future(self.reader.read(view))

    @property
    def whole(self) -> bool:
        """Whether the last reading requested the whole tree."""
        return any(member == "GetItems" for _, member in self.liar.asked)


@pytest.fixture
async def kept(address: str) -> AsyncIterator[Kept]:
    program = Kept(address, name=Told("Name", ENTRY), pin=Told("Pin", PASSWORD), list=Told("List", PANEL))
    await program.liar.enter(address)
    tree = await program.read()
    assert program.whole
    assert len(tree.find("button")) == 1 + ROWS
    yield program
    program.liar.leave()


async def test_only_elements_with_a_change_signal_are_requested_again(kept: Kept) -> None:
    kept.liar.elements[at("save")].name = "Store"
    await kept.liar.signal(at("save"), "PropertyChange", "accessible-name")
    tree = await kept.read()
    assert [each.name for each in tree.find("button", "S*")] == ["Store"]
    assert {path for path, _ in kept.liar.asked} == {at("save")}
    await kept.liar.signal(at("save"), "TextCaretMoved")
    assert (await kept.read()).elements is tree.elements
    assert kept.liar.asked == []


async def test_redrawn_elements_are_requested_again_without_a_signal(kept: Kept) -> None:
    kept.liar.elements[at("row3")].name = "Row three"
    kept.liar.elements[at("row4")].extents = (300, 162, 50, 8)
    tree = await kept.read(Box(110, 152, 50, 16))
    assert not kept.whole
    assert tree.find("button", "Row three")
    assert tree.find("button", "Row 4")[0].box.left == 300
    assert (at("row9"), "GetExtents") not in kept.liar.asked


async def test_of_redrawn_elements_only_those_that_look_different_are_requested(kept: Kept) -> None:
    kept.liar.elements[at("row3")].name = "Row three"
    tree = await kept.read(WINDOW, anew=[Box(110, 154, 50, 8)])
    assert not kept.whole
    assert tree.find("button", "Row three")
    assert (at("row9"), "GetExtents") not in kept.liar.asked
    await kept.read(WINDOW, anew=[])
    assert kept.liar.asked == []


async def test_after_a_movement_elements_that_look_the_same_are_requested_too(kept: Kept) -> None:
    """For example a list scrolled by a line: all its buttons look alike, and only a label shows the movement."""
    for number in range(ROWS):
        kept.liar.elements[at(f"row{number}")].extents = (110, 122 + 8 * number, 50, 8)
    tree = await kept.read(WINDOW, anew=[Box(110, 154, 50, 8)])
    assert [each.box.top for each in tree.find("button", "Row *")] == [122 + 8 * number for number in range(ROWS)]


async def test_a_page_that_shows_before_its_elements_do_is_read_again(address: str) -> None:
    """Firefox sends no signal when a loaded page has its places. A page that shows is not read again."""
    web = protocol.ROLES.index("document")
    program = Kept(address, page=Told("Orders", web, extents=(0, 0, 0, 0), below=[at("pay")]))
    elements = program.liar.elements
    hidden = SHOWS & ~protocol.SHOWING
    elements[at("pay")] = Told("Pay", states=hidden, extents=(120, 140, 50, 20), above=at("page"))
    await program.liar.enter(address)
    assert not (await program.read()).find("button", "Pay")
    elements[at("page")].extents, elements[at("pay")].states = (110, 130, 300, 200), SHOWS
    await asyncio.sleep(CONFIRM_NS / 1e9 + 0.02)  # it is not asked again at once
    tree = await program.read()
    assert tree.find("button", "Pay")
    assert tree.find("document", "Orders")
    await asyncio.sleep(CONFIRM_NS / 1e9 + 0.02)
    await program.read()
    assert program.liar.asked == []
    program.liar.leave()


@pytest.mark.parametrize("is_new", [False, True], ids=["while it is read", "when it is first read"])
async def test_a_message_of_a_page_in_chromium_is_read_without_a_signal(address: str, is_new: bool) -> None:
    """The window then lists only the message in place of its contents, and the program's cache lacks it."""
    program = Kept(address, page=Told("Orders", PANEL))
    program.liar.toolkit = "Chromium"
    elements, contents = program.liar.elements, [at("page")]
    held = [path for path in elements if path not in (at("window"), *contents)]
    elements[at("window")].below, elements[at("page")].below = contents, held
    for path in held:
        elements[path].above = at("page")
    inside = {"extents": (120, 140, 50, 20)}
    message = {
        at("message"): Told("Post it?", PANEL, **inside, above=at("window"), below=[at("ok")]),
        at("ok"): Told("OK", **inside, above=at("message")),
    }
    cached = [*elements]
    program.liar.answers = {"GetItems": lambda asked: (CACHED, [[program.liar.item(path) for path in cached]])}
    await program.liar.enter(address)
    if not is_new:
        assert not (await program.read()).find("button", "OK")
    elements |= message
    elements[at("window")].below = [at("message")]
    assert (await program.read(Box(120, 140, 50, 20))).find("button", "OK")
    elements[at("window")].below = contents
    tree = await program.read(Box(120, 140, 50, 20))
    assert not tree.find("button", "OK")
    assert tree.find("button", "Row 3")
    program.liar.leave()


async def test_a_dialog_that_was_faded_in_is_read_after_a_large_repaint(address: str) -> None:
    """Browsers do not signal that the elements of a dialog show after its transition."""
    web, hidden = protocol.ROLES.index("document"), SHOWS & ~protocol.SHOWING
    program = Kept(address, page=Told("Orders", web, extents=(110, 130, 300, 200), below=[at("dialog")]))
    elements = program.liar.elements
    inside = {"extents": (120, 140, 50, 20), "states": hidden}
    elements[at("dialog")] = Told("Order 7", PANEL, **inside, above=at("page"), below=[at("pay")])
    elements[at("pay")] = Told("Pay", **inside, above=at("dialog"))
    await program.liar.enter(address)
    assert not (await program.read()).find("button", "Pay")
    await program.read(Box(120, 140, 2, 16))
    assert not {at("dialog"), at("pay")} & {path for path, _ in program.liar.asked}, "a caret shows no dialog"
    elements[at("dialog")].states = elements[at("pay")].states = SHOWS
    assert (await program.read(Box(120, 140, 100, 80))).find("button", "Pay")
    program.liar.leave()


def test_hidden_parts_of_a_page_are_read_after_a_large_repaint_only() -> None:
    def drawn(role: str, hidden: int, box: Box, page: str = "document") -> list[int]:
        shown = [Node("a", page, "", SHOWS, -1), Node("b", role, "", SHOWS, 0)]
        shown[0].seen = shown[1].seen = WINDOW
        return drawn_over([*shown, *(Node(f"c{n}", "label", "", 0, 1) for n in range(hidden))], [box])

    assert drawn("section", 2, WINDOW) == [0, 1, 2, 3]
    assert drawn("section", 2, Box(WINDOW.left, WINDOW.top, 2, 16)) == [0, 1]
    assert drawn("combo box", 2, WINDOW) == [0, 1], "its options"
    assert drawn("list", MOST_HIDDEN + 1, WINDOW) == [0, 1], "rows out of view"
    assert drawn("section", 2, WINDOW, page="panel") == [0, 1], "no page of a browser"


@pytest.mark.parametrize("moves", [True, False])
async def test_siblings_of_a_new_element_are_asked_for_their_position(kept: Kept, moves: bool) -> None:
    """For example another entry in a list of identical lines: only the end of the list looks different."""
    elements, panel = kept.liar.elements, at("list")
    elements[at("old")] = Told("Line", above=panel, extents=(200, 200, 50, 20))
    elements[panel].below = [at("old")]
    await kept.liar.signal(panel, "ChildrenChanged", "add")
    await kept.read(WINDOW, anew=[])
    elements[at("new")] = Told("Line", above=panel, extents=(200, 200 if moves else 220, 50, 20))
    elements[at("old")].extents = (200, 220 if moves else 200, 50, 20)
    elements[panel].below = [at("new"), at("old")] if moves else [at("old"), at("new")]
    await kept.liar.signal(panel, "ChildrenChanged", "add")
    tree = await kept.read(WINDOW, anew=[Box(200, 220, 50, 20)])
    assert [each.box.top for each in tree.find("button", "Line")] == [200, 220]
    assert kept.whole is moves


async def test_a_grown_container_has_its_children_requested_again(kept: Kept) -> None:
    elements, panel = kept.liar.elements, at("list")
    elements[at("inner")] = Told("Inner", above=panel, extents=(200, 200, 50, 20))
    elements[panel].below = [at("inner")]
    await kept.liar.signal(panel, "ChildrenChanged", "add")
    await kept.read(WINDOW, anew=[])
    left, top, width, height = elements[panel].extents
    elements[panel].extents = (left, top, width, height + 10)
    await kept.liar.signal(panel, "BoundsChanged", "")
    elements[at("row9")].extents = (110, 300, 50, 8)
    assert (await kept.read(WINDOW, anew=[])).find("button", "Row 9")[0].box.top == 300


async def test_a_program_with_delayed_updates_is_asked_again_later(address: str) -> None:
    program = Kept(address)
    program.liar.toolkit = "Chromium 120"
    await program.liar.enter(address)
    await program.read()
    row, drawn = (at("row3"), "GetExtents"), ((time.monotonic_ns(), Box(110, 154, 50, 8)),)
    for later_ns, asked in (
        (0, True),
        (0, False),
        (2 * AGAIN_NS, True),
        (2 * MAY_LAG_NS, True),
        (4 * MAY_LAG_NS, False),
    ):
        program.liar.asked.clear()
        now = time.monotonic_ns() + later_ns if later_ns else drawn[0][0]
        view = View((TOP,), SCREEN, drawn[0][0], at_ns=now, drawn=drawn)
        await asyncio.wrap_future(program.reader.read(view))
        assert (row in program.liar.asked) is asked, later_ns
    program.liar.leave()


async def test_added_children_appear_and_removed_children_vanish(kept: Kept) -> None:
    elements, panel = kept.liar.elements, at("list")
    elements[at("new")] = Told("New", above=panel, extents=(200, 200, 50, 20))
    elements[at("deep")] = Told("Deep", PANEL, above=panel, below=[at("inner")])
    elements[at("inner")] = Told("Inner", above=at("deep"))
    elements[panel].below = [at("new"), at("deep")]
    await kept.liar.signal(panel, "ChildrenChanged", "add")
    await kept.liar.signal(at("inner"), "StateChanged", "focused")
    tree = await kept.read()
    assert not kept.whole
    assert tree.find("button", "New")[0].box == Box(200, 200, 50, 20)
    assert [each.name for each in tree.ancestors(tree.find("button", "Inner")[0])] == ["Deep", "List", "Form"]
    elements[panel].below = [at("new")]
    del elements[at("deep")], elements[at("inner")]
    await kept.liar.signal(panel, "ChildrenChanged", "remove")
    await kept.liar.signal(at("deep"), "StateChanged", "defunct")
    tree = await kept.read()
    assert not kept.whole
    assert tree.find(name="Inner", hidden=True) == tree.find(name="Deep", hidden=True) == []


@pytest.mark.parametrize(
    ("path", "member", "detail"),
    [
        ("nobody", "StateChanged", "focused"),
        ("save", "ModelChanged", ""),
        ("save", "PropertyChange", "accessible-parent"),
        ("window", "StateChanged", "defunct"),
    ],
)
async def test_after_an_unclear_change_the_whole_tree_is_read(kept: Kept, path: str, member: str, detail: str) -> None:
    kept.liar.elements[at("row7")].name = "Row seven"
    await kept.liar.signal(at(path), member, detail)
    assert (await kept.read()).find("button", "Row seven")
    assert kept.whole


async def test_a_contradictory_change_makes_the_whole_tree_be_read(kept: Kept) -> None:
    """The new child is elsewhere too, appears twice, contains itself or its window, or is a password field."""
    elements, panel = kept.liar.elements, at("list")
    names = {each.name for each in (await kept.read()).elements}
    for lie in ([at("save")], [at("new"), at("new")], [panel], [at("window")]):
        elements[at("new")] = Told("New", above=at("nothing"))
        elements[panel].below = lie
        await kept.liar.signal(panel, "ChildrenChanged", "add")
        tree = await kept.read()
        assert {each.name for each in tree.elements} - {"New"} == names, lie
        assert sum(each.name == "Save" for each in tree.elements) == 1
    elements[panel].below = []
    elements[at("name")].role = PASSWORD
    await kept.liar.signal(at("name"), "PropertyChange", "accessible-role")
    assert (await kept.read()).find("password field", "Name")[0].protected
    assert kept.whole


@pytest.mark.parametrize(
    ("event", "member", "body", "told"),
    [
        (OBJECT, "PropertyChange", ["accessible-name"], Changes(own={"p"})),
        (OBJECT, "PropertyChange", ["accessible-description"], Changes()),
        (OBJECT, "StateChanged", ["checked", 1], Changes(own={"p"})),
        (OBJECT, "StateChanged", ["showing", 1], Changes(shown={"p"})),
        (OBJECT, "StateChanged", ["defunct", 1], Changes(removed={"p"})),
        (OBJECT, "StateChanged", ["defunct", 0], Changes()),
        (OBJECT, "ChildrenChanged", ["add"], Changes(inside={"p"})),
        (protocol.CACHE, "RemoveAccessible", [("b", "q")], Changes(removed={"q"})),
        (protocol.CACHE, "AddAccessible", [(("b", "q"), ("b", "r"), ("b", "a"), 0)], Changes(added={"q": "a"})),
        (protocol.CACHE, "AddAccessible", ["none"], Changes(everything=True)),
        (protocol.EVENTS + "Document", "LoadComplete", [""], Changes(everything=True)),
        ("org.example.Event", "StateChanged", ["checked"], Changes(everything=True)),
        (OBJECT, "StateChanged", [], Changes(everything=True)),
        (OBJECT, "StateChanged", [7], Changes(everything=True)),
    ],
)
def test_a_signal_is_translated_into_changes(event: str, member: str, body: list[object], told: Changes) -> None:
    heard = Changes()
    heard.record_signal("p", event, member, body)
    assert heard == told


def test_too_many_signals_count_as_an_unknown_change() -> None:
    heard = Changes()
    for number in range(10 * MOST_TOLD):
        heard.record_signal(f"p{number}", OBJECT, "ChildrenChanged", ["add"])
    assert heard.everything
    assert len(heard.inside) == MOST_TOLD


def test_damage_is_known_only_since_the_start_of_its_record() -> None:
    boxes = [Box(n, 0, 5, 5) for n in range(MOST_BOXES + 1)]
    view = View((TOP,), SCREEN, 9, None, 10, ((5, boxes[0]), (7, boxes[1]), (9, boxes[1])), 4)
    assert view.drawn_since(5) == (boxes[1],)
    assert view.drawn_since(9) == ()
    assert view.drawn_since(3) is None
    assert View((TOP,), SCREEN, 9).drawn_since(8) is None
    many = View((TOP,), SCREEN, 9, None, 10, tuple((8, box) for box in boxes), 4)
    assert many.drawn_since(7) == (Box.around(boxes),)
    below = TopWindow(2, 1, "Below", WINDOW, WINDOW)
    assert View((TOP, below), SCREEN, 0).overlapped(os.getpid())
    assert not View((below, TOP), SCREEN, 0).overlapped(os.getpid())


@pytest.mark.parametrize("is_gone", [True, False])
async def test_an_unclear_change_leaves_the_places_of_the_old_tree(is_gone: bool) -> None:
    """A drawer slides in before a list whose last row is gone: the full reading compares with the old tree."""
    inside = {"page": ["drawer", "list"], "drawer": []}

    async def read(paths: Sequence[str]) -> list[tuple[Node, list[str]] | None]:
        return [(Node(path, "section", "", SHOWS), inside[path]) for path in paths]

    async def facts(paths: Sequence[str]) -> list[tuple[str, int, int] | None]:
        return [None if is_gone else ("", SHOWS, 0) for _ in paths]

    async def no_extents(paths: Sequence[str]) -> list[Extents | None]:
        return [None for _ in paths]

    nodes = [Node("page", "document", "", SHOWS), Node("list", "list", "", SHOWS, 0), Node("row", "row", "", SHOWS, 1)]
    changes, asks = Changes(inside={"page"}), ReadFunctions(read, facts, no_extents)
    if is_gone:
        with pytest.raises(UnclearChanges):
            await update_tree(nodes, changes, [2], asks)
    else:
        nodes = (await update_tree(nodes, changes, [2], asks)).nodes
    known = {node.path: node.parent for node in nodes}
    assert known == {"page": -1, "list": 0, "row": 1 if is_gone else 2} | ({} if is_gone else {"drawer": 0})
    assert drawn_over(nodes, [WINDOW]) == [*range(len(nodes))]


def page(*showing: bool) -> list[Node]:
    """Return a document with one button per argument, shown or hidden."""
    top = [Node("w", "window", "", SHOWS, seen=WINDOW), Node("d", "document", "", SHOWS, 0, seen=WINDOW)]
    rows = (Node(str(n), "button", "", SHOWS if shows else 0, 1, seen=WINDOW) for n, shows in enumerate(showing))
    return [*top, *rows]


def test_a_movement_may_reveal_hidden_elements() -> None:
    assert may_show_more(page(True, False), [2], [])
    assert not may_show_more(page(True, True), [2], [])
    assert not may_show_more(page(True, False), [], [WINDOW]), "an element in view would have moved"
    assert may_show_more(page(False, False), [], [WINDOW]), "no element in view shows a movement"
    assert not may_show_more(page(False, False), [], [Box(100, 100, 40, 30)])


@pytest.mark.parametrize(("toolkit", "moving"), [("Chromium 120", True), ("gtk 3.24", False)])
def test_a_freshly_drawn_page_may_report_outdated_positions(toolkit: str, moving: bool) -> None:
    program = Application("", ":1.7", os.getpid())
    program.toolkit, program.nodes = toolkit, page(True, True, True)
    for node in program.nodes:
        node.since_ns = 1

    def drawn(at_ns: int, now_ns: int) -> View:
        return View((TOP,), SCREEN, at_ns, None, now_ns, ((at_ns, WINDOW),))

    assert program.moving(drawn(5, 6)) is moving
    assert not program.moving(drawn(5, 5 + LAGS_NS))
    assert not program.moving(replace(drawn(5, 6), anew=())), "it looks the same"
    assert not program.moving(drawn(1, 6)), "a position reported after the drawing is current"
    assert not program.moving(View((TOP,), SCREEN, 5, None, 6, ((5, Box(0, 0, 9, 9)),)))


def test_only_the_differences_to_a_known_tree_are_sent() -> None:
    known = tree_of(*(element("button", f"Row {n}", Box(n, 0, 5, 5)) for n in range(40)))
    changed = tree_of(*(element("button", f"Row {n}" if n != 7 else "Seven", Box(n, 0, 5, 5)) for n in range(40)))
    shorter = tree_of(*known.elements[:-1])
    assert to_tree(from_tree(known)) == known
    for tree in (changed, shorter, known):
        assert to_tree(from_tree(tree, known), known) == tree
    assert len(from_tree(changed, known)["elements"]) == 1

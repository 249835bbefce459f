"""A tree that is wrong, hangs or is endless leads to no wrong click, and takes bounded time and memory."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from dbus_fast import Message

from holo_tasks.accessibility import protocol, silence
from holo_tasks.accessibility import reader as reader_module
from holo_tasks.accessibility.application import DEEPEST, MOST_ELEMENTS, PARTLY
from holo_tasks.accessibility.connection import BoundedBus
from holo_tasks.accessibility.node import NAME_CHARACTERS
from holo_tasks.accessibility.placement import TopWindow, View
from holo_tasks.accessibility.reader import HANGS_S, LATE_S, LONGEST_S, Reader
from holo_tasks.accessibility.sheet_cells import MOST_CELLS
from holo_tasks.core.elements.elements import TOO_LATE, ElementTree
from holo_tasks.core.screen.geometry import Box, Point, Size
from tests.support.liar import CACHED, ENTRY, FRAME, INTERFACES, PANEL, PASSWORD, SHOWS, Liar, Told
from tests.support.own_bus import own_bus

WINDOW = Box(100, 100, 400, 300)
SCREEN = Size(1280, 800)
ROOM_S = 5.0
"""Grace period of a reading on a busy machine."""
MOST_READINGS, FEW_READINGS = 20, 6
MOST_GROWN = 40_000_000
"""Memory for the 8 MB that a program may send: as the fake program's, the bus's and our copy."""
TEXTS = [*INTERFACES, protocol.TEXT]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bus for all these tests; each test leaves it empty."""
    with own_bus(tmp_path_factory.mktemp("bus")) as started:
        if started.process is None or started.unavailable_reason:
            pytest.skip(started.unavailable_reason)
        yield started.address


@pytest.fixture
async def entered(address: str) -> AsyncIterator[list[Liar]]:
    liars: list[Liar] = []
    yield liars
    for liar in liars:
        liar.leave()
    link = BoundedBus(bus_address=address)
    await link.connect()
    ask = Message(protocol.REGISTRY, protocol.ROOT, protocol.ACCESSIBLE, "GetChildren")
    while (await link.call(ask)).body[0]:
        await asyncio.sleep(0.01)
    link.disconnect()


def window(**below: Told) -> dict[str, Told]:
    """Return a window at the position that the X server has, with other elements inside."""
    top = Told(
        "Form", FRAME, extents=(WINDOW.left, WINDOW.top, WINDOW.width, WINDOW.height), below=list(map(at, below))
    )
    for place, told in enumerate(below.values()):
        told.index = place
        told.above = at("window") if told.above == protocol.ROOT else told.above
    return {at("window"): top, **{at(name): told for name, told in below.items()}}


def at(name: str) -> str:
    return f"/org/a11y/atspi/accessible/{name}"


async def read(address: str, reader: Reader | None = None, pid: int | None = None) -> ElementTree:
    mine = TopWindow(1, os.getpid() if pid is None else pid, "Form", WINDOW, WINDOW)
    view = View((mine,), SCREEN, time.monotonic_ns())
    began = time.monotonic()
    tree = await asyncio.wrap_future((reader or Reader(address)).read(view))
    assert time.monotonic() - began < LONGEST_S + ROOM_S
    return tree


@pytest.mark.parametrize("cached", [True, False])
async def test_correct_elements_are_found(address, entered, cached) -> None:
    liar = Liar(window(save=Told("Save")), cached=cached)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert tree.complete, tree.why_not
    (save,) = tree.find("button", "Save")
    assert (save.box, save.pid) == (Box(110, 110, 50, 20), os.getpid())
    assert tree.at(Point(111, 111)) is save


@pytest.mark.parametrize("popups", [("popup", "other_popup"), ()])
async def test_a_child_belongs_to_the_element_that_lists_it_despite_the_cached_parent(address, entered, popups) -> None:
    """LibreOffice's cache gives one of its parts a wrong parent; the GTK panel that lists this part is right."""
    left, top, width, height = WINDOW.left, WINDOW.top, WINDOW.width, WINDOW.height
    bar, menu, root_pane = (protocol.ROLES.index(role) for role in ("menu bar", "menu", "root pane"))
    told = window(
        own=Told("Form", root_pane, extents=(left, top, width, height - 25), below=[at("own_bar"), at("save")]),
        bar=Told("", bar, extents=(left, top, width, 25), below=[at("file")]),
        inner=Told("", PANEL, extents=(left, top + 25, width, height - 25), below=[at("own")]),
        **{name: Told("", PANEL, extents=(0, 0, 0, 0), above=at(f"nobody_{name}")) for name in popups},
    )
    told[at("window")].below = [at(name) for name in ("bar", "inner", *popups)]
    told |= {
        at("file"): Told("File", menu, extents=(left, top, 40, 25), above=at("bar")),
        at("own_bar"): Told("", bar, extents=(0, 0, 0, 0), above=at("own"), below=[at("own_file")]),
        at("own_file"): Told("File", menu, extents=(left, top, 35, 19), above=at("own_bar")),
        at("save"): Told("Save", extents=(110, 110, 50, 20), above=at("own"), index=1),
    }
    liar = Liar(told)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    (file,) = tree.find("menu", "File")
    assert file.box == Box(left, top, 40, 25)
    (save,) = tree.find("button", "Save")
    assert save.box == Box(110, 110 + 25, 50, 20), "its positions are relative to the area below the menu bar"


@pytest.mark.parametrize(
    ("size", "manages", "there"), [((0, 0), True, False), ((0, 0), False, True), ((80, 90), True, True)]
)
async def test_items_of_a_view_without_a_size_are_not_on_the_screen(address, entered, size, manages, there) -> None:
    """Qt reports the items of a closed combo box as showing. A list of Chromium may have no size of its own."""
    states = SHOWS | (protocol.MANAGES if manages else 0)
    told = window(
        choices=Told("", protocol.ROLES.index("list"), states, (110, 110, *size), below=[at("paid")]),
        paid=Told("Paid", protocol.ROLES.index("list item"), above=at("choices")),
    )
    told[at("window")].below = [at("choices")]
    liar = Liar(told, cached=False)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert bool(tree.find("list item", "Paid")) is there
    assert tree.find("list item", "Paid", hidden=True), "a hidden item stays in the tree"


@pytest.mark.parametrize(("cached", "many"), [(True, 1000), (False, 200)])
async def test_a_thousand_wrong_boxes_and_names_give_no_false_box(address, entered, cached, many) -> None:
    """Elements outside the window, of size zero, endless, defunct or hidden; names of all kinds."""
    chance = random.Random(7)
    edges = [-(2**31), -5000, -1, 0, 1, 99, 500, 501, 1280, 40_000, 2**31 - 1]
    names = ["Save", "\x1b[2JSave", "Sa\u202eve", "x" * 5000, "\n\t ", "Save\x00"[:4], "\u200bSave"]
    told = {}
    for number in range(many):
        lie = Told(chance.choice(names), chance.choice([43, 79, 29, 999, 0]))
        match number % 5:
            case 0:
                lie.extents = tuple(chance.choice(edges) for _ in range(4))  # type: ignore[assignment]
            case 1:
                lie.extents = (chance.choice([-300, 0, 600, 900]), chance.choice([-300, 500, 790]), 60, 30)
            case 2:
                lie.extents = None
            case 3:
                lie.states &= ~(1 << 25)
            case _:
                lie.extents = (120, 120, 0, 0)
        told[f"e{number}"] = lie
    liar = Liar(window(**told), cached=cached)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert len(tree.elements) == 1 + many
    for each in tree.elements:
        assert len(each.name) <= NAME_CHARACTERS
        assert each.name.isprintable()
        assert not each.box.area or (WINDOW.encloses(each.box) and each.on_screen)
    inside = [lie for lie in told.values() if lie.extents and lie.states == SHOWS and Box(*lie.extents).area > 0]
    assert len([each for each in tree.elements if each.on_screen]) <= 1 + len(inside)


async def test_a_window_with_another_box_than_the_x_servers_is_ignored(address, entered) -> None:
    elements = window(save=Told("Save"))
    elements[at("window")].extents = (100, 100, 4000, 300)
    liar = Liar(elements)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert tree.find("button") == []
    assert "at other positions than it reports" in tree.why_not


async def test_a_program_cannot_report_elements_in_another_programs_window(address, entered) -> None:
    liar = Liar(window(save=Told("Save")))
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address, pid=1)
    assert [each for each in tree.elements if each.on_screen] == []
    assert not tree.complete


@pytest.mark.parametrize("cached", [True, False])
async def test_ten_thousand_children_are_not_all_read(address, entered, cached, monkeypatch) -> None:
    monkeypatch.setattr(reader_module, "LONGEST_S", 30.0)  # a reading that goes on would count as kept
    told = {f"e{number}": Told(f"Row {number}") for number in range(10_000)}
    liar = Liar(window(**told), cached=cached)
    entered.append(liar)
    await liar.enter(address)
    tree, grown, kept = await weighed(address, liar)
    assert len(tree.elements) <= MOST_ELEMENTS
    assert not tree.complete
    assert "some elements are missing" in tree.why_not or "in time" in tree.why_not
    assert kept < 4_700_000, "the elements that are read take less than 4 MB, all of them 5.4 to 7.3 MB"
    assert grown < MOST_GROWN


async def test_endless_names_are_truncated(address, entered) -> None:
    liar = Liar(window(**{f"e{number}": Told("x" * 25_000) for number in range(200)}))
    entered.append(liar)
    await liar.enter(address)
    tree, grown, kept = await weighed(address, liar)
    assert all(len(each.name) <= NAME_CHARACTERS for each in tree.elements)
    assert kept < 2_000_000, "the truncated names take less than 1 MB, the whole names 5 MB"
    assert grown < MOST_GROWN


async def weighed(address: str, liar: Liar) -> tuple[ElementTree, int, int]:
    """Read a fake program's tree; return the tree, the peak and the lasting growth of memory in bytes.

    Python counts its own allocations, including the fake program's answers. The peak of the process would prove
    nothing.
    """
    await read(address)  # load modules first, so that they are not measured
    reader = Reader(address)
    gc.collect()
    tracemalloc.start()
    try:
        tree = await read(address, reader)
        _, grown = tracemalloc.get_traced_memory()
        liar.asked.clear()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return tree, grown, kept


async def test_an_endless_tree_is_cut_off(address, entered) -> None:
    class Endless(dict[str, Told]):
        def __missing__(self, path: str) -> Told:
            return Told("deeper", below=[f"{path}d"], above=path[:-1])

        def __contains__(self, path: object) -> bool:
            return True

    elements = Endless(window(d=Told("deep", below=[at("dd")])))
    liar = Liar(elements, cached=False)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert 1 < len(tree.elements) <= DEEPEST + 1
    assert not tree.complete


@pytest.mark.parametrize("cached", [True, False])
async def test_a_tree_in_a_circle_ends(address, entered, cached) -> None:
    elements = window(
        one=Told("one", below=[at("two")]), two=Told("two", above=at("one"), below=[at("one"), at("window")])
    )
    elements[at("three")] = Told("three", above=at("four"))
    elements[at("four")] = Told("four", above=at("three"))
    liar = Liar(elements, cached=cached)
    entered.append(liar)
    await liar.enter(address)
    assert [each.name for each in (await read(address)).elements] == ["Form", "one", "two"]


@pytest.mark.parametrize("silent", ["GetItems", "GetExtents", "ToolkitName"])
async def test_a_hung_program_does_not_delay_the_others(address, entered, silent) -> None:
    hung = Liar(window(save=Told("Hung")), answers={silent: lambda asked: None})
    good = Liar(window(save=Told("Save")))
    for liar in (hung, good):
        entered.append(liar)
        await liar.enter(address)
    reader = Reader(address)
    tree = await read(address, reader)
    assert [each.name for each in tree.find("button")] == ["Save"]
    assert "it did not answer in time" in tree.why_not
    hung.answers = {}
    await hung.signal()
    tree = await read(address, reader)
    assert {each.name for each in tree.find("button", hidden=True)} == {"Save", "Hung"}


async def timed(address: str, reader: Reader) -> tuple[ElementTree, float]:
    began = time.monotonic()
    return await read(address, reader), time.monotonic() - began


def deep() -> dict[str, Told]:
    """Return a window with a button below two panels, so that a walk needs an answer for each level."""
    told = window(a=Told("A", PANEL, below=[at("b")]), b=Told("B", PANEL, above=at("a"), below=[at("c")]))
    return told | {at("c"): Told("C", above=at("b"))}


def slow_roles(liar: Liar, seconds: float) -> dict[str, Callable[[Message], tuple[str, list[object]]]]:
    return {"GetRole": lambda asked: (time.sleep(seconds), ("u", [liar.elements[asked.path].role]))[1]}


async def test_a_program_that_leaves_a_call_unanswered_costs_one_wait_and_is_awaited_when_it_answers(
    address, entered, monkeypatch
) -> None:
    """It answers slowly afterwards, so that the reading takes longer than the wait for a program that hangs."""
    monkeypatch.setattr(reader_module, "UNAWAITED_S", 1.2)
    liar = Liar(deep(), cached=False, answers={"Name": lambda asked: None})
    entered.append(liar)
    await liar.enter(address)
    reader = Reader(address)
    _, first_s = await timed(address, reader)
    late, next_s = await timed(address, reader)
    assert first_s >= HANGS_S
    assert next_s < HANGS_S
    assert TOO_LATE in late.why_not
    liar.answers = slow_roles(liar, LATE_S / 2)
    await asyncio.sleep(1.5)  # until the reading has ended that waits for the call
    tree, _ = await timed(address, reader)
    assert [each.name for each in tree.find("button")] == ["C"]


async def test_a_slow_program_is_waited_for_while_it_answers(address, entered, monkeypatch) -> None:
    monkeypatch.setattr(reader_module, "HANGS_S", 0.3)
    slow = Liar(deep(), cached=False)
    slow.answers = slow_roles(slow, 0.15)
    entered.append(slow)
    await slow.enter(address)
    tree, took_s = await timed(address, Reader(address))
    assert [each.name for each in tree.find("button")] == ["C"]
    assert took_s > 4 * 0.15


async def test_a_hung_program_is_named_in_the_reason(address, entered) -> None:
    hung = Liar(window(save=Told("Hung")), answers={"GetItems": lambda asked: None})
    entered.append(hung)
    await hung.enter(address)
    assert (await read(address)).why_not == "liar: it did not answer in time."


@pytest.mark.parametrize(
    "answers",
    [
        {"GetRowAtIndex": lambda asked: ("i", [asked.body[0] * (2**31 - 1)])},
        {"GetRowAtIndex": lambda asked: ("i", [-1])},
        {"GetAccessibleAt": lambda asked: ("(so)", [(":1.1", at("window"))])},
        {"GetAccessibleAt": lambda asked: ("i", [7])},
        {"GetText": lambda asked: ("s", ["x" * 10_000])},
        {},
    ],
)
async def test_a_table_with_wrong_cell_counts_is_read_up_to_the_limit(address, entered, answers) -> None:
    """Its corners report the first cell and the last of billions, and every cell is the same object."""
    elements = window(
        table=Told(
            "Sheet", 55, SHOWS | protocol.MANAGES, (110, 110, 300, 200), interfaces=[*INTERFACES, protocol.TABLE]
        )
    )
    cell = at("cell")
    elements[cell] = Told("A1", 56, above="nothing", interfaces=TEXTS)
    liar = Liar(
        elements,
        cached=False,
        answers={
            "GetAccessibleAtPoint": lambda asked: ("(so)", [(liar.name, cell)]),
            "GetIndexInParent": lambda asked: ("i", [next(corners)]),
            "GetRowAtIndex": lambda asked: ("i", [asked.body[0] * 1_000_000]),
            "GetColumnAtIndex": lambda asked: ("i", [asked.body[0] * 16_000]),
            "GetAccessibleAt": lambda asked: ("(so)", [(liar.name, cell)]),
            "GetText": lambda asked: ("s", ["Ada"]),
            **answers,
        },
    )
    entered.append(liar)
    await liar.enter(address)
    for _ in range(MOST_READINGS if not answers else 1):  # on a busy machine the answer may be late
        corners = iter((0, 1, 0, 1))
        liar.asked.clear()
        tree = await read(address)
        if TOO_LATE not in tree.why_not and (answers or tree.find("cell")):
            break
    told = tree.find("cell")
    assert len(told) <= 1
    assert [each.value[:3] for each in told] in ([], ["Ada"], ["xxx"])
    if not answers:
        assert told[0].box == Box(110, 110, 50, 20)
        assert PARTLY in tree.why_not
    assert sum(member == "GetAccessibleAt" for _, member in liar.asked) <= MOST_CELLS


async def test_a_program_that_needs_longer_than_a_reading_is_read_between_readings(
    address, entered, monkeypatch
) -> None:
    """On a busy machine an office program takes seconds for its tree. The callers do not wait for a reading that goes
    on."""
    monkeypatch.setattr(reader_module, "HANGS_S", 0.3)
    monkeypatch.setattr(silence, "cpu_waits_ns", lambda pid: {})
    slow = Liar(window(save=Told("Save")), answers={"GetItems": lambda asked: (time.sleep(0.5), items())[1]})

    def items() -> tuple[str, list[object]]:
        return CACHED, [[slow.item(path) for path in slow.elements]]

    entered.append(slow)
    await slow.enter(address)
    reader = Reader(address)
    first = tree = await read(address, reader)
    for _ in range(FEW_READINGS):
        tree = tree if tree.complete else await read(address, reader)
    assert TOO_LATE in first.why_not
    assert [each.name for each in tree.find("button")] == ["Save"]


async def test_a_program_with_a_too_large_answer_is_skipped(address, entered) -> None:
    huge = Liar(window(**{f"e{number}": Told("x" * 1_000_000) for number in range(12)}))
    good = Liar(window(save=Told("Save")))
    for liar in (huge, good):
        entered.append(liar)
        await liar.enter(address)
    tree = await read(address)
    assert [each.name for each in tree.find("button")] == ["Save"]
    assert "too large to be read" in tree.why_not


@pytest.mark.parametrize(
    "answers",
    [
        {"GetItems": lambda asked: ("s", ["no items"])},
        {"GetItems": lambda asked: ("a((so)(so)(so)iiassusau)", [[]])},
        {"GetExtents": lambda asked: ("s", ["here"])},
        {"GetExtents": lambda asked: ("(ii)", [(1, 2)])},
        {"GetExtents": lambda asked: ("(ssss)", [("1", "2", "3", "4")])},
        {"ToolkitName": lambda asked: ("i", [5])},
        {"ChildCount": lambda asked: ("i", [-5])},
    ],
)
async def test_answers_of_a_wrong_type_are_ignored(address, entered, answers) -> None:
    liar = Liar(window(save=Told("Save")), answers=answers)
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert tree.applications[0].pid == os.getpid()


async def test_the_text_of_a_password_field_is_never_requested(address, entered) -> None:
    elements = window(
        name=Told("Name", ENTRY, interfaces=TEXTS),
        pin=Told("Pin", PASSWORD, interfaces=TEXTS),
        dots=Told("hunter2", 29, above=at("pin")),
    )
    liar = Liar(elements, answers={"GetText": lambda asked: ("s", ["what it holds"])})
    entered.append(liar)
    await liar.enter(address)
    tree = await read(address)
    assert [each.value for each in tree.find("text field")] == ["what it holds"]
    assert [(each.protected, each.value) for each in tree.find("password field")] == [(True, "")]
    assert (at("pin"), "GetText") not in liar.asked
    assert "hunter2" not in repr(tree)


async def test_unchanged_elements_are_not_requested_again(address, entered) -> None:
    liar = Liar(window(save=Told("Save")))
    entered.append(liar)
    await liar.enter(address)
    reader = Reader(address)
    view = View((TopWindow(1, os.getpid(), "Form", WINDOW, WINDOW),), SCREEN, 0)
    first = await asyncio.wrap_future(reader.read(view))
    liar.asked.clear()
    second = await asyncio.wrap_future(reader.read(view))
    assert liar.asked == []
    assert second.elements is first.elements
    liar.elements[at("save")].name = "Store"
    await liar.signal()
    assert [each.name for each in (await asyncio.wrap_future(reader.read(view))).find("button")] == ["Store"]
    liar.elements[at("save")].extents = (200, 200, 50, 20)
    painted = View(view.windows, SCREEN, time.monotonic_ns())
    (moved,) = (await asyncio.wrap_future(reader.read(painted))).find("button")
    assert moved.box.left == 200, "after damage the positions are read again"


async def test_elements_outside_the_selected_monitor_are_excluded(address, entered) -> None:
    liar = Liar(window(save=Told("Save")))
    entered.append(liar)
    await liar.enter(address)
    windows = (TopWindow(1, os.getpid(), "Form", WINDOW, WINDOW),)
    reader = Reader(address)
    for bound, names in ((Box(640, 0, 640, 800), []), (Box(0, 0, 640, 800), ["Form", "Save"])):
        tree = await asyncio.wrap_future(reader.read(View(windows, SCREEN, 0, bound)))
        assert [each.name for each in tree.elements] == names

"""One program's tree: all of it in one answer where its toolkit can, else asked for element by element."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from holo_tasks.accessibility import embedded, protocol
from holo_tasks.accessibility.cached_items import (
    MOST_CHILDREN,
    CachedItem,
    has_wrong_parent,
    makes_paragraphs,
    newer_item,
    older_item,
)
from holo_tasks.accessibility.changes import Changes
from holo_tasks.accessibility.connection import (
    IN_FLIGHT,
    Connection,
    NoAnswer,
    Question,
    answers,
    method,
    properties_of,
    property_of,
)
from holo_tasks.accessibility.mending import Asks, Facts, Unclear, drawn_over, mended
from holo_tasks.accessibility.node import FIELDS, NAME_CHARACTERS, NUMBERS, Node, node_of
from holo_tasks.accessibility.placement import Extents, View
from holo_tasks.accessibility.scrolling import may_show_more
from holo_tasks.accessibility.sheet_cells import filled_cells
from holo_tasks.accessibility.values import VALUE_CHARACTERS, read_shortcuts, read_values
from holo_tasks.core.elements import How
from holo_tasks.core.geometry import Box
from holo_tasks.core.visible_text import one_line

MOST_ELEMENTS, DEEPEST = 5_000, 60
MOST_UNSORTED = 100
MOST_TABLES = 4
LAGS_NS, MAY_LAG_NS, AGAIN_NS, FEW = 700_000_000, 1_500_000_000, 40_000_000, 3
"""Chromium may tell for half a second where things were before they were scrolled, on a busy machine for longer; of
fewer things none has been."""
NOT_TOLD: Mapping[str, Extents | None] = {}
BEGINS_S = 0.3
"""How long a program may take to offer its cache after somebody first asked for its events."""


class Application:
    """A program on the bus; what was read of it last is kept until it says that something changed."""

    def __init__(self, address: str, name: str, pid: int) -> None:
        self._address = address
        self._connection: Connection | None = None
        self.bus_name = name
        self.pid = pid
        self.name = ""
        self.toolkit = ""
        self.how: How = "none"
        self.note = ""
        self.took_ms = 0.0
        self.nodes: list[Node] = []
        self.late = False
        """Whether it did not answer in time when it was last asked."""
        self.reading: asyncio.Task[None] | None = None
        """What reads its tree, or did so last."""
        self.measured_ns = self._read_ns = 0
        """What was drawn until then is known to have been asked for."""
        self._windows: tuple[object, ...] = ()
        self.changes = 0
        """How often something of it was read anew."""

    @property
    def in_window(self) -> bool:
        """Whether it tells positions relative to its windows only: GTK 4 does not know where these are."""
        return self.toolkit.lower().startswith("gtk 4")

    @property
    def busy(self) -> frozenset[str]:
        """The elements that say that they are busy."""
        return self._connection.busy if self._connection is not None else frozenset()

    async def refresh(self, view: View) -> None:
        """Read what has changed. What was read when time is over, which cancels this, stays."""
        connection, (drawn, anew) = self._connection, self._drawn(view)
        began, at_ns = time.perf_counter(), view.at_ns or time.monotonic_ns()
        try:
            if connection is not None and connection.open and self.how != "none" and not self.late:
                changes = connection.taken()
                if not changes and anew == ():
                    return
                self.late = True
                connection.allow()
                if await self._mend(connection, changes, drawn, anew):
                    self.late, self.measured_ns, self._read_ns = False, at_ns, time.monotonic_ns()
                    return
            self.late = True
            if connection is None or not connection.open:
                connection = self._connection = await self._connect()
            connection.allow()
            connection.taken()
            await self._read(connection, drawn)
            self.late, self.measured_ns, self._read_ns = False, at_ns, time.monotonic_ns()
        except NoAnswer as error:
            self.how, self.nodes, self.note = "none", [], f"it does not answer ({error})"
            self.late = False
            if connection is not None and connection.overrun:
                self.note = "its tree is too large to be read"
        finally:
            self.took_ms = 1000 * (time.perf_counter() - began)
            for node in self.nodes:
                node.since_ns = node.since_ns or at_ns

    def moving(self, view: View) -> bool:
        """Say whether it may still tell where things were before they moved: some were drawn anew a moment ago."""
        drawn = view.drawn if view.anew is None else view.anew
        latest = [(at_ns, box) for at_ns, box in drawn if at_ns > view.at_ns - self._lags_ns(LAGS_NS)]
        held = {node.parent for node in self.nodes} if latest else set()
        things = (node for place, node in enumerate(self.nodes) if latest and node.seen and place not in held)
        found = (
            node
            for node in things
            if any(at_ns > node.since_ns and box.intersects(node.seen or box) for at_ns, box in latest)
        )
        return len(list(islice(found, FEW))) == FEW

    def _lags_ns(self, most: int) -> int:
        """Return how long it may tell where things were before, if its toolkit does."""
        return most if self.toolkit.lower().startswith("chrom") else 0

    def _drawn(self, view: View) -> tuple[tuple[Box, ...] | None, tuple[Box, ...] | None]:
        """Return what was drawn since it was asked where its elements are, and what of that shows something else.

        None stands for that all of them may have moved.
        """
        mine = tuple((each.id, each.box, each.framed) for each in view.windows if each.pid == self.pid)
        same, self._windows = mine == self._windows, mine
        again = view.at_ns - self._read_ns > AGAIN_NS  # what it was asked a moment ago it tells no better now
        since_ns = self.measured_ns - (self._lags_ns(MAY_LAG_NS) if again else 0)
        drawn = view.drawn_since(since_ns)
        # Of what is drawn below another window nobody hears.
        if not same or (drawn and view.overlapped(self.pid)):
            return None, None
        return drawn, view.drawn_since(since_ns, anew=True)

    async def _mend(
        self,
        connection: Connection,
        changes: Changes,
        drawn: tuple[Box, ...] | None,
        anew: tuple[Box, ...] | None,
    ) -> bool:
        """Ask for what has changed; return whether all is as the program tells now.

        Of what was drawn only that is asked which shows something else. Where that moved, so may what looks the same.
        """
        whole = self.in_window or any(node.adopted or node.cell for node in self.nodes)
        if changes and (whole or drawn is None):
            return False
        if whole or drawn is None or anew is None:
            await self._measure(connection, self.nodes)
            # LibreOffice forgets cells: it makes them for whoever asks, for some seconds.
            return all(node.extents for node in self.nodes if node.cell)
        try:
            asks = Asks(
                partial(self._certain, connection), partial(self._facts, connection), partial(self._where, connection)
            )
            done = await mended(self.nodes, changes, drawn_over(self.nodes, anew), asks, beside=anew != drawn)
        except Unclear:
            return False
        if len(done.nodes) > MOST_ELEMENTS:
            return False
        self.nodes = done.nodes
        before = {node.path: node.extents for node in self.nodes}
        moved = await self._measure(connection, done.again, done.extents)
        if anew != drawn and (moved or self._grown(before)):
            return False
        turned = {id(node) for node in done.turned}
        moved |= {place for place, node in enumerate(self.nodes) if id(node) in turned}
        if may_show_more(self.nodes, moved, drawn):
            return False
        if done.changed:
            self.changes += 1
            for node in self.nodes:
                if node.labeled:
                    node.name = ""
        await self._read_values(connection, {node.path for node in done.again})
        return True

    async def _read_values(self, connection: Connection, only: Collection[str] | None = None) -> None:
        self.changes += await read_values(connection, self.bus_name, self.nodes, only)

    def unreadable(self) -> None:
        """Leave out what it tells."""
        self.how, self.nodes, self.note, self.late = "none", [], "what it tells cannot be read", False

    def close(self) -> None:
        """Leave it."""
        if self.reading is not None:
            self.reading.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _connect(self) -> Connection:
        connection = await Connection.to(self._address)
        rule = f"type='signal',sender='{self.bus_name}'"
        await connection.daemon("AddMatch", rule)
        for events in ("object:", "window:"):
            await connection.ask(
                protocol.REGISTRY,
                protocol.REGISTRY_PATH,
                protocol.REGISTRY,
                "RegisterEvent",
                "sass",
                [events, [], self.bus_name],
            )
        return connection

    async def _read(self, connection: Connection, drawn: tuple[Box, ...] | None) -> None:
        self.changes += 1
        kept, told = self._where_they_were(drawn), {node.path: node for node in self.nodes}
        self.note = ""
        if not self.toolkit:
            await self._introduce(connection)
        items = await self._cached(connection)
        if len(items) > 1:
            await self._complete(connection, items)
            await self._sort(connection, items)
            self.how, self.nodes = "cache", self._arranged(items)
        else:
            self.how, self.nodes = "walk", []
            await self._walk(connection)
        if self.in_window:
            self._show()
        elsewhere = []
        for node in self.nodes:
            if then := told.get(node.path):
                node.element, node.since_ns, node.seen = then.element, then.since_ns, then.seen
                node.extents = then.extents if kept else None
                node.shortcut = then.shortcut if then.name == node.name else None
            if node.path not in kept or then is None or then.role != node.role:
                elsewhere.append(node)
        await self._measure(connection, elsewhere)
        await self._read_values(connection)
        await read_shortcuts(connection, self.bus_name, self.nodes)
        await self._read_cells(connection)

    def _where_they_were(self, drawn: tuple[Box, ...] | None) -> set[str]:
        """Return the paths of the elements that are where they were, as nothing was drawn over them."""
        if drawn is None or self.in_window or any(node.adopted or node.cell for node in self.nodes):
            return set()
        over = set(drawn_over(self.nodes, drawn))
        found = (node for place, node in enumerate(self.nodes) if place not in over and node.extents)
        return {node.path for node in found if node.states & protocol.SHOWING}

    async def _introduce(self, connection: Connection) -> None:
        root = self.bus_name, protocol.ROOT
        name, toolkit, version = await answers(
            partial(connection.property, *root, protocol.ACCESSIBLE, "Name", "s"),
            partial(connection.property, *root, protocol.APPLICATION, "ToolkitName", "s"),
            partial(connection.property, *root, protocol.APPLICATION, "Version", "s"),
        )
        self.name = one_line(name or "", NAME_CHARACTERS)
        self.toolkit = one_line(f"{toolkit or 'unknown'} {version or ''}", 60)

    async def _cached(self, connection: Connection) -> dict[str, CachedItem]:
        """Return what the program's cache holds, by path; nothing where it has none."""
        until = time.monotonic() + BEGINS_S
        while True:
            try:
                signature, body = await connection.ask(self.bus_name, protocol.CACHE_PATH, protocol.CACHE, "GetItems")
                break
            except NoAnswer as error:
                # GTK and Chromium have it a moment after somebody asked for events.
                if not connection.open or "Unknown" not in str(error):
                    raise
                if self.toolkit.lower().startswith("qt") or time.monotonic() >= until:
                    return {}
            await asyncio.sleep(0.01)
        read = {"a((so)(so)(so)iiassusau)": newer_item, "a((so)(so)(so)a(so)assusau)": older_item}.get(signature)
        if read is None:
            return {}
        found = (read(told) for told in body[0])
        return {item.node.path: item for item in found if not item.node.states & protocol.DEFUNCT}

    async def _complete(self, connection: Connection, items: dict[str, CachedItem]) -> None:
        """Ask for what the cache lacks: GTK 3 puts what is added later into it only once somebody has asked for it."""
        held = Counter(item.above for path, item in items.items() if path != item.above)
        lacking = [
            path for path, item in items.items() if held[path] < item.count <= MOST_CHILDREN or makes_paragraphs(item)
        ]
        told = await self._children_of(connection, lacking)
        below = dict(zip(lacking, told, strict=True))
        for _ in range(DEEPEST):
            if not below or len(items) > MOST_ELEMENTS:
                return
            places: dict[str, tuple[str, int]] = {}
            for above, children in below.items():
                for place, path in enumerate(children or ()):
                    if path not in items:
                        places[path] = above, place
                    elif has_wrong_parent(path, items, below):
                        items[path].above, items[path].index = above, place
                        items[path].node.adopted = True
            wanted = list(places)[:MOST_ELEMENTS]
            below = {}
            read = await self._asked(connection, wanted)
            for path, known in zip(wanted, read, strict=True):
                if known is not None:
                    items[path] = CachedItem(known[0], *places[path])
                    below |= {path: known[1]} if known[1] else {}

    async def _sort(self, connection: Connection, items: dict[str, CachedItem]) -> None:
        """Tell each element what is directly in it, in order; where the cache tells no order, the program is asked."""
        below: dict[str, list[str]] = {}
        for path, item in sorted(items.items(), key=lambda pair: pair[1].index):
            below.setdefault(item.above, []).append(path)
        unsure = [
            above
            for above, paths in below.items()
            if above in items and len({items[path].index for path in paths if items[path].index >= 0}) < len(paths)
        ][:MOST_UNSORTED]
        told = await self._children_of(connection, unsure)
        for above, children in zip(unsure, told, strict=True):
            places = {path: place for place, path in enumerate(children or ())}
            below[above].sort(key=lambda path: places.get(path, len(places)))
        for above, paths in below.items():
            if above in items and not items[above].below:
                items[above].below = paths

    def _arranged(self, items: dict[str, CachedItem]) -> list[Node]:
        """Return the elements from the top down, each after the one it is in; what hangs on nothing is left out."""
        found: list[Node] = []
        seen = {protocol.ROOT}
        root = items.get(protocol.ROOT)
        tops = root.below if root else [path for path, item in items.items() if item.above == protocol.ROOT]
        waiting = [(path, -1, 1) for path in reversed(tops)]
        bars: set[tuple[str, ...]] = set()
        while waiting:
            path, parent, depth = waiting.pop()
            if path in seen or path not in items:
                continue
            item = items[path]
            if item.node.role == "menu bar":
                menus = tuple(items[each].node.name for each in item.below if each in items)
                if menus in bars and item.above in items and items[item.above].node.adopted:
                    continue  # LibreOffice has one that never shows, beside GTK's
                bars.add(menus)
            if len(found) >= MOST_ELEMENTS or depth > DEEPEST:
                self.note = _CUT
                continue
            seen.add(path)
            item.node.parent = parent
            found.append(item.node)
            if not item.node.protected:
                waiting += ((each, len(found) - 1, depth + 1) for each in reversed(item.below))
        return found

    async def _walk(self, connection: Connection) -> None:
        """Ask for one level after the other, many elements at a time."""
        seen = {protocol.ROOT}
        level = [(path, -1) for path in await self._children(connection, protocol.ROOT)]
        for _ in range(DEEPEST):
            level = [(path, parent) for path, parent in level if not (path in seen or seen.add(path))]  # type: ignore[func-returns-value]
            if len(self.nodes) + len(level) > MOST_ELEMENTS:
                self.note, level = _CUT, level[: MOST_ELEMENTS - len(self.nodes)]
            below: list[tuple[str, int]] = []
            for some in _batched(level):  # what was told of some stays if time is over before all have told
                asked = await self._asked(connection, [path for path, _ in some])
                for (_, parent), told in zip(some, asked, strict=True):
                    if told is None:
                        continue
                    node, children = told
                    node.parent = parent
                    self.nodes.append(node)
                    below += ((path, len(self.nodes) - 1) for path in children)
            if not below:
                return
            level = below
        self.note = _CUT

    async def _asked(self, connection: Connection, paths: Sequence[str]) -> list[tuple[Node, list[str]] | None]:
        """Ask what elements are, and what is in each; None for one that is gone."""
        ask, accessible, many = connection.all, protocol.ACCESSIBLE, len(paths)
        roles = [method(path, accessible, "GetRole", "u") for path in paths]
        states = [method(path, accessible, "GetState", "au") for path in paths]
        told = await ask(self.bus_name, [*roles, *states, *self._about(paths)])
        found: dict[str, tuple[Node, list[str]]] = {}
        for path, role, bits, about in zip(
            paths, told[:many], told[many : 2 * many], _pairs(told[2 * many :], many), strict=True
        ):
            if role is not None and bits is not None and about is not None:
                node = found.setdefault(path, (node_of(path, about[0], role, bits, ()), []))[0]
                node.placed, node.count = True, about[1]
        nodes = [node for node, _ in found.values()]
        above = [node for node in nodes if self._tells_below(node)]
        kinds = FIELDS | NUMBERS
        more = [n for n in nodes if n.role in kinds or n.states & (protocol.EDITABLE | protocol.MANAGES)]
        offered = [method(node.path, accessible, "GetInterfaces", "as") for node in more]
        inside = [method(node.path, accessible, "GetChildren", "a(so)") for node in above]
        told = await ask(self.bus_name, [*offered, *inside])
        for node, interfaces in zip(more, told, strict=False):
            node.offers(interfaces or ())
        for node, below in zip(above, told[len(more) :], strict=True):
            if below is None:
                del found[node.path]
            else:
                found[node.path][1].extend(self._mine(below))
        return [found.get(path) for path in paths]

    def _tells_below(self, node: Node) -> bool:
        """Say whether it is to be asked what is in an element."""
        if node.count > MOST_CHILDREN and not node.protected:
            self.note = _CUT  # a sheet of a spreadsheet has millions, and telling them takes as long
        return 0 < node.count <= MOST_CHILDREN and not node.protected and not node.states & protocol.DEFUNCT

    async def _certain(self, connection: Connection, paths: Sequence[str]) -> list[tuple[Node, list[str]] | None]:
        """Ask what elements are, and what is in each; None also for what has more in it than can be told."""
        return [
            None if told is None or told[0].count > MOST_CHILDREN or told[0].states & UNCERTAIN else told
            for told in await self._asked(connection, paths)
        ]

    async def _facts(self, connection: Connection, paths: Sequence[str]) -> list[Facts | None]:
        """Ask what may be another thing without a word of the program."""
        states = [method(path, protocol.ACCESSIBLE, "GetState", "au") for path in paths]
        told = await connection.all(self.bus_name, [*states, *self._about(paths)])
        return [
            None
            if about is None or bits is None
            else (one_line(about[0], NAME_CHARACTERS), protocol.state_bits(bits), about[1])
            for bits, about in zip(told[: len(paths)], _pairs(told[len(paths) :], len(paths)), strict=True)
        ]

    def _about(self, paths: Sequence[str]) -> list[Question]:
        """Return the questions for the name of each element and how many are directly in it."""
        if self.toolkit.lower().startswith("gtk"):  # Qt tells one by one only
            return [properties_of(path, protocol.ACCESSIBLE) for path in paths]
        names = [property_of(path, protocol.ACCESSIBLE, "Name", "s") for path in paths]
        return names + [property_of(path, protocol.ACCESSIBLE, "ChildCount", "i") for path in paths]

    async def _children(self, connection: Connection, path: str) -> list[str]:
        told = await connection.value(self.bus_name, path, protocol.ACCESSIBLE, "GetChildren", "a(so)")
        return self._mine(told)

    async def _children_of(self, connection: Connection, paths: Sequence[str]) -> list[list[str] | None]:
        asked = [method(path, protocol.ACCESSIBLE, "GetChildren", "a(so)") for path in paths]
        told = await connection.all(self.bus_name, asked)
        return [None if each is None else self._mine(each) for each in told]

    def _mine(self, told: Sequence[tuple[str, str]]) -> list[str]:
        return [below for name, below in told[:MOST_CHILDREN] if name == self.bus_name and below != protocol.NULL]

    def _show(self) -> None:
        """Say of what is visible in a window that shows that it shows: GTK 4 says so of windows only."""
        for node in self.nodes:
            above = self.nodes[node.parent].states if node.parent >= 0 else 0
            if node.states & protocol.VISIBLE and above & protocol.SHOWING:
                node.states |= protocol.SHOWING

    async def _where(self, connection: Connection, paths: Sequence[str]) -> list[Extents | None]:
        """Ask where elements are; None for one that does not tell."""
        where = protocol.COMPONENT, "GetExtents", "(iiii)", protocol.IN_WINDOW if self.in_window else protocol.ON_SCREEN
        told = await connection.all(self.bus_name, [method(path, *where) for path in paths])
        return [None if extents is None else tuple(extents) for extents in told]

    async def _measure(
        self, connection: Connection, some: Sequence[Node], told: Mapping[str, Extents | None] = NOT_TOLD
    ) -> set[int]:
        """Ask where what shows of these is, and of what is in one that moved; return the places of those that moved.

        What is ``told`` already is not asked.
        """
        before = {node.path: node.extents for node in self.nodes}
        asked: set[str] = set()
        moved: set[int] = set()
        while some := [n for n in some if n.placed and n.states & protocol.SHOWING and n.path not in asked]:
            asked |= {node.path for node in some}
            unknown = [node.path for node in some if node.path not in told]
            told = {**told, **dict(zip(unknown, await self._where(connection, unknown), strict=True))}
            for node in some:
                node.extents = told[node.path]
            moved, inside = self._moved(before)
            some = [self.nodes[place] for place in inside]
        embedded.move(self.nodes)
        if any(before[node.path] != node.extents for node in self.nodes):
            self.changes += 1
        return moved

    def _grown(self, before: Mapping[str, Extents | None]) -> bool:
        """Say whether something that holds others has another size than before, so that these may be elsewhere."""
        held = {node.parent for node in self.nodes}
        holders = (node for place, node in enumerate(self.nodes) if place in held)
        return any((then := before[node.path]) is not None and then != node.extents for node in holders)

    def _moved(self, before: Mapping[str, Extents | None]) -> tuple[set[int], list[int]]:
        """Return the places of what is elsewhere than before, and of all that is in such."""
        moved, inside = set[int](), list[int]()
        within = [False] * len(self.nodes)
        for place, node in enumerate(self.nodes):
            then, now = before[node.path], node.extents
            if then is not None and now is not None and then[:2] != now[:2]:
                moved.add(place)
            if node.parent >= 0 and (within[node.parent] or node.parent in moved):
                within[place] = True
                inside.append(place)
        return moved, inside

    async def _read_cells(self, connection: Connection) -> None:
        """Add the cells that show and hold something, of tables that tell of none by themselves."""
        held, known = {node.parent for node in self.nodes}, {node.path for node in self.nodes}
        tables = [
            (place, node)
            for place, node in enumerate(self.nodes)
            if node.tabular and node.extents and node.states & protocol.MANAGES and place not in held
        ]
        for place, table in tables[:MOST_TABLES]:
            found = await filled_cells(connection, self.bus_name, table.path, answers)
            if found is None:
                continue
            self.note = PARTLY
            cells = [path for path in dict.fromkeys(found) if path not in known][: MOST_ELEMENTS - len(self.nodes)]
            told = [node for node in await answers(*(partial(self._cell, connection, path) for path in cells)) if node]
            for node in told:
                node.parent, node.extents = place, embedded.by(node.extents, table.moved)
            self.nodes += told

    async def _cell(self, connection: Connection, path: str) -> Node:
        (told,) = await self._asked(connection, [path])
        if told is None:
            raise NoAnswer("an element is gone")
        node, _ = told
        node.cell = True
        node.extents = tuple(
            await connection.value(self.bus_name, path, protocol.COMPONENT, "GetExtents", "(iiii)", protocol.ON_SCREEN)
        )
        # LibreOffice tells nothing of a text if it is asked for more than there is.
        text = await connection.value(self.bus_name, path, protocol.TEXT, "GetText", "s", 0, -1)
        node.value = one_line(text, VALUE_CHARACTERS)
        return node


def _pairs(told: Sequence[Any], many: int) -> list[tuple[str, int] | None]:
    """Return the name of each of so many elements and how many are in it; None for one that is gone."""
    if len(told) == many:  # all properties of each
        named = [
            each if each is None else [each[word].value if word in each else None for word in WORDS] for each in told
        ]
    else:
        named = [list(pair) for pair in zip(told[:many], told[many:], strict=True)]
    return [pair if pair is None else (_text(pair[0]), _number(pair[1])) for pair in named]


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def _number(told: object) -> int:
    return told if isinstance(told, int) else 0


WORDS = ("Name", "ChildCount")
PARTLY = "of its tables only those cells are here that show and hold something"
UNCERTAIN = protocol.DEFUNCT | protocol.MANAGES
"""States of what nobody can tell all of."""
_CUT = "its tree is larger than is read of any: not all of it is here"


def _batched(level: list[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    return (level[start : start + IN_FLIGHT] for start in range(0, len(level), IN_FLIGHT))

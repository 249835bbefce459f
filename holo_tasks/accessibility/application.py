"""Read and update the accessibility tree of one program.

The whole tree comes in one answer if the toolkit has a cache (AT-SPI's Cache interface). Otherwise it is read element
by element. `Application` is the main class; `reader` uses it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import islice

from holo_tasks.accessibility import embedded, protocol
from holo_tasks.accessibility.cached_items import (
    DEEPEST,
    MOST_CHILDREN,
    MOST_ELEMENTS,
    CachedItem,
    has_wrong_parent,
    in_tree_order,
    may_list_others,
    newer_item,
    older_item,
    pairs_of,
    rivals_of,
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
from holo_tasks.accessibility.gtk_4 import complete_gtk_4
from holo_tasks.accessibility.node import FIELDS, NAME_CHARACTERS, NUMBERS, Node, node_of, shown_facts, told_name
from holo_tasks.accessibility.placement import Extents, View
from holo_tasks.accessibility.scrolling import has_area, may_show_more, shows_late
from holo_tasks.accessibility.sheet_cells import filled_cells
from holo_tasks.accessibility.silence import Silence
from holo_tasks.accessibility.swing import is_swing, may_list, visible_part
from holo_tasks.accessibility.tree_update import Facts, ReadFunctions, UnclearChanges, drawn_over, update_tree
from holo_tasks.accessibility.values import VALUE_CHARACTERS, read_choice_labels, read_shortcuts, read_values
from holo_tasks.core.elements.elements import How
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.visible_text import one_line

MOST_UNSORTED = 100
MOST_LISTED = 300
"""Most cells of a table of Java that are read at once: each takes a millisecond. Of a larger one the visible are."""
MOST_TABLES = 4
LAGS_NS, MAY_LAG_NS, AGAIN_NS, LEAST_SCROLLED = 700_000_000, 1_500_000_000, 40_000_000, 3
"""Chromium may report positions from before a scroll for half a second, and for longer on a busy machine.

``LAGS_NS`` is the time after a repaint in which positions may be old, and ``MAY_LAG_NS`` the time in which repainted
elements are asked again. ``AGAIN_NS`` is the shortest time between two such requests. Repaints of fewer than
``LEAST_SCROLLED`` elements are not a scroll."""
CONFIRM_NS = 200_000_000
"""Pause before the second reading of a program without signals, in nanoseconds."""
NO_EXTENTS: Mapping[str, Extents | None] = {}
CACHE_OFFER_S = 0.3
"""Seconds in which a program may offer its cache after a first request for its events."""


class Application:
    """A program on the bus, with the last reading of its tree.

    The tree is kept until the program signals a change or something is repainted.
    """

    def __init__(self, address: str, name: str, pid: int) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._listens = False  # whether the program was asked for its signals over this connection
        self.bus_name = name
        self.pid = pid
        self.name = self.toolkit = self.note = ""
        self.how: How = "none"
        self.took_ms = 0.0
        self.nodes: list[Node] = []
        self.late = False
        """Whether the last reading was not complete in time."""
        self.silence = Silence(lambda: 0 if self._connection is None else self._connection.received, pid)
        self.unanswered = Silence(lambda: 0 if self._connection is None else self._connection.answered, pid)
        self.reading: asyncio.Task[None] | None = None
        self.until_s, self.hung = 0.0, False
        """``reading`` is the current or last task that reads the tree. It is awaited until ``until_s``, a time of the
        event loop, if the program goes on answering. ``hung`` is whether the program did not do so."""
        self.measured_ns = self._read_ns = 0
        """``measured_ns`` is the time up to which all repaints are covered by positions that were read after them.
        ``_read_ns`` is the end of the last reading. Both are monotonic nanoseconds."""
        self._confirmed = False
        """Whether two full readings were equal, with a pause between them."""
        self._windows: tuple[object, ...] = ()
        self.changes = 0
        """Counter of changes of the tree."""

    @property
    def in_window(self) -> bool:
        """Return whether it reports positions relative to its windows, as GTK 4 does, which has no screen positions."""
        return self.toolkit.lower().startswith("gtk 4")

    @property
    def is_swing(self) -> bool:
        """Return whether it is a Java program. It is read without a listener and without its cache.

        A listener would make its bridge create every cell of every table, which takes a millisecond each.
        """
        return is_swing(self.toolkit)

    @property
    def busy(self) -> frozenset[str]:
        """Return the paths of the elements that are busy."""
        return self._connection.busy if self._connection is not None else frozenset()

    async def refresh(self, view: View) -> None:
        """Update the tree, by reading only the changes if possible.

        The caller cancels this after its time limit; the elements that were read until then stay. Without an answer of
        the program the tree is empty, and ``note`` gives the reason.
        """
        connection, (drawn, anew) = self._connection, self._drawn(view)
        began, at_ns = time.perf_counter(), view.at_ns or time.monotonic_ns()
        try:
            if connection is not None and connection.open and self.how != "none" and not self.late:
                changes = connection.take_changes()
                changes.keep_redrawn({node.path for node in self.nodes})
                unchanged = not changes and anew == ()
                if unchanged and not self._has_to_confirm(at_ns):
                    return
                self.late = True
                connection.allow()
                if not unchanged and await self._mend(connection, changes, drawn, anew):
                    self._confirmed = False
                    self.late, self.measured_ns, self._read_ns = False, at_ns, time.monotonic_ns()
                    return
            self.late = True
            connection = await self._connect()
            connection.allow()
            connection.take_changes()
            before = shown_facts(self.nodes)
            await self._read(connection, drawn)
            self.late, self.measured_ns, self._read_ns = False, at_ns, time.monotonic_ns()
            self._confirmed = before == shown_facts(self.nodes)
        except NoAnswer as error:
            self.how, self.nodes, self.note = "none", [], f"it does not answer ({error})"
            self.late = False
            if self._connection is not None and self._connection.overrun:
                self.note = "its tree is too large to be read"
        finally:
            self.took_ms = 1000 * (time.perf_counter() - began)
            for node in self.nodes:
                node.since_ns = node.since_ns or at_ns

    def moving(self, view: View) -> bool:
        """Return whether its positions may still be from before a scroll, because elements were just repainted."""
        drawn = view.drawn if view.anew is None else view.anew
        latest = [(at_ns, box) for at_ns, box in drawn if at_ns > view.at_ns - self._lags_ns(LAGS_NS)]
        held = {node.parent for node in self.nodes} if latest else set()
        things = (node for place, node in enumerate(self.nodes) if latest and node.seen and place not in held)
        found = (
            node
            for node in things
            if any(at_ns > node.since_ns and box.intersects(node.seen or box) for at_ns, box in latest)
        )
        return len(list(islice(found, LEAST_SCROLLED))) == LEAST_SCROLLED

    def _has_to_confirm(self, at_ns: int) -> bool:
        """Return whether to read it again: Java, and Firefox with a new page, draw before their elements say so."""
        late = (self.is_swing and not self._confirmed) or shows_late(self.nodes)
        return late and at_ns - self._read_ns > CONFIRM_NS

    def _lags_ns(self, most: int) -> int:
        """Return ``most`` if its toolkit may report old positions, else zero."""
        return most if self.toolkit.lower().startswith("chrom") else 0

    def _drawn(self, view: View) -> tuple[tuple[Box, ...] | None, tuple[Box, ...] | None]:
        """Return the repainted boxes since its elements were last measured, and the changed parts of these.

        ``None`` means that all elements may have moved.
        """
        mine = tuple((each.id, each.box, each.framed) for each in view.windows if each.pid == self.pid)
        same, self._windows = mine == self._windows, mine
        again = view.at_ns - self._read_ns > AGAIN_NS  # right after a reading the answers would be the same
        since_ns = self.measured_ns - (self._lags_ns(MAY_LAG_NS) if again else 0)
        drawn = view.drawn_since(since_ns)
        # Repaints below another window are not reported.
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
        """Read the changed elements again; return whether the tree is up to date, so that no full reading is needed.

        Of the repainted elements only those whose pixels changed are read. If one of these moved, unchanged ones may
        have moved too, and the result is false.
        """
        whole = self.in_window or any(node.adopted or (node.cell and not self.is_swing) for node in self.nodes)
        if (self.is_swing and (drawn is None or anew is None)) or (changes and (whole or drawn is None)):
            return False  # Swing sends no signals, so only a full reading finds all changes
        if whole or drawn is None or anew is None:
            await self._measure(connection, self.nodes)
            # LibreOffice creates cells on request and deletes them after some seconds.
            return all(node.extents for node in self.nodes if node.cell)
        try:
            asks = ReadFunctions(
                partial(self._read_complete, connection),
                partial(self._facts, connection),
                partial(self._read_extents, connection),
            )
            over = drawn_over(self.nodes, anew, hidden=self.is_swing)
            if self._lags_ns(MAY_LAG_NS):  # Chromium does not signal that a message of a page replaces its contents
                changes.own |= {self.nodes[place].path for place in over if self.nodes[place].parent < 0}
            done = await update_tree(self.nodes, changes, over, asks, measure_siblings=anew != drawn)
        except UnclearChanges:
            return False
        if len(done.nodes) > MOST_ELEMENTS or (self.is_swing and done.turned):
            return False
        self.nodes = done.nodes
        before = {node.path: node.extents for node in self.nodes}
        moved = await self._measure(connection, done.again, done.extents)
        if anew != drawn and (moved or self._may_have_grown(before)):
            return False
        if self.is_swing and any(self.nodes[place].cell for place in moved):
            return False  # other rows of the table may show
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
        if self.is_swing:
            self.changes += await read_choice_labels(connection, self.bus_name, self.nodes)

    def unreadable(self) -> None:
        """Drop the tree, because its answers cannot be parsed."""
        self.how, self.nodes, self.note, self.late = "none", [], "its answers cannot be parsed", False

    def close(self) -> None:
        """Stop reading, and close the connection."""
        if self.reading is not None:
            self.reading.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _connect(self) -> Connection:
        """Return the open connection. It is kept if the program does not answer in time."""
        connection = self._connection
        if connection is None or not connection.open:
            connection, self._listens = await Connection.to(self._address), False
            self._connection = connection
        if not self.toolkit:
            await self._read_toolkit(connection)
        if self.is_swing or self._listens:
            return connection
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
        self._listens = True
        return connection

    async def _read(self, connection: Connection, drawn: tuple[Box, ...] | None) -> None:
        self.changes += 1
        kept, reported = self._unmoved_paths(drawn), {node.path: node for node in self.nodes}
        self.note = ""
        items = {} if self.is_swing else await self._read_cache(connection)
        if len(items) > 1:
            await self._complete(connection, items)
            await self._sort(connection, items)
            self.how, (self.nodes, cut) = "cache", in_tree_order(items)
            self.note = _CUT if cut else self.note
        else:
            self.how, self.nodes = "walk", []
            await self._walk(connection)
        if self.in_window:
            complete_gtk_4(self.nodes)
        elsewhere = []
        for node in self.nodes:
            if then := reported.get(node.path):
                node.element, node.since_ns, node.seen = then.element, then.since_ns, then.seen
                node.extents = then.extents if kept else None
                node.shortcut = then.shortcut if then.name == node.name else None
            if node.path not in kept or then is None or then.role != node.role:
                elsewhere.append(node)
        await self._measure(connection, elsewhere)
        await self._read_values(connection)
        await read_shortcuts(connection, self.bus_name, self.nodes)
        await self._read_cells(connection)

    def _unmoved_paths(self, drawn: tuple[Box, ...] | None) -> set[str]:
        """Return the paths of the elements that did not move, because nothing was repainted over them."""
        if drawn is None or self.in_window or any(node.adopted or node.cell for node in self.nodes):
            return set()
        over = set(drawn_over(self.nodes, drawn))
        found = (node for place, node in enumerate(self.nodes) if place not in over and has_area(node))
        return {node.path for node in found if node.states & protocol.SHOWING}

    async def _read_toolkit(self, connection: Connection) -> None:
        root = self.bus_name, protocol.ROOT
        name, toolkit, version = await answers(
            partial(connection.property, *root, protocol.ACCESSIBLE, "Name", "s"),
            partial(connection.property, *root, protocol.APPLICATION, "ToolkitName", "s"),
            partial(connection.property, *root, protocol.APPLICATION, "Version", "s"),
        )
        self.name = one_line(name or "", NAME_CHARACTERS)
        self.toolkit = one_line(f"{toolkit or 'unknown'} {version or ''}", 60)

    async def _read_cache(self, connection: Connection) -> dict[str, CachedItem]:
        """Return the elements of the program's cache by path; empty if it has no cache."""
        until = time.monotonic() + CACHE_OFFER_S
        while True:
            try:
                signature, body = await connection.ask(self.bus_name, protocol.CACHE_PATH, protocol.CACHE, "GetItems")
                break
            except NoAnswer as error:
                # GTK and Chromium offer the cache a moment after the first request for events.
                if not connection.open or "Unknown" not in str(error):
                    raise
                if self.toolkit.lower().startswith("qt") or time.monotonic() >= until:
                    return {}
            await asyncio.sleep(0.01)
        read = {"a((so)(so)(so)iiassusau)": newer_item, "a((so)(so)(so)a(so)assusau)": older_item}.get(signature)
        if read is None:
            return {}
        found = (read(reported) for reported in body[0])
        return {item.node.path: item for item in found if not item.node.states & protocol.DEFUNCT}

    async def _complete(self, connection: Connection, items: dict[str, CachedItem]) -> None:
        """Add the elements that the cache lacks. GTK 3 adds later elements to it only after a request for them."""
        held = Counter(item.above for path, item in items.items() if path != item.above)
        lacking = [
            path for path, item in items.items() if held[path] < item.count <= MOST_CHILDREN or may_list_others(item)
        ]
        below = await self._children_of(connection, lacking)
        rivals = await self._children_of(connection, rivals_of(items, below))
        for _ in range(DEEPEST):
            if not below or len(items) > MOST_ELEMENTS:
                return
            places: dict[str, tuple[str, int]] = {}
            for above, children in below.items():
                for place, path in enumerate(children or ()):
                    if path not in items:
                        places[path] = above, place
                    elif has_wrong_parent(path, items, {**rivals, **below}):
                        items[path].above, items[path].index = above, place
                        items[path].node.adopted = True
            wanted = list(places)[:MOST_ELEMENTS]
            below = {}
            read = await self._read_elements(connection, wanted)
            for path, known in zip(wanted, read, strict=True):
                if known is not None:
                    items[path] = CachedItem(known[0], *places[path])
                    below |= {path: known[1]} if known[1] else {}

    async def _sort(self, connection: Connection, items: dict[str, CachedItem]) -> None:
        """Set the children of each element in order. If the cache has no order, ask the program."""
        below: dict[str, list[str]] = {}
        for path, item in sorted(items.items(), key=lambda pair: pair[1].index):
            below.setdefault(item.above, []).append(path)
        unsure = [
            above
            for above, paths in below.items()
            if above in items and len({items[path].index for path in paths if items[path].index >= 0}) < len(paths)
        ][:MOST_UNSORTED]
        for above, children in (await self._children_of(connection, unsure)).items():
            places = {path: place for place, path in enumerate(children or ())}
            below[above].sort(key=lambda path: places.get(path, len(places)))
        for above, paths in below.items():
            if above in items and not items[above].below:
                items[above].below = paths

    async def _walk(self, connection: Connection) -> None:
        """Read the tree level by level, many elements at a time, into ``nodes``."""
        seen = {protocol.ROOT}
        level = [(path, -1) for path in await self._children(connection, protocol.ROOT)]
        for _ in range(DEEPEST):
            level = [(path, parent) for path, parent in level if not (path in seen or seen.add(path))]  # type: ignore[func-returns-value]
            if len(self.nodes) + len(level) > MOST_ELEMENTS:
                self.note, level = _CUT, level[: MOST_ELEMENTS - len(self.nodes)]
            below: list[tuple[str, int]] = []
            for start in range(0, len(level), IN_FLIGHT):  # finished parts stay if the rest is not answered in time
                some = level[start : start + IN_FLIGHT]
                asked = await self._read_elements(connection, [path for path, _ in some])
                for (_, parent), reported in zip(some, asked, strict=True):
                    if reported is None:
                        continue
                    node, children = reported
                    node.parent = parent
                    self.nodes.append(node)
                    below += ((path, len(self.nodes) - 1) for path in children)
            if not below:
                return
            level = below
        self.note = _CUT

    async def _read_elements(self, connection: Connection, paths: Sequence[str]) -> list[tuple[Node, list[str]] | None]:
        """Read elements with the paths of their children; ``None`` for an element that is gone."""
        ask, accessible, many = connection.all, protocol.ACCESSIBLE, len(paths)
        roles = [method(path, accessible, "GetRole", "u") for path in paths]
        states = [method(path, accessible, "GetState", "au") for path in paths]
        reported = await ask(self.bus_name, [*roles, *states, *self._name_questions(paths)])
        found: dict[str, tuple[Node, list[str]]] = {}
        for path, role, bits, about in zip(
            paths, reported[:many], reported[many : 2 * many], pairs_of(reported[2 * many :], many), strict=True
        ):
            if role is not None and bits is not None and about is not None:
                node = found.setdefault(path, (node_of(path, about[0], role, bits, ()), []))[0]
                node.placed, node.count = True, about[1]
        nodes = [node for node, _ in found.values()]
        above = [node for node in nodes if self._has_readable_children(node)]
        kinds = FIELDS | NUMBERS
        more = [
            n
            for n in nodes
            if n.role in kinds or n.states & (protocol.EDITABLE | protocol.MANAGES) or self._is_large_table(n)
        ]
        offered = [method(node.path, accessible, "GetInterfaces", "as") for node in more]
        inside = [method(node.path, accessible, "GetChildren", "a(so)") for node in above]
        reported = await ask(self.bus_name, [*offered, *inside])
        for node, interfaces in zip(more, reported, strict=False):
            node.offers(interfaces or ())
        for node, below in zip(above, reported[len(more) :], strict=True):
            if below is None:
                del found[node.path]
            else:
                found[node.path][1].extend(self._own_paths(below))
        return [found.get(path) for path in paths]

    def _has_readable_children(self, node: Node) -> bool:
        """Return whether to ask an element for its children."""
        if self.is_swing and (self._is_large_table(node) or not may_list(node)):
            return False
        if node.count > MOST_CHILDREN and not node.protected:
            self.note = _CUT  # a spreadsheet has millions of children, and listing them takes too long
        return 0 < node.count <= MOST_CHILDREN and not node.protected and not node.states & protocol.DEFUNCT

    def _is_large_table(self, node: Node) -> bool:
        """Return whether only the visible cells of a table are read, because its program is slow to list all."""
        return self.is_swing and node.role == "table" and node.count > MOST_LISTED

    async def _read_complete(self, connection: Connection, paths: Sequence[str]) -> list[tuple[Node, list[str]] | None]:
        """Read elements like `_read_elements`; ``None`` also for elements that do not list all their children."""
        return [
            None
            if reported is None or reported[0].count > MOST_CHILDREN or reported[0].states & INCOMPLETE_STATES
            else reported
            for reported in await self._read_elements(connection, paths)
        ]

    async def _facts(self, connection: Connection, paths: Sequence[str]) -> list[Facts | None]:
        """Read the values of elements that may change without a signal: name, states and number of children."""
        states = [method(path, protocol.ACCESSIBLE, "GetState", "au") for path in paths]
        reported = await connection.all(self.bus_name, [*states, *self._name_questions(paths)])
        return [
            None if about is None or bits is None else (told_name(about[0]), protocol.state_bits(bits), about[1])
            for bits, about in zip(reported[: len(paths)], pairs_of(reported[len(paths) :], len(paths)), strict=True)
        ]

    def _name_questions(self, paths: Sequence[str]) -> list[Question]:
        """Return the questions for the name and the number of children of each element."""
        if self.toolkit.lower().startswith("gtk"):  # Qt answers only for single properties
            return [properties_of(path, protocol.ACCESSIBLE) for path in paths]
        names = [property_of(path, protocol.ACCESSIBLE, "Name", "s") for path in paths]
        return names + [property_of(path, protocol.ACCESSIBLE, "ChildCount", "i") for path in paths]

    async def _children(self, connection: Connection, path: str) -> list[str]:
        reported = await connection.value(self.bus_name, path, protocol.ACCESSIBLE, "GetChildren", "a(so)")
        return self._own_paths(reported)

    async def _children_of(self, connection: Connection, paths: Sequence[str]) -> dict[str, list[str] | None]:
        """Return the children that each element lists."""
        asked = [method(path, protocol.ACCESSIBLE, "GetChildren", "a(so)") for path in paths]
        reported = await connection.all(self.bus_name, asked)
        listed = (None if each is None else self._own_paths(each) for each in reported)
        return dict(zip(paths, listed, strict=True))

    def _own_paths(self, reported: Sequence[tuple[str, str]]) -> list[str]:
        return [below for name, below in reported[:MOST_CHILDREN] if name == self.bus_name and below != protocol.NULL]

    async def _read_extents(self, connection: Connection, paths: Sequence[str]) -> list[Extents | None]:
        """Read the extents of elements; ``None`` for an element that does not answer."""
        where = protocol.COMPONENT, "GetExtents", "(iiii)", protocol.IN_WINDOW if self.in_window else protocol.ON_SCREEN
        reported = await connection.all(self.bus_name, [method(path, *where) for path in paths])
        return [None if extents is None else tuple(extents) for extents in reported]

    async def _measure(
        self, connection: Connection, some: Sequence[Node], reported: Mapping[str, Extents | None] = NO_EXTENTS
    ) -> set[int]:
        """Read the extents of the showing elements in ``some``, and of all elements inside those that moved.

        ``reported`` holds extents that are known already, by path. Returns the indexes of the elements that moved.
        """
        before = {node.path: node.extents for node in self.nodes}
        asked: set[str] = set()
        moved: set[int] = set()
        while some := [n for n in some if n.placed and n.states & protocol.SHOWING and n.path not in asked]:
            asked |= {node.path for node in some}
            unknown = [node.path for node in some if node.path not in reported]
            reported = {**reported, **dict(zip(unknown, await self._read_extents(connection, unknown), strict=True))}
            for node in some:
                node.extents = reported[node.path]
            moved, inside = self._moved_elements(before)
            some = [self.nodes[place] for place in inside]
        embedded.move(self.nodes)
        if any(before[node.path] != node.extents for node in self.nodes):
            self.changes += 1
        return moved

    def _may_have_grown(self, before: Mapping[str, Extents | None]) -> bool:
        """Return whether an element with children moved or changed its size, so that its children may have moved."""
        held = {node.parent for node in self.nodes}
        holders = (node for place, node in enumerate(self.nodes) if place in held)
        return any((then := before[node.path]) is not None and then != node.extents for node in holders)

    def _moved_elements(self, before: Mapping[str, Extents | None]) -> tuple[set[int], list[int]]:
        """Return the indexes of the elements that moved, and those of all their descendants."""
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
        """Add the visible cells of tables that do not list their cells: filled ones, and a sheet's next row."""
        held, known = {node.parent for node in self.nodes}, {node.path for node in self.nodes}
        tables = [
            (place, node)
            for place, node in enumerate(self.nodes)
            if node.tabular and node.extents and place not in held
            if node.states & protocol.MANAGES or self._is_large_table(node)
        ]
        for place, table in tables[:MOST_TABLES]:
            visible = visible_part(self.nodes, place) if self.is_swing else None
            of = connection, self.bus_name, table.path, answers, visible
            if (found := await filled_cells(*of, is_sheet=bool(table.states & protocol.EDITABLE))) is None:
                continue
            self.note = PARTLY
            cells = [path for path in dict.fromkeys(found) if path not in known][: MOST_ELEMENTS - len(self.nodes)]
            reported = [
                node for node in await answers(*(partial(self._cell, connection, path) for path in cells)) if node
            ]
            for node in reported:
                node.parent, node.extents = place, embedded.shifted_extents(node.extents, table.moved)
            self.nodes += reported

    async def _cell(self, connection: Connection, path: str) -> Node:
        (reported,) = await self._read_elements(connection, [path])
        if reported is None:
            raise NoAnswer("an element is gone")
        node, _ = reported
        node.cell = True
        node.extents = tuple(
            await connection.value(self.bus_name, path, protocol.COMPONENT, "GetExtents", "(iiii)", protocol.ON_SCREEN)
        )
        if self.is_swing:
            return node
        # LibreOffice returns nothing if more characters are requested than a text has.
        text = await connection.value(self.bus_name, path, protocol.TEXT, "GetText", "s", 0, -1)
        node.value = one_line(text, VALUE_CHARACTERS)
        return node


PARTLY = "its tables list only the cells that are visible and not empty"
INCOMPLETE_STATES = protocol.DEFUNCT | protocol.MANAGES
"""States of elements that do not list all their children."""
_CUT = "its tree exceeds the size limit, so some elements are missing"

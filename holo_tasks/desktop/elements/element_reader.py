"""Reads the elements of a desktop's programs in a thread of the host process, and compares them with the X windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace

import xcffib.xproto

from holo_tasks.accessibility.bus import Bus
from holo_tasks.accessibility.placement import TopWindow, View
from holo_tasks.accessibility.toolkits import missing_package as missing_package
from holo_tasks.accessibility.tree_update import MOST_AGAIN
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.capture.changed_pixels import ChangedPixels
from holo_tasks.desktop.capture.repaints import KEPT, Repaints
from holo_tasks.desktop.elements.bus_reader import BusReader
from holo_tasks.desktop.elements.element_messages import from_tree
from holo_tasks.desktop.programs.window_owners import processes_of
from holo_tasks.desktop.secrets.secret_store import SecretStore
from holo_tasks.desktop.session.ipc_messages import Message
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11.stacking import child_boxes
from holo_tasks.desktop.x11.windows import LEAST, active_window, client_of, where_of
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NAP_S = 0.02
"""Seconds between two checks whether the request was cancelled."""
LATELY = 3
"""Number of pictures for which elements are read ahead after the client last asked for elements."""
BUS_PROPERTY = "AT_SPI_BUS"
NOT_ASKED = (
    "The elements of programs on a borrowed display are not read: give --accessibility (in Python accessibility=True)."
)
NO_BUS = "The display names no accessibility bus, so no program there publishes elements."


class Elements:
    """The elements of the programs on one screen. AT-SPI's modules are loaded when elements are first read."""

    def __init__(
        self,
        link: XConnection,
        reader: BusReader,
        repaints: Repaints,
        vault: SecretStore,
        bound: Callable[[], Box | None] = lambda: None,
    ) -> None:
        self._link = link
        self._reader = reader
        self._repaints = repaints
        self._vault = vault
        self._bound = bound
        self._ahead: Future[ElementTree] | None = None
        self._redrawn = ChangedPixels(link)
        self._early = False
        self._wanted = 0
        self._last: ElementTree | None = None
        self._number = 0
        self._clients: dict[int, int] = {}
        self._shown = ElementTree()

    def read_ahead(self, *, early: bool) -> None:
        """Begin to read the elements in the background, if the client asked for elements lately.

        The reading begins before a picture is taken (``early``), or else while the agent's process handles the
        picture. Each picture has one reading. A later request then waits only for the few changes since.
        """
        before, self._early = self._early, early
        reader = self._reader.opened
        if before or reader is None or not self._wanted:
            return
        if self._ahead is None or self._ahead.done():
            self._wanted -= 1
            self._ahead = reader.read(self._view())

    @property
    def busy(self) -> frozenset[tuple[str, str]]:
        """The role and name of each busy element, such as a document that loads.

        Empty if elements were never asked for.
        """
        return self._reader.opened.busy if self._reader.opened is not None else frozenset()

    def tree_message(self, known: int, interrupt: Interrupt) -> Message:
        """Return the message with the current tree.

        ``known`` is the number of the tree that the receiver has. If that tree is current, the message only says so.
        """
        self._wanted = LATELY
        tree = self.read(interrupt)
        last, before = self._last, (self._number, self._shown)
        same = last is not None and (tree.elements, tree.applications) == (last.elements, last.applications)
        if not same or tree.why_not != (last and last.why_not):
            self._last, self._number, self._shown = tree, self._number + 1, self._without_secrets(tree)
        if known == self._number:
            return {"number": known, "moving": tree.moving}
        there = before[1] if known and known == before[0] else None
        return {**from_tree(self._shown, there), "number": self._number, "moving": tree.moving}

    def read(self, interrupt: Interrupt, pid: int = 0) -> ElementTree:
        """Return the current tree. It has no elements without a bus. With ``pid``, wait only for that process.

        A reading ahead is not awaited: `Reader` goes on with it for each program.
        """
        if self._reader.bus.unavailable_reason:
            return ElementTree(complete=False, why_not=self._reader.bus.unavailable_reason)
        reader = self._reader.open()
        if self._ahead is not None:
            self._ahead.cancel()
        reading = reader.read(self._view(), pid)
        try:
            while not wait([reading], NAP_S).done:
                interrupt.check()
        finally:
            reading.cancel()
        return reading.result()

    def _view(self) -> View:
        """Return the windows of the screen and the areas drawn since.

        Without exact repaints, say that all was drawn just now.
        """
        size = self._link.size()
        windows, bound, now = top_windows(self._link, size, self._clients), self._bound(), time.monotonic_ns()
        seen = self._repaints.latest()
        if not self._repaints.exact:
            return View(windows, size, now, bound)
        drawn = tuple((each.at_ns, each.box) for each in seen)
        first_ns = drawn[0][0] if len(drawn) == KEPT else 0
        anew = None
        if self._last is not None and len(self._last.elements) > MOST_AGAIN:
            anew = self._redrawn.since(seen)
        else:
            self._redrawn.forget()
        return View(windows, size, drawn[-1][0] if drawn else 0, bound, now, drawn, first_ns, anew)

    def _without_secrets(self, tree: ElementTree) -> ElementTree:
        """Return the tree with every secret's value replaced by its name."""
        hide = self._vault.hide
        texts = "\n".join(text for each in tree.elements for text in (each.name, each.value))
        if not self._vault.any or hide(texts) == texts:
            return tree
        hidden = (replace(each, name=hide(each.name), value=hide(each.value)) for each in tree.elements)
        return replace(tree, elements=tuple(hidden))


def name_bus(link: XConnection, bus: Bus) -> None:
    """Set the root window's property that names the accessibility bus.

    All toolkits but Qt 6 look for the bus there. Qt 6 asks the service of `accessibility.announcement`.
    """
    if bus.process is not None and not bus.unavailable_reason:
        address = bus.address_for_programs.encode()
        core, replace_it, name = link.conn.core, xcffib.xproto.PropMode.Replace, link.atom(BUS_PROPERTY)
        core.ChangeProperty(replace_it, link.root, name, xcffib.xproto.Atom.STRING, 8, len(address), address)
        link.sync()


def named_by(link: XConnection, *, asked_for: bool) -> Bus:
    """Return the accessibility bus that a display names.

    Unless ``asked_for``, or if the display names none, returns a bus that is unavailable, with the reason.
    """
    if not asked_for:
        return Bus(None, "", -1, NOT_ASKED)
    address = link.text(link.root, BUS_PROPERTY)
    return Bus(None, address, -1, "" if address else NO_BUS)


def top_windows(link: XConnection, size: Size, known: dict[int, int]) -> tuple[TopWindow, ...]:
    """Return the top-level windows, the lowest first, each with the process of its program.

    ``known`` caches the client window of each frame, because a frame has dozens of parts and finding it asks each.
    """
    active, found, there = active_window(link), list[TopWindow](), child_boxes(link)
    for gone in known.keys() - there.keys():
        del known[gone]
    seen = {
        window: place
        for window, place in there.items()
        if place[0].clipped(size) is not None and min(place[0].width, place[0].height) >= LEAST
    }
    clients = _clients_in(link, seen, known)
    # All requests are sent before the first reply is awaited: on a busy machine each round trip takes long.
    names = [[link.property(each, name) for name in ("_NET_WM_NAME", "WM_NAME")] for each in clients]
    inside = [where_of(link, each) for each in clients]
    pids = processes_of(link, clients)
    for client, (framed, solid), named, where, pid in zip(clients, seen.values(), names, inside, pids, strict=True):
        try:
            first, second = (link.as_text(each) for each in named)
            content: Box = where()
        except Refused:
            continue  # closed meanwhile
        found.append(TopWindow(client, pid, first or second, content, framed, solid, client == active))
    return tuple(found)


def _clients_in(link: XConnection, frames: Iterable[int], known: dict[int, int]) -> list[int]:
    """Return for each frame the client window in it, or the window itself if it is not a frame."""
    asked = {frame: link.conn.core.QueryTree(known[frame]) for frame in frames if frame in known}
    found = []
    for frame in frames:
        client = 0
        with suppress(*Refused):
            if frame in asked and asked[frame].reply().parent == frame:
                client = known[frame]
        if not client:
            client = known[frame] = client_of(link, frame) or frame
            if client == frame:
                del known[frame]
        found.append(client)
    return found

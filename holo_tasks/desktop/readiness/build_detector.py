"""Builds the detector of work in flight for one desktop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.capture.repaints import Repaints
from holo_tasks.desktop.elements.element_reader import Elements
from holo_tasks.desktop.programs.window_owners import clients, owner_of
from holo_tasks.desktop.readiness.pointer_name import PointerName
from holo_tasks.desktop.readiness.programs import Programs
from holo_tasks.desktop.readiness.work_in_flight import WorkInFlight
from holo_tasks.desktop.x11.x_connection import XConnection


def build_detector(
    link: XConnection,
    repaints: Repaints,
    elements: Elements,
    steady: Callable[[], Sequence[Box]],
    helpers: Callable[[], Collection[int]],
    bus: int,
    *,
    alone: bool,
    own_network: bool,
) -> WorkInFlight:
    """Return the detector of work in flight for a desktop.

    ``steady`` returns the areas that repaint at a pace of their own. ``helpers`` returns the processes that the desktop
    itself needs, and ``bus`` is the process of the message bus. ``alone`` is true for a screen that no other programs
    use. All programs are watched there, and on other screens only the one that got the last input. ``own_network`` is
    false for a sandboxed program.
    """
    programs = Programs(helpers, bus, None if alone else lambda at: owner_of(link, at).pid)
    busy, shown = (lambda: elements.busy), (lambda: clients(link))
    return WorkInFlight(
        programs,
        repaints,
        PointerName(link),
        clients=shown,
        busy=busy,
        steady=steady,
        own_network=own_network,
    )

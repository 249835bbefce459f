"""Hand the places of a screen that repaint themselves from one process to the next.

They are hints, not proof: `Rhythms.expect` still requires each place to repaint. The text may come from anywhere, so
entries that do not fit are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

from holo_tasks.core.repaints.repaint_exemptions import LARGEST
from holo_tasks.core.repaints.repaint_rhythm import SLOWEST_S, TILE
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.recheck import StackedWindow, WindowStack

VERSION = 1
OLDEST_S = 600.0
"""Age in seconds after which the hints are ignored."""
MOST_PLACES, MOST_BYTES = 32, 16_384
"""Most places that are written, and most bytes that are read."""
LARGEST_NUMBER = 1e12


class KnownPlace(NamedTuple):
    """A place aligned to tiles, its pace in seconds, and the topmost window over it (`NO_WINDOW` if none)."""

    pane: StackedWindow
    box: Box
    pace_s: float


NO_WINDOW = StackedWindow(0, Box(0, 0, 0, 0))


def with_windows(learned: Iterable[tuple[Box, float]], windows: WindowStack) -> list[KnownPlace]:
    """Return the learned places, each with the window over it, up to `MOST_PLACES`."""
    found = [KnownPlace(_topmost(windows, box), box, pace_s) for box, pace_s in learned]
    return found[:MOST_PLACES]


def still_there(places: Iterable[KnownPlace], windows: WindowStack) -> list[tuple[Box, float]]:
    """Return the places and paces whose window is unchanged in position and size."""
    return [(place.box, place.pace_s) for place in places if place.pane == _topmost(windows, place.box)]


def to_text(places: Sequence[KnownPlace], screen: str, size: Size, now_s: float) -> str:
    """Return the text for the next process. ``screen`` names the X server, and ``now_s`` is `machine.clock.boot_s`."""
    return json.dumps(
        {
            "version": VERSION,
            "screen": screen,
            "size": [size.width, size.height],
            "at_s": now_s,
            "places": [
                {
                    "window": place.pane.window,
                    "pane": _numbers(place.pane.box),
                    "box": _numbers(place.box),
                    "pace_s": place.pace_s,
                }
                for place in places
            ],
        }
    )


def read(text: bytes, screen: str, size: Size, now_s: float) -> list[KnownPlace]:
    """Return the places in such a text. The list is empty if the text is malformed, too old or of another screen."""
    if len(text) > MOST_BYTES:
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict) or found.get("version") != VERSION or isinstance(found["version"], bool):
        return []
    at_s, places = found.get("at_s"), found.get("places")
    if found.get("screen") != screen or found.get("size") != [size.width, size.height]:
        return []
    if not _is_number(at_s) or not 0 <= now_s - at_s <= OLDEST_S or not isinstance(places, list):
        return []
    known = (_place(one, size) for one in places[:MOST_PLACES])
    return [place for place in known if place is not None]


def _place(found: Any, size: Size) -> KnownPlace | None:
    if not isinstance(found, dict):
        return None
    window, pace_s = found.get("window"), found.get("pace_s")
    pane, box = _box(found.get("pane")), _box(found.get("box"))
    if pane is None or box is None or not _is_whole(window) or not _is_number(pace_s) or not 0 < pace_s <= SLOWEST_S:
        return None
    squared = all(number % TILE == 0 for number in _numbers(box)) and box.area > 0
    if not squared or box.left < 0 or box.top < 0 or box.area > LARGEST * size.width * size.height:
        return None
    return KnownPlace(StackedWindow(window, pane), box, float(pace_s))


def _box(found: Any) -> Box | None:
    if not isinstance(found, list) or len(found) != 4 or not all(map(_is_whole, found)):
        return None
    left, top, width, height = found
    return Box(left, top, width, height) if width >= 0 and height >= 0 else None


def _is_whole(found: Any) -> TypeGuard[int]:
    return isinstance(found, int) and not isinstance(found, bool) and abs(found) < 1 << 32


def _is_number(found: Any) -> TypeGuard[float]:
    return isinstance(found, float | int) and not isinstance(found, bool) and -LARGEST_NUMBER < found < LARGEST_NUMBER


def _numbers(box: Box) -> list[int]:
    return [box.left, box.top, box.width, box.height]


def _topmost(windows: WindowStack, box: Box) -> StackedWindow:
    return next((pane for pane in reversed(windows.panes) if pane.box.intersects(box)), NO_WINDOW)

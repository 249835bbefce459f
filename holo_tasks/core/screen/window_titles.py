"""The titles of the windows on a screen, and those that may leave this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holo_tasks.core.elements.known_elements import TextFilter
from holo_tasks.core.screen.frame import Frame, Mask, OnScreen
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.texts.visible_text import one_line

MOST, CHARACTERS, CUT = 6, 80, "…"
"""Most titles that are reported for a screen, the most characters of each, and the mark of a cut title."""
LONGEST = 1000
TITLE_PX, COVERED = 40, 0.5
"""Height in pixels above and below a window's upper edge that may hold its title.

A window's title is not reported if masks cover more than the share ``COVERED`` of the window.
"""


def titles_on(frame: Frame, region: Box | None = None) -> tuple[str, ...] | None:
    """Return the titles of the windows visible on a part of a screen, topmost first; ``None`` if unknown.

    The titles are unfiltered and must not leave this machine.
    """
    if frame.windows is None:
        return None
    area = region or frame.monitor or Box.whole(frame.size)
    return tuple(dict.fromkeys(one_line(title, LONGEST) for _, title in _with_visible_title(frame.windows, area)))


def shareable_titles(frame: Frame, region: Box | None, masks: Sequence[Mask], text_filter: TextFilter) -> list[str]:
    """Return the titles that may leave this machine: those of unmasked windows, filtered by ``text_filter``."""
    area = region or frame.monitor or Box.whole(frame.size)
    windows = _with_visible_title(frame.windows or (), area)
    # Cut after filtering: the filter does not recognize a secret that was cut.
    reported = (
        text_filter(one_line(title, LONGEST)) for window, title in windows if may_leave(window.box, area, masks)
    )
    return list(dict.fromkeys(one_line(title, CHARACTERS) for title in reported if title))[:MOST]


def may_leave(box: Box, area: Box, masks: Sequence[Mask]) -> bool:
    """Return whether a window's title may leave this machine.

    Most of the window must be in the area that the agent sees, and not masked. No mask may touch its title, which some
    programs draw themselves.
    """
    seen = box.intersection(area)
    hidden = sum(part.area for mask in masks if (part := mask.box.intersection(box)) is not None)
    return (
        seen is not None
        and seen.area > COVERED * box.area
        and hidden <= COVERED * box.area
        and not any(mask.box.intersects(_title_area(box)) for mask in masks)
    )


def _with_visible_title(windows: Sequence[OnScreen], area: Box) -> Iterator[tuple[OnScreen, str]]:
    """Yield windows with their titles, topmost first. Windows whose title lies under another window are left out."""
    for place, window in reversed(list(enumerate(windows))):
        seen = window.box.intersection(area)
        if seen is None:
            continue
        top = seen.intersection(_title_area(window.box)) or seen
        if not any(other.solid and other.box.encloses(top) for other in windows[place + 1 :]):
            yield from ((window, owner.title) for owner in window.owners if owner.title.strip())


def _title_area(box: Box) -> Box:
    return Box(box.left, box.top - TITLE_PX, box.width, 2 * TITLE_PX)

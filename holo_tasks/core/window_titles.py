"""What the windows on a screen are called, and what of that may be known outside this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holo_tasks.core.frame import Frame, Mask, OnScreen
from holo_tasks.core.geometry import Box
from holo_tasks.core.known_elements import Tell
from holo_tasks.core.visible_text import one_line

MOST, CHARACTERS, CUT = 6, 80, "…"
"""So many titles are told of a screen, the uppermost first, so much of each, and what is put where one goes on."""
LONGEST = 1000
TITLE_PX, COVERED = 40, 0.5
"""How far around its upper edge a window shows its title, in pixels; one that is masked by more than this share is not
told of."""


def titles_on(frame: Frame, region: Box | None = None) -> tuple[str, ...] | None:
    """Return the titles of the windows that show on a part of a screen, uppermost first; None where nobody can say.

    They may be anything, and are for this machine alone.
    """
    if frame.windows is None:
        return None
    area = region or frame.monitor or Box.whole(frame.size)
    return tuple(dict.fromkeys(one_line(title, LONGEST) for _, title in _showing(frame.windows, area)))


def told_titles(frame: Frame, region: Box | None, masks: Sequence[Mask], tell: Tell) -> list[str]:
    """Return the titles of a screen that may be known outside: of windows that are not masked, through ``tell``."""
    area = region or frame.monitor or Box.whole(frame.size)
    windows = _showing(frame.windows or (), area)
    # Cut last: of a secret that was cut nobody finds what is left.
    told = (tell(one_line(title, LONGEST)) for window, title in windows if may_be_told(window.box, area, masks))
    return list(dict.fromkeys(one_line(title, CHARACTERS) for title in told if title))[:MOST]


def may_be_told(box: Box, area: Box, masks: Sequence[Mask]) -> bool:
    """Say whether a window may be told of: most of it is in the area that the agent sees, and neither its title, which
    some programs draw themselves, nor most of it is masked.
    """
    seen = box.intersection(area)
    hidden = sum(part.area for mask in masks if (part := mask.box.intersection(box)) is not None)
    return (
        seen is not None
        and seen.area > COVERED * box.area
        and hidden <= COVERED * box.area
        and not any(mask.box.intersects(_edge(box)) for mask in masks)
    )


def _showing(windows: Sequence[OnScreen], area: Box) -> Iterator[tuple[OnScreen, str]]:
    """Yield windows with their titles, uppermost first, but for those whose title lies under another window."""
    for place, window in reversed(list(enumerate(windows))):
        seen = window.box.intersection(area)
        if seen is None:
            continue
        top = seen.intersection(_edge(window.box)) or seen
        if not any(other.solid and other.box.encloses(top) for other in windows[place + 1 :]):
            yield from ((window, owner.title) for owner in window.owners if owner.title.strip())


def _edge(box: Box) -> Box:
    return Box(box.left, box.top - TITLE_PX, box.width, 2 * TITLE_PX)

"""Find the overlay that a press removed from a page: its texts, and the text that identifies it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holo_tasks.compiler.closing_words import folded, has_topic
from holo_tasks.compiler.marks import LONGEST, is_heading
from holo_tasks.compiler.targets import is_readable
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.vision.screen_text import Line, Sight, matches, plain

MARGIN = 60
"""The distance in pixels from the texts of an overlay to its edge."""
LARGEST = 0.6
"""The largest share of the picture that the texts of an overlay may take."""
LEAST_WORDS, MOST_WORDS = 3, 5
"""The fewest and the most words of a part of a text that identify an overlay."""


def mark_of(shown: Sequence[Line]) -> str:
    """Return the text that identifies an overlay, as a pattern: that with its topic, its heading, or its first text."""
    texts = [line for line in shown if is_readable(line.text)]
    ranked = sorted(texts, key=lambda line: (not has_topic(line.text), not is_heading(line), line.box.top))
    marks = (_fixed_part(line.text.strip().replace("*", "")) for line in ranked)
    return next(filter(None, marks), "")


def name_of(mark: str) -> str:
    """Return a name for an interruption, made of its mark."""
    return re.sub(r"[^a-z0-9]+", "-", folded(mark)).strip("-")[:40].strip("-") or "interruption"


def removed(on: Sight, after: Sight, at: Point) -> list[Line]:
    """Return the texts that a press removed around it. Returns none if anything else on the page changed."""
    gone = [line for line in on.lines if not remains(line, after)]
    came = [line for line in after.lines if not remains(line, on)]
    if not gone:
        return []
    box = _bounds([line.box for line in gone], at)
    if box.area > LARGEST * on.size.width * on.size.height:
        return []
    near = around(box, MARGIN)
    return gone if all(near.intersects(line.box) for line in came) and near.contains(at) else []


def remains(line: Line, sight: Sight) -> bool:
    """Return whether a picture shows a line at its place. An overlay may cover a part of the line."""
    text = plain(line.text)
    for other in sight.lines:
        if not other.box.intersects(line.box):
            continue
        short, long = sorted((text, plain(other.text)), key=len)
        if matches(line.text, other.text) or (len(short) > 1 and (long.startswith(short) or long.endswith(short))):
            return True
    return False


def _fixed_part(text: str) -> str:
    """Return a text as a pattern without numbers and without the end of a long text; empty if little remains."""
    words = text.split()
    fixed = words[: next((place for place, word in enumerate(words) if any(map(str.isdigit, word))), len(words))]
    if len(fixed) < len(words) and len(fixed) < LEAST_WORDS:
        return ""
    if len(fixed) == len(words) and len(text) <= LONGEST:
        return text
    return f"{' '.join(fixed[:MOST_WORDS])}*"


def _bounds(boxes: Sequence[Box], at: Point) -> Box:
    left, top = min([at.x, *(box.left for box in boxes)]), min([at.y, *(box.top for box in boxes)])
    right, bottom = max([at.x, *(box.right for box in boxes)]), max([at.y, *(box.bottom for box in boxes)])
    return Box(left, top, right - left, bottom - top)


def around(box: Box, margin: int) -> Box:
    """Return a box with a margin on all sides."""
    return Box(box.left - margin, box.top - margin, box.width + 2 * margin, box.height + 2 * margin)

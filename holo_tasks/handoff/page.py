"""What people read when they are asked to take over: in Prefect's form, and as an artifact."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from itertools import pairwise

from holo_tasks.audit.pages.formatting import until
from holo_tasks.audit.pages.gesture_marks import Arrow, Ring
from holo_tasks.audit.pages.thumbnails import Copy, smaller
from holo_tasks.audit.pages.timeline import code, escaped
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Point
from holo_tasks.core.person import DONE
from holo_tasks.core.visible_text import shell_word
from holo_tasks.safety.handoffs import Handoff

PICTURE_WIDTH, PICTURE_QUALITY = 640, 60
_LINK = re.compile(r"https?://[^\s()<>\\\[\]\"'`]+")


@dataclass(frozen=True)
class Pictured:
    """The screen as a person is shown it, with marks on the ``points`` that an action goes to."""

    shot: Shot
    points: tuple[Point, ...] = ()

    def small(self) -> Copy | None:
        """Return a small copy; None if the picture cannot be read."""
        area, rings = self.shot.area, [Ring(point.x, point.y) for point in self.points]
        arrows = [Arrow(one.x, one.y, other.x, other.y) for one, other in pairwise(self.points)]
        shown = (area.left, area.top, area.width, area.height)
        return smaller(
            self.shot.data, width=PICTURE_WIDTH, quality=PICTURE_QUALITY, drawn=[*rings, *arrows], shown=shown
        )


def page(handoff: Handoff, picture: Pictured | None, *, title: str) -> str:
    """Return Markdown that says what happened and what to do, with a small picture."""
    ways = [
        f"- In Prefect: the *Resume* button of this run, {escaped(until(handoff.expires_at, stays=True))}",
        f"- From a shell: {code(command(handoff))}",
    ]
    answer = f"Then answer: {_then(handoff)}."
    head = f"### {escaped(title.rstrip('.'), 120)}"
    return "\n\n".join([head, *_what(handoff), *_picture(picture), answer, "\n".join(ways)]) + "\n"


def form_text(handoff: Handoff, picture: Pictured | None) -> str:
    """Return what stands above Prefect's form, which has the room of a few lines."""
    end = f"Hand-off {code(handoff.id)}, {escaped(until(handoff.expires_at, stays=True))}. Afterwards {_then(handoff)}."
    return "\n\n".join([*_what(handoff), *_picture(picture), end]) + "\n"


def _then(handoff: Handoff) -> str:
    if handoff.suspended:
        return "the run begins again, on a new desktop, and leaves out what is done"
    return "the agent takes a new look at the screen and goes on"


def _what(handoff: Handoff) -> list[str]:
    parts = [f"> {escaped(handoff.question, 1000)}"]
    if handoff.live:
        live = f"[Open the live desktop]({handoff.live})" if _LINK.fullmatch(handoff.live) else escaped(handoff.live)
        parts.append(f"**{live}** and do there what is needed; it is not recorded.")
    return parts


def _picture(picture: Pictured | None) -> list[str]:
    small = picture.small() if picture else None
    if small is None:
        return []
    return [f"![The screen as it was](data:image/jpeg;base64,{base64.b64encode(small.data).decode('ascii')})"]


def command(handoff: Handoff) -> str:
    """Return the command that answers a hand-off; a yes to an action is nothing to be pasted without a thought."""
    choices = [DONE] if DONE in handoff.choices else handoff.choices
    ways = ", or ".join(f"--choice {shell_word(choice)}" for choice in choices)
    return f"holo-tasks handoff resume {handoff.id} {ways}"

"""Write the texts of a hand-off: for Prefect's form, for the artifact in Prefect, and for the command line."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from itertools import pairwise

from holo_tasks.audit.pages.formatting import until
from holo_tasks.audit.pages.gesture_marks import Arrow, Ring
from holo_tasks.audit.pages.thumbnails import Copy, smaller
from holo_tasks.audit.pages.timeline import code, escaped
from holo_tasks.core.person import DONE
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.texts.visible_text import shell_word
from holo_tasks.safety.records.handoffs import Handoff

PICTURE_WIDTH, PICTURE_QUALITY = 640, 60
_LINK = re.compile(r"https?://[^\s()<>\\\[\]\"'`]+")


@dataclass(frozen=True)
class Pictured:
    """The screenshot shown to a person, with marks on the ``points`` that an action goes to."""

    shot: Shot
    points: tuple[Point, ...] = ()

    def small(self) -> Copy | None:
        """Return a small copy, or ``None`` if the picture cannot be read."""
        area, rings = self.shot.area, [Ring(point.x, point.y) for point in self.points]
        arrows = [Arrow(one.x, one.y, other.x, other.y) for one, other in pairwise(self.points)]
        shown = (area.left, area.top, area.width, area.height)
        return smaller(
            self.shot.data, width=PICTURE_WIDTH, quality=PICTURE_QUALITY, drawn=[*rings, *arrows], shown=shown
        )


def page(handoff: Handoff, picture: Pictured | None, *, title: str) -> str:
    """Return Markdown with the question, a small picture, and the ways to answer."""
    ways = [
        f"- In Prefect: the *Resume* button of this run, {escaped(until(handoff.expires_at, stays=True))}",
        f"- From a shell: {code(command(handoff))}",
    ]
    answer = f"Then answer: {_next_step(handoff)}."
    head = f"### {escaped(title.rstrip('.'), 120)}"
    return "\n\n".join([head, *_question_and_link(handoff), *_picture(picture), answer, "\n".join(ways)]) + "\n"


def form_text(handoff: Handoff, picture: Pictured | None) -> str:
    """Return the text above Prefect's form, which has room for a few lines."""
    when = escaped(until(handoff.expires_at, stays=True))
    end = f"Hand-off {code(handoff.id)}, {when}. Afterwards {_next_step(handoff)}."
    return "\n\n".join([*_question_and_link(handoff), *_picture(picture), end]) + "\n"


def _next_step(handoff: Handoff) -> str:
    if handoff.suspended:
        return "the run starts again on a new desktop and skips the finished work"
    return "the agent takes a new look at the screen and goes on"


def _question_and_link(handoff: Handoff) -> list[str]:
    parts = [f"> {escaped(handoff.question, 1000)}"]
    if handoff.live:
        live = f"[Open the live desktop]({handoff.live})" if _LINK.fullmatch(handoff.live) else escaped(handoff.live)
        parts.append(f"**{live}** and help there. Your input is not recorded.")
    return parts


def _picture(picture: Pictured | None) -> list[str]:
    small = picture.small() if picture else None
    if small is None:
        return []
    return [f"![The screen at that time](data:image/jpeg;base64,{base64.b64encode(small.data).decode('ascii')})"]


def command(handoff: Handoff) -> str:
    """Return the command that answers a hand-off. It offers only *done* if that is a choice.

    Otherwise it lists every choice: a person should not paste an approval without reading it.
    """
    choices = [DONE] if DONE in handoff.choices else handoff.choices
    ways = ", or ".join(f"--choice {shell_word(choice)}" for choice in choices)
    return f"holo-tasks handoff resume {handoff.id} {ways}"

"""What people read when they are asked to take over: in Prefect's form, and as an artifact."""

from __future__ import annotations

import base64
import re
import shlex

from holo_tasks.audit.pictures import smaller
from holo_tasks.audit.timeline import code, escaped
from holo_tasks.core.person import DONE
from holo_tasks.safety.handoffs import Handoff

PICTURE_WIDTH, PICTURE_QUALITY = 640, 60
_LINK = re.compile(r"https?://[^\s()<>\\\[\]\"'`]+")


def page(handoff: Handoff, picture: bytes | None, *, title: str) -> str:
    """Return Markdown that says what happened and what to do, with a small picture."""
    ways = [
        f"- In Prefect: the *Resume* button of this run, until {escaped(handoff.expires_at)}",
        f"- From a shell: {code(command(handoff))}",
    ]
    answer = f"Then answer: {_then(handoff)}."
    head = f"### {escaped(title.rstrip('.'), 120)}"
    return "\n\n".join([head, *_what(handoff), *_picture(picture), answer, "\n".join(ways)]) + "\n"


def form_text(handoff: Handoff, picture: bytes | None) -> str:
    """Return what stands above Prefect's form, which has the room of a few lines."""
    end = f"Hand-off {code(handoff.id)}, until {escaped(handoff.expires_at)}. Afterwards {_then(handoff)}."
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


def _picture(picture: bytes | None) -> list[str]:
    small = smaller(picture, width=PICTURE_WIDTH, quality=PICTURE_QUALITY) if picture else None
    if small is None:
        return []
    return [f"![The screen as it was](data:image/jpeg;base64,{base64.b64encode(small.data).decode('ascii')})"]


def command(handoff: Handoff) -> str:
    """Return the command that answers a hand-off; a yes to an action is nothing to be pasted without a thought."""
    choice = DONE if DONE in handoff.choices else "|".join(handoff.choices)
    return f"holo-tasks handoff resume {handoff.id} --choice {shlex.quote(choice)}"

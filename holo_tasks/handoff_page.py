"""What people read when they are asked to take over: in Prefect's form, and as an artifact."""

from __future__ import annotations

import base64
import shlex

from holo_tasks.audit.pictures import smaller
from holo_tasks.audit.timeline import escaped
from holo_tasks.audit.words import safe
from holo_tasks.safety.handoffs import Handoff

PICTURE_WIDTH, PICTURE_QUALITY = 640, 60


def page(handoff: Handoff, picture: bytes | None, *, title: str) -> str:
    """Return Markdown that says what happened and what to do, with a small picture."""
    parts = [f"### {escaped(title, 120)}: the agent asks for a person", f"> {escaped(handoff.question, 1000)}"]
    if picture and (small := smaller(picture, width=PICTURE_WIDTH, quality=PICTURE_QUALITY)):
        encoded = base64.b64encode(small.data).decode("ascii")
        parts.append(f"![The screen as it was then](data:image/jpeg;base64,{encoded})")
    if handoff.live:
        parts.append(f"**[Open the live desktop]({handoff.live})** and do what is needed there; it is not recorded.")
    parts += [
        "Then answer: the agent takes a new look at the screen and goes on.",
        f"- In Prefect: the *Resume* button of this run, until {handoff.expires_at}",
        f"- From a shell: <code>{safe(command(handoff))}</code>",
    ]
    return "\n\n".join(parts[:-2]) + "\n\n" + "\n".join(parts[-2:]) + "\n"


def form_text(handoff: Handoff, picture: bytes | None, *, title: str) -> str:
    """Return the same for the form itself, where the button is at hand."""
    return page(handoff, picture, title=title)


def command(handoff: Handoff) -> str:
    """Return the command that answers a hand-off."""
    return f"holo-tasks handoff resume {handoff.id} --choice {shlex.quote(handoff.choices[0])}"

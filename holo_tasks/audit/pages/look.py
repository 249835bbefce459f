"""Write the page of `holo-tasks look`: a screenshot with a box around each element, and the script line for each."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box

PLAIN = {"panel", "window", "document", "section", "scroll pane", "viewport", "unknown", "group", "separator"}
"""Roles of containers. They are drawn, but listed only if they have a name."""
FIELDS = {"text field", "password field", "combo box", "spin button", "search box"}
TIMES = {"tree": "Tree read in", "text": "Texts read in", "capture": "Captured in"}
SECRET = "password field"


def write_look(out: Path, frame: Frame, look: Mapping[str, Any], hidden: Sequence[Box]) -> None:
    """Write the page to ``out``. The ``hidden`` boxes are painted black. ``told`` is the JSON output of the command."""
    elements = [_element(number, each) for number, each in enumerate(look["elements"])]
    with whole_page(out, "page") as page:
        write_page(
            page,
            "look.html",
            "look_page.js",
            title=", ".join(each["title"] for each in look["windows"] if each["title"]) or "Elements on the screen",
            picture=_picture(frame, hidden),
            size=frame.size,
            windows=look["windows"],
            # The smallest element last, because the topmost one receives the pointer.
            drawn=sorted(elements, key=lambda each: -each["box"][2] * each["box"][3]),
            listed=sorted(
                (each for each in elements if each["name"] or each["role"] not in PLAIN),
                key=lambda each: (each["box"][1], each["box"][0]),
            ),
            took=[(TIMES[name], took) for name, took in look["took_ms"].items() if took is not None],
            why_not=list(look["why_not"].values()),
            states=look.get("states"),
        )


def line_for(role: str, name: str) -> str:
    """Return a line of Python that acts on an element. Returns an empty string if the element cannot be named."""
    if not name or role in PLAIN:
        return ""
    named = f"role={role!r}, name={name!r}"
    if role == SECRET:
        return f"await hands.click({named}); await hands.write('{{{{secret:NAME}}}}')"
    if role in FIELDS:
        return f"await hands.click({named}); await hands.write('…')"
    if role in ("text", "label", "heading", "paragraph"):
        return f"await hands.wait_for({name!r})"
    return f"await hands.click({named})"


def _element(number: int, look: Mapping[str, Any]) -> dict[str, Any]:
    return {**look, "number": number, "line": line_for(look["role"], look["name"]), "states": ", ".join(look["states"])}


def _picture(frame: Frame, hidden: Sequence[Box]) -> str:
    from PIL import Image, ImageDraw

    image = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
    pen = ImageDraw.Draw(image)
    for box in hidden:
        if box.area:
            pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill="black")
    data = io.BytesIO()
    image.save(data, "PNG", optimize=False)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()

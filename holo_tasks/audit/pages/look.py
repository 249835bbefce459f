"""The page of `holo-tasks look`: a picture of the screen, a box around each element, and how a script says it."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box

PLAIN = {"panel", "window", "document", "section", "scroll pane", "viewport", "unknown", "group", "separator"}
"""What only holds others: it is drawn, but not listed unless it has a name."""
FIELDS = {"text field", "password field", "combo box", "spin button", "search box"}
TIMES = {"tree": "Tree read in", "text": "Texts read in", "capture": "Captured in"}
SECRET = "password field"


def write_look(out: Path, frame: Frame, told: Mapping[str, Any], hidden: Sequence[Box]) -> None:
    """Write the page; what is in the ``hidden`` boxes is painted over."""
    elements = [_shown(number, each) for number, each in enumerate(told["elements"])]
    with whole_page(out, "page") as page:
        write_page(
            page,
            "look.html",
            "look_page.js",
            title=", ".join(each["title"] for each in told["windows"] if each["title"]) or "What is on the screen",
            picture=_picture(frame, hidden),
            size=frame.size,
            windows=told["windows"],
            # The smallest last: what is drawn last gets the pointer.
            drawn=sorted(elements, key=lambda each: -each["box"][2] * each["box"][3]),
            listed=sorted(
                (each for each in elements if each["name"] or each["role"] not in PLAIN),
                key=lambda each: (each["box"][1], each["box"][0]),
            ),
            took=[(TIMES[name], took) for name, took in told["took_ms"].items() if took is not None],
            why_not=list(told["why_not"].values()),
            states=told.get("states"),
        )


def line_for(role: str, name: str) -> str:
    """Return the line of a script in Python that acts on an element; empty where there is nothing to name it by."""
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


def _shown(number: int, told: Mapping[str, Any]) -> dict[str, Any]:
    return {**told, "number": number, "line": line_for(told["role"], told["name"]), "states": ", ".join(told["states"])}


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

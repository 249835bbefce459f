"""Draw numbers on the elements of a screen, and turn a chosen number into a point."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from PIL import Image

from holo_tasks.core.errors import InvalidUsage, ModelFailed, UnusableReply
from holo_tasks.core.screen.frame import RedactedFrame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.set_of_mark.drawing import draw_marks
from holo_tasks.set_of_mark.marks import Mark, find_marks, resolve

if TYPE_CHECKING:
    from holo_tasks.vision.ocr_reader import Reader


class Marker:
    """Marks one screen. It needs OCR, which comes with the ``rehearsal`` extra."""

    def __init__(self) -> None:
        if find_spec("rapidocr") is None:
            raise InvalidUsage("Set-of-mark prompting reads the screen: pip install 'prefect-holo[rehearsal]'.")
        self.marks: tuple[Mark, ...] = ()

    def draw(self, frame: RedactedFrame) -> RedactedFrame:
        """Find the elements of a screen and draw their numbers on it."""
        size = frame.frame.size
        picture = Image.frombytes("RGB", (size.width, size.height), frame.frame.rgb)
        self.marks = find_marks(picture, _reader())
        return replace(frame, frame=replace(frame.frame, rgb=draw_marks(picture, self.marks).tobytes()))

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a choice. The number 0 means that the element has no mark."""
        number = {"type": "integer", "minimum": 0, "maximum": len(self.marks)}
        return {
            "type": "object",
            "properties": {"number": number},
            "required": ["number"],
            "additionalProperties": False,
        }

    def read(self, value: dict[str, Any]) -> int:
        """Return the chosen number. Raises `UnusableReply` if no mark has it."""
        number = value.get("number")
        if not isinstance(number, int) or isinstance(number, bool) or set(value) != {"number"}:
            raise UnusableReply(
                "the model's reply holds no number of a mark", correction="Give one number that is on a tag, or 0."
            )
        if number:
            resolve(self.marks, number)
        return number

    def point(self, number: int, wanted: str) -> Point:
        """Return the point to click for a mark, in pixels of the marked picture. Raises `ModelFailed` for 0."""
        if number == 0:
            raise ModelFailed(f"The model does not see {wanted!r} among the {len(self.marks)} marks on the screen.")
        return resolve(self.marks, number)


@cache
def _reader() -> Reader:
    from holo_tasks.vision.ocr_reader import Reader

    return Reader()

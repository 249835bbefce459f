"""A program of painted pages in memory: the model finds orders and saves a note on them. Its buttons may have moved."""

from __future__ import annotations

from dataclasses import dataclass, field

from holo_tasks.core.input.gestures import Click, Gesture, Receipt, Write
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from tests.support.painted_desktop import PaintedDesktop
from tests.support.recorded_runs import SIZE, Page, page

RECEIPT = 5012


@dataclass
class Orders:
    """The program's state. ``does`` names its differences from the recorded program; ``saved`` lists its permanent
    effects.
    """

    does: frozenset[str] = frozenset()
    at: str = "search"
    order: str = ""
    saved: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """Return the visible page."""
        head = (20, 10, "Harbor Stock")
        match self.at:
            case "search" | "note":
                find = "Look it up" if "renamed" in self.does else "Start search"
                fields = [(200, 118, self.order)]
                note = [(300, 350, "Close note")] if self.at == "note" else []
                told = [(20, 50, "ORDER SEARCH"), (20, 120, "Order number"), (60, 300, find), *note]
                return page(head, *told, fields=fields)
            case "tip":
                return page(head, (20, 50, "TIP OF THE DAY"), (60, 120, "Large ones go first."), (60, 300, "Close tip"))
            case "record":
                number = "ZZ-0001" if "another record" in self.does else self.order
                save = "Put on file" if "renamed save" in self.does else "Save note"
                save = "Save notes" if "look-alike" in self.does else save
                buttons = [(60, 300, save), (300, 300, "Delete order")]
                return page(head, (20, 50, "ORDER RECORD"), (20, 120, "Order"), (200, 120, number), *buttons)
            case _:
                label = "Paper" if "renamed receipt" in self.does else "Receipt"
                told = [(20, 120, "Order"), (200, 120, self.order), (20, 160, label), (200, 160, str(RECEIPT))]
                return page(head, (20, 50, "NOTE SAVED"), *told)

    def press(self, text: str) -> None:
        """Press the button with this text."""
        match text:
            case "Close note":
                self.at = "search"
            case _ if self.at == "note":  # a modal note: other buttons do nothing
                self.ignored.append(text)
            case "Start search" | "Look it up":
                self.at = "tip" if "tip" in self.does else "record"
            case "Close tip":
                self.at = "record"
            case "Save note" | "Put on file":
                self.saved.append(self.order)
                self.at = "record" if "effect lost" in self.does else "saved"
            case "Delete order" | "Save notes":
                self.saved.append(f"wrong: {text}")


class PagedProgram(PaintedDesktop):
    """Shows the program, and presses the button under each click."""

    def __init__(self, *does: str) -> None:
        super().__init__()
        self.orders = Orders(frozenset(does), "note" if "note" in does else "search")

    async def look(self, *, after_action: bool = False) -> Frame:
        return Frame(self.orders.page.picture.tobytes(), SIZE, self.display)

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        receipt = await super().do(gesture, deadline=deadline, input_permit=input_permit)
        if isinstance(gesture, Write):
            self.orders.order = gesture.text
        elif isinstance(gesture, Click):
            self._click(gesture.at)
        return receipt

    def _click(self, at: Point) -> None:
        for (left, top), text in self.orders.page.texts.items():
            if left - 5 <= at.x <= left + 9 * len(text) + 15 and top - 5 <= at.y <= top + 25:
                self.orders.press(text)
                return


def place(button: str, *does: str, at: str = "record") -> dict[str, int]:
    """Return the position of a button in model coordinates."""
    found = Orders(frozenset(does), at, "AB-1207").page.place(button)
    return {"x": found.x * 1000 // SIZE.width, "y": found.y * 1000 // SIZE.height}

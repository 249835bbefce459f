"""One program of the field suite: how it starts, its task on four items, its plan, and its judge."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.screen.geometry import Size

Call: TypeAlias = Mapping[str, Any]
Values: TypeAlias = Mapping[str, str]
Records: TypeAlias = list[tuple[str, ...]]
Step: TypeAlias = Callable[[ElementTree, Size], Call | None]
"""Returns a model's next call from the elements of this moment, or ``None`` if the program is not ready for it."""
SIZE = Size(1280, 800)
UNCHANGED = "none"
GTK_FONT, GTK_DARK = {"GDK_DPI_SCALE": "1.25"}, {"GTK_THEME": "Adwaita:dark"}


@dataclass(frozen=True)
class Started:
    """Command, environment and server process of a program."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    server: Sequence[str] = ()
    """Command of a server that must answer at ``url`` before the program starts."""
    url: str = ""


class Program(ABC):
    """Base of the programs. The first item is recorded, the others are replayed."""

    name: ClassVar[str]
    title: ClassVar[str]
    """The program's name and version kind for people, such as “Gnumeric (GTK 3)”."""
    binary: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    task: ClassVar[str]
    """The task in words, for the model. The values of the item come as data."""
    drifts: ClassVar[tuple[str, ...]]
    items: ClassVar[Sequence[Values]]

    @classmethod
    def missing(cls) -> str:
        """Return the reason why this program cannot run here; empty if it can."""
        return "" if shutil.which(cls.binary) else f"install {' '.join(cls.packages)}"

    @abstractmethod
    def prepare(self, folder: Path, drift: str) -> Started:
        """Write the program's files and settings into a new folder, and return how to start it."""

    @abstractmethod
    def is_ready(self, tree: ElementTree) -> bool:
        """Say whether the program shows the control with which the task begins."""

    @abstractmethod
    def plan(self, item: Values) -> Sequence[Step]:
        """Return the fewest steps that do an item."""

    @abstractmethod
    def records(self, folder: Path) -> Records:
        """Return all business records that the program's own file or database holds."""

    @abstractmethod
    def expected(self, before: Records, item: Values) -> Records:
        """Return the records that the file must hold after the task."""


def press(role: str, name: str = "*", *, row: str = "", last: bool = False, tool: str = "click") -> Step:
    """Return a press on an element, in the row of a text if one is given. ``last`` takes the newest of several."""

    def step(tree: ElementTree, size: Size) -> Call | None:
        found = [each for each in tree.find(role, name) if "sensitive" in each.states or "enabled" in each.states]
        if row:
            beside = [each for each in tree.find(None, row) if each.role not in ("table", "tree table", "window")]
            found = [each for each in found if any(_in_one_row(each, other) for other in beside)]
        if not found:
            return None
        center = found[-1 if last else 0].box.center
        return pointed(center.x, center.y, name if name != "*" else role, size, tool)

    return step


def _in_one_row(one: Element, other: Element) -> bool:
    return abs(one.box.center.y - other.box.center.y) < max(8, other.box.height // 2)


def pointed(x: float, y: float, element: str, size: Size, tool: str = "click") -> Call:
    """Return a press on a point of the screen as a model calls it."""
    across, down = (-(-1000 * int(place) // length) for place, length in ((x, size.width), (y, size.height)))
    return {"tool_name": tool, "element": element, "x": across, "y": down}


def types(text: str, *, overwrite: bool = False, press_enter: bool = False, when: Step | None = None) -> Step:
    """Return text for the focused element. With ``when``, the text waits until that step could be done."""
    call = {"tool_name": "write", "content": text, "overwrite": overwrite, "press_enter": press_enter}
    return lambda tree, size: call if when is None or when(tree, size) is not None else None


def keys(*names: str, when: Step | None = None) -> Step:
    """Return a key combination."""
    call = {"tool_name": "hotkey", "keys": list(names)}
    return lambda tree, size: call if when is None or when(tree, size) is not None else None


def answers(text: str, when: Step | None = None) -> Step:
    """Return an answer. With ``when``, it waits until that step could be done."""
    call = {"tool_name": "answer", "content": text}
    return lambda tree, size: call if when is None or when(tree, size) is not None else None

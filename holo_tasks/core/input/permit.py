"""The decision whether an action is allowed, and the facts about the screen that it is based on.

`Policy` decides, `Permit` is its decision, and `Scene` answers its questions. `loop` asks right before each action.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.input.gestures import Gesture, Write
from holo_tasks.core.input.input_permit import InputPermit as InputPermit
from holo_tasks.core.input.input_permit import gesture_digest as gesture_digest
from holo_tasks.core.input.pressed_elements import (
    is_button,
    is_only_focus,
    is_single_key,
    names_at,
    names_in,
    with_keys,
)
from holo_tasks.core.input.pressing import is_word, is_wordy, presses
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.tool_calls import AnyCall
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point

HIGHEST = 48
"""Height in pixels above which a field may be a list or a terminal, where a single letter is a command."""


@dataclass(frozen=True)
class Permit:
    """A policy's decision on one action. ``rule`` describes the deciding rule for people.

    ``owner`` is the program that the action was allowed in; empty if it does not matter or is unknown. With ``asks``,
    the action is allowed only after a person has approved it.
    """

    allowed: bool
    rule: str
    owner: str = ""
    asks: bool = False

    def input_permit(
        self,
        gesture: Gesture,
        expires_s: float,
        frame: int = 0,
        field: Box | None = None,
        codes: tuple[tuple[str, int], ...] = (),
        held: tuple[Box, ...] = (),
    ) -> InputPermit:
        """Return the slip for the process that sends the input.

        ``frame`` is the number of the frame that the action was decided on. ``field`` is where a typed secret must
        show, if it is bound to fields. ``codes`` are the one-time codes reserved for it. ``held`` are the boxes of the
        frame that show its business item.
        """
        return InputPermit(gesture_digest(gesture), expires_s, self.owner, frame, field, codes, held)


class TextReader(Protocol):
    """Reads the text of the control at a point, or the text in a box."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str: ...


@runtime_checkable
class ReadsTargets(Protocol):
    """A reader that can separate the text on a control from the text around it."""

    async def on_target(self, frame: Frame, at: Point) -> str:
        """Return only the text on the control at a point; empty without a control."""
        ...


@runtime_checkable
class ReportsFields(Protocol):
    """A reader that can tell a text field from a button."""

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        """Return the text field at a point, or ``None`` if it is absent or may be another control."""
        ...


@runtime_checkable
class ReportsSymbols(Protocol):
    """A reader that can tell a button with an icon from an empty place."""

    async def unread_at(self, frame: Frame, at: Point) -> bool:
        """Return whether a point seems to be on a button with an icon that is not text."""
        ...


@runtime_checkable
class ReportsLabels(Protocol):
    """A reader that can find the label of a field."""

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        """Return the text field at a point if it has one of these labels; ``None`` otherwise, or if that is unknown."""
        ...


@dataclass(frozen=True)
class FocusedButton:
    """The button that a key presses, according to the accessibility tree: its names and, if certain, its element.

    It is certain if the text on the button equals its name, and the last click was on it.
    """

    names: tuple[str, ...] = ()
    button: Element | None = None


@dataclass(frozen=True)
class Scene:
    """The screen that an action was decided on, and the facts that a policy may ask for.

    ``owner_at`` returns the current owner of the window at a point or, without a point, of the focused window.
    ``reader`` is ``None`` without OCR. ``look`` captures the current screen, to find windows that appeared since the
    model was asked.

    ``clicked`` is the click that the focus still follows, if known. ``tabbed`` is the click whose focus has since been
    moved only by Tab. ``elements`` returns the accessibility tree, and is ``None`` without such a source. Trees may be
    wrong, so they can forbid an action but never allow one that the pixels would not.
    """

    frame: Frame
    owner_at: Callable[[Point | None], Awaitable[Owner]]
    reader: TextReader | None = None
    look: Callable[[], Awaitable[Frame]] | None = None
    clicked: Point | None = None
    tabbed: Point | None = None
    elements: Callable[[], Awaitable[ElementTree]] | None = None

    async def called(self, where: Point | Box) -> tuple[str, ...]:
        """Return the accessible names of the control at a point, or of all buttons in a box."""
        if self.elements is None:
            return ()
        tree = await self.elements()
        return names_at(tree, where) if isinstance(where, Point) else names_in(tree, where)

    async def focused_button(self, gesture: Gesture) -> FocusedButton:
        """Return the button that a single Space or Enter presses, according to the accessibility tree."""
        if self.elements is None or not is_single_key(gesture):
            return FocusedButton()
        tree = await self.elements()
        found = with_keys(tree, gesture)
        if found is None:
            return FocusedButton()
        sure = not found.others and is_only_focus(tree, found.button) and await self._is_certainly_focused(found.button)
        return FocusedButton(found.names, found.button if sure else None)

    async def _is_certainly_focused(self, button: Element) -> bool:
        """Return whether a button certainly has the focus: it was clicked last, and its text equals its name."""
        if not button.name or not isinstance(self.reader, ReadsTargets):
            return False
        clicked = await self.written_at(None)
        if clicked is None or not button.box.contains(clicked) or (await self.owner_at(clicked)).pid != button.pid:
            return False
        read = await self.reader.on_target(await self.look() if self.look else self.frame, clicked)
        return " ".join(read.split()).casefold() == " ".join(button.name.split()).casefold()

    async def in_field(self, at: Point | None) -> bool:
        """Return whether keys certainly go to a text field.

        That is the field at ``at`` or, without a point, the last clicked one if its window has the focus.
        """
        return await self.field(at) is not None

    async def field(self, at: Point | None) -> Box | None:
        """Return the text field that keys certainly go to, by the rules of `in_field`."""
        return await self._field_at(await self.written_at(at))

    async def beside_field(self) -> bool:
        """Return whether keys go to a control that Tab reached from the last clicked text field."""
        return self.tabbed is not None and await self._field_at(await self._if_focused(self.tabbed)) is not None

    async def may_press(self, gesture: Gesture) -> bool:
        """Return whether a gesture's keys may press some button of their window."""
        how = presses(gesture)
        if how != "outside a field":
            return how == "may"
        field = await self.field(gesture.at if isinstance(gesture, Write) else None)
        if field is not None and (field.height <= HIGHEST or is_wordy(gesture)):
            return False
        return not (is_word(gesture) and await self.beside_field())

    def shown_in(self, owner: Owner) -> Box:
        """Return the area in which a window shows something.

        That is the whole screen if the window's place is unknown or a menu is open.
        """
        return (not owner.popup and owner.box) or Box.whole(self.frame.size)

    async def written_at(self, at: Point | None) -> Point | None:
        """Return the point that keys go to: ``at``, or the last click if its window has the focus."""
        if at is not None:
            return at if at.inside(self.frame.size) else None
        return None if self.clicked is None else await self._if_focused(self.clicked)

    async def _if_focused(self, where: Point) -> Point | None:
        """Return the point if its window has the focus; ``None`` if it has not, or that is unknown."""
        if not where.inside(self.frame.size):
            return None
        clicked, focused = await self.owner_at(where), await self.owner_at(None)
        if focused.box is None or (clicked.pid, clicked.title, clicked.box) != (
            focused.pid,
            focused.title,
            focused.box,
        ):
            return None
        return where

    async def _field_at(self, where: Point | None) -> Box | None:
        if where is None or not isinstance(self.reader, ReportsFields):
            return None
        field = await self.reader.field_at(await self.look() if self.look else self.frame, where)
        return None if field is None or await self.is_button(where) else field

    async def is_button(self, at: Point) -> bool:
        """Return whether the accessibility tree has a button at a point."""
        return self.elements is not None and is_button(await self.elements(), at)

    async def text(self, where: Point | Box) -> str:
        """Return the text on the current screen at a point or in a box; empty without OCR."""
        if self.reader is None:
            return ""
        return await self.reader(await self.look() if self.look else self.frame, where)

    async def unread(self, at: Point) -> bool:
        """Return whether a point of the current screen is on a button without readable text."""
        if not isinstance(self.reader, ReportsSymbols):
            return False
        return await self.reader.unread_at(await self.look() if self.look else self.frame, at)

    async def window_text(self, at: Point | None) -> str:
        """Return all text in the current window at a point or, without a point, in the focused window."""
        return await self.text(self.shown_in(await self.owner_at(at)))


class Policy(Protocol):
    """Decides about each action right before it is carried out."""

    async def permit(self, call: AnyCall, gesture: Gesture, scene: Scene) -> Permit: ...


async def check_field(
    name: str, labels: Sequence[str], at: Point | None, scene: Scene, *, moved: bool = False
) -> Box | None:
    """Return the field that a secret with bound fields goes to, or ``None`` if it has none.

    Raises `SecretRefused` if it would go to another field, or the field is unknown. ``moved`` says that keys come first
    that may move the focus.
    """
    if not labels:
        return None
    only = f"The secret {name!r} is typed into the field {' or '.join(f'‘{label}’' for label in labels)} only"
    if not isinstance(scene.reader, ReportsLabels):
        raise SecretRefused(f"{only}, and no OCR is installed to read labels: pip install 'prefect-holo[rehearsal]'.")
    where = None if moved else await scene.written_at(at)
    if where is None:
        raise SecretRefused(f"{only}: click that field, then write the secret at once. Nothing was typed.")
    field = await scene.reader.labelled(scene.frame, where, labels)
    if field is None or await scene.is_button(where):
        raise SecretRefused(f"{only}, but OCR finds no such label next to or above the clicked field.")
    return field


def action_digest(call: AnyCall, gesture: Gesture, owner: str) -> str:
    """Return a digest of an action: its tool, its arguments, its pixels and its program."""
    reported = json.dumps([call.model_dump(mode="json"), gesture_digest(gesture), owner], sort_keys=True)
    return hashlib.sha256(reported.encode()).hexdigest()

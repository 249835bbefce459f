"""Whether an action may go ahead."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from holo_tasks.core.actions import AnyCall
from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Gesture, Write
from holo_tasks.core.input_permit import Slip as Slip
from holo_tasks.core.input_permit import gesture_digest as gesture_digest
from holo_tasks.core.pressed_elements import alone, is_button, is_single_key, names_at, names_in, with_keys
from holo_tasks.core.pressing import is_word, is_wordy, presses
from holo_tasks.core.programs import Owner

HIGHEST = 48
"""A field that is higher, in pixels, may be a list or a terminal: a single letter is a command there, as in a menu."""


@dataclass(frozen=True)
class Permit:
    """A policy's word on one action; ``rule`` says which rule decided, in words a person understands.

    ``owner`` is the program that the action was allowed in, empty if that did not matter or is not known.
    ``asks`` says that the action is allowed once a person has said yes to it, and not before.
    """

    allowed: bool
    rule: str
    owner: str = ""
    asks: bool = False

    def slip(
        self,
        gesture: Gesture,
        expires_s: float,
        frame: int = 0,
        field: Box | None = None,
        codes: tuple[tuple[str, int], ...] = (),
        held: tuple[Box, ...] = (),
    ) -> Slip:
        """Return what the hands are shown; ``frame`` is the number of the frame that the action was decided on.

        ``field`` is where a secret that is typed has to show, if it is bound to fields; ``codes`` are the one-time
        codes that were set aside for it, ``held`` where the frame says what item it is about.
        """
        return Slip(gesture_digest(gesture), expires_s, self.owner, frame, field, codes, held)


class TextReader(Protocol):
    """Reads what is written on a screen: on what is at a point, or anywhere in a box."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str: ...


@runtime_checkable
class ReadsTargets(Protocol):
    """A reader that can tell what is on a control from what is beside it."""

    async def on_target(self, frame: Frame, at: Point) -> str:
        """Return what is written on the control at a point, and nothing else; nothing if there is no control."""
        ...


@runtime_checkable
class TellsFields(Protocol):
    """A reader that can tell a field to write in from a button."""

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        """Return the text field at a point; None if what is there is none, or may be something else."""
        ...


@runtime_checkable
class TellsSigns(Protocol):
    """A reader that can tell a button with a sign on it from where nothing is."""

    async def unread_at(self, frame: Frame, at: Point) -> bool:
        """Say whether at a point is a button, as far as anybody can say, with a sign on it that is no text."""
        ...


@runtime_checkable
class TellsLabels(Protocol):
    """A reader that can tell what a field is called."""

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        """Return the text field at a point if it is called by one of some labels; None if not, or nobody can say."""
        ...


@dataclass(frozen=True)
class Keyed:
    """What programs say of the button that a key presses: its names, and the button itself where that is sure.

    It is sure if it is read on the button as well that it is called so, and the last click was on it.
    """

    names: tuple[str, ...] = ()
    button: Element | None = None


@dataclass(frozen=True)
class Scene:
    """The screen that an action was decided on, and what a policy may ask about it.

    ``owner_at`` says whose window gets a press at a point or, without one, the keys, by now. ``reader`` is None where
    nothing can read; ``look`` takes the screen as it is by now, for what has come up since the model was asked.
    ``clicked`` is where the click was that the keyboard has followed since, as far as anybody can say, and ``tabbed``
    where it was that the keyboard has left by nothing but Tab. ``elements`` tells what programs say of their elements;
    None where nothing does. They may lie: what they say holds back, and lets nothing pass that reading would not.
    """

    frame: Frame
    owner_at: Callable[[Point | None], Awaitable[Owner]]
    reader: TextReader | None = None
    look: Callable[[], Awaitable[Frame]] | None = None
    clicked: Point | None = None
    tabbed: Point | None = None
    elements: Callable[[], Awaitable[ElementTree]] | None = None

    async def called(self, where: Point | Box) -> tuple[str, ...]:
        """Return what programs call what a press at a point is on, or all buttons in a box."""
        if self.elements is None:
            return ()
        tree = await self.elements()
        return names_at(tree, where) if isinstance(where, Point) else names_in(tree, where)

    async def keyed(self, gesture: Gesture) -> Keyed:
        """Return what programs say of the button that Space or Enter, pressed alone, presses."""
        if self.elements is None or not is_single_key(gesture):
            return Keyed()
        tree = await self.elements()
        found = with_keys(tree, gesture)
        if found is None:
            return Keyed()
        sure = not found.others and alone(tree, found.button) and await self._surely(found.button)
        return Keyed(found.names, found.button if sure else None)

    async def _surely(self, button: Element) -> bool:
        """Say whether a button surely has the keyboard: it was clicked last, and is called there what it is said to."""
        if not button.name or not isinstance(self.reader, ReadsTargets):
            return False
        clicked = await self.written_at(None)
        if clicked is None or not button.box.contains(clicked) or (await self.owner_at(clicked)).pid != button.pid:
            return False
        read = await self.reader.on_target(await self.look() if self.look else self.frame, clicked)
        return " ".join(read.split()).casefold() == " ".join(button.name.split()).casefold()

    async def in_field(self, at: Point | None) -> bool:
        """Say whether keys surely go to a text field: the one they are written at or, without a point, the last that
        was clicked, if its window has the keyboard.
        """
        return await self.field(at) is not None

    async def field(self, at: Point | None) -> Box | None:
        """Return the text field that keys surely go to, as `in_field` says."""
        return await self._field_at(await self.written_at(at))

    async def beside_field(self) -> bool:
        """Say whether keys go to what Tab leads to from the text field that was clicked last."""
        return self.tabbed is not None and await self._field_at(await self._keyed(self.tabbed)) is not None

    async def may_press(self, gesture: Gesture) -> bool:
        """Say whether keys may press some button of their window, whatever has the keyboard there."""
        how = presses(gesture)
        if how != "outside a field":
            return how == "may"
        field = await self.field(gesture.at if isinstance(gesture, Write) else None)
        if field is not None and (field.height <= HIGHEST or is_wordy(gesture)):
            return False
        return not (is_word(gesture) and await self.beside_field())

    def shown_in(self, owner: Owner) -> Box:
        """Return where on the screen a window shows something: anywhere, if nobody knows, or a menu of it is open."""
        return (not owner.popup and owner.box) or Box.whole(self.frame.size)

    async def written_at(self, at: Point | None) -> Point | None:
        """Return where keys go: the point they are written at, or that of the last click if its window has them."""
        if at is not None:
            return at if at.inside(self.frame.size) else None
        return None if self.clicked is None else await self._keyed(self.clicked)

    async def _keyed(self, where: Point) -> Point | None:
        """Return a point on the screen whose window has the keyboard; None if it has not, or nobody can say."""
        if not where.inside(self.frame.size):
            return None
        clicked, keyed = await self.owner_at(where), await self.owner_at(None)
        if keyed.box is None or (clicked.pid, clicked.title, clicked.box) != (keyed.pid, keyed.title, keyed.box):
            return None
        return where

    async def _field_at(self, where: Point | None) -> Box | None:
        if where is None or not isinstance(self.reader, TellsFields):
            return None
        field = await self.reader.field_at(await self.look() if self.look else self.frame, where)
        return None if field is None or await self.is_button(where) else field

    async def is_button(self, at: Point) -> bool:
        """Say whether programs say that what is at a point is a button."""
        return self.elements is not None and is_button(await self.elements(), at)

    async def text(self, where: Point | Box) -> str:
        """Return what is written somewhere by now, nothing if nothing can read."""
        if self.reader is None:
            return ""
        return await self.reader(await self.look() if self.look else self.frame, where)

    async def unread(self, at: Point) -> bool:
        """Say whether what is at a point by now is a button on which nothing can be read."""
        if not isinstance(self.reader, TellsSigns):
            return False
        return await self.reader.unread_at(await self.look() if self.look else self.frame, at)

    async def window_text(self, at: Point | None) -> str:
        """Return all that is written by now in the window that gets a press at a point or, without one, the keys."""
        return await self.text(self.shown_in(await self.owner_at(at)))


class Policy(Protocol):
    """Decides about each action right before it is done."""

    async def permit(self, call: AnyCall, gesture: Gesture, scene: Scene) -> Permit: ...


async def check_field(
    name: str, labels: Sequence[str], at: Point | None, scene: Scene, *, moved: bool = False
) -> Box | None:
    """Return the field that a secret which is bound to fields goes to, None for one that is bound to none.

    Raises `SecretRefused` if it would go to another field, or nobody can say.

    ``moved`` says that keys come first which may take the keyboard to another field.
    """
    if not labels:
        return None
    only = f"The secret {name!r} is typed into the field {' or '.join(f'‘{label}’' for label in labels)} only"
    if not isinstance(scene.reader, TellsLabels):
        raise SecretRefused(f"{only}, and nothing here can read labels: pip install 'prefect-holo[rehearsal]'.")
    where = None if moved else await scene.written_at(at)
    if where is None:
        raise SecretRefused(f"{only}: click that field, then write the secret at once. Nothing was typed.")
    field = await scene.reader.labelled(scene.frame, where, labels)
    if field is None or await scene.is_button(where):
        raise SecretRefused(f"{only}, and no such label is read right beside or above the one that was clicked.")
    return field


def action_digest(call: AnyCall, gesture: Gesture, owner: str) -> str:
    """Return a digest of an action: the tool and all its arguments, the pixels it means, and the program it is for."""
    told = json.dumps([call.model_dump(mode="json"), gesture_digest(gesture), owner], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()

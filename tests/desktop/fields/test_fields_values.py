"""The position of a typed secret is reported however the typing ended, even if the program draws late or moves on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import DesktopFailed, LimitReached
from holo_tasks.core.input.gestures import Typed
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.fields.changed_field import Fields
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.input.gesture_player import GesturePlayer
from holo_tasks.desktop.secrets.secret_store import SecretStore
from holo_tasks.desktop.session import ipc_messages
from holo_tasks.desktop.session.host import Host
from holo_tasks.desktop.stop.shared_flags import SharedFlags

FIRST, SECOND = Box(0, 0, 200, 100), Box(0, 120, 200, 80)
ONE, TWO = Box(20, 20, 120, 20), Box(20, 150, 120, 20)
HERE = Typed(Box(1, 2, 3, 4), Box(0, 0, 1, 1), b"abc", b"def")
PW = Secret("pw", "abc")


@dataclass
class Drawn:
    picture: Image.Image

    @property
    def size(self) -> Size:
        return Size(*self.picture.size)

    @property
    def bgrx(self) -> bytes:
        return self.picture.tobytes("raw", "BGRX")


class Program:
    """A screen with two windows of one field each, instead of an X server with a program.

    ``keys`` maps each key to its effect. Captures fail from number ``blind`` on.
    """

    def __init__(self, *, blind: int = 99, draws: bool = True, moves_on: bool = False, gone: bool = False) -> None:
        self.image = Image.new("RGB", (200, 200), "#d9d9d9")
        for box in (ONE, TWO):
            ImageDraw.Draw(self.image).rectangle(
                (box.left, box.top, box.right, box.bottom), fill="white", outline="black"
            )
        self.window, self.events, self.last_event_ns = FIRST, 0, 0
        self._blind, self._draws, self._moves_on, self._gone = blind, draws, moves_on, gone

    def press(self, character: str) -> None:
        self.events += 1
        field = ONE if self.window is FIRST else TWO
        if self._draws:
            at = (field.left + 5 + 8 * self.events, field.top + 5)
            ImageDraw.Draw(self.image).text(at, character, fill="black")
        if self._moves_on:
            self.window = SECOND

    def take(self) -> Drawn:
        if self._gone and self.events:
            raise DesktopFailed("The X server is gone.")
        return Drawn(self.image.copy())

    def acted(self, at_ns: int) -> None:
        pass

    def look(self, *, after_action: bool) -> Any:
        self._blind -= 1
        if self._blind < 0:
            raise LimitReached("Too late.", limit="deadline")
        return SimpleNamespace(picture=self.take(), settled=True)


def hands_on(program: Any, typing: Callable[[str], None]) -> GesturePlayer:
    typist = SimpleNamespace(type=typing, forget=lambda: None)
    fields = Fields(program, program, lambda: program.window)
    idle = SimpleNamespace(events=0, last_event_ns=0)
    whole = SimpleNamespace(box=None)  # it is not bound to a monitor
    near = SimpleNamespace(client=lambda at: "")
    gate = SimpleNamespace(sleep=lambda seconds: None)  # no one-time code has to be awaited
    return GesturePlayer(None, idle, program, typist, None, gate, SecretStore({}), fields, whole, near, None)  # type: ignore[arg-type]


def typed_on(program: Program, stops_after: int | None = None) -> list[Box]:
    """Type a value; return the reported areas of its text."""

    def typing(text: str) -> None:
        for character in text[:stops_after]:
            program.press(character)
        if stops_after is not None:
            raise LimitReached("Too late.", limit="deadline")

    hands = hands_on(program, typing)
    with suppress(LimitReached, DesktopFailed):
        hands._write_secret(PW)
    return [typed.box for typed in hands.typed]


def covers(boxes: list[Box], field: Box) -> bool:
    return any(
        box.left <= field.left and box.top <= field.top and box.right >= field.right and box.bottom >= field.bottom
        for box in boxes
    )


def test_the_field_is_reported_if_its_capture_fails() -> None:
    (box,) = typed_on(Program(blind=1))
    assert covers([box], ONE)
    assert box.width < FIRST.width


def test_the_whole_window_is_reported_if_no_text_was_drawn_or_visible() -> None:
    assert typed_on(Program(draws=False), stops_after=1) == [FIRST]
    assert typed_on(Program(gone=True)) == [FIRST]


def test_no_area_is_reported_if_no_character_was_typed() -> None:
    assert typed_on(Program(), stops_after=0) == []
    assert typed_on(Program(blind=0)) == []


@pytest.mark.parametrize("blind", [99, 2])
def test_a_caret_that_blinks_before_the_text_is_drawn_is_not_taken_for_the_text(blind: int) -> None:
    class Late(Program):
        """Draws a caret in the other field at once, and the typed text only before its third capture."""

        looks = 0

        def look(self, *, after_action: bool) -> Any:
            self.looks += 1
            if self.looks == 2:
                ImageDraw.Draw(self.image).rectangle((160, 25, 161, 37), fill="black")
            if self.looks == 3:
                super().press("abc")
            return super().look(after_action=after_action)

        def press(self, character: str) -> None:
            self.events += 1

    boxes = typed_on(Late(blind=blind))
    assert covers(boxes, Box(ONE.left + 5, ONE.top + 5, 30, 10))


@pytest.mark.parametrize("stops_after", [None, 2])
def test_both_fields_are_reported_if_the_program_moves_on_during_typing(stops_after: int | None) -> None:
    boxes = typed_on(Program(moves_on=True), stops_after)
    assert covers(boxes, ONE)
    assert covers(boxes, TWO)
    assert len(boxes) == 2


VALUE = "Kranich-€9x"


@pytest.mark.parametrize(("beside", "shows"), [(VALUE, True), ("ok", False), ("bar", False), ("enabled", False)])
def test_an_area_beside_masked_characters_is_reported_only_if_it_may_show_the_value(beside: str, shows: bool) -> None:
    class Shown(Program):
        """Shows a masked character per typed character in one field, and another text elsewhere."""

        def __init__(self) -> None:
            super().__init__()
            self.window = Box(0, 0, 200, 200)
            ImageDraw.Draw(self.image).text((60, 155), "Log in now", fill="navy" if beside == "enabled" else "white")

        def press(self, character: str) -> None:
            self.events += 1
            draw, at = ImageDraw.Draw(self.image), TWO.left + 6
            draw.text((ONE.left + 6, ONE.top + 5), "*" * self.events, fill="black")
            if beside == "bar":
                draw.rectangle((at, TWO.top + 6, at + 8 * self.events, TWO.top + 12), fill="green")
            elif beside == "enabled":
                draw.rectangle((TWO.left, TWO.top, TWO.right, TWO.bottom), fill="blue", outline="black")
                draw.text((60, 155), "Log in now", fill="white")
            else:
                draw.text((at, TWO.top + 5), beside[: self.events], fill="black")

    program = Shown()
    hands = hands_on(program, lambda text: [program.press(each) for each in text] and None)
    hands._write_secret(Secret("pw", VALUE))
    hidden = {typed.box.center.y > 100: typed.hidden for typed in hands.typed}
    assert hidden == {False: True, True: not shows}


@pytest.mark.parametrize("error", [LimitReached("Too late."), ValueError("not an error of ours")])
def test_the_typing_process_reports_the_areas_whatever_error_occurred(error: Exception) -> None:
    class XSession:
        """A session whose X server died after the typing. It explains errors in other words."""

        vault = SecretStore({})
        left = [HERE]

        def windows(self) -> None:
            raise error

        def explain(self, error: Exception) -> Exception:
            return DesktopFailed("The X server is gone.")

        def take_typed_places(self) -> list[Typed]:
            told, self.left = self.left, []
            return told

    ours, theirs = socket.socketpair()
    with ours, theirs:
        host = Host(theirs, -1, Gate(SharedFlags(SharedFlags.create())), 1)
        host._station = XSession()
        told = []
        for number in (1, 2):
            host._answer({"id": number, "ask": "windows"})
            (size,) = ipc_messages.HEADER.unpack(ours.recv(ipc_messages.HEADER.size))
            told.append(ipc_messages.to_error(ipc_messages.unpacked(ours.recv(size))).typed)
    assert told == [(HERE,), ()]

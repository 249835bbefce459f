"""Scripts in Python: an async function that is given `Hands`, and whose every action is a step like a model's."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import ValidationError

from holo_tasks.core.error_text import problems_of
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.states import Mark, State
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Told
from holo_tasks.loop.script_port import Intent
from holo_tasks.scripts.actions import Action
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.rules import NotFound, write_step
from holo_tasks.scripts.script_view import SCRIPT, exactly
from holo_tasks.scripts.values import Value, read_values
from holo_tasks.vision.screen_text import Sight

FINDING_S, WAITING_S, PAUSE_S = 5.0, 20.0, 0.5
Direction: TypeAlias = Literal["up", "down", "left", "right"]


class Runner(Protocol):
    """What carries out what a script's hands ask for."""

    folder: Path
    """Where the script's file is, and its pictures."""

    async def offer(self, step: Step, intent: Intent) -> Told | None:
        """Hand over the next step; return what came of it, None if it was not done."""
        ...

    async def sight(self) -> Sight:
        """Return what is on the newest screen."""
        ...

    async def shows(self, what: str | State | Mark) -> bool:
        """Say whether the newest screen is in a state, shows a mark, or a text."""
        ...

    def now_s(self) -> float:
        """Return the clock that timeouts go by."""
        ...


class Hands:
    """What a Python script acts with. Targets are texts, input fields by their labels, or pictures; never coordinates.

    A text is written like a playbook's label. ``right_of``, ``left_of``, ``below``, ``above`` and ``near`` choose
    among several. Whatever is not there within ``timeout_seconds``, or there twice, ends the script with `GaveUp`, and
    so does an action that is not accepted. ``safe`` says that an action does no harm if it is done twice, ``expect``
    names the state that comes of it.
    """

    def __init__(self, brain: Runner) -> None:
        self._brain = brain

    async def click(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        button: Literal["left", "right"] = "left",
        safe: bool = False,
        expect: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Click a target; return what came of it, in a sentence."""
        kind = "click" if button == "left" else "right_click"
        return await self._at(kind, text, field, picture, relations, safe, expect, timeout_seconds)

    async def double_click(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        safe: bool = False,
        expect: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Double-click a target."""
        return await self._at("double_click", text, field, picture, relations, safe, expect, timeout_seconds)

    async def move_to(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Hover over a target."""
        return await self._at("move_to", text, field, picture, relations, True, None, timeout_seconds)

    async def scroll(
        self, text: str, direction: Direction, notches: int = 3, *, timeout_seconds: float = FINDING_S, **relations: str
    ) -> str:
        """Turn the mouse wheel over a target."""
        turn = {"at": {"text": text, **relations}, "direction": direction, "notches": notches}
        return await self._do({"scroll": turn, "thought": f"Scroll {direction}."}, timeout_seconds)

    async def write(
        self, text: str, *, overwrite: bool = False, press_enter: bool = False, expect: str | None = None
    ) -> str:
        """Type text into whatever has the keyboard; ``{{secret:NAME}}`` stands for a secret."""
        how = {"text": text, "overwrite": overwrite, "press_enter": press_enter}
        return await self._do({"write": how, "thought": "Write.", "expect": expect}, 0)

    async def hotkey(self, *keys: str, safe: bool = False, expect: str | None = None) -> str:
        """Press keys together, modifiers first."""
        return await self._do(
            {"hotkey": keys, "thought": f"Press {'+'.join(keys)}.", "safe": safe, "expect": expect}, 0
        )

    async def wait(self, seconds: float) -> str:
        """Let the program work."""
        return await self._do({"wait": seconds, "thought": "Wait for the program."}, 0)

    async def wait_for(self, what: str | State | Mark, timeout_seconds: float = WAITING_S) -> None:
        """Wait until the screen is in a state, by its name or itself, shows a mark, or a text."""
        end = self._brain.now_s() + timeout_seconds
        while not await self._brain.shows(what):
            if self._brain.now_s() >= end:
                raise GaveUp(f"{_named(what)} did not come up within {timeout_seconds:g} seconds.", layer=SCRIPT)
            await self.wait(PAUSE_S)

    async def shows(self, what: str | State | Mark) -> bool:
        """Say whether the screen is in a state, shows a mark, or a text."""
        return await self._brain.shows(what)

    async def read(
        self,
        *,
        right_of: str | None = None,
        line: str | None = None,
        as_: Literal["text", "money", "int", "date"] = "text",
        optional: bool = False,
    ) -> Any:
        """Read a value: the text right of a label, or the group of a pattern that one line fits.

        Money is a `Decimal`, a date a `datetime.date`. None if it is ``optional`` and cannot be read for certain.
        """
        try:
            wanted = Read.model_validate({"right_of": right_of, "line": line, "as": as_, "optional": optional})
        except ValidationError as error:
            raise InvalidUsage(f"hands.read: {problems_of(error)[0].told()}.") from None
        sight = await self.sight()
        found = read_values({"value": wanted}, sight.shown or sight)
        if found is None:
            raise GaveUp(f"No value can be read for certain {f'right of {right_of!r}' if right_of else 'from a line'}.",
                         layer=SCRIPT)  # fmt: skip
        return _typed(found["value"], as_)

    async def sight(self) -> Sight:
        """Return what is on the screen by now, read: its lines, fields, and where they are."""
        return await self._brain.sight()

    def give_up(self, reason: str) -> GaveUp:
        """Return what to raise when the script cannot go on: the next layer may."""
        return GaveUp(reason, layer=SCRIPT)

    async def _at(
        self,
        kind: str,
        text: str | None,
        field: str | None,
        picture: Path | str | None,
        relations: Mapping[str, str],
        safe: bool,
        expect: str | None,
        timeout_seconds: float,
    ) -> str:
        file = None if picture is None else self._brain.folder / picture
        target = {"text": text, "field": field, "picture": file, **relations}
        name = text or field or f"the picture {file.stem if file else ''}"
        thought = f"{kind.replace('_', ' ').capitalize()} {name}."
        return await self._do({kind: target, "thought": thought, "safe": safe, "expect": expect}, timeout_seconds)

    async def _do(self, written: Mapping[str, Any], timeout_seconds: float) -> str:
        try:
            action = Action.model_validate(written)
        except ValidationError as error:
            raise InvalidUsage(f"hands.{next(iter(written))}: {problems_of(error)[0].told()}.") from None
        end = self._brain.now_s() + timeout_seconds
        while True:
            try:
                step = write_step(action, {}, await self.sight(), exactly)
            except NotFound:
                if self._brain.now_s() >= end:
                    raise GaveUp(
                        f"{action.thought.removesuffix('.')}: it is not on the screen, or there more than once.",
                        layer=SCRIPT,
                    ) from None
                await self.wait(PAUSE_S)
                continue
            told = await self._brain.offer(Step.model_validate(step), Intent(action.safe, action.expect or ""))
            if told is None:
                continue  # it was not done: the screen had changed
            if told.is_error:
                raise GaveUp(f"{action.thought} That was not accepted: {told.text}", layer=SCRIPT)
            return told.text


def _typed(value: Value, kind: str) -> Any:
    if value is None or kind in ("text", "int"):
        return value
    return Decimal(str(value)) if kind == "money" else datetime.date.fromisoformat(str(value))


def _named(what: str | State | Mark) -> str:
    return repr(what if isinstance(what, str) else getattr(what, "name", what))

"""Scripts in Python: an async function that is given `Hands`, and whose every action is a step like a model's."""

from __future__ import annotations

import asyncio
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
from holo_tasks.scripts.element_search import Disagrees, NotFound
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.rules import write_step
from holo_tasks.scripts.script_view import SCRIPT, Needs, exactly, needs_for
from holo_tasks.scripts.values import Value, read_values
from holo_tasks.vision.screen_text import Sight

FINDING_S, WAITING_S, PAUSE_S = 5.0, 20.0, 0.5
Direction: TypeAlias = Literal["up", "down", "left", "right"]


class Unsent(GaveUp):
    """An action was not done, since the screen was another one by then: a script that looks again may try it again."""


class Runner(Protocol):
    """What carries out what a script's hands ask for."""

    folder: Path
    """Where the script's file is, and its pictures."""

    async def offer(self, step: Step, intent: Intent) -> Told | None:
        """Hand over the next step; return what came of it, None if it was not done."""
        ...

    async def sight(self, needs: Needs) -> Sight:
        """Return what is on the newest screen, as far as it is needed."""
        ...

    async def shows(self, what: str | State | Mark) -> bool:
        """Say whether the newest screen is in a state, shows a mark, or a text."""
        ...

    def now_s(self) -> float:
        """Return the clock that timeouts go by."""
        ...


class Hands:
    """What a Python script acts with. Targets are texts, input fields by their labels, pictures, or elements by their
    roles and names; never coordinates.

    A text is written like a playbook's label. An element is one that its program tells of; a text or a picture beside
    role and name is what is looked for where programs tell of none. ``right_of``, ``left_of``, ``below``, ``above`` and
    ``near`` choose among several. Whatever is not there within ``timeout_seconds``, or there twice, ends the script
    with `GaveUp`, and so does an action that is not accepted. ``safe`` says that an action does no harm if it is done
    twice, ``expect`` names the state that comes of it.
    """

    def __init__(self, brain: Runner) -> None:
        self._brain = brain

    async def click(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        role: str | None = None,
        name: str | None = None,
        button: Literal["left", "right"] = "left",
        safe: bool = False,
        expect: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Click a target; return what came of it, in a sentence."""
        kind = "click" if button == "left" else "right_click"
        target = self._target(text, field, picture, role, name, relations)
        return await self._at(kind, target, safe, expect, timeout_seconds)

    async def double_click(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        role: str | None = None,
        name: str | None = None,
        safe: bool = False,
        expect: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Double-click a target."""
        target = self._target(text, field, picture, role, name, relations)
        return await self._at("double_click", target, safe, expect, timeout_seconds)

    async def move_to(
        self,
        text: str | None = None,
        *,
        field: str | None = None,
        picture: Path | str | None = None,
        role: str | None = None,
        name: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Hover over a target."""
        target = self._target(text, field, picture, role, name, relations)
        return await self._at("move_to", target, True, None, timeout_seconds)

    async def scroll(
        self,
        text: str | None,
        direction: Direction,
        notches: int = 3,
        *,
        role: str | None = None,
        name: str | None = None,
        timeout_seconds: float = FINDING_S,
        **relations: str,
    ) -> str:
        """Turn the mouse wheel over a target."""
        at = self._target(text, None, None, role, name, relations)
        turn = {"at": at, "direction": direction, "notches": notches}
        return await self._do({"scroll": turn, "thought": f"Scroll {direction}."}, timeout_seconds)

    async def write(
        self,
        text: str,
        *,
        overwrite: bool = False,
        press_enter: bool = False,
        shows: str | None = None,
        expect: str | None = None,
    ) -> str:
        """Type text into whatever has the keyboard; ``{{secret:NAME}}`` stands for a secret.

        Raises `GaveUp` if the field holds another text, number or date afterwards. ``shows`` is the text that it is to
        hold instead, with ``*`` for any text.
        """
        how = {"text": text, "overwrite": overwrite, "press_enter": press_enter, "shows": shows}
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
        role: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Read a value: the text right of a label, the group of a pattern that one line fits, or an element's text.

        An element is named by role, name or both; ``right_of`` is then the label that it stands beside, and ``line`` is
        for its text. Where programs tell of none, the picture is read. What is in a password field never is.

        Money is a `Decimal`, a date a `datetime.date`. None if it is ``optional`` and cannot be read for certain.
        """
        told = role is not None or name is not None
        element = {"role": role, "name": name, "right_of": right_of} if told else None
        how = {"element": element, "right_of": right_of, "line": line, "as": as_, "optional": optional}
        try:
            wanted = Read.model_validate(how)
        except ValidationError as error:
            raise InvalidUsage(f"hands.read: {problems_of(error)[0].told()}.") from None
        sight = await self._brain.sight(Needs.ELEMENTS if told else Needs.TEXT)
        where = f"right of {right_of!r}" if right_of else f"of the {name or role}" if told else "from a line"
        try:
            found = await asyncio.to_thread(read_values, {"value": wanted}, sight.shown or sight)
        except Disagrees as error:
            raise GaveUp(str(error), layer=SCRIPT) from None
        if found is None:
            raise GaveUp(f"No value can be read for certain {where}.", layer=SCRIPT)
        return _typed(found["value"], as_)

    async def sight(self) -> Sight:
        """Return what is on the screen by now, read: its lines, fields and elements, and where they are."""
        return await self._brain.sight(Needs.TEXT | Needs.ELEMENTS)

    def give_up(self, reason: str) -> GaveUp:
        """Return what to raise when the script cannot go on: the next layer may."""
        return GaveUp(reason, layer=SCRIPT)

    def _target(
        self,
        text: str | None,
        field: str | None,
        picture: Path | str | None,
        role: str | None,
        name: str | None,
        relations: Mapping[str, str],
    ) -> dict[str, Any]:
        file = None if picture is None else self._brain.folder / picture
        return {"text": text, "field": field, "picture": file, "role": role, "name": name, **relations}

    async def _at(
        self, kind: str, target: Mapping[str, Any], safe: bool, expect: str | None, timeout_seconds: float
    ) -> str:
        file: Path | None = target["picture"]
        shown = target["text"] or target["field"] or f"the picture {file.stem if file else ''}"
        told = f"{target['name'] or ''} {target['role'] or ''}".strip()
        thought = f"{kind.replace('_', ' ').capitalize()} {told or shown}."
        return await self._do({kind: target, "thought": thought, "safe": safe, "expect": expect}, timeout_seconds)

    async def _do(self, written: Mapping[str, Any], timeout_seconds: float) -> str:
        try:
            action = Action.model_validate(written)
        except ValidationError as error:
            raise InvalidUsage(f"hands.{next(iter(written))}: {problems_of(error)[0].told()}.") from None
        end, needs = self._brain.now_s() + timeout_seconds, needs_for(action.targets)
        while True:
            try:
                sight = await self._brain.sight(needs)
                step = await asyncio.to_thread(write_step, action, {}, sight, exactly)
            except NotFound as error:
                if self._brain.now_s() >= end:
                    why = str(error) or "it is not on the screen, or there more than once."
                    raise GaveUp(f"{action.thought.removesuffix('.')}: {why}", layer=SCRIPT) from None
                await self.wait(PAUSE_S)
                continue
            told = await self._brain.offer(Step.model_validate(step), _intent_of(action))
            if told is None:
                continue  # it was not done: the screen had changed
            if told.is_error:
                raise (Unsent if told.unsent else GaveUp)(
                    f"{action.thought} That was not accepted: {told.text}", layer=SCRIPT
                )
            return told.text


def _intent_of(action: Action) -> Intent:
    shows = action.write.shows if action.write is not None else None
    return Intent(action.safe, action.expect or "", shows=shows or "")


def _typed(value: Value, kind: str) -> Any:
    if value is None or kind in ("text", "int"):
        return value
    return Decimal(str(value)) if kind == "money" else datetime.date.fromisoformat(str(value))


def _named(what: str | State | Mark) -> str:
    return repr(what if isinstance(what, str) else getattr(what, "name", what))

"""The interface of scripts in Python: an async function gets a `Hands` object.

Each action becomes a step like a model's.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import ValidationError

from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import StepResult
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.rest import Rest
from holo_tasks.core.screen.states import Mark, State
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.loop.script_port import Intent
from holo_tasks.scripts.element_search import ContradictedTarget, NotFound
from holo_tasks.scripts.playbook import Read
from holo_tasks.scripts.rules import write_step
from holo_tasks.scripts.script_view import SCRIPT, ScreenNeeds, exactly, needs_for
from holo_tasks.scripts.steps_and_targets import Action
from holo_tasks.scripts.values import Value, read_values
from holo_tasks.vision.screen_text import Sight

FINDING_S, WAITING_S, PAUSE_S = 5.0, 20.0, 0.5
"""Default seconds to find a target after the last sign of work, and to wait for a screen; seconds between two looks."""
Direction: TypeAlias = Literal["up", "down", "left", "right"]


class Unsent(GaveUp):
    """An action was not done because the screen had changed. A script may look again and retry."""


class Runner(Protocol):
    """Carries out the actions of a script's `Hands`."""

    folder: Path
    """Folder of the script's file and its pictures."""

    async def offer(self, step: Step, intent: Intent) -> StepResult | None:
        """Hand over the next step; return its outcome, or ``None`` if it was not done."""
        ...

    async def sight(self, needs: ScreenNeeds) -> Sight:
        """Return the contents of the newest screen, as far as needed."""
        ...

    async def shows(self, what: str | State | Mark) -> bool:
        """Return whether the newest screen is in a state, or shows a mark or a text."""
        ...

    def frame(self) -> Frame:
        """Return the newest frame."""
        ...

    def now_s(self) -> float:
        """Return the clock for timeouts, in seconds."""
        ...


class Hands:
    """Acts for a Python script.

    Targets are texts, input fields by their labels, pictures, or elements by role and name.

    Coordinates cannot be given. A text is written like a label in a playbook. An element comes from the accessibility
    tree. A text or a picture in addition to role and name is used if programs report no elements. ``right_of``,
    ``left_of``, ``below``, ``above`` and ``near`` choose among several targets.

    A target that is missing or ambiguous after ``timeout_seconds`` ends the script with `GaveUp`. So does an action
    that is rejected. By default a target is looked for while the program works on the last input, and a few seconds
    more. ``safe`` means that a repetition of the action does no harm. ``expect`` names the state that it leads to.
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
        timeout_seconds: float | None = None,
        **relations: str,
    ) -> str:
        """Click a target; return the outcome as a sentence."""
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
        timeout_seconds: float | None = None,
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
        timeout_seconds: float | None = None,
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
        timeout_seconds: float | None = None,
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
        """Type text into the focused element; ``{{secret:NAME}}`` is replaced by a secret.

        Raises `GaveUp` if the field holds another text, number or date afterwards. ``shows`` is the text that the field
        is to hold instead, with ``*`` for any text.
        """
        how = {"text": text, "overwrite": overwrite, "press_enter": press_enter, "shows": shows}
        return await self._do({"write": how, "thought": "Write.", "expect": expect}, 0)

    async def hotkey(self, *keys: str, safe: bool = False, expect: str | None = None) -> str:
        """Press keys together, modifiers first."""
        return await self._do(
            {"hotkey": keys, "thought": f"Press {'+'.join(keys)}.", "safe": safe, "expect": expect}, 0
        )

    async def wait(self, seconds: float) -> str:
        """Let the program work for some seconds."""
        return await self._do({"wait": seconds, "thought": "Wait for the program."}, 0)

    async def wait_for(self, what: str | State | Mark, timeout_seconds: float = WAITING_S) -> None:
        """Wait until the screen is in a state, given by its name or as a `State`, or shows a mark or a text."""
        end = self._brain.now_s() + timeout_seconds
        while not await self._brain.shows(what):
            if self._brain.now_s() >= end:
                raise GaveUp(f"{_named(what)} did not appear within {timeout_seconds:g} seconds.", layer=SCRIPT)
            await self.wait(PAUSE_S)

    async def shows(self, what: str | State | Mark) -> bool:
        """Return whether the screen is in a state, or shows a mark or a text."""
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
        """Read a value: the text right of a label, the group of a pattern that one line matches, or an element's text.

        An element is given by role, name or both. ``right_of`` is then the label on its left, and ``line`` is a pattern
        for its text. If programs report no elements, the picture is read. Password fields are never read.

        Money is a `Decimal`, a date a `datetime.date`. Returns ``None`` if the value is ``optional`` and cannot be read
        for certain.
        """
        result = role is not None or name is not None
        element = {"role": role, "name": name, "right_of": right_of} if result else None
        how = {"element": element, "right_of": right_of, "line": line, "as": as_, "optional": optional}
        try:
            wanted = Read.model_validate(how)
        except ValidationError as error:
            raise InvalidUsage(f"hands.read: {problems_of(error)[0].text()}.") from None
        sight = await self._brain.sight(ScreenNeeds.ELEMENTS if result else ScreenNeeds.TEXT)
        where = f"right of {right_of!r}" if right_of else f"of the {name or role}" if result else "from a line"
        try:
            found = await asyncio.to_thread(read_values, {"value": wanted}, sight.shown or sight)
        except ContradictedTarget as error:
            raise GaveUp(str(error), layer=SCRIPT) from None
        if found is None:
            raise GaveUp(f"No value can be read with certainty {where}.", layer=SCRIPT)
        return _typed(found["value"], as_)

    async def sight(self) -> Sight:
        """Return the contents of the newest screen: its lines, fields and elements with their places."""
        return await self._brain.sight(ScreenNeeds.TEXT | ScreenNeeds.ELEMENTS)

    def give_up(self, reason: str) -> GaveUp:
        """Return the exception to raise if the script cannot go on. The next layer then takes over."""
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
        self, kind: str, target: Mapping[str, Any], safe: bool, expect: str | None, timeout_seconds: float | None
    ) -> str:
        file: Path | None = target["picture"]
        shown = target["text"] or target["field"] or f"the picture {file.stem if file else ''}"
        result = f"{target['name'] or ''} {target['role'] or ''}".strip()
        thought = f"{kind.replace('_', ' ').capitalize()} {result or shown}."
        return await self._do({kind: target, "thought": thought, "safe": safe, "expect": expect}, timeout_seconds)

    async def _do(self, written: Mapping[str, Any], timeout_seconds: float | None) -> str:
        try:
            action = Action.model_validate(written)
        except ValidationError as error:
            raise InvalidUsage(f"hands.{next(iter(written))}: {problems_of(error)[0].text()}.") from None
        began_s, needs = self._brain.now_s(), needs_for(action.targets)
        rest = Rest(FINDING_S, began_s)
        while True:
            try:
                sight = await self._brain.sight(needs)
                step = await asyncio.to_thread(write_step, action, {}, sight, exactly)
            except NotFound as error:
                now_s = self._brain.now_s()
                rest.look_at(self._brain.frame(), now_s)
                if rest.is_over(now_s) if timeout_seconds is None else now_s >= began_s + timeout_seconds:
                    why = str(error) or "it is not on the screen, or there more than once."
                    raise GaveUp(f"{action.thought.removesuffix('.')}: {why}", layer=SCRIPT) from None
                await self.wait(PAUSE_S)
                continue
            result = await self._brain.offer(Step.model_validate(step), _intent_of(action))
            if result is None:
                continue  # not done, because the screen had changed
            if result.is_error:
                raise (Unsent if result.unsent else GaveUp)(
                    f"{action.thought} That was not accepted: {result.text}", layer=SCRIPT
                )
            return result.text


def _intent_of(action: Action) -> Intent:
    shows = action.write.shows if action.write is not None else None
    return Intent(action.safe, action.expect or "", shows=shows or "")


def _typed(value: Value, kind: str) -> Any:
    if value is None or kind in ("text", "int"):
        return value
    return Decimal(str(value)) if kind == "money" else datetime.date.fromisoformat(str(value))


def _named(what: str | State | Mark) -> str:
    return repr(what if isinstance(what, str) else getattr(what, "name", what))

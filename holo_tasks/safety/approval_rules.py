"""Rules that decide which actions need a person's approval. `Confirm` is one rule of `safety.policy.Rules`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.input.permit import Scene
from holo_tasks.core.programs import Owner, may_run
from holo_tasks.core.prompts.tool_calls import AnyCall, MoveToCall, ScrollCall
from holo_tasks.core.prompts.toolbox import CALLS
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.safety.places import points_of

_HARMLESS = (MoveToCall, ScrollCall)


def known_kinds(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the action names unchanged. Raises `ValueError` for an unknown one."""
    for name in names or ():
        if name not in CALLS:
            raise ValueError(f"there is no action {name!r}; there are: {', '.join(CALLS)}")
    return names


Kinds = Annotated[tuple[str, ...] | None, AfterValidator(known_kinds)]


def _pattern(text: str | None) -> str | None:
    try:
        re.compile(text or "")
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


class Confirm(BaseModel):
    """One rule: an action that matches all given fields needs a person's approval.

    Without ``kinds``, moving the pointer and scrolling never need one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[str | None, AfterValidator(_pattern)] = Field(
        default=None,
        description="A regular expression, ignoring case, for the label of the target. It is matched against the "
        "model's description, the accessible name, and the text on the screen, which takes OCR. Without OCR, every "
        "action that may press something needs a yes. For keys and a paste with the middle button, the target is all "
        "text in their window, or on the screen while a menu is open. Moving the caret, and writing or editing in a "
        "field that was just clicked, are exempt. For Space and Enter on a focused button, the target is that button.",
    )
    kinds: Kinds = Field(default=None, description="Names of actions, for example click and hotkey. Empty: all.")
    programs: tuple[str, ...] | None = Field(default=None, description="Executables or scripts; empty: all.")

    @model_validator(mode="after")
    def _says_something(self) -> Confirm:
        if self.text is None and self.kinds is None and self.programs is None:
            raise ValueError("a rule of confirm needs a text, kinds or programs")
        return self

    @property
    def words(self) -> str:
        """The rule's given fields as text for a person."""
        given = {"text": self.text, "kinds": self.kinds, "programs": self.programs}
        return "; ".join(
            f"{name} {value if isinstance(value, str) else ', '.join(value)}" for name, value in given.items() if value
        )

    def concerns(self, call: AnyCall) -> bool:
        """Return whether an action of this kind can match the rule."""
        return call.tool_name in self.kinds if self.kinds is not None else not isinstance(call, _HARMLESS)

    async def fits(self, call: AnyCall, gesture: Gesture, owner: Owner, scene: Scene) -> bool:
        """Return whether an action needs a person's approval by this rule.

        Anything that cannot be determined counts as a match.
        """
        if not self.concerns(call):
            return False
        if self.programs is not None and not may_run(owner, self.programs):
            return False
        return self.text is None or await self._written(call, gesture, owner, scene)

    async def _written(self, call: AnyCall, gesture: Gesture, owner: Owner, scene: Scene) -> bool:
        """Return whether ``text`` matches the label of the action's target. The cheapest sources are tried first."""
        wanted = re.compile(self.text or "", re.IGNORECASE)
        if wanted.search(getattr(call, "element", "")):
            return True
        targets: list[Point | Box] = list(points_of(gesture))
        if scene.reader is None:  # without OCR, any target may match
            return bool(targets) or await scene.may_press(gesture)
        try:
            focused = await scene.focused_button(gesture)
            if any(map(wanted.search, focused.names)):
                return True
            if focused.button is not None:
                targets.append(focused.button.box.center)
            elif await scene.may_press(gesture):
                targets.append(scene.shown_in(owner))
            called = [name for target in targets for name in await scene.called(target)]
            return any(map(wanted.search, called)) or any([await _fits(wanted, target, scene) for target in targets])
        except Exception:
            return True  # a target that cannot be read may match


async def _fits(wanted: re.Pattern[str], target: Point | Box, scene: Scene) -> bool:
    """Return whether the text at a target matches.

    A button with only an icon, which OCR cannot read, counts as a match.
    """
    text = await scene.text(target)
    if wanted.search(text):
        return True
    return not text.strip() and isinstance(target, Point) and await scene.unread(target)

"""Which actions need a person's yes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from holo_tasks.core.actions import AnyCall, MoveToCall, ScrollCall
from holo_tasks.core.geometry import Box, Point
from holo_tasks.core.gestures import Gesture
from holo_tasks.core.permit import Scene
from holo_tasks.core.programs import Owner, may_run
from holo_tasks.core.toolbox import CALLS
from holo_tasks.safety.places import points_of

_HARMLESS = (MoveToCall, ScrollCall)


def known_kinds(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return names of tools; raise ValueError for one that there is not."""
    for name in names or ():
        if name not in CALLS:
            raise ValueError(f"there is no action {name!r}; there are: {', '.join(CALLS)}")
    return names


Kinds = Annotated[tuple[str, ...] | None, AfterValidator(known_kinds)]


def _pattern(text: str | None) -> str | None:
    try:
        re.compile(text or "")
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


class Confirm(BaseModel):
    """One rule: an action that all of its given fields fit needs a person's yes.

    Pointing and scrolling do not, unless ``kinds`` names them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[str | None, AfterValidator(_pattern)] = Field(
        default=None,
        description="A regular expression, in any case, for what is written on the target: in the model's own words, "
        "in the program's where it tells of its elements, and on the screen, which takes OCR; without it every action "
        "that may press something needs a yes. Keys, and what the middle button pastes, may mean all that their window "
        "shows, or the screen while a menu is open, but for moving, for writing and editing in a field just clicked, "
        "and for Space and Enter on a button that surely has the keyboard: they mean that one.",
    )
    kinds: Kinds = Field(default=None, description="Names of actions, for example click and hotkey; empty: all.")
    programs: tuple[str, ...] | None = Field(default=None, description="Executables or scripts; empty: all.")

    @model_validator(mode="after")
    def _says_something(self) -> Confirm:
        if self.text is None and self.kinds is None and self.programs is None:
            raise ValueError("a rule of confirm needs a text, kinds or programs")
        return self

    @property
    def words(self) -> str:
        """The rule as it is named to people."""
        given = {"text": self.text, "kinds": self.kinds, "programs": self.programs}
        return "; ".join(
            f"{name} {value if isinstance(value, str) else ', '.join(value)}" for name, value in given.items() if value
        )

    def concerns(self, call: AnyCall) -> bool:
        """Say whether an action of this kind can need a yes by this rule."""
        return call.tool_name in self.kinds if self.kinds is not None else not isinstance(call, _HARMLESS)

    async def fits(self, call: AnyCall, gesture: Gesture, owner: Owner, scene: Scene) -> bool:
        """Say whether an action needs a person's yes by this rule. What cannot be known counts as fitting."""
        if not self.concerns(call):
            return False
        if self.programs is not None and not may_run(owner, self.programs):
            return False
        return self.text is None or await self._written(call, gesture, owner, scene)

    async def _written(self, call: AnyCall, gesture: Gesture, owner: Owner, scene: Scene) -> bool:
        """Say whether the text is on what the action is aimed at, cheap ways first."""
        wanted = re.compile(self.text or "", re.IGNORECASE)
        if wanted.search(getattr(call, "element", "")):
            return True
        targets: list[Point | Box] = list(points_of(gesture))
        if scene.reader is None:  # any target may be the one
            return bool(targets) or await scene.may_press(gesture)
        try:
            keyed = await scene.keyed(gesture)
            if any(map(wanted.search, keyed.names)):
                return True
            if keyed.button is not None:
                targets.append(keyed.button.box.center)
            elif await scene.may_press(gesture):
                targets.append(scene.shown_in(owner))
            called = [name for target in targets for name in await scene.called(target)]
            return any(map(wanted.search, called)) or any([await _fits(wanted, target, scene) for target in targets])
        except Exception:
            return True  # a target that cannot be read may be the one


async def _fits(wanted: re.Pattern[str], target: Point | Box, scene: Scene) -> bool:
    """Say whether a text is what is written somewhere; a button with nothing but a sign on it may mean it."""
    text = await scene.text(target)
    if wanted.search(text):
        return True
    return not text.strip() and isinstance(target, Point) and await scene.unread(target)

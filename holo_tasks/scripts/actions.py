"""One step of a playbook: what is done, and to what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from holo_tasks.core.errors import InvalidUsage

Direction = Literal["up", "down", "left", "right"]


def picture_file(name: Path, info: ValidationInfo) -> Path:
    """Return a picture's file, looked for beside the playbook; raise ValueError if it cannot be looked for."""
    from holo_tasks.vision.template_match import reference

    folder = (info.context or {}).get("folder")
    path = name if folder is None else folder / name
    try:
        reference(path)
    except InvalidUsage as error:
        raise ValueError(str(error)) from None
    return path


class Part(BaseModel):
    """What all parts of a playbook share."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Shown(Part):
    """What is on the screen by its text, for which a text alone is short, or by a picture of it."""

    text: str | None = Field(default=None, description="the text itself")
    picture: Path | None = Field(default=None, description="the file of a picture of it")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @field_validator("picture")
    @classmethod
    def _is_there(cls, name: Path | None, info: ValidationInfo) -> Path | None:
        return None if name is None else picture_file(name, info)


class Target(Shown):
    """Something on the screen: a text (a button, say), the input field that belongs to a label, or a small picture.

    A picture is a PNG file, named as seen from the playbook's own folder, cut out of a screen of the same scale.
    """

    field: str | None = Field(default=None, description="the label of an input field")
    right_of: str | None = None
    left_of: str | None = None
    below: str | None = None
    above: str | None = None
    near: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Target:
        if [self.text, self.field, self.picture].count(None) != 2:
            raise ValueError("a target is one of text:, field: and picture:")
        return self


class Write(Part):
    """Text for the element that has the keyboard."""

    text: str
    overwrite: bool = False
    press_enter: bool = False

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value


class Scroll(Part):
    at: Target
    direction: Direction
    notches: Annotated[int, Field(ge=1, le=50)] = 3


class Drag(Part):
    start: Target
    end: Target


class HoldAndTap(Part):
    hold: tuple[str, ...]
    tap: tuple[str, ...]


_KINDS = (
    "click",
    "double_click",
    "right_click",
    "move_to",
    "drag",
    "scroll",
    "write",
    "hotkey",
    "hold_and_tap_key",
    "wait",
    "answer",
    "ask_human",
)


class Action(Part):
    """One step: exactly one kind of action, with the thought the model says with it.

    A thought tells steps apart when the transcript is read back, so it is unique within its goal. What is ``safe``
    may be done again when it had no effect; ``expect`` names the state that comes of it.
    """

    click: Target | None = None
    double_click: Target | None = None
    right_click: Target | None = None
    move_to: Target | None = None
    drag: Drag | None = None
    scroll: Scroll | None = None
    write: Write | None = None
    hotkey: tuple[str, ...] | None = None
    hold_and_tap_key: HoldAndTap | None = None
    wait: Annotated[float, Field(gt=0, le=60)] | None = None
    answer: dict[str, Any] | str | None = None
    ask_human: str | None = None
    thought: Annotated[str, Field(min_length=1)]
    element: str | None = Field(default=None, description="how a report names the target")
    note: str | None = Field(default=None, description="a fact to keep; {name} of values read")
    safe: bool = Field(default=False, description="to do it twice does no harm")
    expect: str | None = Field(default=None, description="the state of the screen after it")

    @property
    def kind(self) -> str:
        """The name of the one kind of action this is."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Action:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"an action is exactly one of {', '.join(_KINDS)}, not {kinds or 'none'}")
        return self

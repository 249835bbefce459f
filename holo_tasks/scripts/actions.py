"""One step of a playbook: what is done, and to what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from holo_tasks.core.errors import InvalidUsage

Direction = Literal["up", "down", "left", "right"]


def picture_file(name: Path, info: ValidationInfo) -> Path:
    """Return a picture's file, looked for beside the playbook; raise ValueError if it cannot be looked for."""
    from holo_tasks.vision.template_match import reference

    path = _path_of(name, info)
    try:
        reference(path)
    except InvalidUsage as error:
        raise ValueError(str(error)) from None
    return path


def _path_of(name: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    return name if folder is None else Path(folder) / name


class Part(BaseModel):
    """What all parts of a playbook share."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Named(Part):
    """What its program tells of it: what kind of element it is, as in ``button``, and what it is called."""

    role: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="its role, such as button")
    name: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="its name; * for anything")

    @property
    def is_named(self) -> bool:
        """Whether it is looked for among the elements that programs tell of."""
        return self.role is not None or self.name is not None


class Shown(Named):
    """What is on the screen by its text, for which a text alone is short, by a picture of it, or as its program tells.

    Where role or name are given, text and picture are for programs that tell nothing.
    """

    text: str | None = Field(default=None, description="the text itself")
    picture: Path | None = Field(default=None, description="the file of a picture of it")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @field_validator("picture")
    @classmethod
    def _is_there(cls, name: Path | None, info: ValidationInfo) -> Path | None:
        if name is None:
            return None
        spare = info.data.get("text") and not (info.data.get("role") or info.data.get("name"))
        if spare and not _path_of(name, info).exists():
            return None  # whoever took the playbook elsewhere without it has the text still
        return picture_file(name, info)


class ShownElement(Shown):
    """An element that shows, by role and name; ``text`` is what must be visible where its program tells of none."""

    picture: None = None

    @model_validator(mode="after")
    def _is_told(self) -> ShownElement:
        if not self.is_named:
            raise ValueError("an element has a role: or a name:")
        return self


class ShownWindow(Part):
    """A window by its title."""

    window: Annotated[str, Field(min_length=1)] = Field(description="its title; * for anything")


class AtState(Part):
    """A state of the program, by its name, as far as who works knows the program's states."""

    state: Annotated[str, Field(min_length=1)]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


def _kind_of_condition(value: Any) -> str:
    match value:
        case ShownWindow() | {"window": _}:
            return "Window"
        case AtState() | {"state": _}:
            return "State"
        case ShownElement() | dict():
            return "Element"
        case _:
            return "text"


Condition = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[ShownElement, Tag("Element")]
    | Annotated[ShownWindow, Tag("Window")]
    | Annotated[AtState, Tag("State")],
    Discriminator(_kind_of_condition),
]
Conditions = Annotated[tuple[Condition, ...], BeforeValidator(_listed)]
"""A text, element, window or state, or a list of them. ``*`` is anything; ``{name}`` is a value from the task."""


def texts_of(wanted: Condition) -> tuple[str, ...]:
    """Return the texts of a condition that a value may be put into."""
    match wanted:
        case str():
            return (wanted,)
        case ShownWindow(window=title):
            return (title,)
        case AtState():
            return ()
        case _:
            return tuple(text for text in (wanted.name, wanted.text) if text is not None)


class Beside(Part):
    """Which of several is meant, by a label that it stands beside."""

    right_of: str | None = None
    left_of: str | None = None
    below: str | None = None
    above: str | None = None
    near: str | None = None

    @property
    def relations(self) -> dict[str, str]:
        """The labels by how it stands to them."""
        names = ("right_of", "left_of", "below", "above", "near")
        return {name: label for name in names if (label := getattr(self, name)) is not None}


class ElementTarget(Named, Beside):
    """An element that its program tells of."""

    @model_validator(mode="after")
    def _is_told(self) -> ElementTarget:
        if not self.is_named:
            raise ValueError("an element has a role: or a name:")
        return self


class Target(Shown, Beside):
    """Something on the screen: a text (a button, say), the input field that belongs to a label, a small picture, or an
    element by its role and name.

    A picture is a PNG file, named as seen from the playbook's own folder, cut out of a screen of the same scale. An
    element may have a text and a picture, too: they are looked for where its program tells of no elements. Beside a
    text alone a picture is of that text: it tells where the text is in a longer line that was read. ``or`` are
    other ways to find it, in other versions of the program: tried in order where nothing fits, never where two do.
    """

    field: str | None = Field(default=None, description="the label of an input field")
    or_: Annotated[tuple[Target, ...], BeforeValidator(_listed)] = Field(default=(), alias="or")

    @property
    def ways(self) -> tuple[Target, ...]:
        """This one and the other ways to find it, in their order."""
        return (self, *(way for other in self.or_ for way in other.ways))

    @model_validator(mode="after")
    def _one(self) -> Target:
        words = self.text is not None or self.picture is not None
        if self.is_named and self.field is not None:
            raise ValueError("a target with role: or name: takes text: and picture: beside it, not field:")
        if not self.is_named and words is (self.field is not None):
            raise ValueError(
                "a target is one of text:, field: and picture:, a text: with a picture: of it, or an element by role: "
                "and name:"
            )
        return self


class Write(Part):
    """Text for the element that has the keyboard."""

    text: str
    overwrite: bool = False
    press_enter: bool = False
    shows: str | None = Field(
        default=None, description="the text that the field holds afterwards, if it is another one; * for anything"
    )

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
    "ask_model",
)


class Action(Part):
    """One step: exactly one kind of action, with the thought the model says with it.

    A thought tells steps apart when the transcript is read back, so it is unique within its goal. What is ``safe``
    may be done again when it had no effect; ``expect`` names the state that comes of it, and ``then`` what must be seen
    of it before anything else is done.
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
    ask_model: str | None = Field(default=None, description="what of the answer nobody but a model can read")
    thought: Annotated[str, Field(min_length=1)]
    element: str | None = Field(default=None, description="how a report names the target")
    note: str | None = Field(default=None, description="a fact to keep; {name} of values read")
    safe: bool = Field(default=False, description="to do it twice does no harm")
    expect: str | None = Field(default=None, description="the state of the screen after it")
    then: Conditions = Field(default=(), description="what must all be visible after it")

    @property
    def kind(self) -> str:
        """The name of the one kind of action this is."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def answers(self) -> bool:
        """Whether it ends the goal with an answer, the playbook's or a model's."""
        return self.answer is not None or self.ask_model is not None

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it is done to: nothing, one target, or for a drag two."""
        if self.drag is not None:
            return self.drag.start, self.drag.end
        ones = (self.click, self.double_click, self.right_click, self.move_to, self.scroll.at if self.scroll else None)
        return tuple(one for one in ones if one is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Action:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"an action is exactly one of {', '.join(_KINDS)}, not {kinds or 'none'}")
        if self.then and kinds[0] in ("wait", "answer", "ask_human", "ask_model"):
            raise ValueError(f"then: is for what is done to the program, not for {kinds[0]}:")
        return self

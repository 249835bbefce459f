"""Declare one step of a playbook: its action, its target and its conditions.

`Target` declares the ways to find a control, and `Beside` its relations to labels, such as ``right_of`` and ``above``.
`rules.find` searches for a target, and `compiler.targets` writes it.
"""

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
    """Return the path of a picture relative to the playbook's folder.

    Raises `ValueError` if the picture cannot be used.
    """
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
    """Base class of all parts of a playbook."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Named(Part):
    """An element of the accessibility tree, by its role, such as ``button``, and its name."""

    role: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="its role, such as button")
    name: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="its name; * for anything")

    @property
    def is_named(self) -> bool:
        """Whether the accessibility tree is searched."""
        return self.role is not None or self.name is not None


class Contained(Part):
    """The container of an element, to choose one of several."""

    within: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="name of the window, dialog or group that contains it"
    )


class Shown(Named):
    """A visible object: a text, a picture, or an element by role and name. A plain string is a text.

    With a role or a name, text and picture are used only if its program reports no elements.
    """

    text: str | None = Field(default=None, description="the text itself")
    picture: Path | None = Field(default=None, description="the file of its picture")

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
            return None  # the playbook was moved without its pictures; the text is enough
        return picture_file(name, info)


class Holding(Part):
    """The text in a field: to choose one without a name, or as its required content."""

    holds: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="the text in it, such as a hint what to enter; * for anything"
    )


class Beside(Part):
    """The position relative to labels, to choose one of several targets."""

    right_of: str | None = None
    left_of: str | None = None
    below: str | None = None
    above: str | None = None
    near: str | None = None
    row: str | None = Field(default=None, description="a text in its row of a table or list, such as the item's key")
    column: str | None = Field(default=None, description="the heading of its column of a table")
    month: str | None = Field(
        default=None, description="the month and year of the calendar that has this day, such as {due:MMMM YYYY}"
    )
    place: str | None = Field(
        default=None,
        pattern=r"^[1-9]\d? of [1-9]\d?$",
        description="its place among equal elements of a container or next to a label, such as 3 of 5",
    )

    @property
    def relations(self) -> dict[str, str]:
        """The labels by relation."""
        names = ("row", "column", "month", "right_of", "left_of", "below", "above", "near")
        return {name: label for name in names if (label := getattr(self, name)) is not None}


class ShownElement(Shown, Contained, Beside, Holding):
    """A visible element by role and name. ``text`` must be visible instead if its program reports no elements.

    ``checked`` is the required state of a check box, a radio button or another control with two states. ``holds`` is
    the required value of a field, such as the chosen option of a combo box.
    """

    picture: None = None
    checked: bool | None = Field(default=None, description="whether it is checked")

    @model_validator(mode="after")
    def _is_told(self) -> ShownElement:
        if not self.is_named:
            raise ValueError("an element has a role: or a name:")
        return self


class ShownWindow(Part):
    """A window by its title."""

    window: Annotated[str, Field(min_length=1)] = Field(description="its title; * for anything")


class AtState(Part):
    """A state of the program, by its name. It holds if the states are unknown."""

    state: Annotated[str, Field(min_length=1)]


class Gone(Part):
    """A text or an element that has disappeared."""

    gone: str | ShownElement


class FewPlaces(Part):
    """A text that is on the screen, and at most in this many places. A place with a longer text counts as well."""

    shown: Annotated[str, Field(min_length=1)]
    at_most: Annotated[int, Field(ge=1, le=99)]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


def _kind_of_condition(value: Any) -> str:
    match value:
        case ShownWindow() | {"window": _}:
            return "Window"
        case AtState() | {"state": _}:
            return "State"
        case Gone() | {"gone": _}:
            return "Gone"
        case FewPlaces() | {"shown": _}:
            return "Few"
        case ShownElement() | dict():
            return "Element"
        case _:
            return "text"


Condition = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[ShownElement, Tag("Element")]
    | Annotated[ShownWindow, Tag("Window")]
    | Annotated[AtState, Tag("State")]
    | Annotated[Gone, Tag("Gone")]
    | Annotated[FewPlaces, Tag("Few")],
    Discriminator(_kind_of_condition),
]
Conditions = Annotated[tuple[Condition, ...], BeforeValidator(_listed)]
"""A text, element, window or state, something that is gone, or a text in few places, or a list of them.

``*`` matches any text; ``{name}`` is a value from the task.
"""


def sets_state(wanted: Condition) -> bool:
    """Return whether a condition is about the state of a check box or a similar control."""
    return isinstance(wanted, ShownElement) and wanted.checked is not None


def texts_of(wanted: Condition) -> tuple[str, ...]:
    """Return the texts of a condition that may contain placeholders for values."""
    match wanted:
        case str():
            return (wanted,)
        case ShownWindow(window=title):
            return (title,)
        case FewPlaces(shown=text):
            return (text,)
        case AtState() | Gone():
            return ()
        case _:
            texts = (wanted.name, wanted.text, wanted.holds, *wanted.relations.values())
            return tuple(text for text in texts if text is not None)


class InSheet(Part):
    """Facts of a cell of a spreadsheet."""

    next_row: bool = Field(default=False, description="whether it is in the row below the last filled one")
    empty: bool = Field(default=False, description="whether it must be empty")


class ElementTarget(Named, Contained, Beside, InSheet, Holding):
    """An element of the accessibility tree."""

    @model_validator(mode="after")
    def _is_told(self) -> ElementTarget:
        if not self.is_named:
            raise ValueError("an element has a role: or a name:")
        check_place(self)
        return self


def check_place(wanted: ElementTarget | Target) -> None:
    """Raise `ValueError` if a place is given without a role, or without a container or a label."""
    if wanted.place is not None and not (wanted.role and (wanted.within or wanted.relations)):
        raise ValueError("place: needs a role:, and within: or right_of: or another label")
    if wanted.place is not None and int(wanted.place.split()[0]) > int(wanted.place.split()[-1]):
        raise ValueError(f"place: {wanted.place} does not exist")


class Target(Shown, Contained, Beside, InSheet, Holding):
    """A target on the screen: a text, an input field by its label, a small picture, or an element by role and name.

    A picture is a PNG file, relative to the playbook's folder, cut from a screen of the same scale. A text and a
    picture of an element are searched if its program reports no elements. A picture together with a text alone shows
    that text. It finds the text within a longer line. ``or`` are other ways to find the target in other versions of the
    program. They are tried in order if nothing matches, but not if two places match.
    """

    field: str | None = Field(default=None, description="the label of an input field")
    or_: Annotated[tuple[Target, ...], BeforeValidator(_listed)] = Field(default=(), alias="or")

    @property
    def words(self) -> str:
        """The name of the target for a sentence."""
        if self.field is not None:
            return f"the field {self.field}"
        if self.text is not None:
            return self.text
        if self.is_named:
            return self._element_words
        return "what is on the picture"

    @property
    def _element_words(self) -> str:
        """The description of an element: its role and name, or where it is."""
        beside = next(iter(self.relations.values()), self.holds or self.within or "")
        where = f"of {beside}" if beside else ""
        if self.column:
            where = f"of the next row, {self.column}" if self.next_row else f"{self.row}, {self.column}"
        place = f"({self.place})" if self.place else ""
        return " ".join(filter(None, ("the", self.role or "element", self.name or where, place)))

    @property
    def ways(self) -> tuple[Target, ...]:
        """This target and its alternatives, in order."""
        return (self, *(way for other in self.or_ for way in other.ways))

    @model_validator(mode="after")
    def _one(self) -> Target:
        words = self.text is not None or self.picture is not None
        check_place(self)
        if self.is_named and self.field is not None:
            raise ValueError("a target with role: or name: can be combined with text: and picture:, not with field:")
        if not self.is_named and words is (self.field is not None):
            raise ValueError(
                "a target is one of text:, field: and picture:, a text: with a picture: of it, or an element by role: "
                "and name:"
            )
        return self


class Write(Part):
    """Text for the element with the keyboard focus. A plain string is the text."""

    text: str
    overwrite: bool = False
    press_enter: bool = False
    shows: str | None = Field(
        default=None, description="the text of the field afterwards, if it differs; * for anything"
    )
    lines: bool = Field(default=False, description="whether a value with line breaks may be typed into any field")

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
    "by_model",
)
WITHOUT_EFFECT = ("wait", "answer", "ask_human", "ask_model")
"""Kinds of actions that do nothing to the program."""


class Action(Part):
    """One step: exactly one kind of action, with a thought as a model would give it.

    The thoughts identify steps in the transcript, so each is unique within its goal. A ``safe`` action may be repeated
    if it had no effect. ``expect`` names the state that it leads to, and ``then`` the conditions that must hold before
    anything else is done.
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
    ask_model: str | None = Field(default=None, description="the part of the answer that only a model can read")
    by_model: str | None = Field(default=None, description="a step that the model does, in words")
    thought: Annotated[str, Field(min_length=1)]
    element: str | None = Field(default=None, description="how a report names the target")
    note: str | None = Field(default=None, description="a fact to keep; {name} of values read")
    safe: bool = Field(default=False, description="a repetition does no harm")
    expect: str | None = Field(default=None, description="the state of the screen after it")
    then: Conditions = Field(default=(), description="conditions that must all hold after it")
    focus: ElementTarget | None = Field(default=None, description="the element that must have the keyboard before it")

    @property
    def kind(self) -> str:
        """Name of the action's kind."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def words(self) -> str:
        """The action as a sentence, with the placeholders of its values."""
        targets = [target.words for target in self.targets]
        match self.kind:
            case "click" | "double_click" | "right_click" | "move_to":
                verb = {"double_click": "Double-click", "right_click": "Right-click", "move_to": "Move to"}
                return f"{verb.get(self.kind, 'Click')} {targets[0]}."
            case "drag":
                return f"Drag {targets[0]} to {targets[1]}."
            case "scroll" if self.scroll is not None:
                return f"Scroll {self.scroll.direction} over {targets[0]}."
            case "write" if self.write is not None:
                return f"Type {self.write.text}."
            case "hotkey" if self.hotkey is not None:
                return f"Press {'+'.join(self.hotkey)}."
            case "hold_and_tap_key" if self.hold_and_tap_key is not None:
                keys = self.hold_and_tap_key
                return f"Hold {'+'.join(keys.hold)} and press {', '.join(keys.tap)}."
            case "wait":
                return f"Wait {self.wait} seconds."
            case "answer" | "ask_model":
                return "Read the values of the answer from this screen."
            case _:
                return str(self.by_model or self.ask_human)

    @property
    def answers(self) -> bool:
        """Whether the action ends the goal with an answer, of the playbook or of a model."""
        return self.answer is not None or self.ask_model is not None

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets of the action: none, one, or two for a drag."""
        if self.drag is not None:
            return self.drag.start, self.drag.end
        ones = (self.click, self.double_click, self.right_click, self.move_to, self.scroll.at if self.scroll else None)
        return tuple(one for one in ones if one is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Action:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"an action is exactly one of {', '.join(_KINDS)}, not {kinds or 'none'}")
        if self.then and kinds[0] in WITHOUT_EFFECT:
            raise ValueError(f"then: is for actions on the program, not for {kinds[0]}:")
        return self

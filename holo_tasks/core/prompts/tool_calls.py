"""The calls that a model may make, in the form in which it writes them.

Positions are in thousandths of the picture that was sent: whole numbers from Holo, fractions from models that use [0,
1]. Names and fields are those of the public Holo documentation. `core.prompts.toolbox` offers a model the names it was
trained with.

The docstrings and field descriptions of the calls are part of the tool schemas that models get. Changing them changes
prompts and cache keys.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictFloat, StrictInt

from holo_tasks.core.input.gestures import Direction

Thousandth = Annotated[StrictInt | StrictFloat, Field(ge=0, le=1000)]
Key = Annotated[str, Field(min_length=1, max_length=32)]


class ToolCall(BaseModel):
    """One action, flat: its name is a sibling of its arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ClickCall(ToolCall):
    """Click at (x, y)."""

    tool_name: Literal["click"]
    element: str = Field(description="Detailed description of the target UI element to click on")
    x: Thousandth = Field(description="X coordinate")
    y: Thousandth = Field(description="Y coordinate")
    button: Literal["left", "middle", "right"] = Field(default="left", description="Mouse button")


class DoubleClickCall(ToolCall):
    """Double click at (x, y) with the left button."""

    tool_name: Literal["double_click"]
    element: str = Field(description="Detailed description of the target UI element to double click on")
    x: Thousandth = Field(description="X coordinate")
    y: Thousandth = Field(description="Y coordinate")


class MoveToCall(ToolCall):
    """Move the pointer to (x, y) without clicking, for example to hover over an element."""

    tool_name: Literal["move_to"]
    element: str = Field(description="Detailed description of the UI element to hover over")
    x: Thousandth = Field(description="X coordinate")
    y: Thousandth = Field(description="Y coordinate")


class DragAndDropCall(ToolCall):
    """Press the left button at (x1, y1), move to (x2, y2), release."""

    tool_name: Literal["drag_and_drop"]
    element: str = Field(description="Detailed description of what is dragged, and where to")
    x1: Thousandth = Field(description="X coordinate of the start")
    y1: Thousandth = Field(description="Y coordinate of the start")
    x2: Thousandth = Field(description="X coordinate of the end")
    y2: Thousandth = Field(description="Y coordinate of the end")


class ScrollCall(ToolCall):
    """Turn the mouse wheel over (x, y); "down" shows what is further below."""

    tool_name: Literal["scroll"]
    element: str = Field(description="Detailed description of the area to scroll")
    x: Thousandth = Field(description="X coordinate")
    y: Thousandth = Field(description="Y coordinate")
    direction: Direction = Field(description="Which way to scroll")
    scroll_size: Annotated[StrictInt, Field(ge=1, le=50)] = Field(default=3, description="Wheel notches")


class WriteCall(ToolCall):
    """Type text into the focused element, without clicking first."""

    tool_name: Literal["write"]
    content: str = Field(description="Content to write")
    press_enter: StrictBool = Field(default=False, description="Whether to press Enter after typing")
    overwrite: StrictBool = Field(default=False, description="Whether to replace what the element holds")


class WriteAtCall(ToolCall):
    """Click at (x, y), then type text there."""

    tool_name: Literal["write_at"]
    element: str = Field(description="Detailed description of the field to write into")
    x: Thousandth = Field(description="X coordinate")
    y: Thousandth = Field(description="Y coordinate")
    content: str = Field(description="Content to write")


class HotkeyCall(ToolCall):
    """Press keys together, for example ["ctrl", "s"]."""

    tool_name: Literal["hotkey"]
    keys: Annotated[list[Key], Field(min_length=1, max_length=5)] = Field(description="Keys, modifiers first")
    repeat_count: Annotated[StrictInt, Field(ge=1, le=50)] = Field(default=1, description="How often")


class HoldAndTapKeyCall(ToolCall):
    """Hold some keys down while tapping others one after the other."""

    tool_name: Literal["hold_and_tap_key"]
    hold_keys: Annotated[list[Key], Field(min_length=1, max_length=4)] = Field(description="Keys to hold")
    tap_keys: Annotated[list[Key], Field(min_length=1, max_length=20)] = Field(description="Keys to tap")


class WaitCall(ToolCall):
    """Wait for the program to finish what it is doing."""

    tool_name: Literal["wait"]
    seconds: Annotated[float, Field(gt=0, le=60, strict=True)] = Field(description="Seconds to wait")


class AnswerCall(ToolCall):
    """Give the final answer and end the task."""

    tool_name: Literal["answer"]
    content: str = Field(description="The answer content")


class AskHumanCall(ToolCall):
    """Ask a person for help when the task cannot go on without one."""

    tool_name: Literal["ask_human"]
    question: str = Field(description="What the person should do or say")


class MacroCall(ToolCall):
    """Run a macro that the sub-goal offers. Each model calls it by the macro's own name."""

    tool_name: Literal["macro"]
    name: str
    arguments: dict[str, JsonValue] = {}


AnyCall: TypeAlias = (
    ClickCall
    | DoubleClickCall
    | MoveToCall
    | DragAndDropCall
    | ScrollCall
    | WriteCall
    | WriteAtCall
    | HotkeyCall
    | HoldAndTapKeyCall
    | WaitCall
    | AnswerCall
    | AskHumanCall
    | MacroCall
)

ACTING = (
    ClickCall,
    DoubleClickCall,
    MoveToCall,
    DragAndDropCall,
    ScrollCall,
    WriteCall,
    WriteAtCall,
    HotkeyCall,
    HoldAndTapKeyCall,
)
"""The calls that send input events. Waiting, answering and asking send none."""


def label(call: AnyCall) -> str:
    """Return a short description of a call for run names and reports."""
    match call:
        case ClickCall(button="left"):
            text = f"click {_quoted(call.element)}"
        case ClickCall():
            text = f"{call.button}-click {_quoted(call.element)}"
        case DoubleClickCall():
            text = f"double-click {_quoted(call.element)}"
        case MoveToCall():
            text = f"hover over {_quoted(call.element)}"
        case DragAndDropCall():
            text = f"drag {_quoted(call.element)}"
        case ScrollCall():
            text = f"scroll {call.direction} in {_quoted(call.element)}"
        case WriteCall():
            text = f"{'overwrite with' if call.overwrite else 'write'} {_quoted(call.content)}"
            text += " and press Enter" if call.press_enter else ""
        case WriteAtCall():
            text = f"write {_quoted(call.content)} into {_quoted(call.element)}"
        case HotkeyCall():
            text = f"press {'+'.join(call.keys)}" + (f" ×{call.repeat_count}" if call.repeat_count > 1 else "")
        case HoldAndTapKeyCall():
            text = f"hold {'+'.join(call.hold_keys)} and tap {' '.join(call.tap_keys)}"
        case WaitCall():
            text = f"wait {call.seconds:g} s"
        case AnswerCall():
            text = "answer"
        case AskHumanCall():
            text = "ask a person"
        case MacroCall():
            given = ", ".join(f"{name} {_quoted(str(value))}" for name, value in call.arguments.items())
            text = f"macro {call.name}" + (f" with {given}" if given else "")
    # A model's text ends up on terminals, so control characters must not reach them.
    return "".join("�" if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)


def _quoted(text: str, limit: int = 48) -> str:
    flat = " ".join(text.split())
    return f"‘{flat if len(flat) <= limit else flat[: limit - 1] + '…'}’"

"""Messages between the process that uses a desktop and the host process that owns it.

A message is four bytes of length followed by JSON. Pixels are not sent in messages: they are in memory that both
processes map, and the message gives the number of bytes.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

from holo_tasks.core import errors
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Move, Pause, Scroll, Typed, Write
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.activity import Activity
from holo_tasks.core.screen.frame import Frame, OnScreen
from holo_tasks.core.screen.geometry import Box, Point, Size

Message: TypeAlias = dict[str, Any]
P = ParamSpec("P")
R = TypeVar("R")

HEADER = struct.Struct(">I")
LONGEST = 64 * 1024 * 1024

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Click, Move, Drag, Scroll, Write, Hotkey, HoldAndTap, Pause)
}
_POINTS = ("at", "to", "start", "end")
_KEYS = ("keys", "hold", "tap")
_ERRORS = (
    errors.DesktopFailed,
    errors.ScreenChanged,
    errors.InvalidUsage,
    errors.SecretRefused,
    errors.PolicyRefused,
    errors.ScreenHeld,
    errors.LimitReached,
    errors.Killed,
)


class MalformedMessage(errors.DesktopFailed):
    """The received bytes are not a valid message, or the message lacks values."""


def reports_malformed(read: Callable[P, R]) -> Callable[P, R]:
    """Decorate a reading function so that errors about malformed messages become `MalformedMessage`."""

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return read(*args, **kwargs)
        except (ValueError, TypeError, AttributeError, LookupError, StopIteration, RecursionError) as error:
            raise MalformedMessage(
                f"The desktop's process and this one exchanged an invalid message ({type(error).__name__} in "
                f"{read.__name__}): start the desktop again."
            ) from error

    return reading


def packed(message: Message) -> bytes:
    """Return the bytes of a message, length first."""
    body = json.dumps(message).encode()
    return HEADER.pack(len(body)) + body


@reports_malformed
def length(head: bytes) -> int:
    """Return the length of a message from the bytes before it."""
    size = int(HEADER.unpack(head)[0])
    if size > LONGEST:
        raise ValueError("a message is too long")
    return size


@reports_malformed
def unpacked(body: bytes) -> Message:
    """Return the message in these bytes, which follow the length."""
    message: Message = json.loads(body)
    if not isinstance(message, dict):
        raise TypeError("a message is an object")
    return message


def from_gesture(gesture: Gesture) -> Message:
    """Convert a gesture to plain values."""
    return {"kind": type(gesture).__name__, **asdict(gesture)}


@reports_malformed
def to_gesture(message: Message) -> Gesture:
    """Build a gesture from the result of `from_gesture`."""
    values = dict(message)
    kind = _KINDS[values.pop("kind")]
    for name in _POINTS:
        if values.get(name) is not None:
            values[name] = Point(**values[name])
    for name in _KEYS:
        if name in values:
            values[name] = tuple(values[name])
    gesture: Gesture = kind(**values)
    return gesture


def from_inputs(inputs: Sequence[ByHand]) -> list[Message]:
    """Convert a person's input to plain values."""
    return [asdict(one) for one in inputs]


@reports_malformed
def to_inputs(messages: Sequence[Message]) -> list[ByHand]:
    """Build the input from the result of `from_inputs`."""
    return [Key(**message) if "keysym" in message else Pointing(**message) for message in messages]


def from_permit(input_permit: InputPermit | None) -> Message | None:
    """Convert a slip to plain values."""
    return asdict(input_permit) if input_permit is not None else None


@reports_malformed
def to_permit(message: Message | None) -> InputPermit | None:
    """Build a slip from the result of `from_permit`."""
    if message is None:
        return None
    field = message.get("field")
    codes = tuple((str(name), int(window)) for name, window in message.get("codes", ()))
    held = tuple(Box(**box) for box in message.get("held", ()))
    return InputPermit(**{**message, "field": Box(**field) if field else None, "codes": codes, "held": held})


def from_typed(fields: Sequence[Typed]) -> list[Message]:
    """Convert the areas that show secrets, with their pixels, which only the client process gets."""
    return [
        {**asdict(typed), **{name: base64.b64encode(getattr(typed, name)).decode() for name in ("before", "after")}}
        for typed in fields
    ]


@reports_malformed
def to_typed(messages: Sequence[Message]) -> tuple[Typed, ...]:
    """Build the areas from the result of `from_typed`."""
    return tuple(
        Typed(
            Box(**values["box"]),
            Box(**values["around"]),
            base64.b64decode(values["before"]),
            base64.b64decode(values["after"]),
            window=values["window"],
            inside=Box(**values["inside"]) if values["inside"] else None,
            pid=values["pid"],
            hidden=values["hidden"],
        )
        for values in messages
    )


def from_error(error: errors.HoloError) -> Message:
    """Convert an error to plain values. Its class determines the exit code in the other process."""
    kind = next((k.__name__ for k in _ERRORS if isinstance(error, k)), "DesktopFailed")
    return {"error": kind, "message": str(error), "limit": getattr(error, "limit", None)}


@reports_malformed
def to_error(message: Message) -> errors.HoloError:
    """Build an error from the result of `from_error`."""
    kind = next(k for k in _ERRORS if k.__name__ == message["error"])
    limited = kind is errors.LimitReached
    error = errors.LimitReached(message["message"], limit=message["limit"]) if limited else kind(message["message"])
    error.typed = to_typed(message.get("typed", ()))
    return error


def to_frame(message: Message, rgb: bytes, *, display: str, scale: float, holds: int) -> Frame:
    """Return the frame that the answer to ``look`` describes, with the pixels from shared memory."""
    return Frame(
        rgb=rgb,
        size=Size(**message["size"]),
        display=display,
        scale=scale,
        settled=message["settled"],
        hung=message["hung"],
        taken_at_ns=message["taken_at_ns"],
        settle_ns=message["settle_ns"],
        quiet_ns=message["quiet_ns"],
        capture_ns=message["capture_ns"],
        windows=None if message["windows"] is None else tuple(map(_on_screen, message["windows"])),
        number=message["number"],
        holds=holds,
        typed_in=tuple((window, Box(**box) if box else None) for window, box in message["typed_in"]),
        monitor=Box(**message["monitor"]) if message["monitor"] else None,
        reconnected=message["reconnected"],
        activity=Activity(**{**message["activity"], "unseen": tuple(message["activity"]["unseen"])}),
    )


def _on_screen(message: Message) -> OnScreen:
    return OnScreen(Box(**message["box"]), tuple(Owner(**owner) for owner in message["owners"]), message["solid"])

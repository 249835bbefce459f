"""Ask a person to approve one action on one screen.

`await_approval` waits for the approval. `words_for` describes the action. Used by `Walk` for actions that need a yes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from holo_tasks.core.errors import PolicyRefused
from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.input.permit import ReadsTargets, TextReader
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.recheck import aim
from holo_tasks.core.texts.outside_text import named

PATIENCE_S = 1.5
"""Seconds to wait until the screen looks as it did at the approval. A blinking caret is visible only half of the time.
"""
AGAIN_S = 0.1
"""Seconds between two looks."""


@dataclass(frozen=True)
class ApprovalQuestion:
    """The question to a person: may ``action`` be done on the screen ``frame``, for the business item ``token``?

    ``action`` and ``frame`` are digests: of the whole action, and of every pixel that is not masked. So a stored
    approval reveals nothing that was masked. ``words`` describe the action for people. ``picture`` is the SHA-256 of
    the picture in the trace, and ``points`` are the action's points on the screen.
    """

    token: str
    action: str
    frame: str
    words: str
    picture: str = ""
    points: tuple[Point, ...] = ()


class Approver(Protocol):
    """A place where people give approvals."""

    async def take(self, asked: ApprovalQuestion) -> str | None:
        """Use up an approval for exactly this action; return the person's name, or ``None`` without an approval."""
        ...

    async def ask(self, asked: ApprovalQuestion) -> None:
        """Ask a person and return after the answer. Raises `NeedsPerson` if the run does not wait for it."""
        ...


async def words_for(
    rule: str,
    gesture: Gesture,
    shown: Frame,
    reader: TextReader | None,
    called: Callable[[Point], Awaitable[str]] | None = None,
) -> tuple[str, tuple[Point, ...]]:
    """Return the description of an action for a person, and the points of the action.

    The description leaves out the model's words for a target. Text is read on ``shown``, the redacted screen.
    ``called`` returns the accessible name at a point, as far as it may leave this machine.
    """
    where = aim(gesture)
    points = where.points if where is not None else ()
    reported = rule
    if called is not None:
        names = [await called(point) for point in points]
        reported += "".join(f"; the program calls it ‘{name}’" for name in names if name)
    if reader is None:
        return reported, points
    read = reader.on_target if isinstance(reader, ReadsTargets) else reader
    for point in points:
        said = ""
        with suppress(Exception):  # without a reading, the sentence below says so
            said = named(await read(shown, point))
        reported += f"; there the screen says ‘{said}’" if said else "; nothing can be read there"
    return reported, points


async def await_approval(approver: Approver, asked: ApprovalQuestion, look: Callable[[], Awaitable[Frame]]) -> str:
    """Return the name of the person who approved an action, and use up the approval.

    ``look`` takes a new redacted frame. An approval is valid only while that frame is identical to the approved one.
    Raises `NeedsPerson` if the question is still open, and `PolicyRefused` if the answer was not yes to this.
    """
    by = await _take_approval(approver, asked, look)
    if by is None:
        await approver.ask(asked)
        by = await _take_approval(approver, asked, look)
    if by is None:
        raise PolicyRefused(f"No person has approved this action on the present screen: {asked.words}.")
    return by


async def _take_approval(
    approver: Approver, asked: ApprovalQuestion, look: Callable[[], Awaitable[Frame]]
) -> str | None:
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        frame = await look()
        by = await approver.take(replace(asked, frame=frame.digest))
        if by is not None or asyncio.get_running_loop().time() >= end:
            return by
        await asyncio.sleep(AGAIN_S)

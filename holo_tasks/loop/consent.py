"""A person's yes to one action on one screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from holo_tasks.core.errors import PolicyRefused
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Gesture
from holo_tasks.core.outside import named
from holo_tasks.core.permit import ReadsTargets, TextReader
from holo_tasks.core.recheck import aim

PATIENCE_S = 1.5
"""For a screen to look again as it did when a person said yes: a blinking caret is there only half of the time."""
AGAIN_S = 0.1


@dataclass(frozen=True)
class Asked:
    """What a person is asked: may ``action`` be done on the screen ``frame``, for the business item ``token``?

    Both are digests, of everything the action is and of every pixel that is not masked: what is kept of a yes must not
    tell what was masked. ``words`` say it for people; ``picture`` is the SHA-256 of the picture in the trace, and
    ``points`` are where on the screen the action goes.
    """

    token: str
    action: str
    frame: str
    words: str
    picture: str = ""
    points: tuple[Point, ...] = ()


class Approver(Protocol):
    """Where persons say yes."""

    async def take(self, asked: Asked) -> str | None:
        """Use up a yes to exactly this; return whose it was, None if there is none. It is never there again."""
        ...

    async def ask(self, asked: Asked) -> None:
        """Return when a person has answered; raise `NeedsPerson` with what to do if that is not waited for."""
        ...


async def words_for(
    rule: str,
    gesture: Gesture,
    shown: Frame,
    reader: TextReader | None,
    called: Callable[[Point], Awaitable[str]] | None = None,
) -> tuple[str, tuple[Point, ...]]:
    """Say to a person what needs their yes, and where it goes: the model's words for a target are the model's.

    What is read there is what is ``shown``, the screen as it may be known outside this machine; ``called`` tells what
    the program calls what is there, as far as that may be known.
    """
    where = aim(gesture)
    points = where.points if where is not None else ()
    told = rule
    if called is not None:
        names = [await called(point) for point in points]
        told += "".join(f"; the program calls it ‘{name}’" for name in names if name)
    if reader is None:
        return told, points
    read = reader.on_target if isinstance(reader, ReadsTargets) else reader
    for point in points:
        said = ""
        with suppress(Exception):  # a reader that fails says nothing
            said = named(await read(shown, point))
        told += f"; there the screen says ‘{said}’" if said else "; nothing can be read there"
    return told, points


async def consent(approver: Approver, asked: Asked, look: Callable[[], Awaitable[Frame]]) -> str:
    """Return who said yes to an action; the yes is used up.

    ``look`` takes a fresh redacted frame: a yes counts only while that is, pixel by pixel, the one it was given for.
    Raises `NeedsPerson` if nobody was asked yet, `PolicyRefused` if the answer was not yes to this.
    """
    by = await _taken(approver, asked, look)
    if by is None:
        await approver.ask(asked)
        by = await _taken(approver, asked, look)
    if by is None:
        raise PolicyRefused(f"Nobody said yes to this on the screen as it is now: {asked.words}.")
    return by


async def _taken(approver: Approver, asked: Asked, look: Callable[[], Awaitable[Frame]]) -> str | None:
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        frame = await look()
        by = await approver.take(replace(asked, frame=frame.digest))
        if by is not None or asyncio.get_running_loop().time() >= end:
            return by
        await asyncio.sleep(AGAIN_S)

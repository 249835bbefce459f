"""A person at work on a screen, watched: what they do, step by step, and how the screen looked before each step."""

from __future__ import annotations

import asyncio
import time
import zlib
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from holo_tasks.core import ports
from holo_tasks.core.elements import ElementTree
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Size
from holo_tasks.core.gestures import Click, Gesture
from holo_tasks.core.hand_steps import DOUBLE_S, HandSteps, Made
from holo_tasks.core.remote_input import ByHand, Key

FRESH_S = 0.3
"""A person decides on what they have seen for longer than this."""
IDLE_S, PAUSE_S = 0.5, 0.06
"""So often the screen is looked at while nobody does anything, where input cannot be held up until it was; and how long
after a key it is, at the soonest."""
MOST_LOOKS = 20
"""After so many, each of which somebody acted during, the newest picture has to do."""


class Screen(ports.Held, ports.Shown, ports.TellsElements, Protocol):
    """A desktop that can be looked at while a person has it."""

    async def look(self, after_action: bool = False) -> Frame:
        """Wait until the screen is at rest, then take its picture."""
        ...


@dataclass(frozen=True)
class Shown:
    """A screen at rest: its picture, the elements that programs told of, and after how many acts it was taken."""

    size: Size
    tree: ElementTree
    acts: int
    at: str
    _packed: bytes = field(repr=False)
    _told: Mapping[str, Any] = field(repr=False)
    """What else there is to say of the frame."""

    @classmethod
    def of(cls, frame: Frame, tree: ElementTree, acts: int, at: str) -> Shown:
        """Keep a picture: there are many in an hour, and most of each is of one color."""
        told = {each.name: getattr(frame, each.name) for each in fields(frame) if each.name != "rgb"}
        return cls(frame.size, tree, acts, at, zlib.compress(frame.rgb, 1), told)

    def whole(self) -> Frame:
        """Return the frame with its pixels."""
        return Frame(zlib.decompress(self._packed), **self._told)

    def is_like(self, other: Shown) -> bool:
        """Say whether both show the very same."""
        return self.size == other.size and self._packed == other._packed


@dataclass
class Moment:
    """When something was begun, after how many acts, and what was shown before it.

    It is ``hurried`` as long as no picture is known of the screen at rest between the act before and this: then nobody
    can tell what it was done to. One that was being taken may be there a little later.
    """

    at_s: float
    at: str
    acts: int
    before: Shown
    hurried: bool = True

    def resolve(self, shown: Shown, taken_s: float) -> None:
        """Take a picture for what was shown before it, if it is of then."""
        if self.hurried and shown.acts == self.acts and taken_s < self.at_s:
            self.before, self.hurried = shown, False


@dataclass(frozen=True)
class HandStep:
    """One thing that was done, and when that was begun; ``sent`` is when the key went down that sent off a text."""

    number: int
    gesture: Gesture
    begun: Moment
    sent: Moment | None = None

    @property
    def before(self) -> Shown:
        """What was shown before it."""
        return self.begun.before

    @property
    def typed(self) -> Shown | None:
        """What was shown when it was typed, and not yet sent off."""
        return None if self.sent is None or self.sent.hurried else self.sent.before


class Sitting:
    """Takes in what a person does as `heard`, looks on, and keeps the steps that this comes to.

    ``tell`` is told of each step as it is over, ``clock`` is the time of day for the trace. Where what is done is heard
    of only afterwards, ``catch_up`` returns once all was heard that was done until then.
    """

    def __init__(
        self,
        screen: Screen,
        tell: Callable[[HandStep], None],
        clock: Callable[[], str],
        catch_up: Callable[[], None] | None = None,
    ) -> None:
        self._screen = screen
        self._tell = tell
        self._clock = clock
        self._catch_up = catch_up
        self._steps = HandSteps()
        self._shown: Shown | None = None
        self._taken_s = 0.0
        self._moments: list[Moment] = []
        self._acts: list[float] = []
        self._last_s = 0.0
        self._turn, self._news = asyncio.Lock(), asyncio.Event()
        self.done: list[HandStep] = []

    def heard(self, one: ByHand, at_s: float) -> None:
        """Take in one input, before or as it arrives; from the loop's own thread."""
        assert self._shown is not None
        at_s = self._last_s = max(at_s, self._last_s + 1e-6)
        if self._steps.begins(one, at_s):
            moment = Moment(at_s, self._clock(), len(self._acts), self._shown)
            moment.resolve(self._shown, self._taken_s)
            self._moments.append(moment)
        if one.down if isinstance(one, Key) else one.buttons != self._steps.buttons:
            self._acts.append(at_s)
            self._news.set()
        for made in self._steps.heard(one, at_s):
            self._keep(made)

    def begins(self, one: ByHand) -> bool:
        """Say whether the screen has to be looked at before an input arrives."""
        return self._steps.begins(one, time.monotonic())

    async def fresh(self) -> Shown:
        """Return the screen as it is after all that was done."""
        async with self._turn:
            for _ in range(MOST_LOOKS):
                shown = self._shown
                if shown is not None and shown.acts == len(self._acts) and time.monotonic() - self._taken_s < FRESH_S:
                    break
                await self._look()
            assert self._shown is not None
            return self._shown

    async def watch(self) -> None:
        """Look on until cancelled."""
        idle_s = None if self._catch_up is None else IDLE_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(DOUBLE_S if idle_s is None else idle_s):
                    await self._news.wait()
            if self._news.is_set() or idle_s is not None:  # else whoever acts next waits until it was looked at
                self._news.clear()
                await self._paused()
                await self.fresh()
            self._settle()

    async def ended(self) -> Shown:
        """Return the screen at the end; all that was done is a step by then."""
        last = await self.fresh()
        for made in self._steps.ended():
            self._keep(made)
        return last

    async def _paused(self) -> None:
        """Wait a moment for whoever types, or holds a button."""
        until_s = time.monotonic() + IDLE_S
        while time.monotonic() < until_s and (self._steps.buttons or time.monotonic() - self._last_s < PAUSE_S):
            await asyncio.sleep(PAUSE_S / 2)

    def _settle(self) -> None:
        """A click that no second one followed in time is one."""
        if time.monotonic() - self._last_s > DOUBLE_S:
            for made in self._steps.ended_if(Click):
                self._keep(made)

    def _keep(self, made: Made) -> None:
        assert self._shown is not None
        known = {moment.at_s: moment for moment in self._moments}
        unknown = Moment(made.began_s, self._clock(), -1, self._shown)
        sent = known.get(made.last_s) if made.last_s != made.began_s else None
        step = HandStep(len(self.done) + 1, made.gesture, known.get(made.began_s, unknown), sent)
        self._moments = [moment for moment in self._moments if moment.at_s > made.last_s]
        self.done.append(step)
        self._tell(step)

    async def _look(self) -> None:
        """Take a picture; it is one of the screen at rest unless somebody acted meanwhile."""
        began_s = time.monotonic()
        frame = await self._screen.look()
        taken_s = time.monotonic() - max(0, time.time_ns() - frame.taken_at_ns) / 1e9
        tree = await self._screen.elements()
        if self._catch_up is not None:
            await asyncio.to_thread(self._catch_up)
        acts = bisect(self._acts, began_s)
        if bisect(self._acts, taken_s) != acts:
            return
        tree = tree if acts == len(self._acts) else ElementTree(complete=False)  # it may be of later
        shown = Shown.of(frame, tree, acts, self._clock())
        if self._shown is not None and self._shown.is_like(shown):
            shown = replace(self._shown, tree=tree, acts=acts)
        self._shown, self._taken_s = shown, taken_s
        for moment in [*self._moments, *(step.begun for step in self.done[-2:])]:
            moment.resolve(shown, taken_s)


class Watched:
    """A desktop as a live view uses it: each step waits until it is known how the screen looked before it."""

    def __init__(self, screen: Screen, sitting: Sitting) -> None:
        self._screen = screen
        self._sitting = sitting
        self._turn = asyncio.Lock()

    async def open_vnc(self) -> Path:
        """Start a VNC server on the screen; return its socket."""
        return await self._screen.open_vnc()

    async def close_vnc(self, path: Path) -> None:
        """End a VNC server."""
        await self._screen.close_vnc(path)

    async def hold(self) -> None:
        """Give the screen to the person."""
        await self._screen.hold()

    async def release(self) -> None:
        """Take it back."""
        await self._screen.release()

    @property
    def held(self) -> bool:
        """Whether the person has it."""
        return self._screen.held

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Do what the person does."""
        async with self._turn:
            ready: list[ByHand] = []
            for one in inputs:
                if self._sitting.begins(one):
                    await self._pass_on(ready)
                    await self._sitting.fresh()
                self._sitting.heard(one, time.monotonic())
                ready.append(one)
            await self._pass_on(ready)

    async def _pass_on(self, ready: list[ByHand]) -> None:
        if ready:
            await self._screen.by_hand([*ready])
            ready.clear()

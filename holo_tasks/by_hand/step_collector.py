"""Watch a person at work on a screen: collect the inputs into steps, each with the screen before it.

`StepCollector` collects the steps. `DelayingDesktop` delays inputs of a live view until the screen before them is
known.
"""

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
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Click, Gesture
from holo_tasks.core.input.hand_steps import DOUBLE_S, HandSteps, MadeGesture
from holo_tasks.core.input.remote_input import ByHand, Key
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size

FRESH_S = 0.3
"""Oldest age of a frame, in seconds, at which it still counts as the current screen. A person needs longer to decide.
"""
IDLE_S, PAUSE_S = 0.5, 0.06
"""Seconds between two frames while the person does nothing, and the shortest time between a key and the next frame.

The first is used if inputs cannot be delayed until a frame was taken.
"""
MOST_LOOKS = 20
"""Most attempts to take a frame without an input during it. After that the newest frame is used."""


class Screen(ports.Held, ports.Shown, ports.ReportsElements, Protocol):
    """A desktop whose frames can be taken while a person uses it."""

    async def look(self, after_action: bool = False) -> Frame:
        """Wait until the screen has settled, then take a frame."""
        ...


@dataclass(frozen=True)
class RecordedScreen:
    """A settled screen: its frame, its elements, and the number of inputs that came before it."""

    size: Size
    tree: ElementTree
    acts: int
    at: str
    _packed: bytes = field(repr=False)
    _told: Mapping[str, Any] = field(repr=False)
    """The fields of the frame other than its pixels."""

    @classmethod
    def of(cls, frame: Frame, tree: ElementTree, acts: int, at: str) -> RecordedScreen:
        """Return a compressed copy of a frame.

        An hour of work has many frames, and most of each frame is one color.
        """
        told = {each.name: getattr(frame, each.name) for each in fields(frame) if each.name != "rgb"}
        return cls(frame.size, tree, acts, at, zlib.compress(frame.rgb, 1), told)

    def whole(self) -> Frame:
        """Return the frame with its pixels."""
        return Frame(zlib.decompress(self._packed), **self._told)

    def is_like(self, other: RecordedScreen) -> bool:
        """Return whether both screens have identical pixels."""
        return self.size == other.size and self._packed == other._packed


@dataclass
class InputStart:
    """The beginning of an input: its time, the number of inputs before it, and the screen before it.

    ``hurried`` is true as long as no settled screen is known between the previous input and this one. The target is
    then unknown. A frame that is being taken may still resolve it.
    """

    at_s: float
    at: str
    acts: int
    before: RecordedScreen
    hurried: bool = True

    def resolve(self, shown: RecordedScreen, taken_s: float) -> None:
        """Use a frame as the screen before the input, if it was taken between the previous input and this one."""
        if self.hurried and shown.acts == self.acts and taken_s < self.at_s:
            self.before, self.hurried = shown, False


@dataclass(frozen=True)
class HandStep:
    """One action of a person. ``sent`` is the moment of the key that submitted a typed text."""

    number: int
    gesture: Gesture
    begun: InputStart
    sent: InputStart | None = None

    @property
    def before(self) -> RecordedScreen:
        """Screen before the step."""
        return self.begun.before

    @property
    def typed(self) -> RecordedScreen | None:
        """Screen with the typed text before it was submitted; ``None`` if unknown."""
        return None if self.sent is None or self.sent.hurried else self.sent.before


class StepCollector:
    """Collects a person's inputs, as `take_input` reports them, into steps in ``done``.

    ``tell`` is called with each finished step. ``clock`` returns the time of day for the trace. ``catch_up`` is given
    if inputs are reported late. It returns when all inputs up to now are reported.
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
        self._shown: RecordedScreen | None = None
        self._taken_s = 0.0
        self._moments: list[InputStart] = []
        self._acts: list[float] = []
        self._last_s = 0.0
        self._turn, self._news = asyncio.Lock(), asyncio.Event()
        self.done: list[HandStep] = []

    def take_input(self, one: ByHand, at_s: float) -> None:
        """Take one input, before or when it arrives. Call it in the thread of the event loop."""
        assert self._shown is not None
        at_s = self._last_s = max(at_s, self._last_s + 1e-6)
        if self._steps.begins(one, at_s):
            moment = InputStart(at_s, self._clock(), len(self._acts), self._shown)
            moment.resolve(self._shown, self._taken_s)
            self._moments.append(moment)
        if one.down if isinstance(one, Key) else one.buttons != self._steps.buttons:
            self._acts.append(at_s)
            self._news.set()
        for made in self._steps.take_input(one, at_s):
            self._keep(made)

    def begins(self, one: ByHand) -> bool:
        """Return whether a frame is needed before an input arrives."""
        return self._steps.begins(one, time.monotonic())

    async def fresh(self) -> RecordedScreen:
        """Return the current screen after all earlier inputs."""
        async with self._turn:
            for _ in range(MOST_LOOKS):
                shown = self._shown
                if shown is not None and shown.acts == len(self._acts) and time.monotonic() - self._taken_s < FRESH_S:
                    break
                await self._look()
            assert self._shown is not None
            return self._shown

    async def watch(self) -> None:
        """Take frames until cancelled."""
        idle_s = None if self._catch_up is None else IDLE_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(DOUBLE_S if idle_s is None else idle_s):
                    await self._news.wait()
            if self._news.is_set() or idle_s is not None:  # otherwise the next input waits for a frame
                self._news.clear()
                await self._paused()
                await self.fresh()
            self._settle()

    async def ended(self) -> RecordedScreen:
        """Finish the last steps and return the screen at the end."""
        await self.fresh()
        return self.cut_off()

    def cut_off(self) -> RecordedScreen:
        """Finish the last steps without a further frame, and return the newest screen."""
        assert self._shown is not None
        for made in self._steps.ended():
            self._keep(made)
        return self._shown

    async def _paused(self) -> None:
        """Wait until no button is held and no key was pressed for a moment, at most half a second."""
        until_s = time.monotonic() + IDLE_S
        while time.monotonic() < until_s and (self._steps.buttons or time.monotonic() - self._last_s < PAUSE_S):
            await asyncio.sleep(PAUSE_S / 2)

    def _settle(self) -> None:
        """Finish a single click after the time for a second click is over."""
        if time.monotonic() - self._last_s > DOUBLE_S:
            for made in self._steps.ended_if(Click):
                self._keep(made)

    def _keep(self, made: MadeGesture) -> None:
        assert self._shown is not None
        known = {moment.at_s: moment for moment in self._moments}
        unknown = InputStart(made.began_s, self._clock(), -1, self._shown)
        sent = known.get(made.last_s) if made.last_s != made.began_s else None
        step = HandStep(len(self.done) + 1, made.gesture, known.get(made.began_s, unknown), sent)
        self._moments = [moment for moment in self._moments if moment.at_s > made.last_s]
        self.done.append(step)
        self._tell(step)

    async def _look(self) -> None:
        """Take a frame and its elements. They are used only if no input came while the frame was taken."""
        began_s = time.monotonic()
        frame = await self._screen.look()
        taken_s = time.monotonic() - max(0, time.time_ns() - frame.taken_at_ns) / 1e9
        tree = await self._screen.elements()
        if self._catch_up is not None:
            await asyncio.to_thread(self._catch_up)
        acts = bisect(self._acts, began_s)
        if bisect(self._acts, taken_s) != acts:
            return
        tree = tree if acts == len(self._acts) else ElementTree(complete=False)  # an input came before the tree
        shown = RecordedScreen.of(frame, tree, acts, self._clock())
        if self._shown is not None and self._shown.is_like(shown):
            shown = replace(self._shown, tree=tree, acts=acts)
        self._shown, self._taken_s = shown, taken_s
        for moment in [*self._moments, *(step.begun for step in self.done[-2:])]:
            moment.resolve(shown, taken_s)


class DelayingDesktop:
    """A desktop for a live view that delays each step until the screen before it is known."""

    def __init__(self, screen: Screen, collector: StepCollector) -> None:
        self._screen = screen
        self._collector = collector
        self._turn = asyncio.Lock()

    async def open_vnc(self) -> Path:
        """Start a VNC server on the screen and return its socket."""
        return await self._screen.open_vnc()

    async def close_vnc(self, path: Path) -> None:
        """Stop a VNC server."""
        await self._screen.close_vnc(path)

    async def hold(self) -> None:
        """Give the screen to the person."""
        await self._screen.hold()

    async def release(self) -> None:
        """Take the screen back from the person."""
        await self._screen.release()

    @property
    def held(self) -> bool:
        """Whether the person has the screen."""
        return self._screen.held

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Pass a person's inputs on to the desktop, and report them to the `StepCollector`."""
        async with self._turn:
            ready: list[ByHand] = []
            for one in inputs:
                if self._collector.begins(one):
                    await self._pass_on(ready)
                    await self._collector.fresh()
                self._collector.take_input(one, time.monotonic())
                ready.append(one)
            await self._pass_on(ready)

    async def _pass_on(self, ready: list[ByHand]) -> None:
        if ready:
            await self._screen.by_hand([*ready])
            ready.clear()

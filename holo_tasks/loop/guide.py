"""What goes before every decision: is this a screen to act on, and if not, what is done about it?

Popups are cleared, a program that works is waited for, and a screen that nobody declared is never acted on where the
declared ones are all there are. Pure but for its ports: what is done is done by `perform` and `act`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.core import events
from holo_tasks.core.actions import HotkeyCall
from holo_tasks.core.errors import GaveUp, InvalidUsage, NeedsPerson, PolicyRefused, ScreenChanged
from holo_tasks.core.frame import Frame
from holo_tasks.core.outside import defused, named
from holo_tasks.core.person import GIVE_UP, Answer
from holo_tasks.core.states import Asked, Recogniser, State, marks_in
from holo_tasks.core.step import Step
from holo_tasks.loop.screens import MOST_TIMES, Do, Interruption, Screens, Way, plan
from holo_tasks.loop.unexpected_windows import Windows
from holo_tasks.loop.walk import STILL_S, Walk

MOST_LOST = 2
"""So often one sub-goal may be taken back from a screen that nobody knows."""
MOST_SAME_WAY = 2
UNEXPECTED, MOST_UNEXPECTED = "unexpected window", 10
"""Windows that nobody declared, and how many may come up in one sub-goal, whatever their titles are."""

Perform = Callable[[Do, str, Screens], Awaitable[Any]]
"""Does what was declared, a script or a whole sub-goal; the text says what for, the screens what may come up."""
Act = Callable[[Walk, Step], Awaitable[str]]
Ready = Callable[[Frame, State | None], Awaitable[bool]]


@dataclass
class Guide:
    """Knows the screens of a program, and where one layer of a sub-goal is among them.

    ``before`` is the state the work begins in, ``after`` those that it may end in; empty where it does not matter.
    ``expect`` tells which one the last decision is to lead to, empty if it does not say.
    """

    screens: Screens
    recogniser: Recogniser
    perform: Perform
    act: Act
    before: str = ""
    after: tuple[str, ...] = ()
    layer: str = "model"
    expect: Callable[[], str] = str
    here: str = ""
    times: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    unexpected: int = 0
    _surprised: bool = field(default=False, repr=False)
    _said: list[str] = field(default_factory=list, repr=False)
    _told: str | None = field(default=None, repr=False)
    _windows: Windows = field(default_factory=Windows, repr=False)

    def __post_init__(self) -> None:
        for name in (*((self.before,) if self.before else ()), *self.after):
            self.screens.state(name)

    async def begin(self, walk: Walk) -> None:
        """Bring the program where the work begins. Raises `GaveUp` if it does not get there."""
        await self.clear(walk)
        if self.before:
            await self.reach(walk, self.before)

    async def clear(self, walk: Walk) -> None:
        """Return when the newest screen is one to act on; raise `GaveUp` if it does not become one."""
        was, cleared, waited = self.here, False, False
        while True:
            state = await self._see(walk)
            interruption = await self._interrupting(walk, state)
            if isinstance(interruption, str) and state is None and not waited:
                # It may come of the last action, and be on the way to a screen that is known.
                await self._wait(walk, self._over)
                waited = True
            elif interruption is not None:
                await self._interrupted(walk, interruption)
                cleared, waited, self._surprised = True, False, False
            elif await self._over(_frame(walk), state):
                back, was = was, ""
                if cleared and back and state is not None and await self._went_back(walk, state, back):
                    continue
                self.here = state.name if state else ""
                if state is not None:
                    self._windows.learn(_frame(walk))
                self._surprised = False
                return
            elif not waited:
                await self._wait(walk, self._over)
                waited = True
            elif state is not None or _frame(walk).hung:
                raise self._busy(walk, state)
            else:
                await self._lost(walk)
                waited = False

    async def reach(self, walk: Walk, wanted: str) -> None:
        """Bring the program to a state: wait for it, then take the declared ways. Raises `GaveUp` if that fails."""
        state = await self._see(walk, wanted)
        known = state is not None and not state.busy
        if not (known and plan(self.screens, state.name if state else None, wanted) is not None):
            await self._until(walk, (wanted,))
        if not await self._go(walk, wanted):
            raise self._gave_up(f"The screen is not ‘{wanted}’, and no declared way led there")

    async def accept(self, walk: Walk) -> str:
        """Look whether the program is where the work may end; return what is wrong, empty if nothing is."""
        if not self.after:
            return ""
        await walk.look()
        await self.clear(walk)
        if await self._until(walk, self.after):
            await walk.record(events.StateSeen(state=self.here, wanted=" or ".join(self.after)))
            return ""
        await walk.record(events.StateSeen(state=self.here, wanted=" or ".join(self.after), how="not there"))
        wanted = " or ".join(f"‘{name}’" for name in self.after)
        return f"The screen is not {wanted}; the work does not end before it is."

    def promised(self) -> str:
        """Return the state that the last decision is to lead to, empty if it does not say.

        Raises `GaveUp` if nobody declared it: nothing has been done by then.
        """
        name = self.expect()
        try:
            return self.screens.state(name).name if name else ""
        except InvalidUsage as error:
            raise self._gave_up(f"A step leads nowhere: {str(error).rstrip('.')}") from None

    async def arrive(self, walk: Walk, wanted: str) -> None:
        """Wait for the state that an action was to lead to. Raises `GaveUp` if it does not come.

        What is busy or an interruption has been waited for, or cleared, by `clear`: it is not to be seen any more.
        """
        if self._passing(self.screens.state(wanted)):
            return
        if not await self._until(walk, (wanted,)):
            await walk.record(events.StateSeen(state=self.here, wanted=wanted, how="not there"))
            raise self._gave_up(f"The screen is not ‘{wanted}’, which the last step was to lead to")

    async def arrived(self, walk: Walk) -> bool:
        """Wait for a state that the work may end in; say whether it is there."""
        return bool(self.after) and await self._until(walk, self.after)

    async def backtrack(self, walk: Walk) -> str:
        """Take the program back to where one can go on from; return what was done, in a sentence."""
        home = self.screens.home
        if home and self.here != home and plan(self.screens, self.here or None, home):
            return await self._go_home(walk, home)
        return await escape(walk, self.act)

    def surprised(self) -> None:
        """Be told that the screen changed by itself, between a decision and its input."""
        self._surprised = True

    async def whereabouts(self, frame: Frame) -> tuple[str, bool]:
        """Return the state that a frame shows after an action, empty if none, and whether it is one to be in.

        What is busy or was interrupted is no wrong state: what comes after it may be.
        """
        state = await self.recogniser.recognise(frame, self.screens.candidates)
        expected = self.expect()
        if state is None:
            return "", not (self.screens.closed or expected)
        right = not expected or state.name == expected or self._passing(self.screens.state(expected))
        return state.name, right or self._passing(state)

    def _passing(self, state: State) -> bool:
        return state.busy or self.screens.interruption(state) is not None

    def said(self) -> str:
        """Return what was done since this was asked for last, in the words that a model is told."""
        words, self._said = " ".join(self._said), []
        return words

    async def _see(self, walk: Walk, wanted: str = "") -> State | None:
        state = await self.recogniser.recognise(_frame(walk), self.screens.candidates)
        name = state.name if state else ""
        if name != self._told or (wanted and wanted != name):
            await walk.record(events.StateSeen(state=name, wanted=wanted))
            self._told = name
        return state

    async def _interrupting(self, walk: Walk, state: State | None) -> Interruption | str | None:
        """Return what is in the way: a declared interruption, or the title of a window that nobody declared.

        Beside a state that can be told, a window is one only if it came up by itself over the state that was there:
        what an action opened is its effect, and for whoever decides. So is a window that stays, and one that would not
        get the key.
        """
        frame = _frame(walk)
        if frame.hung:  # it would take what is done about it for something else, later
            return None
        declared = self.screens.interruption(state) if state else None
        if declared is not None:
            return declared
        if not self.screens.closed:
            return None
        if state is None:
            return self._windows.unexpected(frame) or None
        if not (self._surprised and state.name == self.here):
            return None
        title = self._windows.came_up(frame)
        others = [other for other in self.screens.candidates if other is not state]
        if not title or self.times[_unexpected(title)] or await self.recogniser.recognise(frame, others):
            return None
        return title if (await walk.doors.desktop.owner_at(None)).title == title else None

    async def _interrupted(self, walk: Walk, by: Interruption | str) -> None:
        name, most = (_unexpected(by), MOST_TIMES) if isinstance(by, str) else (by.name, by.most)
        self.times[name] += 1
        if self.times[name] > most:
            raise self._gave_up(f"‘{name}’ came up more than {most} times")
        await walk.record(events.Interrupted(name=name, times=self.times[name]))
        if isinstance(by, str):
            self.unexpected += 1  # by itself: a title that is another one each time is never there too often
            if self.unexpected > MOST_UNEXPECTED:
                raise self._gave_up(f"More than {MOST_UNEXPECTED} windows came up that nobody declared")
            await escape(walk, self.act)
        else:
            await self._perform(walk, by.do, f"clear ‘{name}’", self.screens.while_clearing(by))
        self._said.append(f"‘{name}’ had come up and was dealt with.")

    async def _perform(self, walk: Walk, do: Do, what: str, screens: Screens) -> None:
        """Do what was declared. Raises `NeedsPerson` if a person was asked there and gave up."""
        said = await self.perform(do, what, screens)
        if isinstance(said, Answer) and said.choice == GIVE_UP:
            raise NeedsPerson(f"{said.by} gave up: {what}{f' ({said.note})' if said.note else ''}.")
        await walk.look()

    async def _went_back(self, walk: Walk, state: State, was: str) -> bool:
        """After an interruption, go back to where the work was; say whether that was tried.

        Only from the home state, where a program begins anew, for example after its session: any other may be what came
        of the last action, and to go back from there would be to do it again.
        """
        if state.name == was or state.name != self.screens.home or not plan(self.screens, state.name, was):
            return False
        if await self._go(walk, was):
            self._said.append(f"The program was brought back to ‘{was}’.")
        return True

    async def _go(self, walk: Walk, wanted: str) -> bool:
        """Take declared ways until the wanted state is there, each at most twice; say whether it is."""
        taken: list[Way] = []
        while True:
            if await self._holds(walk, wanted):
                self.here = wanted
                return True
            state = await self._see(walk, wanted)
            if interruption := await self._interrupting(walk, state):
                await self._interrupted(walk, interruption)
                continue
            if _frame(walk).hung or (state is not None and state.busy):
                if not await self._wait(walk, self._over):
                    raise self._busy(walk, state)
                continue
            spent = [way for way in taken if taken.count(way) >= MOST_SAME_WAY]
            ways = plan(self.screens, state.name if state else None, wanted, without=spent)
            if not ways:
                return False
            way = ways[0]
            taken.append(way)
            how = f"takes the way to ‘{way.to}’"
            await walk.record(events.StateSeen(state=state.name if state else "", wanted=wanted, how=how))
            await self._perform(walk, way.do, f"go to ‘{way.to}’", self.screens.while_clearing())
            await self._until(walk, (way.to,))

    async def _go_home(self, walk: Walk, home: str) -> str:
        await walk.record(events.Backtracked(by="declared way", to=home))
        if await self._go(walk, home):
            return f"The program was brought back to ‘{home}’."
        return "The program was to be brought back, but did not get there."

    async def _lost(self, walk: Walk) -> None:
        """On a screen that nobody knows: Escape, then the way home, then it is for the next layer."""
        self.lost += 1
        home, self.here = self.screens.home, ""
        if self.lost > MOST_LOST:
            raise self._gave_up(
                "The screen is none of the declared ones, and going back did not change that: declare it as a State, "
                "or give the Screens closed=False if not all are declared"
            )
        if self.lost == MOST_LOST and home and plan(self.screens, None, home):
            self._said.append(await self._go_home(walk, home))
        else:
            self._said.append(await escape(walk, self.act))

    async def _holds(self, walk: Walk, name: str) -> bool:
        return await self.recogniser.holds(_frame(walk), self.screens.state(name))

    async def _over(self, frame: Frame, state: State | None) -> bool:
        """Say whether a screen is one that may be acted on, be it on a popup; a hung program would do it all later."""
        if frame.hung:
            return False
        return not self.screens.closed if state is None else not state.busy

    async def _until(self, walk: Walk, names: Collection[str]) -> bool:
        """Wait for one of some states, and clear what comes up meanwhile; say whether one is there."""

        async def there(frame: Frame, state: State | None) -> bool:
            if frame.hung:
                return False
            if state is not None and self.screens.interruption(state):
                return True
            return any([await self.recogniser.holds(frame, self.screens.state(name)) for name in names])

        end = walk.doors.now_s() + self.screens.timeout_seconds
        while await self._wait(walk, there, end):
            interruption = await self._interrupting(walk, await self._see(walk))
            if interruption is not None:
                await self._interrupted(walk, interruption)
                end = walk.doors.now_s() + self.screens.timeout_seconds
                continue
            for name in names:
                if await self._holds(walk, name):
                    self.here = name
                    return True
            await walk.pause(STILL_S)  # it was there for a moment only
        return False

    async def _wait(self, walk: Walk, ready: Ready, end: float | None = None) -> bool:
        """Wait until the screen is so, for as long as the program is given; the newest screen is then a fresh one.

        No model is asked about a screen that is still changing: every one would cost a call.
        """
        doors, candidates = walk.doors, self.screens.candidates
        cheap = [state for state in candidates if not any(isinstance(mark, Asked) for mark in marks_in(state.marks))]
        frame, still, looked = _frame(walk), True, True
        end = doors.now_s() + self.screens.timeout_seconds if end is None else end
        while True:
            state = await self.recogniser.recognise(frame, candidates if still else cheap)
            if (still or state is not None) and await ready(frame, state):
                found = True
                break
            if doors.now_s() >= end:
                found = False
                break
            await walk.pause(STILL_S)
            before, frame = frame.digest, await doors.desktop.look()
            still, looked = frame.digest == before, False
        if not looked:
            await walk.look()
        return found

    def _busy(self, walk: Walk, state: State | None) -> GaveUp:
        how = "hung" if state is None or _frame(walk).hung else f"was still at ‘{state.name}’"
        return self._gave_up(f"The program {how} after {self.screens.timeout_seconds:g} s of waiting")

    def _gave_up(self, why: str) -> GaveUp:
        return GaveUp(f"{why}.", layer=self.layer)


async def escape(walk: Walk, act: Act) -> str:
    """Press Escape, by the same doors as every action; return what came of it, in a sentence."""
    call = HotkeyCall(tool_name="hotkey", keys=["esc"])
    before, started = walk.seen, walk.doors.now_s()
    assert before is not None
    walk.step += 1
    await walk.record(events.Backtracked(by="Escape"))
    step = Step(thought="Nothing came of it; going back.", tool_call=call)
    await walk.decided(step, scripted=True)
    doors, walk.doors = walk.doors, replace(walk.doors, approver=None)  # nobody is asked about a way back
    try:
        await act(walk, step)
    except ScreenChanged as error:
        await walk.look()
        return f"Escape was not pressed to get back: {error}"
    except (PolicyRefused, InvalidUsage) as error:
        return f"Escape could not be pressed to get back: {error}"
    finally:
        walk.doors = doors
    await walk.verify(before, call, started_s=started)
    return "Escape was pressed to get back."


def _unexpected(title: str) -> str:
    return f"{UNEXPECTED} ‘{defused(named(title))}’"


def _frame(walk: Walk) -> Frame:
    assert walk.seen is not None
    return walk.seen.frame

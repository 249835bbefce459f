"""Bring the screen into a state to act on before each decision.

The guide clears popups and waits for a busy program. If all states are declared, it never acts on an unknown screen.
Every method of `Guide` that looks or acts is a generator (`GuardSteps`): it yields instructions, and the loop's
`executor` carries them out. `NoGuide` takes its place if no screens are declared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeAlias

from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.rest import Rest
from holo_tasks.core.screen.states import Asked, State, marks_in
from holo_tasks.core.texts.outside_text import defused, named
from holo_tasks.loop.instructions import (
    AddText,
    CheckState,
    Escape,
    FocusedTitle,
    GetTime,
    GiveUp,
    Glance,
    GuardSteps,
    Look,
    Perform,
    Recognize,
    Record,
    View,
    Wait,
)
from holo_tasks.loop.screens import MOST_TIMES, Interruption, Screens, Way, plan
from holo_tasks.loop.unexpected_windows import Windows
from holo_tasks.loop.walk import STILL_S

MOST_UNKNOWN = 2
"""How often one sub-goal may leave an unknown screen, by Escape or by the way home."""
MOST_SAME_WAY = 2
"""How often the same way may be taken to reach one state."""
SLOW_S = 3.0
"""Seconds for which a handled interruption may stay visible after the last sign of work. Then it counts as a new one.
"""
UNEXPECTED, MOST_UNEXPECTED = "unexpected window", 10
"""Name for windows that no state declares. At most `MOST_UNEXPECTED` may appear in one sub-goal, whatever their titles.
"""


@dataclass
class Guide:
    """Knows the screens of a program, and the current state of one layer's work.

    ``before`` is the state in which the work begins, and ``after`` those in which it may end. Both are empty if any
    state will do. ``expect`` returns the state that the last decision promised, or an empty string. ``here`` is the
    current state.

    The counts are for one sub-goal: how often each interruption came up, how often an unknown screen was left, and how
    many undeclared windows came up.
    """

    screens: Screens
    before: str = ""
    after: tuple[str, ...] = ()
    expect: Callable[[], str] = str
    here: str = ""
    interruption_counts: Counter[str] = field(default_factory=Counter)
    unknown_count: int = 0
    unexpected_count: int = 0
    _changed_by_itself: bool = field(default=False, repr=False)
    """Whether the screen changed between the last decision and its input, so that a popup may have appeared."""
    _notes_for_decider: list[str] = field(default_factory=list, repr=False)
    """Sentences about the actions of the guide, for the next decision."""
    _recorded_state: str | None = field(default=None, repr=False)
    """The state in the last event of the trace."""
    _windows: Windows = field(default_factory=Windows, repr=False)

    def __post_init__(self) -> None:
        for name in (*((self.before,) if self.before else ()), *self.after):
            self.screens.state(name)

    def begin(self) -> GuardSteps[None]:
        """Bring the program to the state in which the work begins. Gives up if this fails."""
        yield from self.clear()
        if self.before:
            yield from self.reach(self.before)

    def prepare(self, expected: str) -> GuardSteps[None]:
        """Clear the screen before a decision, wait for the promised state, and tell the decider about these actions."""
        yield from self.clear()
        if expected:
            yield from self._await_promised_state(expected)
        words, self._notes_for_decider = " ".join(self._notes_for_decider), []
        yield AddText(words)

    def clear(self) -> GuardSteps[None]:
        """Finish when the newest screen is one to act on. Gives up if it does not become one."""
        was, cleared, waited = self.here, False, False
        while True:
            view = yield from self._recognize()
            interruption = yield from self._find_obstacle(view)
            if isinstance(interruption, str) and view.state is None and not waited:
                # It may be an effect of the last action that leads to a known screen.
                yield from self._wait_for_screen()
                waited = True
            elif interruption is not None:
                yield from self._clear_obstacle(interruption)
                cleared, waited, self._changed_by_itself = True, False, False
            elif self._may_act_on(view):
                back, was = was, ""
                if cleared and back and view.state is not None and (yield from self._return_to(view.state, back)):
                    continue
                self._accept_screen(view)
                return
            elif not waited:
                yield from self._wait_for_screen()
                waited = True
            elif view.state is not None or view.frame.hung:
                yield self._busy_error(view)
            else:
                yield from self._leave_unknown_screen()
                waited = False

    def accept(self) -> GuardSteps[str]:
        """Check whether the program is in a state where the work may end; return the problem, or an empty string."""
        if not self.after:
            return ""
        yield Look()
        yield from self.clear()
        wanted = " or ".join(self.after)
        if (yield from self._wait_for(self.after)):
            yield Record(events.StateSeen(state=self.here, wanted=wanted))
            return ""
        yield Record(events.StateSeen(state=self.here, wanted=wanted, how="not there"))
        wanted = " or ".join(f"‘{name}’" for name in self.after)
        return f"The screen is not {wanted}, and the work may end only there."

    def expected_state(self) -> GuardSteps[str]:
        """Return the state that the last decision promises, or an empty string.

        Gives up if that state is not declared. The loop calls this before the decision's input, so nothing was sent.
        """
        name = self.expect()
        try:
            return self.screens.state(name).name if name else ""
        except InvalidUsage as error:
            yield GiveUp(f"A step names a state that is not declared: {str(error).rstrip('.')}.")
            raise

    def arrived(self) -> GuardSteps[bool]:
        """Wait for a state in which the work may end (``after``); return whether one is reached."""
        return bool(self.after) and (yield from self._wait_for(self.after))

    def backtrack(self) -> GuardSteps[str]:
        """Take the declared ways to the home state, else press Escape. Return the outcome as a sentence."""
        home = self.screens.home
        if home and self.here != home and plan(self.screens, self.here or None, home):
            return (yield from self._go_home(home))
        came: str = yield Escape()
        return came

    def note_own_change(self) -> None:
        """Note that the screen changed by itself between a decision and its input."""
        self._changed_by_itself = True

    def current_state(self) -> GuardSteps[tuple[str, bool]]:
        """Return the state after an action, empty if unknown, and whether this state is acceptable.

        A busy or interrupted screen is acceptable, because the next screen may be the right one.
        """
        view: View = yield Recognize(self.screens.candidates)
        expected, state = self.expect(), view.state
        if state is None:
            return "", not (self.screens.closed or expected)
        right = not expected or state.name == expected or self._is_temporary(self.screens.state(expected))
        return state.name, right or self._is_temporary(state)

    def reach(self, wanted: str) -> GuardSteps[None]:
        """Bring the program to a state. Gives up if that fails.

        Waits for the state first, unless declared ways lead there from the present one. Then takes these ways.
        """
        state = (yield from self._recognize(wanted)).state
        known = state is not None and not state.busy
        if not (known and plan(self.screens, state.name if state else None, wanted) is not None):
            yield from self._wait_for((wanted,))
        if not (yield from self._take_ways(wanted)):
            yield GiveUp(f"The screen is not ‘{wanted}’, and no declared way led there.")

    def _await_promised_state(self, wanted: str) -> GuardSteps[None]:
        """Wait for the state that an action promised. Gives up if it does not come.

        Busy states and interruptions are over at that time, because `clear` has handled them.
        """
        if self._is_temporary(self.screens.state(wanted)):
            return
        if not (yield from self._wait_for((wanted,))):
            yield Record(events.StateSeen(state=self.here, wanted=wanted, how="not there"))
            yield GiveUp(f"The screen is not ‘{wanted}’, the state that the last step should have reached.")

    def _accept_screen(self, view: View) -> None:
        """Accept a screen as the one to act on next."""
        self.here = view.state.name if view.state else ""
        if view.state is not None:
            self._windows.learn(view.frame)
        self._changed_by_itself = False

    def _is_temporary(self, state: State) -> bool:
        return state.busy or self.screens.interruption(state) is not None

    def _recognize(self, wanted: str = "") -> GuardSteps[View]:
        view: View = yield Recognize(self.screens.candidates)
        name = view.state.name if view.state else ""
        if name != self._recorded_state or (wanted and wanted != name):
            yield Record(events.StateSeen(state=name, wanted=wanted))
            self._recorded_state = name
        return view

    def _find_obstacle(self, view: View) -> GuardSteps[Interruption | str | None]:
        """Return the obstacle on a screen: a declared interruption, the title of an undeclared window, or ``None``.

        In a known state, a window counts only if it appeared by itself over the previous state. A window that an action
        opened is the action's effect, and is left to the decider. So is a window that stays, and one without the
        keyboard.
        """
        frame, state = view.frame, view.state
        if frame.hung:  # it would process the input later, on another screen
            return None
        declared = self.screens.interruption(state) if state else None
        if declared is not None:
            return declared
        if not self.screens.closed:
            return None
        if state is None:
            return self._windows.unexpected_title(frame) or None
        if not (self._changed_by_itself and state.name == self.here):
            return None
        title = self._windows.appeared_alone(frame)
        if not title or self.interruption_counts[_name_of_unexpected(title)]:
            return None
        others: View = yield Recognize([other for other in self.screens.candidates if other is not state])
        if others.state is not None:
            return None
        return title if (yield FocusedTitle()) == title else None

    def _clear_obstacle(self, by: Interruption | str) -> GuardSteps[None]:
        name, most = (_name_of_unexpected(by), MOST_TIMES) if isinstance(by, str) else (by.name, by.most)
        self.interruption_counts[name] += 1
        if self.interruption_counts[name] > most:
            yield GiveUp(f"‘{name}’ appeared more than {most} times.")
        yield Record(events.Interrupted(name=name, times=self.interruption_counts[name]))
        if isinstance(by, str):
            self.unexpected_count += 1  # a window with a new title each time never exceeds the limit per title
            if self.unexpected_count > MOST_UNEXPECTED:
                yield GiveUp(f"More than {MOST_UNEXPECTED} windows appeared that are not declared.")
            yield Escape()
        else:
            yield Perform(by.do, f"clear ‘{name}’", self.screens.while_clearing(by))
            yield from self._until_gone(by)
        self._notes_for_decider.append(f"‘{name}’ appeared and was cleared.")

    def _until_gone(self, by: Interruption) -> GuardSteps[None]:
        """Wait until a handled interruption has disappeared, for at most `SLOW_S` after the last sign of work.

        A log-in may take a moment. To handle it again meanwhile would type into the next screen.
        """
        rest = Rest(SLOW_S, (yield GetTime()))
        glanced: Frame | None = None
        while (yield CheckState(by.state, glanced)) and not rest.is_over((yield GetTime())):
            yield Wait(STILL_S)
            glanced = yield Glance()
            rest.look_at(glanced, (yield GetTime()))
        if glanced is not None:
            yield Look()

    def _return_to(self, state: State, was: str) -> GuardSteps[bool]:
        """Take the ways from the home state to the state before an interruption; return whether this was tried.

        A program begins anew in the home state, for example after a log-in. From any other state no way is taken,
        because it may be the effect of the last action, which the way would repeat.
        """
        if state.name == was or state.name != self.screens.home or not plan(self.screens, state.name, was):
            return False
        if (yield from self._take_ways(was)):
            self._notes_for_decider.append(f"The program was brought back to ‘{was}’.")
        return True

    def _take_ways(self, wanted: str) -> GuardSteps[bool]:
        """Take declared ways, each at most `MOST_SAME_WAY` times, and return whether the wanted state is reached."""
        taken: list[Way] = []
        while True:
            if (yield CheckState(self.screens.state(wanted))):
                self.here = wanted
                return True
            view = yield from self._recognize(wanted)
            if interruption := (yield from self._find_obstacle(view)):
                yield from self._clear_obstacle(interruption)
                continue
            if view.frame.hung or (view.state is not None and view.state.busy):
                if not (yield from self._wait_for_screen()):
                    newest: View = yield Recognize(())
                    yield self._busy_error(View(newest.frame, view.state))
                continue
            here = view.state.name if view.state else ""
            spent = [way for way in taken if taken.count(way) >= MOST_SAME_WAY]
            ways = plan(self.screens, here or None, wanted, without=spent)
            if not ways:
                return False
            way = ways[0]
            taken.append(way)
            yield Record(events.StateSeen(state=here, wanted=wanted, how=f"takes the way to ‘{way.to}’"))
            yield Perform(way.do, f"go to ‘{way.to}’", self.screens.while_clearing())
            yield from self._wait_for((way.to,))

    def _go_home(self, home: str) -> GuardSteps[str]:
        yield Record(events.Backtracked(by="declared way", to=home))
        if (yield from self._take_ways(home)):
            return f"The program was brought back to ‘{home}’."
        return f"The program could not be brought back to ‘{home}’."

    def _leave_unknown_screen(self) -> GuardSteps[None]:
        """Leave an unknown screen: first by Escape, then by the declared way home. After that, give up."""
        self.unknown_count += 1
        home, self.here = self.screens.home, ""
        if self.unknown_count > MOST_UNKNOWN:
            yield GiveUp(
                "The screen is not a declared state, and going back did not lead to one. Declare it as a State, or "
                "give the Screens closed=False if some states are not declared."
            )
        if self.unknown_count == MOST_UNKNOWN and home and plan(self.screens, None, home):
            self._notes_for_decider.append((yield from self._go_home(home)))
        else:
            self._notes_for_decider.append((yield Escape()))

    def _may_act_on(self, view: View) -> bool:
        """Return whether a screen may be acted on, apart from popups.

        A hung program may not: it would process the input when it continues, maybe on another screen.
        """
        if view.frame.hung:
            return False
        return not self.screens.closed if view.state is None else not view.state.busy

    def _wait_for(self, names: Collection[str]) -> GuardSteps[bool]:
        """Wait for one of some states, and clear interruptions meanwhile; return whether one is reached."""
        end = (yield GetTime()) + self.screens.timeout_seconds
        while (yield from self._wait_for_screen(names, end)):
            interruption = yield from self._find_obstacle((yield from self._recognize()))
            if interruption is not None:
                yield from self._clear_obstacle(interruption)
                end = (yield GetTime()) + self.screens.timeout_seconds
                continue
            for name in names:
                if (yield CheckState(self.screens.state(name))):
                    self.here = name
                    return True
            yield Wait(STILL_S)  # it was visible only for a moment
        return False

    def _wait_for_screen(self, names: Collection[str] = (), end: float | None = None) -> GuardSteps[bool]:
        """Wait until the screen shows one of some states. Without ``names``, wait until the screen may be acted on.

        The wait lasts at most the program's timeout, and the newest screen is a fresh one afterwards. No model is asked
        about a screen that is still changing, because each question costs a call.
        """
        candidates = self.screens.candidates
        cheap = [state for state in candidates if not any(isinstance(mark, Asked) for mark in marks_in(state.marks))]
        glanced: Frame | None = None  # the first check uses the last look
        still = True
        end = (yield GetTime()) + self.screens.timeout_seconds if end is None else end
        while True:
            view: View = yield Recognize(candidates if still else cheap, glanced)
            ready = (still or view.state is not None) and (yield from self._ends_wait(view, names))
            if ready or (yield GetTime()) >= end:
                break
            yield Wait(STILL_S)
            glanced = yield Glance()
            still = glanced.digest == view.frame.digest
        if glanced is not None:
            yield Look()
        return ready

    def _ends_wait(self, view: View, names: Collection[str]) -> GuardSteps[bool]:
        """Return whether a wait is over: the screen is one of the awaited states, or an interruption hides it."""
        if not names:
            return self._may_act_on(view)
        if view.frame.hung:
            return False
        if view.state is not None and self.screens.interruption(view.state):
            return True
        found = False
        for name in names:
            found |= yield CheckState(self.screens.state(name), view.frame)
        return found

    def _busy_error(self, view: View) -> GiveUp:
        """Return the instruction to give up because the program stayed busy or hung."""
        how = "hung" if view.state is None or view.frame.hung else f"was still at ‘{view.state.name}’"
        return GiveUp(f"The program {how} after {self.screens.timeout_seconds:g} s of waiting.")


@dataclass(frozen=True)
class NoGuide:
    """Guide for a sub-goal without declared screens: accepts every screen."""

    here: str = ""
    after: tuple[str, ...] = ()

    def begin(self) -> GuardSteps[None]:
        """Begin in any state."""
        yield from ()

    def prepare(self, expected: str) -> GuardSteps[None]:
        """Leave the screen unchanged."""
        yield from ()

    def clear(self) -> GuardSteps[None]:
        """Leave the screen unchanged."""
        yield from ()

    def accept(self) -> GuardSteps[str]:
        """Find nothing wrong with any screen."""
        yield from ()
        return ""

    def expected_state(self) -> GuardSteps[str]:
        """Return no state: a step may lead anywhere."""
        yield from ()
        return ""

    def arrived(self) -> GuardSteps[bool]:
        """Return false: without declared states, the end of the work cannot be detected."""
        yield from ()
        return False

    def backtrack(self) -> GuardSteps[str]:
        """Press Escape; return the outcome as a sentence."""
        came: str = yield Escape()
        return came

    def note_own_change(self) -> None:
        """Ignore a screen that changed by itself."""

    def current_state(self) -> GuardSteps[tuple[str, bool]]:
        """Return no state, and that it is acceptable."""
        yield from ()
        return "", True


AnyGuide: TypeAlias = Guide | NoGuide


def _name_of_unexpected(title: str) -> str:
    return f"{UNEXPECTED} ‘{defused(named(title))}’"

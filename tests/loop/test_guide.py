"""Before each decision popups are cleared, work is waited for, states are reached, and unknown screens are left
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.errors import GaveUp, InvalidUsage, ModelFailed, NeedsPerson, ScreenChanged
from holo_tasks.core.input.gestures import Click, Gesture, Hotkey, Pause, Receipt, Scroll
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.person import GIVE_UP, Answer
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.states import State
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide
from holo_tasks.loop.loop import Answered, pursue
from holo_tasks.loop.screens import Interruption, Screens, Way
from holo_tasks.loop.walk import Walk
from tests.support.coloured_program import ColouredProgram, Colours, state
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, wrote

CLICK = wrote(step("click", element="OK button", x=500, y=500))
SCROLL = wrote(step("scroll", element="the list", x=500, y=500, direction="down", scroll_size=1))
DONE = wrote(step("answer", content="done"))
STATES = [state(name) for name in ("menu", "form", "record", "filed")]
ESCAPE = Hotkey(("esc",))


class Clock:
    """A clock that advances by a tenth of a second at each reading."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.1
        return self.now_s


class Case:
    """A program, a model with scripted replies, and a guide between them."""

    def __init__(
        self, program: ColouredProgram, screens: Screens, *said: Any, layer: str = "model", **declared: Any
    ) -> None:
        self.program, self.recorder, self.model = program, MemoryRecorder(), MemoryModel([*said, DONE])
        self.walk = walk_of(as_model(self.model), desktop=program, recorder=self.recorder, now_s=Clock())

        self.given: list[Screens] = []
        self.read: Callable[[str], str] = str

        async def perform(do: Any, what: str, screens: Screens) -> Any:
            self.given.append(screens)
            return await do()

        self.guide = Guide(screens, **declared)
        self.executor = Executor(self.walk, Walk.act, layer, Colours(), perform)

    async def pursue(self) -> Answered[str]:
        async def decide(walk: Walk, final: bool) -> Any:
            return await walk.decide(answer_only=final)

        return await pursue(self.executor, read=self.read, decide=decide, max_steps=20, guide=self.guide)

    async def gives_up(self, why: str) -> None:
        with pytest.raises(GaveUp, match=why):
            await self.pursue()

    @property
    def acted(self) -> list[Gesture]:
        return [gesture for gesture in self.program.gestures if not isinstance(gesture, Pause)]

    @property
    def told(self) -> str:
        """The messages of the model's last request."""
        return str(self.model.bodies[-1]["messages"])

    def seen(self, kind: str, *fields: str) -> list[Any]:
        found = [tuple(getattr(event, name) for name in fields) for event in self.recorder.of(kind)]
        return [one[0] if len(one) == 1 else one for one in found]


def after_pauses(number: int, to: str) -> Callable[[str, Gesture], str | None]:
    """Return a program's transition to a screen after this many waits."""
    left = [number]

    def moves(screen: str, gesture: Gesture) -> str | None:
        left[0] -= isinstance(gesture, Pause)
        return to if left[0] == 0 and isinstance(gesture, Pause) else None

    return moves


def screens(program: ColouredProgram, **options: Any) -> Screens:
    tip = Interruption(state("tip"), program.going("menu"), most=2)
    return Screens([*STATES, state("working", busy=True)], [tip], timeout_seconds=2.0, **options)


async def test_a_popup_is_cleared_and_reported_before_any_decision() -> None:
    program = ColouredProgram("tip")
    case = Case(program, screens(program))
    await case.pursue()
    assert case.seen("interruption", "name", "times") == [("tip", 1)]
    assert len(case.model.bodies) == 1
    assert "‘tip’ appeared and was cleared." in case.told
    assert case.acted == []


async def test_a_popup_after_an_action_is_cleared_and_reported_before_the_next_one() -> None:
    program = ColouredProgram("menu", lambda screen, gesture: "tip" if isinstance(gesture, Click) else None)
    case = Case(program, screens(program), CLICK)
    await case.pursue()
    assert "and was cleared" not in str(case.model.bodies[0]["messages"])
    assert "and was cleared" in str(case.model.bodies[1]["messages"][-2])


async def test_a_popup_that_returns_too_often_goes_to_the_next_layer() -> None:
    program = ColouredProgram("menu", lambda screen, gesture: "tip" if isinstance(gesture, Click) else None)
    case = Case(program, screens(program), *[CLICK] * 5)
    await case.gives_up("‘tip’ appeared more than 2 times")
    assert case.seen("interruption", "times") == [1, 2]
    assert len(case.acted) == 3


@pytest.mark.parametrize(("waits", "handled"), [(3, [1]), (40, [1, 2])])
async def test_a_handled_interruption_that_is_slow_to_disappear_is_not_handled_again(
    waits: int, handled: list[int]
) -> None:
    """A log-in takes a moment. One that stays for long is handled again."""
    program = ColouredProgram("sign on", after_pauses(waits, "menu"))
    done: list[str] = []

    async def log_in() -> None:
        done.append("logged in")
        if len(done) == 2:
            program.screen = "menu"

    signed_off = Interruption(state("sign on"), log_in)
    case = Case(program, Screens(STATES, [signed_off], timeout_seconds=2.0))
    await case.pursue()
    assert case.seen("interruption", "times") == handled
    assert len(done) == len(handled)


async def test_other_popups_are_cleared_while_one_is_cleared() -> None:
    program = ColouredProgram("tip")
    tip = Interruption(state("tip"), program.going("menu"))
    other = Interruption(state("sign on"), program.going("menu"))
    case = Case(program, Screens(STATES, [tip, other]))
    await case.pursue()
    (meanwhile,) = case.given
    assert meanwhile.interruptions == (other,)
    assert not meanwhile.closed
    assert meanwhile.state("tip") == tip.state
    assert meanwhile.candidates.index(tip.state) < meanwhile.candidates.index(STATES[0]), "it covers the others"


async def test_a_person_who_gave_up_at_an_interruption_is_not_asked_again() -> None:
    program, asked = ColouredProgram("sign on"), []

    async def ask() -> Answer:
        asked.append(1)
        return Answer(GIVE_UP, "I cannot read it", "ada")

    case = Case(program, Screens(STATES, [Interruption(state("sign on"), ask)]))
    with pytest.raises(NeedsPerson, match=r"ada gave up: clear ‘sign on’ \(I cannot read it\)"):
        await case.pursue()
    assert len(asked) == 1


async def test_a_busy_program_is_waited_out_without_a_model_call() -> None:
    program = ColouredProgram("working", after_pauses(3, "menu"))
    case = Case(program, screens(program))
    await case.pursue()
    assert [type(gesture) for gesture in program.gestures] == [Pause] * 3
    assert len(case.model.bodies) == 1


async def test_no_action_is_taken_in_a_program_that_stays_busy() -> None:
    program = ColouredProgram("working")
    case = Case(program, screens(program))
    await case.gives_up("still at ‘working’ after 2 s")
    assert (case.acted, case.model.bodies) == ([], [])


async def test_an_unknown_screen_is_waited_for_and_escaped_but_never_clicked() -> None:
    program = ColouredProgram("nothing known")
    case = Case(program, screens(program), CLICK)
    await case.gives_up("not a declared state")
    assert case.acted == [ESCAPE, ESCAPE]
    assert case.model.bodies == []
    assert isinstance(program.gestures[0], Pause), "the screen was waited for first"
    assert case.seen("backtracked", "by") == ["Escape", "Escape"]


async def test_the_work_continues_after_an_unknown_screen_disappears() -> None:
    program = ColouredProgram("nothing known", lambda screen, gesture: "menu" if gesture == ESCAPE else None)
    case = Case(program, screens(program))
    assert (await case.pursue()).text == "done"
    assert "Escape was pressed" in case.told


async def test_the_declared_way_home_is_taken_if_escape_does_not_help() -> None:
    program = ColouredProgram("nothing known")
    home = screens(program, home="menu", ways=[Way(program.going("menu"), "menu")])
    case = Case(program, home)
    await case.pursue()
    assert case.seen("backtracked", "by", "to") == [("Escape", ""), ("declared way", "menu")]


async def test_an_unknown_screen_is_left_to_the_layer_if_not_all_screens_are_declared() -> None:
    program = ColouredProgram("nothing known")
    case = Case(program, screens(program, closed=False), CLICK)
    await case.pursue()
    assert [type(gesture) for gesture in program.gestures] == [Click]


@pytest.mark.parametrize("stays", [True, False])
async def test_a_new_window_over_an_unknown_screen_is_escaped(
    stays: bool,
) -> None:
    opens = after_pauses(2, "form")

    def moves(screen: str, gesture: Gesture) -> str | None:
        if isinstance(gesture, Click):
            program.popups = ["Untitled"]
            return "nothing known"
        if gesture == ESCAPE:
            program.popups = []
            return "menu"
        return None if stays else opens(screen, gesture)

    program = ColouredProgram("menu", moves)
    case = Case(program, screens(program), CLICK)
    await case.pursue()
    assert case.seen("interruption", "name") == (["unexpected window ‘Untitled’"] if stays else [])
    assert (ESCAPE in program.gestures) is stays
    assert any(isinstance(gesture, Pause) for gesture in program.gestures), "it was waited for"


class Surprising(ColouredProgram):
    """Opens a window with a given title right before the first click."""

    def __init__(self, title: str, *, instead: bool = False, closes: bool = True) -> None:
        super().__init__("form")
        self._title, self._instead, self._closes = title, instead, closes

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        if isinstance(gesture, Click) and self._title:
            self.popups, self._title = [self._title], ""
            if self._instead:
                self.title, self.popups = self.popups[0], []
            raise ScreenChanged("Something came up there.")
        if gesture == ESCAPE and self._closes:
            self.popups = []
        return await super().do(gesture, deadline=deadline, input_permit=input_permit)


async def test_an_unexpected_window_is_escaped_even_if_a_state_is_recognized() -> None:
    program = Surprising("Rate us!")
    case = Case(program, screens(program), CLICK, CLICK)
    await case.pursue()
    assert case.seen("interruption", "name") == ["unexpected window ‘Rate us!’"]
    assert [type(gesture) for gesture in case.acted] == [Hotkey, Click]
    assert "‘unexpected window ‘Rate us!’’ appeared" in case.told


async def test_an_unexpected_window_that_stays_is_left_to_the_layer() -> None:
    program = Surprising("Rate us!", closes=False)
    case = Case(program, screens(program), CLICK, CLICK)
    await case.pursue()
    assert [type(gesture) for gesture in case.acted] == [Hotkey, Click]


@pytest.mark.parametrize(
    "how", ["a new title", "declared", "not closed", "of an action", "no keys", "known by then", "changing"]
)
async def test_no_other_new_window_is_escaped_if_a_state_is_recognized(how: str) -> None:
    program: ColouredProgram = Surprising("record", instead=how == "a new title")
    if how == "of an action":

        def moves(screen: str, gesture: Gesture) -> None:
            program.popups = ["Find"]

        program = ColouredProgram("form", moves)
    if how == "no keys":
        program.owners = lambda at: Owner("/usr/bin/program", title=program.title)
    if how == "changing":
        program.solid = False
    case = Case(program, screens(program, closed=how != "not closed"), CLICK, CLICK)
    if how == "declared":
        case.executor.recognizer = Dialogs(program)
    if how == "known by then":
        case.executor.recognizer = Dialogs(program, first=True)
    await case.pursue()
    assert ESCAPE not in program.gestures
    assert case.acted


@pytest.mark.parametrize("corrections", [0, 2])
async def test_an_invalid_answer_is_sent_back_a_limited_number_of_times(corrections: int) -> None:
    case = Case(program := ColouredProgram("menu"), screens(program))
    case.walk.services = replace(case.walk.services, corrections=corrections)

    def number(text: str) -> str:
        raise ValueError("not a number")

    case.read = number
    with pytest.raises(ModelFailed, match="does not have the required form"):
        await case.pursue()
    assert len(case.model.bodies) == 1 + corrections


async def test_the_screen_is_captured_again_after_a_late_escape() -> None:
    class Late(ColouredProgram):
        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Receipt:
            if gesture == ESCAPE:
                self.screen = "menu"
                raise ScreenChanged("It went by itself.")
            return await super().do(gesture, deadline=deadline, input_permit=input_permit)

    program = Late("nothing known")
    case = Case(program, screens(program))
    await case.pursue()
    assert "Escape was not pressed to get back" in case.told
    assert len(case.seen("backtracked", "by")) == 1


async def test_a_screen_that_changes_before_every_press_counts_as_stuck() -> None:
    class Moving(ColouredProgram):
        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Receipt:
            if isinstance(gesture, Click):
                raise ScreenChanged("Something moved there.")
            return await super().do(gesture, deadline=deadline, input_permit=input_permit)

    program = Moving("menu")
    case = Case(program, screens(program), *[CLICK] * 19)
    await case.gives_up("The agent is stuck")


@pytest.mark.parametrize(("layer", "scrolls"), [("model", 16), ("script", 8)])
async def test_a_stuck_script_is_backtracked_at_once(layer: str, scrolls: int) -> None:
    program = ColouredProgram("menu")
    case = Case(program, screens(program), *[SCROLL] * 19, layer=layer)
    await case.gives_up("The agent is stuck")
    assert sum(isinstance(gesture, Scroll) for gesture in case.acted) == scrolls


class Dialogs(Colours):
    """Also recognizes a declared state by a window's title. If both hold, the first one wins."""

    def __init__(self, program: ColouredProgram, *, first: bool = False) -> None:
        self.program, self.first = program, first

    async def recognize(self, frame: Frame, states: Sequence[State]) -> State | None:
        titles = {owner.title for window in frame.windows or () for owner in window.owners}
        titled = next((state for state in states if state.name in titles), None)
        if self.first:  # it covers the other state, which cannot be recognized any more
            shown = "record" if "record" in self.program.popups else "form"
            return next((state for state in states if state.name == shown), None)
        return await super().recognize(frame, states) or titled


async def test_windows_with_ever_new_titles_go_to_the_next_layer() -> None:
    number = iter(range(1000))

    def moves(screen: str, gesture: Gesture) -> str | None:
        program.popups = [f"Message {next(number)}"]
        return "nothing known"

    program = ColouredProgram("menu", moves)
    case = Case(program, screens(program), CLICK)
    await case.gives_up("More than 10 windows appeared that are not declared")
    assert case.acted[1:] == [ESCAPE] * 10


@pytest.mark.parametrize(("came", "seen"), [("record", 1), ("menu", 0)])
async def test_a_layer_gives_up_if_an_action_leads_to_a_wrong_state(came: str, seen: int) -> None:
    program = ColouredProgram("form", lambda screen, gesture: came if isinstance(gesture, Click) else None)
    case = Case(program, screens(program), CLICK, layer="script", expect=lambda: "record")
    if seen:
        await case.pursue()
        assert case.seen("verdict", "outcome", "state")[0] == ("changed", "record")
        return
    await case.gives_up("The screen is not ‘record’, the state that the last step should have reached")
    assert case.seen("verdict", "outcome", "state")[0] == ("wrong_state", "menu")
    assert len(case.model.bodies) == 1, "no decision was made on the wrong screen"


@pytest.mark.parametrize("passing", ["working", "tip"])
async def test_an_action_may_lead_to_a_transient_state(passing: str) -> None:
    waited = after_pauses(2, "record")

    def moves(screen: str, gesture: Gesture) -> str | None:
        return passing if isinstance(gesture, Click) else waited(screen, gesture) if screen == "working" else None

    program = ColouredProgram("form", moves)
    case = Case(program, screens(program), CLICK, layer="script", expect=lambda: passing)
    await case.pursue()
    assert program.screen == ("record" if passing == "working" else "menu")


async def test_a_transient_state_may_end_before_it_is_seen() -> None:
    program = ColouredProgram("form", lambda screen, gesture: "record" if isinstance(gesture, Click) else None)
    case = Case(program, screens(program), CLICK, layer="script", expect=lambda: "working")
    await case.pursue()
    assert case.seen("verdict", "outcome", "state")[0] == ("changed", "record")


async def test_a_step_with_an_unknown_target_state_is_not_done() -> None:
    program = ColouredProgram("form")
    case = Case(program, screens(program), CLICK, layer="script", expect=lambda: "recrod")
    await case.gives_up("A step names a state that is not declared: There is no state 'recrod'; there are: tip, menu")
    assert case.acted == []


async def test_the_work_does_not_begin_before_its_start_state() -> None:
    program = ColouredProgram("nothing known", after_pauses(2, "form"))
    case = Case(program, screens(program), before="form")
    await case.pursue()
    assert len(case.model.bodies) == 1
    assert case.program.screen == "form"


async def test_declared_ways_lead_to_the_start_state() -> None:
    program = ColouredProgram("record")
    ways = [Way(program.going("menu"), "menu"), Way(program.going("form"), "form", start="menu")]
    case = Case(program, screens(program, ways=ways), before="form")
    await case.pursue()
    assert [how for how in case.seen("state", "how") if how] == ["takes the way to ‘menu’", "takes the way to ‘form’"]
    assert not program.gestures


async def test_a_person_who_gives_up_on_a_way_is_not_asked_again() -> None:
    program, asked = ColouredProgram("record"), []

    async def ask() -> Answer:
        asked.append(1)
        return Answer(GIVE_UP, "", "ada")

    case = Case(program, screens(program, ways=[Way(ask, "form")]), before="form")
    with pytest.raises(NeedsPerson, match="ada gave up: go to ‘form’"):
        await case.pursue()
    assert len(asked) == 1


async def test_a_way_that_leads_nowhere_is_taken_at_most_twice() -> None:
    program, taken = ColouredProgram("record"), []

    async def nowhere() -> None:
        taken.append(1)

    case = Case(program, screens(program, ways=[Way(nowhere, "form")]), before="form")
    await case.gives_up("The screen is not ‘form’")
    assert len(taken) == 2
    assert case.model.bodies == []


async def test_the_program_is_brought_back_from_home_after_an_interruption() -> None:
    """After a session expired, signing in again ends in the menu."""
    left = ["sign on"]

    def moves(screen: str, gesture: Gesture) -> str | None:
        return left.pop() if left and isinstance(gesture, Click) else None

    program = ColouredProgram("form", moves)
    expired = Interruption(state("sign on"), program.going("menu"), name="the session had expired")
    known = Screens(STATES, [expired], [Way(program.going("form"), "form", start="menu")], home="menu")
    case = Case(program, known, CLICK)
    await case.pursue()
    assert program.screen == "form"
    assert "‘the session had expired’" in case.told
    assert "brought back to ‘form’" in case.told


async def test_the_result_of_the_last_action_is_not_backtracked() -> None:
    """Returning to the form after a popup over the confirmation would file it twice."""
    program = ColouredProgram("form", lambda screen, gesture: "tip" if isinstance(gesture, Click) else None)
    tip = Interruption(state("tip"), program.going("filed"))
    known = Screens(STATES, [tip], [Way(program.going("form"), "form")], home="menu")
    case = Case(program, known, CLICK)
    await case.pursue()
    assert program.screen == "filed"


async def test_an_answer_is_accepted_only_in_an_end_state() -> None:
    program = ColouredProgram("form", lambda screen, gesture: "filed" if isinstance(gesture, Click) else None)
    case = Case(program, screens(program), DONE, CLICK, after=("filed",))
    assert (await case.pursue()).steps == 3
    assert "The screen is not ‘filed’" in case.told


@pytest.mark.parametrize("between", [(), (CLICK,)])
async def test_a_layer_that_answers_twice_on_a_wrong_screen_gives_up(between: tuple[Any, ...]) -> None:
    program = ColouredProgram("form")
    case = Case(program, screens(program), DONE, *between, after=("filed", "record"))
    await case.gives_up("The screen is not ‘filed’ or ‘record’")
    assert len(case.model.bodies) == 2 + len(between)


class Refusing(ColouredProgram):
    """A desktop that cannot carry out a click."""

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        if isinstance(gesture, Click):
            raise InvalidUsage("There is no such button.")
        return await super().do(gesture, deadline=deadline, input_permit=input_permit)


async def test_the_target_state_of_a_step_that_failed_is_not_waited_for() -> None:
    program = Refusing("menu")
    case = Case(program, screens(program), CLICK, layer="script", expect=lambda: "record")
    await case.pursue()
    assert "no such button" in case.told


async def test_a_late_end_state_is_waited_for() -> None:
    program = ColouredProgram("form", after_pauses(2, "filed"))
    case = Case(program, screens(program), after=("filed",))
    await case.pursue()
    assert len(case.model.bodies) == 1


async def test_an_action_that_leads_to_an_undeclared_screen_is_judged_wrong_state() -> None:
    def moves(screen: str, gesture: Gesture) -> str | None:
        return "nothing known" if isinstance(gesture, Click) else "menu" if gesture == ESCAPE else None

    program = ColouredProgram("menu", moves)
    case = Case(program, screens(program), CLICK)
    await case.pursue()
    assert case.seen("verdict", "outcome", "state") == [("wrong_state", ""), ("changed", "menu")]
    assert "it is not the expected screen" in case.told


async def test_a_stuck_agent_is_taken_home_by_a_declared_way() -> None:
    program = ColouredProgram("form")
    known = screens(program, home="menu", ways=[Way(program.going("menu"), "menu", start="form")])
    case = Case(program, known, *[SCROLL] * 12)
    await case.pursue()
    assert case.seen("backtracked", "by", "to") == [("declared way", "menu")]
    assert "brought back to ‘menu’" in case.told


class HungProgram(ColouredProgram):
    """A program that reads no input for some captures."""

    hung_looks = 0

    async def look(self, *, after_action: bool = False) -> Frame:
        frame = await super().look(after_action=after_action)
        self.hung_looks -= 1
        return replace(frame, hung=self.hung_looks >= 0)


async def test_no_action_is_taken_while_a_hung_program_is_waited_for() -> None:
    program = HungProgram("menu")
    program.hung_looks = 4
    case = Case(program, screens(program), CLICK)
    await case.pursue()
    first = next(n for n, gesture in enumerate(program.gestures) if not isinstance(gesture, Pause))
    assert first >= 3
    assert len(case.acted) == 1


@pytest.mark.parametrize("screen", ["menu", "tip", "nothing known"])
async def test_no_action_and_no_clearing_in_a_program_that_stays_hung(screen: str) -> None:
    program = HungProgram(screen)
    program.hung_looks = 10_000
    case = Case(program, screens(program), CLICK, after=("filed",))
    await case.gives_up("hung after 2 s")
    assert (case.acted, case.model.bodies, case.seen("interruption", "name")) == ([], [], [])


async def test_no_way_and_no_popup_is_handled_in_a_hung_program() -> None:
    for screen in ("record", "tip"):
        program = HungProgram(screen)
        case = Case(program, screens(program, ways=[Way(program.going("form"), "form")]), before="form")
        await case.walk.look()
        program.hung_looks = 10_000
        await case.walk.look()
        with pytest.raises(GaveUp, match="hung"):
            await case.executor.carry_out(case.guide.reach("form"))
        assert program.screen == screen

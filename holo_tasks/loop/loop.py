"""The loop of a sub-goal: look, decide, act, verify, until the model answers or a limit is reached.

`pursue` is the entry point. It is used by each layer that decides steps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from holo_tasks.core import events
from holo_tasks.core.elements.target_words import mentions_field
from holo_tasks.core.errors import (
    GaveUp,
    HoloError,
    InvalidUsage,
    Killed,
    LimitReached,
    ModelFailed,
    ScreenChanged,
    SecretRefused,
    StoreLost,
)
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall, AnyCall, AskHumanCall, MacroCall, WaitCall
from holo_tasks.loop.ask_model.corrections import corrections_clause, quoted_start
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import AnyGuide, NoGuide
from holo_tasks.loop.presses.doubled_press import DoubledPress
from holo_tasks.loop.presses.misplaced_text import MisplacedText
from holo_tasks.loop.presses.named_click import NamedClicks
from holo_tasks.loop.presses.named_row import row_contradiction
from holo_tasks.loop.presses.press_once import EffectButtons, named, shows_as_text
from holo_tasks.loop.presses.repeated_press import Withheld, check, is_harmless, named_press, repeated
from holo_tasks.loop.stuck_recovery import BACK, StuckRecovery
from holo_tasks.loop.task_doubts import TaskDoubts
from holo_tasks.loop.walk import Walk

INSISTED = "The model gave the same call again after it was withheld: it is carried out."
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AnswerReader(Protocol[T_co]):
    """Converts the text of an answer to the sub-goal's return type. Raises `ValueError` with the problem."""

    def __call__(self, text: str) -> T_co: ...


Decide = Callable[[Walk, bool], Awaitable[Step]]
DoMacro = Callable[[Walk, MacroCall, EffectButtons, int], Awaitable[tuple[str, bool]]]
"""Does a sequence that the model has called, with a maximal number of steps.

Returns the text for the model, and whether the sequence failed.
"""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The result of a sub-goal: the value, the text of the answer, and the number of steps."""

    value: T
    text: str
    steps: int


@dataclass(frozen=True)
class LoopState:
    """The state of a sub-goal between two steps.

    ``rejected_answers`` counts answers that did not fit. ``unfinished`` is set after an answer on a screen where the
    work may not end. ``expected`` is the state that the last action promised.
    """

    rejected_answers: int = 0
    unfinished: bool = False
    expected: str = ""


@dataclass(frozen=True)
class Decided:
    """A step, the screen that it was decided on, and the time at which the step began."""

    step: Step
    before: NewestScreen
    started_s: float


async def pursue(
    executor: Executor,
    *,
    read: AnswerReader[T],
    decide: Decide,
    max_steps: int,
    guide: AnyGuide | None = None,
    effect_buttons: EffectButtons | None = None,
    is_last_layer: bool = True,
    macro: DoMacro | None = None,
    doubts: TaskDoubts | None = None,
) -> Answered[T]:
    """Work on a sub-goal until it is answered.

    ``decide`` and the executor's ``act`` are methods of the walk, possibly wrapped in tasks. ``guide`` knows the
    program's screens, ``effect_buttons`` the actions that must not be repeated, and ``macro`` does the sequences that
    are the model's tools. ``doubts`` compares texts and answers with the task. At the step limit, a layer is asked for
    its best partial answer only with ``is_last_layer``.

    Raises a `HoloError` whose status is the status of the run. At the step limit its ``partial_answer`` is that answer.
    """
    guide, effect_buttons = guide or NoGuide(), effect_buttons or EffectButtons()
    loop = _Loop(executor, read, decide, max_steps, guide, effect_buttons, is_last_layer, macro, doubts)
    state: LoopState | Answered[T] = await loop.begin()
    while isinstance(state, LoopState):
        await loop.prepare(state)
        decided = await loop.get_decision()
        match decided.step.tool_call:
            case AnswerCall(content=text):
                state = await loop.take_answer(state, decided, text)
            case AskHumanCall(question=question):
                state = await loop.hand_over(state, decided, question)
            case MacroCall() as call:
                state = await loop.run_macro(state, decided, call)
            case _:
                state = await loop.perform(state, decided)
    return state


@dataclass
class _Loop(Generic[T]):
    """The phases of a step. Each of the last ones returns the state of the sub-goal after the step."""

    executor: Executor
    read: AnswerReader[T]
    decide: Decide
    max_steps: int
    guide: AnyGuide
    effect_buttons: EffectButtons
    is_last_layer: bool
    macro: DoMacro | None
    doubts: TaskDoubts | None = None
    first: int = field(init=False)

    def __post_init__(self) -> None:
        # Hints and pictures do not help a script that is stuck, so it goes back at once.
        self.stuck = StuckRecovery(times=BACK - 1 if self.is_scripted else 0)
        self.first = self.walk.step
        self.named, self.misplaced, self.doubled = NamedClicks(), MisplacedText(), DoubledPress()
        self.withheld: AnyCall | None = None

    @property
    def walk(self) -> Walk:
        return self.executor.walk

    @property
    def is_scripted(self) -> bool:
        return self.executor.layer != "model"

    async def begin(self) -> LoopState:
        """Take the first picture, and bring the program to the state in which the work begins."""
        await self.walk.look()
        self.walk.whereabouts = lambda: self.executor.carry_out(self.guide.current_state())
        await self.executor.carry_out(self.guide.begin())
        self.walk.begin()
        return LoopState()

    async def prepare(self, state: LoopState) -> None:
        """Bring the screen into a state to decide on. Raises an error at the step limit."""
        await self.executor.carry_out(self.guide.prepare(state.expected))
        if self.walk.step - self.first >= self.max_steps:
            raise await self._out_of_steps()

    async def get_decision(self) -> Decided:
        """Get the next step, and record it."""
        walk = self.walk
        walk.step += 1
        started_s = walk.services.now_s()
        step = await self.decide(walk, self.effect_buttons.ended(self.guide))
        before = self.executor.seen  # after `decide`, because an unsure model was shown the screen again
        await walk.record_decision(step, scripted=self.is_scripted)
        return Decided(step, before, started_s)

    async def take_answer(self, state: LoopState, decided: Decided, text: str) -> LoopState | Answered[T]:
        """Accept an answer if it fits the return type and the screen shows a state where the work may end."""
        try:
            value = self.read(text)
        except ValueError as error:
            return await self._reject_answer(state, decided.step, text, " ".join(str(error).split())[:600])
        problem = await self.executor.carry_out(self.guide.accept())
        if not problem and (doubt := await self._doubt(text)):
            await self._refuse(decided.step, doubt)
            return LoopState(state.rejected_answers, state.unfinished)
        if not problem:
            return Answered(value, text, self.walk.step)
        if state.unfinished:
            raise GaveUp(problem, layer=self.executor.layer)
        await self._refuse(decided.step, problem)
        return LoopState(state.rejected_answers, unfinished=True)

    async def _doubt(self, answer: str) -> str:
        """Return why an answer is sent back once; empty on a declared end screen, which proves that the work ended."""
        if self.doubts is None or self.guide.after:
            return ""
        await self.walk.look()
        pressed = bool(self.effect_buttons.pressed)
        return await self.doubts.unfinished(self.walk.services, self.executor.seen, answer, pressed)

    async def _reject_answer(self, state: LoopState, step: Step, text: str, problem: str) -> LoopState:
        """Send back an answer that does not fit the return type. Raises `ModelFailed` after too many corrections."""
        if state.rejected_answers >= self.walk.services.corrections:
            raise ModelFailed(
                f"The model's answer does not have the required form{corrections_clause(state.rejected_answers)}: "
                f"{problem}. It answered {quoted_start(text) or 'nothing'}."
            ) from None
        await self.walk.record(events.Corrected(reason=f"the answer does not have the required form: {problem}"))
        await self.walk.look()
        self.walk.remember(step, f"The answer does not have the required form: {problem}", is_error=True)
        return LoopState(state.rejected_answers + 1, state.unfinished)

    async def hand_over(self, state: LoopState, decided: Decided, question: str) -> LoopState:
        """Give the screen to a person at the agent's request. Raises `GaveUp` if the run waits for no person."""
        walk = self.walk
        if walk.services.person is None:
            await walk.record(events.HandedOver(question=question))
            raise GaveUp(f"The agent needs a person: {question}", layer=self.executor.layer)
        reported = await walk.services.person.help(walk, question)
        walk.presses.forget_all()
        self._forget_last_step()
        await walk.look()
        walk.remember(decided.step, reported)
        return LoopState(state.rejected_answers, state.unfinished)

    async def run_macro(self, state: LoopState, decided: Decided, call: MacroCall) -> LoopState:
        """Do a whole sequence that the model has called, and tell the model the outcome."""
        assert self.macro is not None
        walk = self.walk
        self._forget_last_step()
        reported, is_error = await self.macro(
            walk, call, self.effect_buttons, self.max_steps - (walk.step - self.first)
        )
        walk.remember(decided.step, reported, is_error=is_error)
        await self._unstick()
        return LoopState(state.rejected_answers, state.unfinished)

    def _forget_last_step(self) -> None:
        """Forget where the model has clicked and typed, because a person or a sequence works on the screen."""
        self.misplaced.forget()
        self.walk.typed.left.forget()
        self.doubled.forget()
        if self.doubts is not None:
            self.doubts.pressed_otherwise()

    async def perform(self, state: LoopState, decided: Decided) -> LoopState:
        """Do a step that needs input, unless a guard withholds or refuses it."""
        step, before, once = decided.step, decided.before, self.effect_buttons
        after = LoopState(state.rejected_answers, state.unfinished)
        if why := await self._contradiction(step, before):
            await self.walk.record(events.Corrected(reason=why))
            await self.walk.look_after_change(step, why, started_s=decided.started_s)
            await self._unstick()
            return after
        pressed = await once.pressed_by(step, before, self.walk.scene(before.frame))
        if once.was_pressed(pressed):
            await self._refuse(step, await self.executor.carry_out(once.again(pressed, self.guide)))
            return after
        if pressed and once.too_often(step, before):
            each = "has an effect each time it is pressed: press it once only. Nothing was done."
            await self._refuse(step, f"{named(pressed)} {each}")
            return after
        if not pressed and (withheld := await self._find_repetition(step, before)) is not None:
            await self._withhold(decided, withheld)
            return after
        promised = await self.executor.carry_out(self.guide.expected_state())
        once.press(pressed)
        try:
            reported, is_error = await self.executor.act(self.walk, step), False
        except StoreLost:
            raise
        except ScreenChanged as error:  # nothing was sent
            once.count_as_unpressed(pressed)
            self.guide.note_own_change()
            await self.walk.look_after_change(step, str(error), started_s=decided.started_s)
            await self._unstick()
            return after
        except (InvalidUsage, SecretRefused) as error:
            # The requested input is impossible. Nothing was sent, or at most a few characters of a secret.
            once.count_as_unpressed(pressed)
            reported, is_error = str(error), True
        verdict = await self.walk.verify(before, step.tool_call, started_s=decided.started_s, repeat=not pressed)
        if pressed and not is_error and await self._typed_text_shows(step, before):
            once.count_as_unpressed(pressed)
        if self.doubts is not None and not is_error:
            elements = self.walk.services.elements
            tree = elements.latest if elements is not None else None
            self.doubts.did(step.tool_call, before, tree, self.walk.verdict)
        if not is_error and not self.is_scripted:
            verdict += self._place_of_text(step, before)
        self.walk.remember(step, f"{reported} {verdict}", is_error=is_error)
        await self._unstick()
        return after if is_error else LoopState(state.rejected_answers, state.unfinished, promised)

    async def _contradiction(self, step: Step, before: NewestScreen) -> str:
        """Return why a model's step is withheld: its words contradict its point, or its text contradicts the task.

        Returns an empty string otherwise, and for scripts, which find targets by name and have no separate point. A
        call is withheld once: if the model repeats it, at once or after waits, it is carried out.
        """
        call = step.tool_call
        if self.is_scripted or isinstance(call, WaitCall):
            return ""
        insists, self.withheld = call == self.withheld, None
        if insists:
            await self.walk.record(events.Corrected(reason=INSISTED))
            return ""
        why = await self._objection(call, before)
        self.withheld = call if why else None
        return why

    async def _objection(self, call: AnyCall, before: NewestScreen) -> str:
        """Return the reason of the first guard that objects to a call; an empty string if none does."""
        services, doubts = self.walk.services, self.doubts
        why = await self.named.contradiction(services, call, before)
        if not why and doubts is not None:
            why = await row_contradiction(services, call, before, doubts.task.values, self.named.newest)
        why = why or await self.misplaced.withhold(services, call, before.shot)
        if not why and not self.effect_buttons.named_in(getattr(call, "element", "")):  # it has a rule of its own
            why = self.doubled.withhold(call, to_gesture(call, before.shot), self.walk.step)
        if not why and doubts is not None:
            why = await doubts.slip(services, call)
        return why

    def _place_of_text(self, step: Step, before: NewestScreen) -> str:
        """Return the sentence about a text that is not where the model clicked, and note the step for the next one."""
        call, walk = step.tool_call, self.walk
        said = self.misplaced.afterwards(call, walk.verdict, before.shot, walk.services.model.space)
        gesture = to_gesture(call, before.shot)
        self.misplaced.did(gesture, walk.verdict)
        self.doubled.did(call, gesture, walk.verdict, walk.step)
        return said

    async def _typed_text_shows(self, step: Step, before: NewestScreen) -> bool:
        """Return whether the keys of a step certainly became text on the screen."""
        gesture, after = to_gesture(step.tool_call, before.shot), self.walk.seen
        if gesture is None or after is None:
            return False
        return await shows_as_text(gesture, before.frame, after.frame, self.walk.services.reader)

    async def _find_repetition(self, step: Step, before: NewestScreen) -> Withheld | None:
        """Return why a press is withheld that repeats an earlier one on an unchanged screen, or ``None``."""
        walk, gesture = self.walk, to_gesture(step.tool_call, before.shot)
        scene = walk.scene(before.frame)
        made = await repeated(walk.presses, gesture, before.redacted, scene)
        if made is None or gesture is None:
            return None
        words = str(getattr(step.tool_call, "element", ""))
        made.called = named_press(made.press, words)
        if scene.reader is None and mentions_field(words):
            # The words and the picture agree on a field, where a second click only sets the keyboard focus again.
            scene = replace(scene, reader=walk.services.screen_text)
        harmless = partial(is_harmless, walk.presses, gesture, scene, walk.safe_to_repeat)
        course = check(walk.presses, made, before.redacted, is_harmless=harmless, not_done=self.effect_buttons.not_done)
        return await self.executor.carry_out(course)

    async def _withhold(self, decided: Decided, withheld: Withheld) -> None:
        """Skip a press, and tell the decider why. If the screen has changed, show it instead of an error."""
        if withheld.changed:
            await self.walk.record(events.LookedAgain(reason=withheld.why))
            self.guide.note_own_change()
            await self.walk.look_after_change(decided.step, withheld.why, started_s=decided.started_s)
        else:
            await self._refuse(decided.step, withheld.why)
        await self._unstick()

    async def _refuse(self, step: Step, why: str) -> None:
        """Skip a step, and tell the decider why."""
        await self.walk.record(events.Corrected(reason=why))
        self.walk.remember(step, why, is_error=True)

    async def _unstick(self) -> None:
        await self.executor.carry_out(self.stuck.check(self.walk.transcript, self.guide))

    async def _out_of_steps(self) -> LimitReached | GaveUp:
        """Return the error of the step limit, with the best partial answer if this is the last layer.

        Only a kill is raised instead. Other errors of the last question are recorded.
        """
        walk, max_steps = self.walk, self.max_steps
        if not self.is_last_layer:
            return GaveUp(f"The goal was not reached within {max_steps} steps.", layer=self.executor.layer)
        partial = None
        try:
            final = await self.decide(walk, True)
            await walk.record_decision(final)
            if isinstance(final.tool_call, AnswerCall):
                partial = final.tool_call.content
        except Killed:
            raise
        except HoloError as error:
            await walk.record(events.Corrected(reason=f"no partial answer at the step limit: {error}"))
        return LimitReached(
            f"The goal was not reached within {max_steps} steps; raise max_steps (on the command line --max-steps) or "
            "split the goal.",
            limit="max_steps",
            partial_answer=partial,
        )

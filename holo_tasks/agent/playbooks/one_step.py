"""Let the model do a step of a playbook that does not fit. The playbook goes on as soon as it fits again.

`OneStep` decides in place of the playbook.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.agent.agent_step import act_as_task, decide_as_task
from holo_tasks.core import events
from holo_tasks.core.errors import GaveUp, UnusableReply
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Move, Scroll, Write
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import ACTING, AnswerCall, ClickCall, MacroCall, WaitCall, WriteCall
from holo_tasks.core.prompts.transcript import StepResult, Transcript
from holo_tasks.core.screen.calibration import Correction
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.rest import UNKNOWN_SCREEN_S, Rest
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.loop.executor import Act, Executor
from holo_tasks.loop.loop import Decide
from holo_tasks.loop.presses.press_once import EffectButtons, named
from holo_tasks.loop.walk import Walk
from holo_tasks.run.subgoal_options import MODEL, PLAYBOOK
from holo_tasks.safety.scrubbing import scrub_data
from holo_tasks.scripts.conditions import conditions_in_words
from holo_tasks.scripts.misfit import Misfit, keys_may_be_lost
from holo_tasks.scripts.playbook_brain import DoesNotFit, PlaybookBrain
from holo_tasks.scripts.resuming import Resumed, Taken
from holo_tasks.scripts.script_view import ScreenNeeds
from holo_tasks.scripts.step_outcome import Outcome, StepOutcome
from holo_tasks.vision.screen_text import Sight

MOST_CALLS = 4
"""Most calls of the model for one step."""
MOST_TIMES = 2
"""Most times that the model gets the same step in a sub-goal."""
RESUME_S, PAUSE_S = 3.0, 0.5
"""Longest wait for the playbook to fit after the last sign of work, and the interval of the checks."""
DONE = "done"
MOST_SAID = 200
_TASK = """\
A playbook does the task below without you, but one of its steps does not fit the screen. Do only that step, with \
as few actions as you can. The playbook continues by itself as soon as it fits again.

The step: {step}
Why it does not fit: {why}.
{expected}{done}
When the step is done, answer: {word}. If it cannot be done on this screen, or if it would change another item than \
the task's, do nothing and answer with the reason.

The whole task, of which you do only that step: {goal}"""
_LEFT = """\
A playbook does the task below without you, and leaves one of its steps to you. Do only that step, with as few \
actions as you can. The playbook continues by itself afterwards.

The step: {step}
Why you do it: {why}.
{expected}{done}
When the step is done, answer: {word}. If it cannot be done on this screen, or if it would change another item than \
the task's, do nothing and answer with the reason.

The whole task, of which you do only that step: {goal}"""
_EFFECT = """\
A playbook does the task below without you. One of its steps was done, but the screen does not show its result. \
Never do that step again, because it may have worked. If something is in the way, such as a message, close it with \
as few actions as you can. The playbook continues by itself as soon as it fits again.

The step that was done: {step}
What is missing: {why}.
{expected}{done}
If nothing is in the way, answer with the reason.

The whole task, of which you do nothing else: {goal}"""
_ANSWER = """\
{goal}

A playbook did all of this except the answer: {why}. Only read the answer from the program, and answer."""


@dataclass(frozen=True)
class StepContext:
    """The context for the model while it does a step.

    ``task`` is the ``goal`` with the shape of the answer. ``secrets`` may be typed by name. ``retry_click`` has the
    labels that may be clicked again.
    """

    goal: str
    task: str
    data: Mapping[str, Any]
    secrets: frozenset[str] | None
    correction: Correction | None
    retry_click: tuple[str, ...]


@dataclass(frozen=True)
class Healed:
    """A step that the model did, or whose way it cleared.

    ``taken`` is its last action and ``before`` the picture before that. ``number`` outcomes of steps were known then.
    ``closed`` are the screens before and after its only action if that was a press which cleared the way.
    """

    misfit: Misfit
    resumed: Resumed
    taken: Taken | None
    before: Shot | None
    number: int
    closed: tuple[Sight, Sight] | None = None


@dataclass
class _StepInProgress:
    """A step that the model is doing: its past calls, and its last action with the picture before it."""

    misfit: Misfit
    error: DoesNotFit
    effect_buttons: EffectButtons
    script: Transcript
    calls: int = 0
    taken: Taken | None = None
    before: Shot | None = None
    acted: bool = False
    answering: bool = False
    pressed_on: list[Sight | None] = field(default_factory=list)
    """For each action the screen with all its texts, or ``None`` if it was no press of the left button."""


@dataclass
class OneStep:
    """Decides by the playbook, and by the model while the playbook does not fit.

    ``effect_buttons`` keeps later layers from pressing buttons that may have had an effect. ``answered`` is true if the
    model gave the answer. ``healed`` are the steps that the model did.
    """

    brain: PlaybookBrain
    executor: Executor
    by_script: Decide
    effect_buttons: EffectButtons
    context: StepContext
    answered: bool = False
    healed: list[Healed] = field(default_factory=list)
    _in_progress: _StepInProgress | None = None
    _times: Counter[tuple[str, int]] = field(default_factory=Counter)
    _act: Act = field(init=False)

    def __post_init__(self) -> None:
        self._act = self.executor.act
        self.brain.late_s = UNKNOWN_SCREEN_S

    async def decide(self, walk: Walk, answer_only: bool) -> Step:
        """Return the next step of the playbook or of the model. Raises `GaveUp` if neither can go on."""
        while True:
            if self._in_progress is None:
                try:
                    return await self.by_script(walk, answer_only)
                except DoesNotFit as error:
                    await self._begin(walk, error)
            elif await self._resumes(walk):
                continue
            if (step := await self._by_model(walk, answer_only)) is not None:
                return step

    @property
    def tried(self) -> tuple[str, int] | None:
        """The rule and the place of the step that the model has acted for and not finished, or ``None``."""
        help_ = self._in_progress
        return None if help_ is None or not help_.acted else (help_.misfit.rule.id, help_.misfit.place)

    async def close(self) -> None:
        """Close the playbook. If the model has answered, record its step first."""
        if self._in_progress is not None and self._in_progress.answering:
            self.answered = True
            self.brain.done_by_other(self._outcome(self._in_progress))
        await self.brain.close()

    async def _begin(self, walk: Walk, error: DoesNotFit) -> None:
        """Give the misfit step to the model.

        Raises ``error`` if the misfit is about another item, if the screen has nothing that the playbook knows, if
        earlier keys may have gone elsewhere, or if the model has had this step too often.
        """
        misfit = error.misfit
        key = misfit.rule.id, misfit.place
        self._times[key] += 1
        if misfit.of_other_item or not (misfit.near or misfit.done) or self._times[key] > MOST_TIMES:
            raise error
        if keys_may_be_lost(self.brain.rules, misfit):
            raise error
        labels = self.brain.pressed(misfit)
        if misfit.cause == "effect":  # the press may have had its effect, so later layers do not repeat it
            self.effect_buttons.count_as_pressed(self.brain.written_on(misfit.action))
        self._in_progress = _StepInProgress(misfit, error, EffectButtons(labels, pressed=set(labels)), walk.transcript)
        self._lend(walk, Transcript(self._task_text(misfit)), self.context.secrets, self.context.correction, MODEL)
        await walk.record(events.LayerChanged(source=PLAYBOOK, target=MODEL, reason=misfit.sentence))
        await walk.look()
        walk.begin()

    async def _end(self, walk: Walk, resumed: Resumed) -> None:
        """Return control to the playbook, and record the step."""
        help_, misfit = self._current(), self._current().misfit
        outcome = self._outcome(help_)
        self.brain.done_by_other(outcome)
        closed = await self._closed(walk, help_, resumed)
        self.healed.append(Healed(misfit, resumed, help_.taken, help_.before, len(self.brain.outcomes), closed))
        if misfit.cause == "effect":
            self.effect_buttons.let_go(self.brain.written_on(misfit.action))
        self._in_progress = None
        self._lend(walk, help_.script, None, None, PLAYBOOK)
        await walk.record(events.LayerChanged(source=MODEL, target=PLAYBOOK, reason="The playbook fits again."))
        if self.context.correction is not None:
            await walk.look()  # the playbook needs a picture without the model's correction

    async def _closed(self, walk: Walk, help_: _StepInProgress, resumed: Resumed) -> tuple[Sight, Sight] | None:
        """Return the screens before and after the model's only action, if that was a press which cleared the way."""
        if resumed.counted or len(help_.pressed_on) != 1 or (on := help_.pressed_on[0]) is None:
            return None
        return on, await self.brain.look(walk, ScreenNeeds.TEXT)

    def _lend(
        self,
        walk: Walk,
        transcript: Transcript,
        secrets: frozenset[str] | None,
        correction: Correction | None,
        layer: str,
    ) -> None:
        """Set the walk's transcript, secrets and correction for the layer that goes on."""
        walk.transcript, walk.secrets = transcript, secrets
        walk.safe_to_repeat, walk.held, walk.extends_waits = self.context.retry_click, (), True
        walk.services = replace(walk.services, correction=correction)
        self.executor.layer, self.executor.act = layer, act_as_task if layer == MODEL else self._act

    async def _resumes(self, walk: Walk) -> bool:
        """Return whether the playbook fits again, and let it go on then. Wait for that after an action."""
        help_ = self._current()
        if help_.answering:  # its answer was rejected
            help_.answering = False
            return False
        if help_.misfit.action.ask_model is not None:  # the model does the rest of the goal
            return False
        taken = None if _failed(walk) else help_.taken
        acted = taken is not None and not isinstance(taken.call, WaitCall)
        rest = Rest(RESUME_S if acted else 0.0, walk.services.now_s())
        while True:
            resumed = await self.brain.resume(walk, help_.misfit, taken)
            if resumed is not None:
                await self._end(walk, resumed)
                return True
            now_s = walk.services.now_s()
            if walk.seen is not None:
                rest.look_at(walk.seen.frame, now_s)
            if rest.is_over(now_s):
                return False
            await walk.pause(PAUSE_S)
            await walk.look()
            walk.show()

    async def _by_model(self, walk: Walk, answer_only: bool) -> Step | None:
        """Return the model's next step. ``None`` if it says that the step is done, and the playbook fits."""
        help_ = self._current()
        while help_.calls < MOST_CALLS:
            step = await decide_as_task(walk, answer_only)
            assert walk.seen is not None
            seen, call = walk.seen, step.tool_call
            help_.calls += 1
            if isinstance(call, AnswerCall):
                if answer_only or help_.misfit.action.answers:
                    help_.answering = True
                    return step
                await walk.record_decision(step)
                await self._accept_done(walk, call.content)
                return None
            is_macro = isinstance(call, MacroCall)
            pressed = await help_.effect_buttons.pressed_by(step, seen, walk.scene(seen.frame))
            sight = await self.brain.look(walk)
            elsewhere = self.brain.keyboard_elsewhere(help_.misfit.action, sight) if isinstance(call, WriteCall) else ""
            if not pressed and not is_macro and not elsewhere:
                help_.taken = Taken(call, points_of(step, seen.shot), sight)
                help_.before = seen.shot
                help_.acted |= isinstance(call, ACTING)
                if not isinstance(call, WaitCall):
                    press = isinstance(call, ClickCall) and call.button == "left"
                    help_.pressed_on.append(await self.brain.look(walk, ScreenNeeds.TEXT) if press else None)
                return step
            await walk.record_decision(step)
            why = f"{named(pressed)} was pressed before, and may be pressed only once. Nothing was done."
            why = "Do this one step yourself. Nothing was done." if is_macro else why
            why = f"{elsewhere} Nothing was typed. Click that place first." if elsewhere else why
            await walk.record(events.Corrected(reason=why))
            walk.remember(step, why, is_error=True)
        raise self._gave_up_error(f"it did not finish the step in {MOST_CALLS} calls")

    async def _accept_done(self, walk: Walk, answer: str) -> None:
        """Accept the answer "done" if the playbook fits then. Raises `GaveUp` otherwise, or for another answer."""
        help_ = self._current()
        if answer.strip().strip(".!\"'").casefold() != DONE or help_.misfit.cause == "effect":
            raise self._gave_up_error(f"it says: {answer.strip()[:MOST_SAID]}")
        resumed = await self.brain.resume(walk, help_.misfit, help_.taken, said_done=True)
        if resumed is None:
            raise self._gave_up_error("it says that the step is done, but the playbook still does not fit")
        await self._end(walk, resumed)

    def _gave_up_error(self, why: str) -> GaveUp:
        error = self._current().error
        return GaveUp(f"{error} The model then tried this step: {why.rstrip('.')}.", layer=PLAYBOOK)

    def _current(self) -> _StepInProgress:
        assert self._in_progress is not None
        return self._in_progress

    def _outcome(self, help_: _StepInProgress) -> StepOutcome:
        misfit = help_.misfit
        said, why = misfit.action.thought, misfit.why
        as_planned = misfit.action.ask_model is not None or misfit.action.by_model is not None
        outcome: Outcome = "fitted" if as_planned else "healed"
        return StepOutcome(misfit.rule.id, misfit.place, said, outcome, "model", help_.calls, "" if as_planned else why)

    def _task_text(self, misfit: Misfit) -> str:
        """Return the task for the model: the step in the playbook's words, and the values as a data block."""
        lent = self.context
        if misfit.action.answers:
            return _ANSWER.format(goal=lent.task, why=misfit.why)
        then = f"Expected afterwards: the screen shows {conditions_in_words(misfit.action.then)}.\n"
        done = f"Already done, and not to be repeated: {' '.join(misfit.done)}\n"
        reported = {"effect": _EFFECT, "model": _LEFT}.get(misfit.cause, _TASK).format(
            step=misfit.action.thought,
            why=misfit.why,
            expected=then if misfit.action.then else "",
            done=done if misfit.done else "",
            word=DONE,
            goal=lent.goal,
        )
        values = scrub_data({**self.brain.values, **lent.data})
        return f"{reported}\n\n{quoted(values)}" if values else reported


def _failed(walk: Walk) -> bool:
    """Return whether the last decided step failed or was not performed."""
    reported = next((entry for entry in reversed(walk.transcript.entries) if isinstance(entry, StepResult)), None)
    return reported is None or reported.is_error


def points_of(step: Step, shot: Shot) -> tuple[Point, ...]:
    """Return the points of a step's action, in pixels of the picture that it was decided on."""
    with suppress(UnusableReply):
        gesture = to_gesture(step.tool_call, shot)
        return tuple(Point(at.x - shot.area.left, at.y - shot.area.top) for at in _aims(gesture))
    return ()


def _aims(gesture: Gesture | None) -> tuple[Point, ...]:
    match gesture:
        case Drag(start, end):
            return start, end
        case Move(to):
            return (to,)
        case Click(at=at) | Scroll(at=at) | Write(at=Point() as at):
            return (at,)
        case _:
            return ()

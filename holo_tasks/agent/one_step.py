"""Where a playbook does not fit, the model gets that one step; then the playbook goes on where it fits again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.agent.agent_step import act_as_task, decide_as_task
from holo_tasks.core import events
from holo_tasks.core.actions import AnswerCall, MacroCall, WaitCall
from holo_tasks.core.calibration import Correction
from holo_tasks.core.errors import GaveUp, UnusableReply
from holo_tasks.core.frame import Shot
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Click, Drag, Gesture, Move, Scroll, Write
from holo_tasks.core.outside import quoted
from holo_tasks.core.scaling import to_gesture
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Told, Transcript
from holo_tasks.loop.executor import Act, Executor
from holo_tasks.loop.loop import Decide
from holo_tasks.loop.press_once import Once, named
from holo_tasks.loop.walk import Walk
from holo_tasks.run.subgoal_options import MODEL, PLAYBOOK
from holo_tasks.safety.scrubbing import hushed_plain
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.playbook_brain import LATE_S, DoesNotFit, PlaybookBrain
from holo_tasks.scripts.resuming import Resumed, Taken
from holo_tasks.scripts.rules import conditions_in_words
from holo_tasks.scripts.step_outcome import Outcome, StepOutcome

MOST_CALLS = 4
"""So often the model is asked for one step."""
MOST_TIMES = 2
"""So often the model gets the same step in a sub-goal."""
RESUME_S, PAUSE_S = 3.0, 0.5
"""What comes of the model's action is waited for so long, and looked for so often, before it is asked again."""
DONE = "done"
MOST_SAID = 200
_TASK = """\
A playbook does the task below without you, and one of its steps does not fit the screen. Do only that one step, with \
as few actions as you can: the playbook goes on by itself as soon as it fits again.

The step: {step}
Why it does not fit: {why}.
{expected}{done}
If the step is done, answer: {word}. If it cannot be done on this screen, or would be done to another item than the \
task's, do nothing and answer with the reason.

The task, of which you do only that step: {goal}"""
_EFFECT = """\
A playbook does the task below without you. One of its steps was done, and what must come of it is not to be seen. \
Never do that step again: nobody knows what came of it. If something is in the way, such as a message, clear it, with \
as few actions as you can: the playbook goes on by itself as soon as it fits again.

The step that was done: {step}
What is missing: {why}.
{expected}{done}
If you can do nothing about it, answer with the reason.

The task, of which you do nothing else: {goal}"""
_ANSWER = """\
{goal}

A playbook did all of this but the answer: {why}. Do nothing more to the program than it takes to read the answer, and \
answer."""


@dataclass(frozen=True)
class Lent:
    """What the model works with while a step is its own: the goal in words, with and without the answer's shape, the
    data, the secrets that it may have typed, what its coordinates are corrected by, and what it may click once more."""

    goal: str
    task: str
    data: Mapping[str, Any]
    secrets: frozenset[str] | None
    correction: Correction | None
    retry_click: tuple[str, ...]


@dataclass(frozen=True)
class Healed:
    """A step that the model did, or whose way it cleared: what it did last and on which picture; ``number`` outcomes of
    steps were known by then.
    """

    misfit: Misfit
    resumed: Resumed
    taken: Taken | None
    before: Shot | None
    number: int


@dataclass
class _Help:
    """A step that the model is at: its calls, and the last of its actions with the picture it was decided on."""

    misfit: Misfit
    error: DoesNotFit
    held: Once
    script: Transcript
    calls: int = 0
    taken: Taken | None = None
    before: Shot | None = None
    answering: bool = False


@dataclass
class OneStep:
    """Decides by the playbook and, where that does not fit, by the model until it fits again.

    ``once`` holds back what may have had an effect, for whoever works on the sub-goal after this. ``answered`` says
    that the model gave the answer itself. ``healed`` are the steps that the model did.
    """

    brain: PlaybookBrain
    executor: Executor
    by_script: Decide
    once: Once
    lent: Lent
    answered: bool = False
    healed: list[Healed] = field(default_factory=list)
    _help: _Help | None = None
    _times: Counter[tuple[str, int]] = field(default_factory=Counter)
    _act: Act = field(init=False)

    def __post_init__(self) -> None:
        self._act = self.executor.act
        self.brain.late_s = LATE_S

    async def decide(self, walk: Walk, answer_only: bool) -> Step:
        """Return the next step, the playbook's or the model's. Raises `GaveUp` where neither gets on."""
        while True:
            if self._help is None:
                try:
                    return await self.by_script(walk, answer_only)
                except DoesNotFit as error:
                    await self._begin(walk, error)
            elif await self._resumes(walk):
                continue
            if (step := await self._by_model(walk, answer_only)) is not None:
                return step

    async def close(self) -> None:
        """Note what became of the step that the model was at when the sub-goal ended."""
        if self._help is not None and self._help.answering:
            self.answered = True
            self.brain.done_by_other(self._outcome(self._help))
        await self.brain.close()

    async def _begin(self, walk: Walk, error: DoesNotFit) -> None:
        """Give the model a step. Raises the error where it is for nobody: it is about another item, nothing of what
        the playbook knows is there, or the model had this step before.
        """
        misfit = error.misfit
        key = misfit.rule.id, misfit.place
        self._times[key] += 1
        if misfit.of_other_item or not (misfit.near or misfit.done) or self._times[key] > MOST_TIMES:
            raise error
        labels = self.brain.pressed(misfit)
        if misfit.cause == "effect":  # nobody knows what came of it: whoever comes next does not press it either
            self.once.hold_back(self.brain.written_on(misfit.action))
        self._help = _Help(misfit, error, Once(labels, pressed=set(labels)), walk.transcript)
        self._lend(walk, Transcript(self._told(misfit)), self.lent.secrets, self.lent.correction, MODEL)
        await walk.record(events.LayerChanged(source=PLAYBOOK, target=MODEL, reason=misfit.sentence))
        await walk.look()
        walk.begin()

    async def _end(self, walk: Walk, resumed: Resumed) -> None:
        """Have the playbook go on."""
        help_, misfit = self._at(), self._at().misfit
        outcome = self._outcome(help_)
        self.brain.done_by_other(outcome)
        self.healed.append(Healed(misfit, resumed, help_.taken, help_.before, len(self.brain.outcomes)))
        if misfit.cause == "effect":
            self.once.let_go(self.brain.written_on(misfit.action))
        self._help = None
        self._lend(walk, help_.script, None, None, PLAYBOOK)
        await walk.record(events.LayerChanged(source=MODEL, target=PLAYBOOK, reason="The playbook fits again."))
        if self.lent.correction is not None:
            await walk.look()  # as a script sees it, which is not off

    def _lend(
        self,
        walk: Walk,
        transcript: Transcript,
        secrets: frozenset[str] | None,
        correction: Correction | None,
        layer: str,
    ) -> None:
        """Have the walk be one of the layer that goes on with it."""
        walk.transcript, walk.secrets = transcript, secrets
        walk.safe_to_repeat, walk.held, walk.waits_on = self.lent.retry_click, (), True
        walk.doors = replace(walk.doors, correction=correction)
        self.executor.layer, self.executor.act = layer, act_as_task if layer == MODEL else self._act

    async def _resumes(self, walk: Walk) -> bool:
        """Have the playbook go on if it fits again; what the model did may take its time to show."""
        help_ = self._at()
        if help_.answering:  # what it answered was not taken
            help_.answering = False
            return False
        if help_.misfit.action.ask_model is not None:  # it is the model's to the end
            return False
        taken = None if _failed(walk) else help_.taken
        acted = taken is not None and not isinstance(taken.call, WaitCall)
        until_s = walk.doors.now_s() + (RESUME_S if acted else 0.0)
        while True:
            resumed = await self.brain.resume(walk, help_.misfit, taken)
            if resumed is not None:
                await self._end(walk, resumed)
                return True
            if walk.doors.now_s() >= until_s:
                return False
            await walk.pause(PAUSE_S)
            await walk.look()
            walk.show()

    async def _by_model(self, walk: Walk, answer_only: bool) -> Step | None:
        """Return what the model does next of the step; None where it says that it is done, and the playbook fits."""
        help_ = self._at()
        while help_.calls < MOST_CALLS:
            step = await decide_as_task(walk, answer_only)
            assert walk.seen is not None
            seen, call = walk.seen, step.tool_call
            help_.calls += 1
            if isinstance(call, AnswerCall):
                if answer_only or help_.misfit.action.answers:
                    help_.answering = True
                    return step
                await walk.decided(step)
                await self._said(walk, call.content)
                return None
            is_macro = isinstance(call, MacroCall)
            pressed = await help_.held.pressed_by(step, seen, walk.scene(seen.frame))
            if not pressed and not is_macro:
                help_.taken = Taken(call, points_of(step, seen.shot), await self.brain.look(walk))
                help_.before = seen.shot
                return step
            await walk.decided(step)
            why = f"{named(pressed)} was pressed before, and is pressed once only. Nothing was done."
            why = "Do this one step yourself. Nothing was done." if is_macro else why
            await walk.record(events.Corrected(reason=why))
            walk.remember(step, why, is_error=True)
        raise self._given_up(f"the model did not get it done in {MOST_CALLS} calls")

    async def _said(self, walk: Walk, said: str) -> None:
        """Take the model's word that a step is done; raise `GaveUp` where it says why not, or nothing fits after it."""
        help_ = self._at()
        if said.strip().strip(".!\"'").casefold() != DONE or help_.misfit.cause == "effect":
            raise self._given_up(f"the model says: {said.strip()[:MOST_SAID]}")
        resumed = await self.brain.resume(walk, help_.misfit, help_.taken, said_done=True)
        if resumed is None:
            raise self._given_up("the model says that it is done, and the playbook fits no more than before")
        await self._end(walk, resumed)

    def _given_up(self, why: str) -> GaveUp:
        error = self._at().error
        return GaveUp(f"{error} The model had this one step: {why}.", layer=PLAYBOOK)

    def _at(self) -> _Help:
        assert self._help is not None
        return self._help

    def _outcome(self, help_: _Help) -> StepOutcome:
        misfit = help_.misfit
        said, why = misfit.action.thought, misfit.why
        as_planned = misfit.action.ask_model is not None
        outcome: Outcome = "fitted" if as_planned else "healed"
        return StepOutcome(misfit.rule.id, misfit.place, said, outcome, "model", help_.calls, "" if as_planned else why)

    def _told(self, misfit: Misfit) -> str:
        """Return what the model is told of a step: in the playbook's own words, the item's values apart."""
        lent = self.lent
        if misfit.action.answers:
            return _ANSWER.format(goal=lent.task, why=misfit.why)
        then = f"What must come of it: the screen shows {conditions_in_words(misfit.action.then)}.\n"
        done = f"Done before, never to be done again: {' '.join(misfit.done)}\n"
        told = (_EFFECT if misfit.cause == "effect" else _TASK).format(
            step=misfit.action.thought,
            why=misfit.why,
            expected=then if misfit.action.then else "",
            done=done if misfit.done else "",
            word=DONE,
            goal=lent.goal,
        )
        values = hushed_plain({**self.brain.values, **lent.data})
        return f"{told}\n\n{quoted(values)}" if values else told


def _failed(walk: Walk) -> bool:
    """Say whether nothing was done of the step that was decided last."""
    told = next((entry for entry in reversed(walk.transcript.entries) if isinstance(entry, Told)), None)
    return told is None or told.is_error


def points_of(step: Step, shot: Shot) -> tuple[Point, ...]:
    """Return where a step goes, in pixels of the picture that it was decided on."""
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

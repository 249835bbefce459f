"""The layers of a sub-goal, tried in order: the model, a script, the program's API, a person.

`Layers` is the work of one `pursue` call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holo_tasks.agent.agent_step import act_by, decide_as_task, decide_by_script
from holo_tasks.agent.api_call import ApiCall
from holo_tasks.agent.playbooks.macros import Macros, press_once_of
from holo_tasks.agent.playbooks.one_step import OneStep, StepContext
from holo_tasks.agent.playbooks.replay_task import Replay
from holo_tasks.core import events
from holo_tasks.core.errors import GaveUp, InvalidUsage, ModelFailed, NeedsPerson
from holo_tasks.core.person import AGAIN, DONE, GIVE_UP, Answer
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import AnswerCall
from holo_tasks.core.prompts.transcript import ModelStep, Transcript
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.core.texts.task_values import TaskValues
from holo_tasks.handoff.hand_over import ask_person
from holo_tasks.loop.executor import Executor, Perform
from holo_tasks.loop.guide import AnyGuide, Guide, NoGuide
from holo_tasks.loop.loop import Answered, AnswerReader, Decide
from holo_tasks.loop.loop import pursue as run_loop
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.script_port import Brain, apply_intent
from holo_tasks.loop.task_doubts import TaskDoubts
from holo_tasks.loop.walk import Walk
from holo_tasks.run.items.journal import NOT_DONE, journalled
from holo_tasks.run.run import FollowedPlaybook, Run, progress
from holo_tasks.run.subgoal_context import current_subgoal
from holo_tasks.run.subgoal_options import API, MODEL, PERSON, PLAYBOOK, SCRIPT, SCRIPTED, SubgoalOptions
from holo_tasks.safety.records.ledger import Claim
from holo_tasks.safety.scrubbing import scrub_text
from holo_tasks.scripts.playbook_brain import PlaybookBrain
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.script_view import report_windows
from holo_tasks.scripts.step_outcome import may_have_stored

if TYPE_CHECKING:
    from holo_tasks.agent.playbooks.replay_results import ReplayResults

MOST_ASKED = 3
"""Most questions to a person about one sub-goal."""
NOTES = 3
_ACTED = {
    MODEL: "The model has acted",
    PLAYBOOK: "The playbook has acted",
    SCRIPT: "The script has acted",
    API: "The program's API was called",
}


class EffectFound(BaseException):
    """Raised when the probe finds the effect of a sub-goal. ``value`` is the result that the probe returned.

    It ends the sub-goal's body at any point. It is not an `Exception`, so a body does not catch it by accident.
    """

    def __init__(self, value: Any) -> None:
        super().__init__("the effect was found to be there")
        self.value = value


@dataclass
class Layers:
    """A sub-goal with its layers. ``layer`` is the present one.

    ``probe`` looks for the effect after a layer has acted and given up. ``goal`` is the goal without its data. ``data``
    are its values, and ``about`` is their text for a person. ``macros`` are tools for the model.
    """

    run: Run
    walk: Walk
    options: SubgoalOptions
    read: AnswerReader[Any]
    max_steps: int
    perform: Perform
    probe: Callable[[], Awaitable[Any]] | None = None
    about: str = ""
    macros: Macros | None = None
    goal: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    layer: str = ""
    _task: str = field(init=False, repr=False)
    _effect_buttons: EffectButtons = field(init=False, repr=False)
    _secrets: frozenset[str] | None = field(init=False, repr=False)
    _replay: Replay | None = field(default=None, init=False, repr=False)
    _replay_results: ReplayResults | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._secrets = self.walk.secrets
        self._task = self.walk.transcript.task
        self._effect_buttons = EffectButtons(self.options.press_once, self._certainly_not_done)  # shared by all layers
        self._declare_effects()
        self._check_windows()

    async def answer(self) -> Answered[Any]:
        """Try the layers until one has the answer.

        The next layer follows after `GaveUp` or a lasting `ModelFailed`. Other errors, such as limits, kills and
        refusals, are raised at once, and so is the error of the last layer. Raises `EffectFound` if the probe found
        the effect.
        """
        layers, why, doubt = list(self.options.order), "", ""
        while True:
            self.layer = layers.pop(0)
            begun = await self._count_intents()
            try:
                if self.layer == PERSON:
                    return await self._ask_person(why, doubt)
                return await self._run_layer(self.layer, last=not layers)
            except (GaveUp, ModelFailed) as error:
                if isinstance(error, GaveUp) and why and not layers:
                    # The reader of the message also needs the reason of the first layer.
                    raise GaveUp(f"{error} Before that: {why}", layer=error.layer) from None
                if error.transient or not layers:
                    raise
                why = str(error)
            if await self._count_intents() > begun and layers[0] != PERSON:
                doubt = await self._look_for_effect(why)
                layers = [layer for layer in layers if layer == PERSON or not doubt]
            elif await self._count_intents() > begun:
                doubt = (
                    f"{_ACTED.get(self.layer, 'A person has acted')}. Check on the screen whether the work is done "
                    "before you do it. "
                )
            if not layers:
                raise NeedsPerson(f"{why} {doubt}")
            await self.walk.record(events.LayerChanged(source=self.layer, target=layers[0], reason=why))
            self._begin_anew(self._facts(why))

    async def _run_layer(self, layer: str, *, last: bool) -> Answered[Any]:
        """Let the model or the script work with an empty history, or call the program's API."""
        if layer == API:
            assert self.options.api is not None
            changes = self.options.declared_effect.changes
            return await ApiCall(self.run, self.walk, self.options.api, changes).get_answer(self.read)
        if not last or PERSON in self.options.order:  # the next layer comes before a hand-off by this one
            self.walk.services = replace(self.walk.services, person=None)
        brain = self._brain(layer)
        if brain is None:
            self._report_windows()
        self._replay = self._replay_of(brain)
        self._replay_results = self._replay_results_of(brain)
        executor = self._executor(layer)
        helped, earlier = self._step_helper(brain, executor), self.walk.presses.after_text
        self.walk.secrets = self._secrets if brain is None else None  # a script's author may name any secret
        # A script finds its targets on the screen, so the correction of the model's coordinates is not for it.
        self.walk.services = replace(
            self.walk.services, correction=self.run.outside.correction if brain is None else None
        )
        await self._tell_surroundings(brain)
        work = partial(
            run_loop,
            executor,
            read=self.read,
            decide=self._decide(brain) if helped is None else helped.decide,
            max_steps=self.max_steps,
            guide=self._guide(brain),
            effect_buttons=self._effect_buttons,
            is_last_layer=last,
            macro=self.macros.do if self.macros else None,
            doubts=self._doubts() if brain is None else None,
        )
        try:
            answered: Answered[Any] = await (work() if self._replay is None else self._replay.run_as_task(work))
            return answered
        finally:
            self._replay = None
            if brain is None and self.walk.presses.after_text > earlier:
                self._count_as_stored()
            await self._close_script(brain, helped)

    def _doubts(self) -> TaskDoubts | None:
        """Return the doubts of the model's work; ``None`` if they are off, or the work only reads."""
        options, changes = self.run.options, self.options.declared_effect.changes
        if not options.check_answers or not changes or options.policy.trust != "act":
            return None
        task = TaskValues.of(scrub_text(self.goal), self.data)
        here = current_subgoal()
        return TaskDoubts(task, self.options.press_once, here.goal if here else "", self.run.may_end_typed)

    def _step_helper(self, brain: Brain | None, executor: Executor) -> OneStep | None:
        """Return the helper that gives misfit steps of a playbook to the model. ``None`` without both layers."""
        if not isinstance(brain, PlaybookBrain) or MODEL not in self.options.order:
            return None
        correction = self.run.outside.correction
        lent = StepContext(self.goal, self._task, self.data, self._secrets, correction, self.options.retry_click)
        return OneStep(brain, executor, self._decide(brain), self._effect_buttons, lent)

    async def _close_script(self, brain: Brain | None, helped: OneStep | None) -> None:
        """Close the script, and store the results of a playbook's steps."""
        if brain is None:
            return
        await (helped or brain).close()
        if helped is not None and helped.answered:
            self.layer = MODEL
        keeping, self._replay_results = self._replay_results, None
        if keeping is not None:
            await keeping.store(self.run, helped.healed if helped is not None else ())
        if isinstance(brain, PlaybookBrain):
            outcomes = tuple(brain.outcomes)
            stored = may_have_stored(brain.rules, outcomes, None if helped is None else helped.tried)
            self.run.replayed.append(
                FollowedPlaybook(self.walk.number, brain.playbook.name, brain.goal, outcomes, stored)
            )

    def _count_as_stored(self) -> None:
        """Note that the item of the playbook before may be stored: the model pressed something after a text."""
        number = self.walk.number
        self.run.replayed[:] = [
            replace(one, may_have_stored=True) if one.subgoal == number else one for one in self.run.replayed
        ]

    async def _tell_surroundings(self, brain: Brain | None) -> None:
        """Add the description of the machine to the model's transcript, if discovery is on."""
        if brain is None and self.run.discovery is not None:
            inventory = await self.run.discovery.inventory_text(self.run, self.walk)
            self.walk.transcript = replace(self.walk.transcript, surroundings=inventory)

    async def _ask_person(self, why: str, doubt: str) -> Answered[Any]:
        goal = self._task.partition("\n")[0] + (f" ({self.about})" if self.about else "")
        for _ in range(MOST_ASKED):
            answer = await ask_person(f"{goal} {why} {doubt}".strip(), self.walk)
            said = f" ({answer.note})" if answer.note else ""
            if answer.choice == GIVE_UP:
                raise NeedsPerson(f"{answer.by} gave up{said}: {goal}")
            try:
                found = await self._after_person(answer)
            except (GaveUp, ModelFailed) as error:
                if error.transient:
                    raise
                why, doubt = f"After ‘{answer.choice}’: {error}", ""
                continue
            return found
        raise NeedsPerson(f"A person was asked {MOST_ASKED} times, and the work is still not done: {why}")

    async def _after_person(self, answer: Answer) -> Answered[Any]:
        """Continue after a person's answer: try again, or read the result from the screen."""
        others = [layer for layer in self.options.order if layer != PERSON] or [MODEL]
        if answer.choice == AGAIN:
            self.walk.presses.forget_all()
            self._begin_anew(answer.sentence)
            self.layer = others[0]
            try:
                return await self._run_layer(self.layer, last=False)
            except BaseException:
                self.layer = PERSON
                raise
        assert answer.choice == DONE
        await self.walk.look()
        if problem := await self._executor(PERSON).carry_out(self._guide().accept()):
            raise GaveUp(problem, layer=PERSON)
        if self.probe is not None:
            found = await self._run_probe(self.probe)
            if found is NOT_DONE:
                raise GaveUp("The probe does not find the effect.", layer=PERSON)
            if found is not None:
                raise EffectFound(found)
        readers = [layer for layer in others if layer != API] or [MODEL]
        for layer in readers[:-1]:
            with suppress(GaveUp, InvalidUsage):
                return await self._read_answer_from_screen(layer, answer)
        return await self._read_answer_from_screen(readers[-1], answer)

    async def _read_answer_from_screen(self, layer: str, answer: Answer) -> Answered[Any]:
        """Let a layer read the answer from the present screen without acting, because the person has done the work."""
        self._begin_anew(f"{answer.sentence} Do nothing. Read the answer from the screen.")
        walk = self.walk
        await walk.look()
        walk.begin()
        walk.step += 1
        brain = self._brain(layer, reads_off=True)
        await self._tell_surroundings(brain)
        try:
            step = await self._decide(brain)(walk, True)
        finally:
            if brain is not None:
                await brain.close()
        await walk.record_decision(step, scripted=brain is not None)
        if not isinstance(step.tool_call, AnswerCall):
            raise GaveUp("The result cannot be read from the present screen.", layer=PERSON)
        try:
            return Answered(self.read(step.tool_call.content), step.tool_call.content, walk.step)
        except ValueError as error:
            raise GaveUp(f"The answer read from the screen is not a valid result: {error}.", layer=PERSON) from None

    async def _look_for_effect(self, why: str) -> str:
        """Probe after a layer that acted. Return the doubt, empty if the effect is certainly missing.

        Raises `EffectFound` if the effect is there.
        """
        found = await self._run_probe(self.probe) if self.probe is not None else None
        if found is None:
            acted = _ACTED.get(self.layer, "A person has acted")
            return f"{acted}, and its effect is unknown. Nothing was repeated. "
        if found is not NOT_DONE:
            raise EffectFound(found)
        return ""

    async def _certainly_not_done(self) -> bool:
        """Return whether the effect is certainly missing. Raises `EffectFound` if it is there."""
        found = await self._run_probe(self.probe) if self.probe is not None else None
        if found is None or found is NOT_DONE:
            return found is NOT_DONE
        raise EffectFound(found)

    async def _run_probe(self, probe: Callable[[], Awaitable[Any]]) -> Any:
        with journalled(None), progress(1):
            return await probe()

    async def _count_intents(self) -> int:
        """Return the number of intents in the journal of the business item."""
        claim = self.walk.services.journal
        if not isinstance(claim, Claim):
            return 0
        return len(await asyncio.to_thread(claim.ledger.intents, claim.token, claim.goal))

    def _replay_of(self, brain: Brain | None) -> Replay | None:
        """Return the task for a whole playbook, or ``None`` for a layer with a task per step."""
        script = self.options.script
        plan = script.plan if isinstance(script, Script) and brain is not None else None
        return None if plan is None else Replay(self.run, self.walk.number, plan)

    def _replay_results_of(self, brain: Brain | None) -> ReplayResults | None:
        """Return the store of a playbook's results, or ``None`` if they are not counted."""
        script = self.options.script
        if not isinstance(script, Script) or not isinstance(brain, PlaybookBrain):
            return None
        if not script.counts or script.file is None:
            return None
        from holo_tasks.agent.playbooks.replay_results import ReplayResults  # imports modules that only playbooks need

        return ReplayResults(brain, script.file, script.heal)

    def _executor(self, layer: str) -> Executor:
        act = act_by(layer) if self._replay is None else self._replay.act
        return Executor(self.walk, act, layer, self.run.recognizer, self.perform)

    def _guide(self, brain: Brain | None = None) -> AnyGuide:
        options = self.options
        if options.known_screens is None:
            return NoGuide()
        expect = (lambda: brain.intent.expect) if brain else str
        return Guide(options.known_screens, options.begins, options.ends, expect)

    def _brain(self, layer: str, *, reads_off: bool = False) -> Brain | None:
        if layer not in SCRIPTED:
            return None
        script = self.options.script
        assert script is not None
        if reads_off and isinstance(script, Script):
            script = script.reading_off()
            if script is None:
                raise GaveUp("The playbook has no rule that reads the answer from a screen.", layer=PERSON)
        return script.brain(self.run.recognizer, self.options.known_screens)

    def _decide(self, brain: Brain | None) -> Decide:
        if brain is None:
            return decide_as_task
        replay = self._replay

        async def decide(walk: Walk, answer_only: bool) -> Step:
            step = await (decide_by_script(walk, brain) if replay is None else replay.decide(walk, brain))
            if self._replay_results is not None:
                self._replay_results.decided(walk, step)
            # A script declares for each step whether it may be repeated, whatever the label of its target.
            apply_intent(walk, brain.intent, self.options.retry_click)
            return step

        return decide

    def _facts(self, why: str) -> str:
        """Return the text about this layer's attempt for the next layer."""
        if self.layer == API:  # its reason may contain text from a server, so it is quoted as data
            return f"{_ACTED[API]} before and gave up.\n\n{quoted({'why': why})}"
        notes = [entry.step.note for entry in self.walk.transcript.entries if isinstance(entry, ModelStep)]
        noted = "; ".join([note for note in notes if note][-NOTES:])
        return f"The {self.layer} tried this before and gave up: {why}" + (f" Noted: {noted}" if noted else "")

    def _begin_anew(self, fact: str) -> None:
        """Reset the walk for the next layer. The count of steps goes on."""
        self.walk = replace(
            self.walk,
            transcript=Transcript(f"{self._task}\n\n{fact}"),
            seen=None,
            _corrections=None,
            _attempt=0,
            _model_was_asked=False,
            _durations_us={},
            whereabouts=None,
            safe_to_repeat=self.options.retry_click,
            held=(),
            extends_waits=True,
        )

    def _declare_effects(self) -> None:
        """Declare the labels of playbooks' effects, so that all layers press them once.

        Labels with a parameter are declared when the macro is called with its values. Raises `InvalidUsage` if a label
        is also in retry_click=.
        """
        offered = [tool for _, tool in self.macros.tools] if self.macros else []
        labels = [label for script in (self.options.script, *offered) for label in press_once_of(script)]
        if both := set(labels) & set(self.options.retry_click):
            raise InvalidUsage(
                f"{', '.join(sorted(both))} cannot be both in a playbook's press_once and in retry_click=: a button "
                "with an effect is not clicked again."
            )
        self._effect_buttons.declare([label for label in labels if "{" not in label])

    def _report_windows(self) -> None:
        """Let the frames of the model's steps contain the windows, whose titles a compiled playbook requires."""
        with suppress(InvalidUsage):  # those on the screen of another machine are not known
            report_windows(self.run.desktop)

    def _check_windows(self) -> None:
        script = self.options.script
        if isinstance(script, Script) and script.asks_for_windows:
            report_windows(self.run.desktop)
        if self.options.known_screens is not None:
            self.run.watch(self.options.known_screens)

"""Who works on a sub-goal, one after the other: the model, a script, a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from holo_tasks.agent.agent_step import act_by, decide_as_task, decide_by_script
from holo_tasks.core import events
from holo_tasks.core.actions import AnswerCall
from holo_tasks.core.errors import GaveUp, ModelFailed, NeedsPerson
from holo_tasks.core.person import AGAIN, DONE, GIVE_UP, Answer
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Did, Transcript
from holo_tasks.handoff.hand_over import ask_person
from holo_tasks.loop.executor import Executor, Perform
from holo_tasks.loop.guide import AnyGuide, Guide, Unguided
from holo_tasks.loop.loop import Answered, AnswerReader, Decide
from holo_tasks.loop.loop import pursue as run_loop
from holo_tasks.loop.press_once import Once
from holo_tasks.loop.script_port import Brain
from holo_tasks.loop.walk import Walk
from holo_tasks.run.journal import NOT_DONE, journalled
from holo_tasks.run.run import Run, progress
from holo_tasks.run.subgoal_options import MODEL, PERSON, SCRIPT, SubgoalOptions
from holo_tasks.safety.ledger import Claim

MOST_ASKED = 3
"""So often a person is asked about one sub-goal."""
NOTES = 3


class EffectFound(BaseException):
    """The effect of a sub-goal was found to be there: its result is what the probe read.

    It ends the sub-goal's body wherever it is, so it is no `Exception` that a body might catch.
    """

    def __init__(self, value: Any) -> None:
        super().__init__("the effect was found to be there")
        self.value = value


@dataclass
class Layered:
    """A sub-goal that is worked on by its layers; ``layer`` is the one that is at it.

    ``probe`` looks whether the effect is there after a layer has acted and given up. ``about`` tells a person
    the goal's data.
    """

    run: Run
    walk: Walk
    options: SubgoalOptions
    read: AnswerReader[Any]
    max_steps: int
    perform: Perform
    probe: Callable[[], Awaitable[Any]] | None = None
    about: str = ""
    layer: str = ""
    _task: str = field(init=False, repr=False)
    _once: Once = field(init=False, repr=False)
    _secrets: frozenset[str] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._secrets = self.walk.secrets
        self._task = self.walk.transcript.task
        self._once = Once(self.options.press_once, self._certainly_not_done)  # over all layers
        self._check_windows()

    async def answer(self) -> Answered[Any]:
        """Work until a layer has the answer. What the last one ends in is raised; a `GaveUp` before goes to the next.

        Limits, kills, refusals and faults that concern everybody are for no other layer. Raises `EffectFound` when the
        answer is what the probe read.
        """
        layers, why, doubt = list(self.options.order), "", ""
        while True:
            self.layer = layers.pop(0)
            begun = await self._intents()
            try:
                if self.layer == PERSON:
                    return await self._by_person(why, doubt)
                return await self._by(self.layer, last=not layers)
            except (GaveUp, ModelFailed) as error:
                if isinstance(error, GaveUp) and why and not layers:
                    # Whoever takes it over wants to know what the first one made of it, too.
                    raise GaveUp(f"{error} Before that: {why}", layer=error.layer) from None
                if error.transient or not layers:
                    raise
                why = str(error)
            if await self._intents() > begun and layers[0] != PERSON:
                doubt = await self._look_for_effect(why)
                layers = [layer for layer in layers if layer == PERSON or not doubt]
            elif await self._intents() > begun:
                doubt = f"The {self.layer} has acted; look whether it came about before you do it. "
            if not layers:
                raise NeedsPerson(f"{why} {doubt}")
            await self.walk.record(events.LayerChanged(source=self.layer, target=layers[0], reason=why))
            self._begin_anew(self._facts(why))

    async def _by(self, layer: str, *, last: bool) -> Answered[Any]:
        """Let the model or the script work, with a history of its own."""
        if not last or PERSON in self.options.order:  # whoever comes next is asked first
            self.walk.doors = replace(self.walk.doors, person=None)
        brain = self._brain(layer)
        self.walk.secrets = self._secrets if brain is None else None  # a script is its author's own words
        try:
            return await run_loop(
                self._executor(layer),
                read=self.read,
                decide=self._decide(brain),
                max_steps=self.max_steps,
                guide=self._guide(brain),
                once=self._once,
                last=last,
            )
        finally:
            if brain is not None:
                await brain.close()

    async def _by_person(self, why: str, doubt: str) -> Answered[Any]:
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
        raise NeedsPerson(f"{MOST_ASKED} times a person was asked, and it is still not done: {why}")

    async def _after_person(self, answer: Answer) -> Answered[Any]:
        """Take up what a person leaves: look, then take the result off the screen, or try again."""
        others = [layer for layer in self.options.order if layer != PERSON] or [MODEL]
        if answer.choice == AGAIN:
            self._begin_anew(answer.sentence)
            self.layer = others[0]
            try:
                return await self._by(self.layer, last=False)
            except BaseException:
                self.layer = PERSON
                raise
        assert answer.choice == DONE
        await self.walk.look()
        if problem := await self._executor(PERSON).follow(self._guide().accept()):
            raise GaveUp(problem, layer=PERSON)
        if self.probe is not None:
            found = await self._probed(self.probe)
            if found is NOT_DONE:
                raise GaveUp("It is not there: it was looked for.", layer=PERSON)
            if found is not None:
                raise EffectFound(found)
        return await self._read_off(others[0], answer)

    async def _read_off(self, layer: str, answer: Answer) -> Answered[Any]:
        """Have the answer read from the screen that a person leaves. Nothing more is done: it is done already."""
        self._begin_anew(f"{answer.sentence} Do nothing; answer from what the screen shows.")
        walk = self.walk
        await walk.look()
        walk.begin()
        walk.step += 1
        brain = self._brain(layer)
        try:
            step = await self._decide(brain)(walk, True)
        finally:
            if brain is not None:
                await brain.close()
        await walk.decided(step, scripted=brain is not None)
        if not isinstance(step.tool_call, AnswerCall):
            raise GaveUp("The result cannot be read from the screen as it is.", layer=PERSON)
        try:
            return Answered(self.read(step.tool_call.content), step.tool_call.content, walk.step)
        except ValueError as error:
            raise GaveUp(f"What the screen shows is not the result: {error}.", layer=PERSON) from None

    async def _look_for_effect(self, why: str) -> str:
        """After a layer that acted: return what is in doubt, empty if the effect is certain not to be there."""
        found = await self._probed(self.probe) if self.probe is not None else None
        if found is None:
            return f"The {self.layer} has acted, and nobody knows whether that came about; nothing was repeated. "
        if found is not NOT_DONE:
            raise EffectFound(found)
        return ""

    async def _certainly_not_done(self) -> bool:
        """Say whether it is certain that the effect is not there; raise `EffectFound` where it is."""
        found = await self._probed(self.probe) if self.probe is not None else None
        if found is None or found is NOT_DONE:
            return found is NOT_DONE
        raise EffectFound(found)

    async def _probed(self, probe: Callable[[], Awaitable[Any]]) -> Any:
        with journalled(None), progress(1):
            return await probe()

    async def _intents(self) -> int:
        """Return how many actions are written down for the business item, so far."""
        claim = self.walk.doors.journal
        if not isinstance(claim, Claim):
            return 0
        return len(await asyncio.to_thread(claim.ledger.intents, claim.token, claim.goal))

    def _executor(self, layer: str) -> Executor:
        return Executor(self.walk, act_by(layer), layer, self.run.recogniser, self.perform)

    def _guide(self, brain: Brain | None = None) -> AnyGuide:
        options = self.options
        if options.known_screens is None:
            return Unguided()
        expect = (lambda: brain.intent.expect) if brain else str
        return Guide(options.known_screens, options.begins, options.ends, expect)

    def _brain(self, layer: str) -> Brain | None:
        if layer != SCRIPT:
            return None
        assert self.options.script is not None
        return self.options.script.brain(self.run.recogniser, self.options.known_screens)

    def _decide(self, brain: Brain | None) -> Decide:
        if brain is None:
            return decide_as_task

        async def decide(walk: Walk, answer_only: bool) -> Step:
            step = await decide_by_script(walk, brain)
            # A script says of each step whether it is safe to repeat, whatever is written on its target.
            walk.safe_to_repeat = ("*",) if brain.intent.safe else self.options.retry_click
            return step

        return decide

    def _facts(self, why: str) -> str:
        """Say in a line what the next layer should know of the one before."""
        notes = [entry.step.note for entry in self.walk.transcript.entries if isinstance(entry, Did)]
        noted = "; ".join([note for note in notes if note][-NOTES:])
        return f"The {self.layer} tried this before and gave up: {why}" + (f" Noted: {noted}" if noted else "")

    def _begin_anew(self, fact: str) -> None:
        """Give the next one at it an empty history; steps are counted on."""
        self.walk = replace(
            self.walk,
            transcript=Transcript(f"{self._task}\n\n{fact}"),
            seen=None,
            _corrections=None,
            _attempt=0,
            _asked=False,
            _spans={},
            whereabouts=None,
            safe_to_repeat=self.options.retry_click,
        )

    def _check_windows(self) -> None:
        if self.options.known_screens is not None:
            self.run.watch(self.options.known_screens)

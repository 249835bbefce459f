"""Playbooks as tools of the model (macros): their definition, and their execution when the model calls one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from prefect import tags

from holo_tasks.agent.agent_step import step_as_task
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.prompts.macros import Macro, check_macros
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import MacroCall, label
from holo_tasks.core.texts.outside_text import quoted
from holo_tasks.loop.executor import Executor, Perform
from holo_tasks.loop.guide import AnyGuide, Guide, NoGuide
from holo_tasks.loop.loop import Answered
from holo_tasks.loop.loop import pursue as run_loop
from holo_tasks.loop.presses.press_once import EffectButtons
from holo_tasks.loop.screens import Scripted
from holo_tasks.loop.script_port import Brain, apply_intent
from holo_tasks.loop.walk import Walk
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_context import as_current_walk
from holo_tasks.run.subgoal_options import MODEL, SubgoalOptions
from holo_tasks.scripts.script import Script


@runtime_checkable
class Tool(Protocol):
    """A tool that can be offered to the model, such as a `Script` of a playbook."""

    def macro(self) -> Macro:
        """Return the definition of the tool for the model."""
        ...

    @property
    def layer(self) -> str:
        """Name of the layer for its actions in traces and reports."""
        ...

    def given(self, values: Any) -> Scripted:
        """Return the script with these values. Raises `InvalidUsage` if they do not fit."""
        ...


@dataclass(frozen=True)
class Macros:
    """The playbooks that the model of a sub-goal may call."""

    run: Run
    options: SubgoalOptions
    perform: Perform
    tools: Sequence[tuple[Macro, Tool]] = ()

    def offered_to(self, model: Model) -> Model:
        """Return the model with these tools in addition to its own."""
        if not self.tools:
            return model
        return replace(model, dialect=model.dialect.offering([macro for macro, _ in self.tools]))

    async def do(self, walk: Walk, call: MacroCall, effect_buttons: EffectButtons, most_steps: int) -> tuple[str, bool]:
        """Run the playbook that the model called. Return the reply for the model, and whether it is an error.

        The playbook's actions pass the same checks as the model's actions, and count like them. Only a `GaveUp` becomes
        a reply. Limits, refusals, kills and faults end the sub-goal.
        """
        tool = next(tool for macro, tool in self.tools if macro.name == call.name)
        try:
            given = tool.given(call.arguments)
            brain = given.brain(self.run.recognizer, self.options.known_screens)
        except InvalidUsage as error:
            return f"{call.name} was not started: {error}", True
        effect_buttons.declare(press_once_of(given))
        aside, begun, layer = walk.walk_for_macro(call.name), walk.step, tool.layer
        # The work is passed by context: Prefect searches parameters for task results, field by field.
        mark = _sequence.set(lambda: self._sequence(aside, brain, layer, effect_buttons, most_steps))
        try:
            with as_current_walk(aside), tags(f"layer:{layer}"):
                ended = await _macro(begun, label(call))
        finally:
            _sequence.reset(mark)
            walk.continue_from(aside)
            await brain.close()
        if isinstance(ended, _BodyExit):
            raise ended.error
        taken = walk.step - begun
        if isinstance(ended, GaveUp):
            reported = f"{call.name} gave up at its step {taken}. Its earlier steps are done. Look at the screen."
            return f"{reported}\n{quoted({'why': str(ended)})}", True
        return f"Done: {call.name}, in {taken} steps.\n{quoted({'answer': ended.text})}", False

    async def _sequence(
        self, walk: Walk, brain: Brain, layer: str, effect_buttons: EffectButtons, most_steps: int
    ) -> Answered[str]:
        async def decide(walk: Walk, answer_only: bool) -> Step:
            step = await brain.decide(walk)
            apply_intent(walk, brain.intent, self.options.retry_click)
            return step

        async def act(walk: Walk, step: Step) -> str:
            return await walk.act(step)

        return await run_loop(
            Executor(walk, act, layer, self.run.recognizer, self.perform),
            read=lambda text: text,
            decide=decide,
            max_steps=most_steps,
            guide=self._guide(brain),
            effect_buttons=effect_buttons,
            is_last_layer=False,
        )

    def _guide(self, brain: Brain) -> AnyGuide:
        """Return a guide that clears interruptions. The sub-goal's first and last state do not apply to a macro."""
        if self.options.known_screens is None:
            return NoGuide()
        return Guide(self.options.known_screens, expect=lambda: brain.intent.expect)


@dataclass(frozen=True)
class _BodyExit:
    """An exception that ends the sub-goal's body without failing the task."""

    error: BaseException


_sequence: ContextVar[Callable[[], Awaitable[Answered[str]]]] = ContextVar("holo_macro")


@step_as_task(acts=True, title="{number} · {what}")
async def _macro(number: int, what: str) -> Answered[str] | GaveUp | _BodyExit:
    """Run a whole playbook as one task. Its steps are in the trace. A `GaveUp` does not fail the task."""
    try:
        return await _sequence.get()()
    except GaveUp as error:
        return error
    except (asyncio.CancelledError, Exception):
        raise
    except BaseException as left:  # such as `EffectFound`
        return _BodyExit(left)


def press_once_of(script: object) -> tuple[str, ...]:
    """Return the labels of the buttons that have a playbook's effect. Empty if ``script`` is not a playbook."""
    return script.press_once if isinstance(script, Script) else ()


def macros_of(run: Run, options: SubgoalOptions, perform: Perform, tools: Sequence[Any]) -> Macros:
    """Return the tools of a sub-goal. Raises `InvalidUsage` if one is not a playbook, or if no layer is the model."""
    for tool in tools:
        if not isinstance(tool, Tool):
            raise InvalidUsage(f"tools= holds Script(…) of playbooks, not {tool!r}.")
    if tools and MODEL not in options.order:
        raise InvalidUsage("tools= are for the model, which is not among the layers= here: add 'model'.")
    offered = [(tool.macro(), tool) for tool in tools]
    check_macros([macro for macro, _ in offered])
    return Macros(run, options, perform, offered)

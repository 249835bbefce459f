"""Playbooks as tools of the model: what it is offered, and what is done when it calls one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from prefect import tags

from holo_tasks.agent.agent_step import step_as_task
from holo_tasks.core.actions import MacroCall, label
from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.macros import Macro, check_macros
from holo_tasks.core.model import Model
from holo_tasks.core.outside import quoted
from holo_tasks.core.step import Step
from holo_tasks.loop.executor import Executor, Perform
from holo_tasks.loop.guide import AnyGuide, Guide, Unguided
from holo_tasks.loop.loop import Answered
from holo_tasks.loop.loop import pursue as run_loop
from holo_tasks.loop.press_once import Once
from holo_tasks.loop.screens import Scripted
from holo_tasks.loop.script_port import Brain, heed
from holo_tasks.loop.walk import Walk
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_context import stepping
from holo_tasks.run.subgoal_options import MODEL, SubgoalOptions
from holo_tasks.scripts.script import Script


@runtime_checkable
class Tool(Protocol):
    """What the model can be offered beside its own tools: a `Script` of a playbook."""

    def macro(self) -> Macro:
        """Return it as a model knows it."""
        ...

    @property
    def layer(self) -> str:
        """What it is called where it is told who did something."""
        ...

    def given(self, values: Any) -> Scripted:
        """Return the script with these values; raise `InvalidUsage` if they do not fit."""
        ...


@dataclass(frozen=True)
class Macros:
    """The playbooks that the model of a sub-goal may call, and how they are done: as the layer of a script is."""

    run: Run
    options: SubgoalOptions
    perform: Perform
    tools: Sequence[tuple[Macro, Tool]] = ()

    def offered_to(self, model: Model) -> Model:
        """Return the model with these tools beside its own."""
        if not self.tools:
            return model
        return replace(model, dialect=model.dialect.offering([macro for macro, _ in self.tools]))

    async def do(self, walk: Walk, call: MacroCall, once: Once, most_steps: int) -> tuple[str, bool]:
        """Do what the model has called; return what it is told of that, and whether it went wrong.

        It passes the very doors that the model's own actions pass, and counts as they do. Only that it gives up is told
        to the model: limits, refusals, kills and faults end the sub-goal.
        """
        tool = next(tool for macro, tool in self.tools if macro.name == call.name)
        try:
            given = tool.given(call.arguments)
            brain = given.brain(self.run.recognizer, self.options.known_screens)
        except InvalidUsage as error:
            return f"{call.name} was not begun: {error}", True
        once.declare(press_once_of(given))
        aside, begun, layer = walk.aside(call.name), walk.step, tool.layer
        # By context, not as parameters: Prefect looks for task results inside those, field by field.
        mark = _sequence.set(lambda: self._sequence(aside, brain, layer, once, most_steps))
        try:
            with stepping(aside), tags(f"layer:{layer}"):
                ended = await _macro(begun, label(call))
        finally:
            _sequence.reset(mark)
            walk.back_from(aside)
            await brain.close()
        if isinstance(ended, _Left):
            raise ended.error
        taken = walk.step - begun
        if isinstance(ended, GaveUp):
            told = f"{call.name} gave up at its step {taken}; what it did before that is done. Look at the screen."
            return f"{told}\n{quoted({'why': str(ended)})}", True
        return f"Done: {call.name}, in {taken} steps.\n{quoted({'answer': ended.text})}", False

    async def _sequence(self, walk: Walk, brain: Brain, layer: str, once: Once, most_steps: int) -> Answered[str]:
        async def decide(walk: Walk, answer_only: bool) -> Step:
            step = await brain.decide(walk)
            heed(walk, brain.intent, self.options.retry_click)
            return step

        async def act(walk: Walk, step: Step) -> str:
            return await walk.act(step)

        return await run_loop(
            Executor(walk, act, layer, self.run.recognizer, self.perform),
            read=lambda text: text,
            decide=decide,
            max_steps=most_steps,
            guide=self._guide(brain),
            once=once,
            last=False,
        )

    def _guide(self, brain: Brain) -> AnyGuide:
        """Return what clears the screen for it: where the sub-goal begins and ends does not hold for a part of it."""
        if self.options.known_screens is None:
            return Unguided()
        return Guide(self.options.known_screens, expect=lambda: brain.intent.expect)


@dataclass(frozen=True)
class _Left:
    """What ends the sub-goal's body, and is no failure of the task."""

    error: BaseException


_sequence: ContextVar[Callable[[], Awaitable[Answered[str]]]] = ContextVar("holo_macro")


@step_as_task(acts=True, title="{number} · {what}")
async def _macro(number: int, what: str) -> Answered[str] | GaveUp | _Left:
    """Do a whole sequence as one task: its steps are in the trace. That it gives up is no failure of the task."""
    try:
        return await _sequence.get()()
    except GaveUp as error:
        return error
    except (asyncio.CancelledError, Exception):
        raise
    except BaseException as left:  # such as that the effect was found to be there
        return _Left(left)


def press_once_of(script: object) -> tuple[str, ...]:
    """Return what is written on what has the effect of a playbook; nothing for whatever is none."""
    return script.press_once if isinstance(script, Script) else ()


def macros_of(run: Run, options: SubgoalOptions, perform: Perform, tools: Sequence[Any]) -> Macros:
    """Return what a sub-goal offers its model as tools. Raises `InvalidUsage` for what cannot be offered."""
    for tool in tools:
        if not isinstance(tool, Tool):
            raise InvalidUsage(f"tools= holds Script(…) of playbooks, not {tool!r}.")
    if tools and MODEL not in options.order:
        raise InvalidUsage("tools= are offered to the model, which is none of the layers= here: add 'model'.")
    offered = [(tool.macro(), tool) for tool in tools]
    check_macros([macro for macro, _ in offered])
    return Macros(run, options, perform, offered)

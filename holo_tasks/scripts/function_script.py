"""Run a script in Python: its function runs as a task next to the walk, one action at a time.

`FunctionBrain` is the brain of such a script. `values_of` checks the arguments of its function.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, create_model

from holo_tasks.core.errors import GaveUp, InvalidUsage
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import StepResult
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.states import Mark, Recognizer, State
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.script_port import Intent
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.params import checked_by
from holo_tasks.scripts.script_view import SCRIPT, OutcomeReader, ScreenNeeds, ScreenReader
from holo_tasks.vision.screen_text import Sight

Function: TypeAlias = Callable[..., Awaitable[Any]]
CLOSE_S = 10.0


class FunctionBrain:
    """Runs a script's function next to the walk.

    Each of its actions becomes a step, whose outcome the function waits for.
    """

    def __init__(
        self,
        function: Function,
        values: Mapping[str, Any],
        eyes: ScreenReader,
        recognizer: Recognizer,
        screens: Screens | None,
    ) -> None:
        self.intent = Intent()
        self.folder = Path(inspect.getfile(function)).parent
        self._function, self._values = function, values
        self._reader, self._outcomes = eyes, OutcomeReader()
        self._recognizer, self._screens = recognizer, screens
        self._walk: Walk | None = None
        self._work: asyncio.Task[Any] | None = None
        self._step: asyncio.Future[tuple[Step, Intent]] | None = None
        self._told: asyncio.Future[StepResult | None] | None = None

    async def decide(self, walk: Walk) -> Step:
        """Run the function up to its next action or its end. Its return value is the answer."""
        outcome = self._outcomes.last_outcome(walk)
        self._walk = walk
        self._step = asyncio.get_running_loop().create_future()
        if self._work is None:
            self._work = asyncio.ensure_future(self._function(Hands(self), **self._values))
        elif self._work.done():
            raise GaveUp(f"The script's answer was not accepted: {outcome[1].text if outcome else ''}", layer=SCRIPT)
        elif self._told is not None:
            self._told.set_result(_read_back(outcome[1], walk) if outcome else None)
        await self._step_or_end(walk)
        if self._step.done():
            step, self.intent = self._step.result()
        else:
            assert self._work is not None
            step, self.intent = _answer(self._work.result()), Intent()
        self._outcomes.remember(step, walk)
        return step

    async def close(self) -> None:
        """Cancel the function if it still runs. A function that cannot be cancelled within 10 s is abandoned."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=CLOSE_S)

    async def offer(self, step: Step, intent: Intent) -> StepResult | None:
        """Hand over the next step; return its outcome, or ``None`` if it was not done."""
        if self._step is None or self._step.done():
            raise InvalidUsage(
                "A script does one action at a time. Await each action of its hands before the next one."
            )
        self._told = asyncio.get_running_loop().create_future()
        self._step.set_result((step, intent))
        return await self._told

    async def sight(self, needs: ScreenNeeds) -> Sight:
        """Return the contents of the walk's newest screen."""
        return await self._reader.sight(self._walking, needs)

    async def shows(self, what: str | State | Mark) -> bool:
        """Return whether the newest screen is in a state, or shows a mark or a text."""
        if isinstance(what, str):
            known = {} if self._screens is None else {state.name: state for state in self._screens.candidates}
            if what not in known:
                return (await self.sight(ScreenNeeds.TEXT)).has(what)
            what = known[what]
        state = what if isinstance(what, State) else State("what is waited for", what)
        seen = self._walking.seen
        return seen is not None and await self._recognizer.holds(seen.frame, state)

    def frame(self) -> Frame:
        """Return the walk's newest frame."""
        assert self._walking.seen is not None
        return self._walking.seen.frame

    def now_s(self) -> float:
        """Return the time of the walk's clock in seconds."""
        return self._walking.services.now_s()

    @property
    def _walking(self) -> Walk:
        assert self._walk is not None
        return self._walk

    async def _step_or_end(self, walk: Walk) -> None:
        """Wait for the function's next action or its end, until the deadline."""
        assert self._work is not None
        assert self._step is not None
        waiting: set[asyncio.Future[Any]] = {self._work, self._step}
        while not any(one.done() for one in waiting):
            deadline_s, now_s = walk.guard.deadline_s, walk.services.now_s()
            walk.guard.check_time(now_s)
            patience_s = None if deadline_s is None else max(0.01, deadline_s - now_s)
            await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)


def model_of(function: Function) -> type[BaseModel]:
    """Return a model that checks a script's values: all parameters of its function but the first, its `Hands`."""
    if not inspect.iscoroutinefunction(function):
        raise InvalidUsage(f"A script in Python is an async function (async def), not {function!r}.")
    name, parameters = function.__name__, list(inspect.signature(function).parameters.values())
    if not parameters:
        raise InvalidUsage(f"The script {name} has no parameter for its hands; write async def {name}(hands).")
    types = inspect.get_annotations(function, eval_str=True)
    fields: dict[str, Any] = {}
    for one in parameters[1:]:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY):
            raise InvalidUsage(f"The script {name} may take named parameters only, not {one}.")
        if one.name not in types:
            raise InvalidUsage(f"The parameter {one.name!r} of the script {name} has no type; annotate it.")
        fields[one.name] = (types[one.name], ... if one.default is one.empty else one.default)
    try:
        return create_model("Values", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)
    except (PydanticUserError, NameError) as error:
        raise InvalidUsage(f"The script {name} has a parameter whose type cannot be checked: {error}") from None


def values_of(function: Function, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked values for a script's function. Raises `InvalidUsage`."""
    model = model_of(function)
    checked = checked_by(model, f"The script {function.__name__!r}", values)
    return {name: getattr(checked, name) for name in model.model_fields}


def _read_back(result: StepResult, walk: Walk) -> StepResult:
    """Return the outcome of a step, as an error if a field that was typed into holds another text."""
    wrong = "" if result.is_error else walk.typed.problem
    return replace(result, text=wrong, is_error=True) if wrong else result


def _answer(value: Any) -> Step:
    plain = "done" if value is None else TypeAdapter(Any).dump_python(value, mode="json")
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return Step.model_validate(
        {"thought": "The script is done.", "tool_call": {"tool_name": "answer", "content": text}}
    )

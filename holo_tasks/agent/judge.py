"""`judge`: ask a second, stronger model for a judgement, with its own price and budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from holo_tasks.agent.agent_step import agent_step
from holo_tasks.agent.limits import before_deadline
from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage, UnusableReply
from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.limits.budget import Limits
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.model import Model
from holo_tasks.core.screen.frame import Frame, Shot
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.error_text import problems_of
from holo_tasks.core.texts.outside_text import plain, quoted
from holo_tasks.loop.ask_model.ask import Question, QuestionCalls, ask
from holo_tasks.run.run import check_price, current_run, guarded, to_text
from holo_tasks.run.subgoal_context import chances, current_subgoal, side_walk
from holo_tasks.safety.scrubbing import scrub_data, scrub_text

ASKED = "Answer a question for a person. Say in one sentence why, then give the verdict."


@dataclass(frozen=True)
class _Case:
    question: str
    returns: Any
    model: Model
    region: Box | None
    look: bool
    calls: QuestionCalls
    frame: Frame | None = None


@dataclass(frozen=True)
class _Still:
    """A desktop that shows one fixed frame, for a question about that frame."""

    frame: Frame

    @property
    def display(self) -> str:
        return self.frame.display

    async def look(self, *, after_action: bool = False) -> Frame:
        return self.frame

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        raise InvalidUsage("Nothing can be done on a picture.")

    async def owner_at(self, at: Point | None) -> Owner:
        return Owner(why="it is a picture")


_case: ContextVar[_Case] = ContextVar("holo_case")


async def judge(
    question: str,
    *,
    returns: Any = str,
    facts: Mapping[str, Any] | None = None,
    advisor: str | None = None,
    look: bool = True,
    region: Box | None = None,
    max_cost_usd: float | None = None,
    timeout_seconds: float | None = None,
) -> Any:
    """Ask a model for a judgement and return the verdict as ``returns``, any type that pydantic can validate.

    ``advisor`` names one of the agent's advisors. The default is the sub-goal's advisor, then the only advisor, then
    the agent's model. The model gets ``facts`` as a data block, like the data of `pursue`. It also gets the present
    screen, or its ``region``, unless ``look`` is false.

    ``max_cost_usd`` and ``timeout_seconds`` limit this call. The call is also charged to all guardrails around it, at
    the advisor's price. Raises `InvalidUsage` for an unknown advisor.
    """
    if not question.strip():
        raise InvalidUsage("The question is empty; ask one question in a sentence.")
    text = f"{ASKED}\n\n{question.strip()}"
    if facts:
        text += f"\n\n{quoted(scrub_data(plain(facts)))}"
    case = _Case(text, returns, _advisor(advisor), region, look, chances())
    return await _ask(case, question, Limits(max_cost_usd, None, timeout_seconds))


async def shows(question: str, frame: Frame) -> bool:
    """Ask a yes-or-no question about a frame, which is redacted first. The recognizer of states calls it."""
    asked = f"{ASKED}\n\nLook at the screen. {question.strip()}"
    case = _Case(asked, bool, _advisor(None), None, True, chances(), frame)
    return bool(await _ask(case, question, Limits()))


async def _ask(case: _Case, question: str, limits: Limits) -> Any:
    name = scrub_text(" ".join(question.split()))[:60]
    check_price(case.model.name, case.model.price, limits)
    token = _case.set(case)
    try:
        with guarded(f"‘{name}’", limits) as guard:
            return await before_deadline(guard, _judged(name))
    finally:
        _case.reset(token)


@agent_step(acts=False, title="judge: {question}")
async def _judged(question: str) -> Any:
    case = _case.get()
    walk = side_walk(case.question, region=case.region, model=case.model)
    if case.frame is not None:
        walk.services = replace(walk.services, desktop=_Still(case.frame))
    shots: tuple[Shot, ...] = ((await walk.look()).shot,) if case.look else ()
    shape = create_model(
        "Judgement",
        __config__=ConfigDict(extra="forbid"),
        reason=(str, ...),
        verdict=(case.returns, ...),
    )

    def read(value: dict[str, Any]) -> BaseModel:
        try:
            # In JSON mode a strict type accepts texts for dates and decimals, and arrays for tuples.
            return shape.model_validate_json(json.dumps(value))
        except ValidationError as error:
            problems = "; ".join(one.text("reply") for one in problems_of(error)[:3])
            raise UnusableReply(
                f"the verdict does not have the required form ({problems})",
                correction=f"Your last reply did not have the required form: {problems}.",
            ) from None

    wanted = Question("judge", case.question, shots, shape.model_json_schema(), thinking=True)
    found: Any = await ask(case.model, wanted, walk.call_account, read, case.calls)
    answer = to_text(found.model_dump(mode="json")["verdict"])
    await walk.record(
        events.JudgedQuestion(question=case.question, model=case.model.name, answer=answer, reason=found.reason)
    )
    return found.verdict


def _advisor(name: str | None) -> Model:
    run, here = current_run(), current_subgoal()
    wanted = name or (here.advisor if here else "")
    if wanted:
        if wanted not in run.advisors:
            known = ", ".join(run.advisors) or "none"
            raise InvalidUsage(f"There is no advisor named {wanted!r}; the agent was opened with: {known}.")
        return run.advisors[wanted]
    return next(iter(run.advisors.values())) if len(run.advisors) == 1 else run.outside.model

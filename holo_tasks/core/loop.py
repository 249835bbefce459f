"""The loop: look, decide, act, verify, until the model answers or a limit is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from holo_tasks.core import events
from holo_tasks.core.actions import AnswerCall, AskHumanCall
from holo_tasks.core.errors import (
    HoloError,
    InvalidUsage,
    LimitReached,
    ModelFailed,
    NeedsPerson,
    ScreenChanged,
    SecretRefused,
    StoreLost,
)
from holo_tasks.core.step import Step
from holo_tasks.core.stuck import stuck
from holo_tasks.core.walk import Walk

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AnswerReader(Protocol[T_co]):
    """Turns an answer's text into the sub-goal's return type; raises ValueError with what is wrong."""

    def __call__(self, text: str) -> T_co: ...


Decide = Callable[[Walk, bool], Awaitable[Step]]
Act = Callable[[Walk, Step], Awaitable[str]]


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What a sub-goal came to: the value, the text it was read from, and how many steps it took."""

    value: T
    text: str
    steps: int


async def pursue(walk: Walk, *, read: AnswerReader[T], decide: Decide, act: Act, max_steps: int) -> Answered[T]:
    """Work on a sub-goal until it is answered.

    ``decide`` and ``act`` are the walk's own methods, possibly wrapped into tasks. Raises a `HoloError`
    whose status is how the run ends; at the step limit its ``partial_answer`` is the best answer so far.
    """
    rejected = False
    stock = Stock()
    await walk.look()
    walk.begin()
    while True:
        if walk.step >= max_steps:
            raise await _out_of_steps(walk, decide, max_steps)
        walk.step += 1
        started = walk.doors.now_s()
        step = await decide(walk, False)
        before = walk.seen  # by now: a model that was unsure was shown the screen again
        await walk.decided(step)
        call = step.tool_call
        if isinstance(call, AnswerCall):
            try:
                return Answered(read(call.content), call.content, walk.step)
            except ValueError as error:
                problem = " ".join(str(error).split())[:600]
                if rejected:
                    raise ModelFailed(
                        f"The model's answer does not fit what was asked for, twice: {problem}."
                    ) from None
                rejected = True
                await walk.record(events.Corrected(reason=f"the answer does not fit: {problem}"))
                await walk.look()
                walk.remember(step, f"The answer does not fit what was asked for: {problem}", is_error=True)
                continue
        if isinstance(call, AskHumanCall) and walk.doors.person is not None:
            told = await walk.doors.person.help(walk, call.question)
            await walk.look()
            walk.remember(step, told)
            continue
        if isinstance(call, AskHumanCall):
            await walk.record(events.HandedOver(question=call.question))
            raise NeedsPerson(f"The agent needs a person: {call.question}")
        try:
            told = await act(walk, step)
            is_error = False
        except StoreLost:
            raise
        except ScreenChanged as error:
            await walk.look_after_change(step, str(error), started_s=started)
            await stock.take(walk)
            continue
        except (InvalidUsage, SecretRefused) as error:
            # Nothing was sent to the screen: the model asked for something hands cannot do.
            told, is_error = str(error), True
        assert before is not None
        sentence = await walk.verify(before, call, started_s=started)
        walk.remember(step, f"{told} {sentence}", is_error=is_error)
        await stock.take(walk)


@dataclass
class Stock:
    """When the model was last told that it is stuck: first in words, later with pictures of what it did."""

    since: int = 0
    times: int = 0

    async def take(self, walk: Walk) -> None:
        """Tell the model if it is going round in circles, but not at every step."""
        transcript = walk.transcript
        reason = stuck(transcript.turns[max(0, self.since - transcript.left_out) :])
        if not reason:
            return
        self.since, self.times = transcript.left_out + len(transcript.turns), self.times + 1
        strip = await walk.take_stock(pictures=self.times > 1)
        await walk.record(events.TookStock(reason=reason, strip=strip))


async def _out_of_steps(walk: Walk, decide: Decide, max_steps: int) -> LimitReached:
    """Ask once for the best answer so far; whatever comes of that, the limit was reached."""
    partial = None
    try:
        final = await decide(walk, True)
        await walk.decided(final)
        if isinstance(final.tool_call, AnswerCall):
            partial = final.tool_call.content
    except HoloError as error:
        await walk.record(events.Corrected(reason=f"no partial answer at the step limit: {error}"))
    return LimitReached(
        f"The goal was not reached within {max_steps} steps; raise --max-steps or split the goal.",
        limit="max_steps",
        partial_answer=partial,
    )

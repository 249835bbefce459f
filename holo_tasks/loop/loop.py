"""The loop: look, decide, act, verify, until the model answers or a limit is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from holo_tasks.core import events
from holo_tasks.core.actions import AnswerCall, AskHumanCall
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
from holo_tasks.core.step import Step
from holo_tasks.loop.corrections import came, often
from holo_tasks.loop.guide import Act, Guide, escape
from holo_tasks.loop.press_once import Once, named
from holo_tasks.loop.stuck_recovery import BACK, Stock
from holo_tasks.loop.walk import Walk

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AnswerReader(Protocol[T_co]):
    """Turns an answer's text into the sub-goal's return type; raises ValueError with what is wrong."""

    def __call__(self, text: str) -> T_co: ...


Decide = Callable[[Walk, bool], Awaitable[Step]]


@dataclass(frozen=True)
class Answered(Generic[T]):
    """What a sub-goal came to: the value, the text it was read from, and how many steps it took."""

    value: T
    text: str
    steps: int


async def pursue(
    walk: Walk,
    *,
    read: AnswerReader[T],
    decide: Decide,
    act: Act,
    max_steps: int,
    guide: Guide | None = None,
    once: Once | None = None,
    layer: str = "model",
    last: bool = True,
) -> Answered[T]:
    """Work on a sub-goal until it is answered.

    ``decide`` and ``act`` are the walk's own methods, possibly wrapped into tasks. ``guide`` knows the program's
    screens, ``once`` the actions that are not done twice. ``layer`` is who decides; of one that is not the ``last`` no
    best answer so far is asked for. Raises a `HoloError` whose status is how the run ends; at the step limit its
    ``partial_answer`` is the best answer so far.
    """
    rejected, unfinished = 0, False
    scripted = layer != "model"
    stock = Stock(lambda: _back(walk, guide, act), layer, times=BACK - 1 if scripted else 0)
    first, expected = walk.step, ""
    await walk.look()
    if guide is not None:
        walk.whereabouts = guide.whereabouts
        await guide.begin(walk)
    walk.begin()
    while True:
        if guide is not None:
            await guide.clear(walk)
            if expected:
                await guide.arrive(walk, expected)
            expected = ""
            walk.show(guide.said())
        if walk.step - first >= max_steps:
            raise await _out_of_steps(walk, decide, max_steps, layer=layer, last=last)
        walk.step += 1
        started = walk.doors.now_s()
        step = await decide(walk, once is not None and once.ended(guide))
        before = walk.seen  # by now: a model that was unsure was shown the screen again
        await walk.decided(step, scripted=scripted)
        call = step.tool_call
        if isinstance(call, AnswerCall):
            try:
                value = read(call.content)
            except ValueError as error:
                problem = " ".join(str(error).split())[:600]
                if rejected >= walk.doors.corrections:
                    raise ModelFailed(
                        f"The model's answer does not fit what was asked for{often(rejected)}: {problem}. "
                        f"It answered {came(call.content) or 'nothing'}."
                    ) from None
                rejected += 1
                await walk.record(events.Corrected(reason=f"the answer does not fit: {problem}"))
                await walk.look()
                walk.remember(step, f"The answer does not fit what was asked for: {problem}", is_error=True)
                continue
            problem = await guide.accept(walk) if guide is not None else ""
            if not problem:
                return Answered(value, call.content, walk.step)
            if unfinished:
                raise GaveUp(problem, layer=layer)
            unfinished = True
            await walk.record(events.Corrected(reason=problem))
            walk.remember(step, problem, is_error=True)
            continue
        if isinstance(call, AskHumanCall) and walk.doors.person is not None:
            told = await walk.doors.person.help(walk, call.question)
            await walk.look()
            walk.remember(step, told)
            continue
        if isinstance(call, AskHumanCall):
            await walk.record(events.HandedOver(question=call.question))
            raise GaveUp(f"The agent needs a person: {call.question}", layer=layer)
        pressed = await once.pressed_by(walk, step) if once is not None else frozenset[str]()
        if once is not None and once.was_pressed(pressed):
            told = await once.again(walk, pressed, guide)
            await walk.record(events.Corrected(reason=told))
            walk.remember(step, told, is_error=True)
            continue
        if once is not None and pressed and once.too_often(walk, step):
            told = f"{named(pressed)} has an effect each time it is pressed: press it once only. Nothing was done."
            await walk.record(events.Corrected(reason=told))
            walk.remember(step, told, is_error=True)
            continue
        promised = guide.promised() if guide is not None else ""
        try:
            if once is not None:
                once.pressed |= pressed  # first: whatever comes of it
            told = await act(walk, step)
            is_error = False
        except StoreLost:
            raise
        except ScreenChanged as error:
            if once is not None:
                once.pressed -= pressed  # nothing was sent
            if guide is not None:
                guide.surprised()
            await walk.look_after_change(step, str(error), started_s=started)
            await stock.take(walk)
            continue
        except (InvalidUsage, SecretRefused) as error:
            # The model asked for something hands cannot do. Nothing was sent, or a few signs of a secret at most.
            if once is not None:
                once.pressed -= pressed
            told, is_error = str(error), True
        assert before is not None
        sentence = await walk.verify(before, call, started_s=started, repeat=not pressed)
        expected = "" if is_error else promised
        walk.remember(step, f"{told} {sentence}", is_error=is_error)
        await stock.take(walk)


async def _back(walk: Walk, guide: Guide | None, act: Act) -> str:
    return await (guide.backtrack(walk) if guide is not None else escape(walk, act))


async def _out_of_steps(walk: Walk, decide: Decide, max_steps: int, *, layer: str, last: bool) -> LimitReached | GaveUp:
    """Ask once for the best answer so far; whatever comes of that but a kill, the limit was reached."""
    if not last:
        return GaveUp(f"The goal was not reached within {max_steps} steps.", layer=layer)
    partial = None
    try:
        final = await decide(walk, True)
        await walk.decided(final)
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

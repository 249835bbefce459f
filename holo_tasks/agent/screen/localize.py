"""`localize`: find an element on the screen, as a task for every flow with an agent."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from holo_tasks.agent.agent_step import agent_step
from holo_tasks.agent.screen.named_element import By, Named, named_element
from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.toolbox import point_schema, read_point
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.texts.outside_text import plain, quoted
from holo_tasks.loop.ask_model.ask import Question, QuestionCalls, ask
from holo_tasks.loop.walk import Walk
from holo_tasks.models.questions import locate
from holo_tasks.run.subgoal_context import chances, side_walk
from holo_tasks.safety.scrubbing import scrub_data
from holo_tasks.set_of_mark.marker import Marker

Who: TypeAlias = Literal["any", "model"]
"""Source of a place: any source, or the model only."""
WHICH = (
    "Elements of the user interface are outlined on this screenshot, each with a number on a tag. Give the number of "
    "one element, or 0 if it is not outlined. The element is: {}"
)


@dataclass(frozen=True)
class _Search:
    region: Box | None
    marks: bool
    data: str
    calls: QuestionCalls
    by: Who = "any"


_search: ContextVar[_Search] = ContextVar("holo_search")


async def localize(
    description: str,
    *,
    data: Mapping[str, Any] | None = None,
    region: Box | None = None,
    marks: bool = False,
    by: Who = "any",
) -> Point:
    """Return the screen pixel at which to click the described element, on the present screen.

    A description by role and name, such as “the Search button” or “the field Reference”, may cost no call. The element
    is then found in the accessibility tree, else by OCR, if exactly one element fits and the picture agrees. Otherwise,
    and with ``by="model"``, the model is asked. The trace has the source (`Located.by`).

    Put values from outside into ``data``, as in `pursue`, and refer to them by name. ``region`` limits the picture to
    a part of the screen, in screen pixels. With ``marks``, elements found by OCR and by their edges are numbered on
    the picture, and the model chooses a number (set-of-mark prompting). Needs an open agent, which is charged. Raises
    `ModelFailed` if the model names no place.
    """
    if not description.strip():
        raise InvalidUsage("There is nothing to locate: describe the element in a few words.")
    if by not in get_args(Who):
        raise InvalidUsage(f'by= is "any" or "model", not {by!r}.')
    # Passed by context, so that the count of questions goes on when the task is retried.
    block = f"\n\n{quoted(scrub_data(plain(data)))}" if data else ""
    token = _search.set(_Search(region, marks, block, chances(), by))
    try:
        return await _located(description)
    finally:
        _search.reset(token)


@agent_step(acts=False, title="locate ‘{description}’")
async def _located(description: str) -> Point:
    search, wanted = _search.get(), description.strip()
    walk = side_walk(wanted, region=search.region)
    if search.marks:
        point, number = await _by_number(walk, wanted, search.calls)
        return await _record_place(walk, wanted, point, "model", number)
    await walk.look()
    found = await named_element(walk, wanted) if search.by == "any" and not search.data else Named()
    point = found.at or await _by_place(walk, wanted, search.calls)
    return await _record_place(walk, wanted, point, found.by, why=found.why)


async def _record_place(
    walk: Walk, wanted: str, point: Point, by: By, number: int | None = None, *, why: str = ""
) -> Point:
    await walk.record(events.Located(description=wanted, point=[point.x, point.y], mark=number, by=by, why=why))
    return point


async def _by_place(walk: Walk, wanted: str, calls: QuestionCalls) -> Point:
    assert walk.seen is not None
    shot, model = walk.seen.shot, walk.services.model
    question = Question("locate", locate(wanted) + _search.get().data, (shot,), point_schema(model.space))

    def read(value: dict[str, Any]) -> Point:
        return to_pixel(*read_point(value, model.space), shot)

    return await ask(model, question, walk.call_account, read, calls)


async def _by_number(walk: Walk, wanted: str, calls: QuestionCalls) -> tuple[Point, int]:
    marker = Marker()
    shot = (await walk.look(annotate=marker.draw)).shot
    question = Question("locate", WHICH.format(wanted) + _search.get().data, (shot,), marker.schema)
    number = await ask(walk.services.model, question, walk.call_account, marker.read, calls)
    place = marker.point(number, wanted)
    return Point(shot.area.left + place.x, shot.area.top + place.y), number

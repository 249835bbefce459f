"""Propose an interruption of a playbook: something that lay over the page and that the model closed with one press.

`interruption_proposal_of` needs all of this: the press removed the texts around it and changed nothing else, the
playbook then fitted, no text names the item, and the control only closes something. Only a person can tell a notice
from a dialog of the task, so such a proposal is never verified.
"""

from __future__ import annotations

from holo_tasks.compiler.closing_words import agrees_to, closes, has_topic
from holo_tasks.compiler.overlays import MARGIN, around, mark_of, name_of, removed
from holo_tasks.compiler.steps import as_written
from holo_tasks.compiler.targets import is_of_item
from holo_tasks.core.screen.geometry import Point
from holo_tasks.healing.certainty import NotProposed
from holo_tasks.healing.proposal import ModelsStep, Proposal, proposal_for, way_to
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Sight


def interruption_proposal_of(done: ModelsStep) -> Proposal | None:
    """Return the proposed interruption, or ``None`` if the model's step did not close anything.

    Raises `NotProposed` if it closed something that may belong to the task.
    """
    if done.closed is None or done.point is None:
        return None
    on, after = (sight.shown or sight for sight in done.closed)
    pressed = [line for line in on.lines if around(line.box, MARGIN // 4).contains(done.point)]
    shown = [line for line in removed(on, after, done.point) if line not in pressed]
    if any(is_of_item(line.text, [str(value) for value in done.values.values()]) for line in shown):
        raise NotProposed("the window or notice that the model closed names the item, so it may belong to the task")
    mark = mark_of(shown)
    if not mark or after.has(mark):
        return None
    target = _closer(done.point, on, mark)
    words = [*(line.text for line in pressed), (target.name or "") if target is not None else ""]
    topic = any(has_topic(line.text) for line in shown)
    if target is None or not (any(map(closes, words)) or (topic and any(map(agrees_to, words)))):
        raise NotProposed(
            f"the model closed ‘{mark}’ with a control that may do more than that; if it does not, add it under "
            "interruptions: by hand"
        )
    new = {"screen": mark, "do": {"click": as_written(target)}}
    made = proposal_for(done, done.point, "interruption", None, new, verified=False, name=name_of(mark))
    return made.model_copy(update={"step": f"Click {target.words}.", "why": f"‘{mark}’ lay over the page"})


def _closer(point: Point, sight: Sight, mark: str) -> Target | None:
    """Return the control at a point. It is described as below the overlay's mark if that also finds the control."""
    found = way_to(point, sight, {}, of_field=False)
    if found is None or found.is_named or found.relations or mark.endswith("*"):
        return found
    below = found.model_copy(update={"below": mark})
    try:
        return below if find(below, {}, sight).contains(point) else found
    except NotFound:
        return found

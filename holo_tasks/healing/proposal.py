"""A change of a playbook that is proposed: another way to find what a step is done to, or to know its screen."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from holo_tasks.compiler.marks import is_heading, is_label
from holo_tasks.compiler.steps import as_written
from holo_tasks.compiler.targets import target_at, templated
from holo_tasks.core.geometry import Point
from holo_tasks.core.outside import is_placeholder
from holo_tasks.scripts.actions import Action, Target
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.resuming import is_in_field
from holo_tasks.scripts.rules import find, is_visible
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight

Status = Literal["open", "applied", "rejected"]
_PLACE = re.compile(r"\{[a-z_][a-z0-9_]*\}")


class Proposal(BaseModel):
    """A change of one step, by its rule and the place of its action there: ``target``, what it is done to, or
    ``screen``, what its rule knows the screen by.

    ``old`` is how the step finds its target and ``new`` the way that is proposed beside that, as a playbook writes
    them; ``verified`` says that the new way finds just one thing on the new screen, which the model did the step on,
    and that what must come of the step was seen after it. ``run`` is the trace that it comes from, ``times`` how many
    runs proposed it. ``reason`` is what the person says who applied or rejected it, and ``by`` who that is. ``point``
    is where it is on the new picture, in thousandths, and ``old_point`` on the old one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    kind: Literal["target", "screen"] = "target"
    goal: str
    rule: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    place: int
    step: str
    why: str
    old: Any
    new: Any
    verified: bool
    run: str
    times: int = 1
    status: Status = "open"
    reason: str = ""
    by: str = ""
    point: tuple[int, int] = (0, 0)
    old_point: tuple[int, int] | None = None

    @property
    def target(self) -> Target:
        """The way that is proposed; raises ValueError if it is none."""
        return Target.model_validate(self.new)

    @property
    def diff(self) -> list[str]:
        """The change in lines, as one reads a diff."""
        old, new = _yaml(self.old), _yaml(self.new)
        if self.kind == "screen":
            return [f"  rule {self.rule}", f"    screen: {old}", f"  + or_screen: {new}"]
        return [f"  rule {self.rule}: {self.step}", f"  - {old}", f"  + {old}, or: {new}"]


@dataclass(frozen=True)
class ModelsStep:
    """A step that did not fit and that the model did: where, on which screen, and whether it counted as the step.

    ``held`` says whether what must come of it was seen; None where the playbook does not say what that is.
    """

    goal: str
    misfit: Misfit
    values: Mapping[str, Value]
    point: Point | None
    sight: Sight
    counted: bool
    held: bool | None
    run: str


def proposal_of(done: ModelsStep, folder: Path | None = None) -> Proposal | None:
    """Return what a step of the model's proposes; None if it is no other way to find the same target.

    Only what may be known outside this machine gets into it, and no value of an item. A target with a picture is
    changed only where that is of its text and in the playbook's ``folder`` itself.
    """
    targets = done.misfit.action.targets
    if done.misfit.cause not in ("target", "failed", "screen") or not done.counted or done.point is None:
        return None
    if len(targets) != 1 or any(_is_by_picture(way, folder) for way in targets[0].ways):
        return None
    old, shown = targets[0], done.sight.shown or done.sight
    new = _way_to(done.point, shown, done.values, of_field=old.field is not None)
    if new is None or _holds_item(new) or new in old.ways:
        return None
    verified = bool(done.held) and done.misfit.cause != "screen" and _finds(done, old, new)
    return _proposal(done, done.point, "target", as_written(old), as_written(new), verified=verified)


def _is_by_picture(way: Target, folder: Path | None) -> bool:
    """Say whether a way to find a target hangs on a picture, or has one that no name beside the playbook tells."""
    if way.picture is None:
        return False
    return way.text is None or folder is None or way.picture.resolve().parent != folder.resolve()


def screen_proposal_of(done: ModelsStep) -> Proposal | None:
    """Return what a step of the model's proposes where the rule did not know its screen; None if that is not why.

    It is what the rule knows of it that was there all the same, the item among it, and the heading that is there now.
    Nobody but a person can say whether that is this screen and no other one: it is never verified.
    """
    rule, shown = done.misfit.rule, done.sight.shown or done.sight
    known = [wanted for wanted in rule.screen if isinstance(wanted, str)]
    if done.misfit.cause != "screen" or not done.counted or done.point is None or len(known) < len(rule.screen):
        return None
    left = [wanted for wanted in known if is_visible(wanted, done.values, shown)]
    of_item = [wanted for wanted in known if _PLACE.search(wanted)]
    if len(left) == len(known) or not set(of_item) <= set(left) or len(left) == len(of_item):
        return None
    headings = [line.text for line in shown.lines if is_heading(line) and is_label(line, shown, done.values, ())]
    new = [*(text for text in headings[:1] if text not in left), *left]
    if any(set(new) == set(screen) for screen in rule.screens):
        return None
    return _proposal(done, done.point, "screen", known, new, verified=False)


def _proposal(
    done: ModelsStep, point: Point, kind: Literal["target", "screen"], old: Any, new: Any, *, verified: bool
) -> Proposal:
    size = done.sight.size
    identity = json.dumps([done.goal, done.misfit.rule.id, done.misfit.place, kind, new], sort_keys=True)
    return Proposal(
        id=hashlib.sha256(identity.encode()).hexdigest()[:8],
        kind=kind,
        goal=done.goal,
        rule=done.misfit.rule.id,
        place=done.misfit.place,
        step=done.misfit.action.thought,
        why=done.misfit.why,
        old=old,
        new=new,
        verified=verified,
        run=done.run,
        point=(point.x * 1000 // size.width, point.y * 1000 // size.height),
    )


def _way_to(point: Point, shown: Sight, values: Mapping[str, Value], *, of_field: bool) -> Target | None:
    """Return how what is at a point is found on its picture, and nothing else: by words, else as a program tells."""
    found = target_at(point, shown, values)
    if found is None and shown.elements is not None:
        here = [each for each in shown.elements.elements if each.on_screen and each.name and each.box.contains(point)]
        for each in sorted(here, key=lambda each: each.box.width * each.box.height):
            wanted = Target(role=each.role, name=templated(each.name, values))
            if _is_at(wanted, values, shown, point):
                found = wanted
                break
    if found is None or (found.field is not None) != of_field:
        return None
    return found if not of_field or is_in_field(point, shown) else None


def _is_at(target: Target, values: Mapping[str, Value], sight: Sight, point: Point) -> bool:
    try:
        return find(target, values, sight).contains(point)
    except NotFound:
        return False


def _finds(done: ModelsStep, old: Target, new: Target) -> bool:
    """Say whether the step, with the new way beside the old ones, finds on the screen as it was what was pressed."""
    assert done.point is not None
    try:
        alone, together = (find(way, done.values, done.sight) for way in (new, beside(old, new)))
    except NotFound:
        return False
    return alone == together


def beside(old: Target, new: Target) -> Target:
    """Return a target with one more way to find it: the last that is tried."""
    return old.model_copy(update={"or_": (*old.or_, new)})


def changed(action: Action, new: Target) -> Action:
    """Return an action with one more way to find its target."""
    for kind in ("click", "double_click", "right_click", "move_to"):
        if getattr(action, kind) is not None:
            return action.model_copy(update={kind: beside(getattr(action, kind), new)})
    assert action.scroll is not None
    return action.model_copy(update={"scroll": action.scroll.model_copy(update={"at": beside(action.scroll.at, new)})})


def _holds_item(target: Target) -> bool:
    """Say whether a target names what may be of an item, or a secret: a number that is no parameter's."""
    texts = [text for text in (target.text, target.field, target.name, *target.relations.values()) if text]
    return any(is_placeholder(text) or any(map(str.isdigit, _PLACE.sub("", text))) for text in texts)


def _yaml(told: Any) -> str:
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)

"""Propose a change to a playbook: one more target for a step, or one more list of texts for its screen.

`proposal_of` and `screen_proposal_of` make a `Proposal` from a step that the model did.
"""

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
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.texts.outside_text import is_placeholder
from holo_tasks.healing.certainty import check_target, values_of_step
from holo_tasks.scripts.conditions import is_visible
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.loops import LoopPlace
from holo_tasks.scripts.misfit import Misfit
from holo_tasks.scripts.resuming import is_in_field
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Action, Target
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Sight

Status = Literal["open", "applied", "rejected"]
Kind = Literal["target", "screen", "interruption"]
_PLACE = re.compile(r"\{[a-z_][a-z0-9_]*(?::[^{}]+)?\}")


class Proposal(BaseModel):
    """A proposed change of one step, identified by its rule and the place of the action in the rule.

    ``kind`` is ``target`` for one more way to find the step's target. It is ``screen`` for one more list of texts that
    identifies the rule's screen, and ``interruption`` for something that lay over the screen and was closed; its rule
    is then the name of the interruption. ``old`` is the present value and ``new`` the proposed one, as a playbook
    writes them.

    ``verified`` means that the new target is unique on the screen on which the model acted, and that the expected
    result followed. ``run`` is the trace of the first run, and ``times`` counts the runs that proposed it. ``reason``
    and ``by`` are the reason and name of the person who decided. ``point`` is the target on the new picture, in
    thousandths, and ``old_point`` on the old one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    kind: Kind = "target"
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
        """Return the proposed target. Raises ValueError for a proposal of another kind."""
        return Target.model_validate(self.new)

    @property
    def diff(self) -> list[str]:
        """Return the change as lines of a diff."""
        old, new = _yaml(self.old), _yaml(self.new)
        if self.kind == "screen":
            return [f"  rule {self.rule}", f"    screen: {old}", f"  + or_screen: {new}"]
        if self.kind == "interruption":
            return ["  interruptions:", f"  + {self.rule}: {new}"]
        return [f"  rule {self.rule}: {self.step}", f"  - {old}", f"  + {old}, or: {new}"]


@dataclass(frozen=True)
class ModelsStep:
    """A step that did not fit and that the model did instead.

    ``point`` is where the model acted. ``counted`` says whether its action counted as the step. ``held`` says whether
    the expected result was seen, or ``None`` if the playbook names none. ``closed`` are the screens before and after a
    single press that cleared the way. ``place`` is the step as the playbook's file has it, if its goal has loops.
    """

    goal: str
    misfit: Misfit
    values: Mapping[str, Value]
    point: Point | None
    sight: Sight
    counted: bool
    held: bool | None
    run: str
    closed: tuple[Sight, Sight] | None = None
    place: LoopPlace | None = None


def proposal_of(done: ModelsStep, folder: Path | None = None) -> Proposal | None:
    """Return the proposed target, or ``None`` if the model's action does not give another way to the same target.

    The proposal contains only text that may leave this machine, and no value of an item. A target with a picture is
    changed only if it also has a text, and if the picture is in ``folder`` itself. Raises `NotProposed` if the new way
    may mean another control for another item.
    """
    targets = done.misfit.action.targets
    if done.misfit.cause not in ("target", "failed", "screen") or not done.counted or done.point is None:
        return None
    if len(targets) != 1 or any(_is_by_picture(way, folder) for way in targets[0].ways):
        return None
    old, shown = targets[0], done.sight.shown or done.sight
    own = values_of_step(done.place, done.values)
    new = way_to(done.point, shown, own, of_field=old.field is not None)
    if new is None or _holds_item(new) or new in old.ways:
        return None
    check_target(old, new, done.point, shown, done.place, done.values)
    sure = done.misfit.cause != "screen" and not any(way.place for way in old.ways)
    verified = bool(done.held) and sure and _finds(done, old, new)
    return proposal_for(done, done.point, "target", as_written(old), as_written(new), verified=verified)


def _is_by_picture(way: Target, folder: Path | None) -> bool:
    """Return whether a target depends on a picture, or on one outside the playbook's folder."""
    if way.picture is None:
        return False
    return way.text is None or folder is None or way.picture.resolve().parent != folder.resolve()


def screen_proposal_of(done: ModelsStep) -> Proposal | None:
    """Return the proposed list of texts if the rule did not recognize its screen, or ``None`` for another cause.

    The list has the rule's texts that were visible, including the item's, and the present heading. It is never
    verified, since only a person can decide whether this is the same screen.
    """
    rule, shown = done.misfit.rule, done.sight.shown or done.sight
    known = [wanted for wanted in rule.screen if isinstance(wanted, str)]
    if done.misfit.cause != "screen" or not done.counted or done.point is None or len(known) < len(rule.screen):
        return None
    visible = [wanted for wanted in known if is_visible(wanted, done.values, shown)]
    of_item = [wanted for wanted in known if _PLACE.search(wanted)]
    if len(visible) == len(known) or not set(of_item) <= set(visible) or len(visible) == len(of_item):
        return None
    headings = [line.text for line in shown.lines if is_heading(line) and is_label(line, shown, done.values, ())]
    new = [*(text for text in headings[:1] if text not in visible), *visible]
    if any(set(new) == set(screen) for screen in rule.screens):
        return None
    return proposal_for(done, done.point, "screen", known, new, verified=False)


def proposal_for(
    done: ModelsStep, point: Point, kind: Kind, old: Any, new: Any, *, verified: bool, name: str = ""
) -> Proposal:
    """Return a proposal for a step, or for an interruption of a ``name``, in the words of the playbook's file."""
    size, place, misfit = done.sight.size, done.place, done.misfit
    if place is not None:
        old, new = (json.loads(place.as_written(json.dumps(one))) for one in (old, new))
    rule, number = (name, 0) if name else (misfit.rule.id if place is None else place.rule, misfit.place)
    identity = json.dumps([done.goal, rule, number, kind, new], sort_keys=True)
    return Proposal(
        id=hashlib.sha256(identity.encode()).hexdigest()[:8],
        kind=kind,
        goal=done.goal,
        rule=rule,
        place=number,
        step=misfit.action.thought if place is None else place.said,
        why=misfit.why if place is None else place.as_written(misfit.why),
        old=old,
        new=new,
        verified=verified,
        run=done.run,
        point=(point.x * 1000 // size.width, point.y * 1000 // size.height),
    )


def way_to(point: Point, shown: Sight, values: Mapping[str, Value], *, of_field: bool) -> Target | None:
    """Return a target that finds only the control at a point: by text, or else by the accessibility tree."""
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
    """Return whether the new target, alone and after the old ones, finds the control that was pressed."""
    assert done.point is not None
    try:
        alone, together = (find(way, done.values, done.sight) for way in (new, with_alternative(old, new)))
    except NotFound:
        return False
    return alone == together


def with_alternative(old: Target, new: Target) -> Target:
    """Return a target with one more way to find it, which is tried last."""
    return old.model_copy(update={"or_": (*old.or_, new)})


def changed(action: Action, new: Target) -> Action:
    """Return an action with one more way to find its target."""
    for kind in ("click", "double_click", "right_click", "move_to"):
        if getattr(action, kind) is not None:
            return action.model_copy(update={kind: with_alternative(getattr(action, kind), new)})
    assert action.scroll is not None
    return action.model_copy(
        update={"scroll": action.scroll.model_copy(update={"at": with_alternative(action.scroll.at, new)})}
    )


def _holds_item(target: Target) -> bool:
    """Return whether a target contains a secret, or digits outside a parameter, which may be an item's value."""
    texts = [text for text in (target.text, target.field, target.name, *target.relations.values()) if text]
    return any(is_placeholder(text) or any(map(str.isdigit, _PLACE.sub("", text))) for text in texts)


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Find the interruptions in recordings: a tip, a notice or a banner that lay over the page and was closed there.

Such a step is not part of the task. It becomes an interruption of the playbook, which may come at any time or never. A
step counts as one only if all of this holds:

* It is one click on a control that closes something, such as *Close*, *Got it* or a cross.
* It removed the texts around it, and nothing else on the page changed.
* The removed texts contain no value of the item and no part of the answer.
* The press before it did more than to show it.
* The task did not cause it. Its topic says so (tips, cookies, sessions, new versions), or another recording of the same
  goal did the same without it.

Any other press on *OK* or *Close* stays a step of the task, because the program may ask for it each time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holo_tasks.compiler.closing_words import agrees_to, closes, folded, has_topic, may_mean_closing, topic_words
from holo_tasks.compiler.overlays import MARGIN, around, mark_of, name_of, remains, removed
from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import as_written, target_of
from holo_tasks.compiler.targets import is_of_item
from holo_tasks.core.elements.element_anchors import FIELDS
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight

Sights = Mapping[Picture, Sight]


@dataclass(frozen=True)
class Interruption:
    """An overlay that was closed: its step, the texts that it showed, and the two pictures around the click.

    ``has_topic`` is whether its topic shows that the task did not cause it.
    """

    step: RecordedStep
    shown: tuple[Line, ...]
    on: Sight
    after: Sight
    has_topic: bool

    @property
    def mark(self) -> str:
        """The text that identifies it, as a pattern."""
        return mark_of(self.shown)

    @property
    def target(self) -> Target | None:
        """The control that closes it. It is described as below the overlay's mark if that also finds the control."""
        found = target_of(self.step, 0, self.on, {})
        if found is None or found.field is not None:
            return None
        if found.is_named or found.relations or found.text is None or self.mark.endswith("*"):
            return found
        below = found.model_copy(update={"below": self.mark})
        return below if self._finds(below) else found

    def is_seen_only_there(self, others: Sequence[Sight]) -> bool:
        """Return whether its mark and its control are found on its own picture, and the mark on none of ``others``."""
        mark, target = self.mark, self.target
        if not mark or target is None or not self._finds(target) or not self.on.has(mark) or self.after.has(mark):
            return False
        return not any(sight.has(mark) for sight in others)

    def _finds(self, target: Target) -> bool:
        try:
            box = find(target, {}, replace(self.on, elements=None))
        except NotFound:
            return target.is_named and target.text is None  # the tree of the recording has this element
        return around(box, MARGIN // 4).contains(self.step.points[0])

    @property
    def name(self) -> str:
        """A name made of its mark."""
        return name_of(self.mark)

    @property
    def written(self) -> dict[str, Any]:
        """The interruption in the form of a playbook."""
        assert self.target is not None
        return {"screen": self.mark, "do": {"click": as_written(self.target)}}


def without_interruptions(
    chosen: Sequence[Recording], sights: Sights, elsewhere: Sequence[Interruption]
) -> tuple[list[Recording], dict[str, dict[str, Any]]]:
    """Return the recordings without the steps that closed an interruption, and the interruptions by name.

    ``elsewhere`` are those of other sub-goals of the same runs. All are left out that a playbook could not tell from
    the screens of the goal.
    """
    kept, found = [], list[Interruption]()
    for one in chosen:
        closed = [each for each in closed_in(one, sights) if each.has_topic or _is_extra(each, one, chosen, sights)]
        of_it = [each for each in closed if each.is_seen_only_there(_without(each, chosen, sights))]
        found += of_it
        kept.append(_left(one, [each.step for each in of_it]))
    for each in elsewhere:
        if each.has_topic and each.is_seen_only_there(_without(each, kept, sights)):
            found.append(each)
    return kept, {each.name: each.written for each in reversed(found)}


def closed_in(recording: Recording, sights: Sights) -> Iterator[Interruption]:
    """Yield the overlays that a recording closed, without those that the press before them opened."""
    private = [text for text in _values(recording) if len(text) > 2]
    for before, step in zip((None, *recording.steps), recording.steps, strict=False):
        if step.before not in sights or step.after not in sights or not _is_press(step):
            continue
        on, after = sights[step.before], sights[step.after]
        shown = removed(on, after, step.points[0])
        words = _words_on(step, on)
        topic = any(has_topic(line.text) for line in shown)
        wanted = any(_is_asked_for(line.text, recording.goal) for line in shown)
        if not shown or wanted or not (any(map(closes, words)) or (topic and any(map(agrees_to, words)))):
            continue
        texts = [line for line in shown if line.text not in words]
        if before is not None and _opened_it(before, after, sights):
            continue
        if texts and not any(is_of_item(line.text, private) for line in texts):
            yield Interruption(step, tuple(texts), on, after, topic)


def _opened_it(before: RecordedStep, after: Sight, sights: Sights) -> bool:
    """Return whether a press had no other effect than an overlay: the page under it is as before the press.

    A click into a field opens nothing.
    """
    sight = sights.get(before.before)
    if sight is None or before.tool in TYPING:
        return False
    target = target_of(before, 0, sight, {})
    if target is not None and (target.field is not None or target.role in FIELDS):
        return False
    every = [*((line, after) for line in sight.lines), *((line, sight) for line in after.lines)]
    return all(remains(line, other) for line, other in every)


def may_close(step: RecordedStep) -> bool:
    """Return whether a step may have closed something, by the description of its target."""
    said = str(step.arguments.get("element", "")), step.element.get("name", "")
    return _is_press(step) and any(may_mean_closing(text) for text in said if text)


def _without(interruption: Interruption, recordings: Sequence[Recording], sights: Sights) -> list[Sight]:
    """Return the contents of the recordings' pictures, apart from those on which the interruption was."""
    every = dict.fromkeys(picture for one in recordings for picture in one.pictures)
    return [sights[picture] for picture in every if picture != interruption.step.before]


def _is_extra(
    interruption: Interruption, recording: Recording, recordings: Sequence[Recording], sights: Sights
) -> bool:
    """Return whether another recording did the same without an interruption like this one."""
    if not any(map(closes, _words_on(interruption.step, interruption.on))):
        return False
    mine = [step.tool for step in recording.steps if step is not interruption.step]
    for other in recordings:
        shown = any(sights[picture].has(interruption.mark) for picture in other.pictures)
        if other is not recording and not shown and [step.tool for step in other.steps] == mine:
            return True
    return False


def _left(recording: Recording, closed: Collection[RecordedStep]) -> Recording:
    """Return a recording without some steps. The step before a removed one then led to the page without the overlay."""
    steps: list[RecordedStep] = []
    for step in recording.steps:
        if step not in closed:
            steps.append(step)
        elif steps:
            steps[-1] = replace(steps[-1], after=step.after, came_to=step.came_to)
    return replace(recording, steps=tuple(steps)) if steps else recording


def _is_press(step: RecordedStep) -> bool:
    return step.tool == "click" and len(step.points) == 1 and str(step.arguments.get("button", "left")) == "left"


def _words_on(step: RecordedStep, sight: Sight) -> list[str]:
    """Return the words on the pressed control, as the picture or the program has them."""
    pressed = [line.text for line in sight.lines if around(line.box, MARGIN // 4).contains(step.points[0])]
    return [*pressed, *filter(None, [step.element.get("name", "")])]


def _is_asked_for(text: str, goal: str) -> bool:
    """Return whether a goal names the topic of a text, such as the settings for cookies."""
    return any(word in folded(goal) for word in topic_words(text))


def _values(recording: Recording) -> Iterator[str]:
    """Yield the values of a recording's item: its data, its typed texts and its answer."""
    yield from map(str, recording.data.values())
    yield from (str(step.arguments["content"]) for step in recording.steps if "content" in step.arguments)
    yield from re.findall(r'[^{}\[\]",:]+', recording.answer)
    yield from re.findall(r"[\w-]*\d[\w-]*", recording.answer)

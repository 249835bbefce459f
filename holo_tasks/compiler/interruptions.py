"""Find the interruptions in recordings: a tip, a notice or a banner that lay over the page and was closed there.

Such a step is no step of the task. It becomes an interruption of the playbook, which may come at any time or never. A
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

from holo_tasks.compiler.marks import LONGEST, is_heading
from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording
from holo_tasks.compiler.steps import as_written, target_of
from holo_tasks.compiler.targets import is_of_item, is_readable
from holo_tasks.core.elements.element_anchors import FIELDS
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.screen_text import Line, Sight, matches, plain

CLOSING = re.compile(
    r"\W*(close( (the )?(tip|hint|window|dialog|banner|message|notice|notification|panel|this))?|dismiss( all)?|got it|"
    r"hide|not now|maybe later|later|skip( (tour|this|for now))?|no,? thanks|remind me later|x|×|✕|✖)\W*",
    re.IGNORECASE,
)
"""Words on a control that only closes something."""
AGREEING = re.compile(
    r"\W*(ok|okay|continue|understood|i understand|(accept|allow|reject|decline)( all)?( cookies)?|i? ?agree|"
    r"(only )?(necessary|essential)( cookies| only)?|(stay|keep me) (signed|logged) (in|on)|extend( session)?)\W*",
    re.IGNORECASE,
)
"""Words on a control that also agrees to something. They count only together with a topic."""
TOPICS = re.compile(
    r"\b(tips? of the (day|week)|daily tip|did you know|quick tip|tips (and|&) tricks|"
    r"(uses?|accept|about|our|these|all|necessary) cookies|cookie (settings|policy|consent|preferences|notice)|"
    r"session (will|is|has|is about to)\b.*|session (warning|time-?out)|signed out soon|what.?s new|"
    r"new (version|features?)|updates? (is |are )?available|software update|release notes|newsletter|"
    r"(allow|show|enable|turn on) notifications|survey|rate (us|this)|give (us )?feedback|getting started|"
    r"welcome (to|back)|take a tour)\b",
    re.IGNORECASE,
)
"""Topics of texts that programs and pages show by themselves."""
MARGIN = 60
"""The distance in pixels from the texts of an overlay to its edge."""
LARGEST = 0.6
"""The largest share of the picture that the texts of an overlay may take."""
LEAST_WORDS, MOST_WORDS = 3, 5
"""The fewest and the most words of a part of a text that identify an overlay."""
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
        """The text that identifies it, as a pattern: the text with its topic, its heading, or its first text."""
        texts = [line for line in self.shown if is_readable(line.text)]
        ranked = sorted(texts, key=lambda line: (not TOPICS.search(line.text), not is_heading(line), line.box.top))
        marks = (_fixed_part(line.text.strip().replace("*", "")) for line in ranked)
        return next(filter(None, marks), "")

    @property
    def target(self) -> Target | None:
        """The control that closes it, below its mark where that finds the control, too."""
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
        return _around(box, MARGIN // 4).contains(self.step.points[0])

    @property
    def name(self) -> str:
        """A name made of its mark."""
        return re.sub(r"[^a-z0-9]+", "-", self.mark.casefold()).strip("-")[:40].strip("-") or "interruption"

    @property
    def written(self) -> dict[str, Any]:
        """The interruption as it is written in a playbook."""
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
        topic = any(TOPICS.search(line.text) for line in shown)
        wanted = any(TOPICS.search(line.text) and _is_asked_for(line.text, recording.goal) for line in shown)
        if not shown or wanted or not (_is_any(words, CLOSING) or (topic and _is_any(words, AGREEING))):
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
    return all(_remains(line, other) for line, other in every)


def may_close(step: RecordedStep) -> bool:
    """Return whether a step may have closed something, by the description of its target."""
    said = str(step.arguments.get("element", "")), step.element.get("name", "")
    words = re.compile(f"{CLOSING.pattern}|{AGREEING.pattern}", re.IGNORECASE)
    return _is_press(step) and any(words.match(text) for text in said if text)


def removed(on: Sight, after: Sight, at: Point) -> list[Line]:
    """Return the texts that a press removed around it. Returns none if anything else on the page changed."""
    gone = [line for line in on.lines if not _remains(line, after)]
    came = [line for line in after.lines if not _remains(line, on)]
    if not gone:
        return []
    box = _bounds([line.box for line in gone], at)
    if box.area > LARGEST * on.size.width * on.size.height:
        return []
    around = _around(box, MARGIN)
    return gone if all(around.intersects(line.box) for line in came) and around.contains(at) else []


def _remains(line: Line, sight: Sight) -> bool:
    """Return whether a picture shows a line at its place. An overlay may cover a part of it."""
    text = plain(line.text)
    for other in sight.lines:
        if not other.box.intersects(line.box):
            continue
        short, long = sorted((text, plain(other.text)), key=len)
        if matches(line.text, other.text) or (len(short) > 1 and (long.startswith(short) or long.endswith(short))):
            return True
    return False


def _without(interruption: Interruption, recordings: Sequence[Recording], sights: Sights) -> list[Sight]:
    """Return what the pictures of recordings show, apart from those on which the interruption was."""
    every = dict.fromkeys(picture for one in recordings for picture in one.pictures)
    return [sights[picture] for picture in every if picture != interruption.step.before]


def _is_extra(
    interruption: Interruption, recording: Recording, recordings: Sequence[Recording], sights: Sights
) -> bool:
    """Return whether another recording did the same without an interruption like this one."""
    if not _is_any(_words_on(interruption.step, interruption.on), CLOSING):
        return False
    mine = [step.tool for step in recording.steps if step is not interruption.step]
    for other in recordings:
        shown = any(sights[picture].has(interruption.mark) for picture in other.pictures)
        if other is not recording and not shown and [step.tool for step in other.steps] == mine:
            return True
    return False


def _left(recording: Recording, closed: Collection[RecordedStep]) -> Recording:
    """Return a recording without some steps. The step before one of them led to the page without the overlay."""
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
    pressed = [line.text for line in sight.lines if _around(line.box, MARGIN // 4).contains(step.points[0])]
    return [*pressed, *filter(None, [step.element.get("name", "")])]


def _is_any(words: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(text.strip()) for text in words)


def _fixed_part(text: str) -> str:
    """Return a text as a pattern without numbers and without the end of a long text; empty if little remains."""
    words = text.split()
    fixed = words[: next((place for place, word in enumerate(words) if any(map(str.isdigit, word))), len(words))]
    if len(fixed) < len(words) and len(fixed) < LEAST_WORDS:
        return ""
    if len(fixed) == len(words) and len(text) <= LONGEST:
        return text
    return f"{' '.join(fixed[:MOST_WORDS])}*"


def _is_asked_for(text: str, goal: str) -> bool:
    """Return whether a goal names the topic of a text, such as the settings for cookies."""
    return any(found[0].split()[0].casefold() in goal.casefold() for found in TOPICS.finditer(text))


def _values(recording: Recording) -> Iterator[str]:
    """Yield the values of a recording's item: its data, its typed texts and its answer."""
    yield from map(str, recording.data.values())
    yield from (str(step.arguments["content"]) for step in recording.steps if "content" in step.arguments)
    yield from re.findall(r'[^{}\[\]",:]+', recording.answer)
    yield from re.findall(r"[\w-]*\d[\w-]*", recording.answer)


def _bounds(boxes: Sequence[Box], at: Point) -> Box:
    left, top = min([at.x, *(box.left for box in boxes)]), min([at.y, *(box.top for box in boxes)])
    right, bottom = max([at.x, *(box.right for box in boxes)]), max([at.y, *(box.bottom for box in boxes)])
    return Box(left, top, right - left, bottom - top)


def _around(box: Box, margin: int) -> Box:
    return Box(box.left - margin, box.top - margin, box.width + 2 * margin, box.height + 2 * margin)

"""Write a sub-goal as a short Markdown timeline with embedded thumbnails, for Prefect's pages.

`subgoal_markdown` is used by `pursue`. `escaped` and `code` make untrusted text safe in Markdown.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable

from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, STATUS_WORDS, count, duration, kind_counts, money, visible
from holo_tasks.audit.pages.gesture_marks import area, marks
from holo_tasks.audit.pages.run_view import Step, Story, Subgoal, build_story
from holo_tasks.audit.pages.thumbnails import thumbnail
from holo_tasks.core.events import Record

MAX_STEPS = 10
MAX_BYTES = 60_000
_TEXT_BYTES = 1_100
_MARKUP = re.compile(r"[\\`*_{}\[\]()#+\-.!|~$:@<>&\x00-\x1f\x7f]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", **{chr(code): "\ufffd" for code in (*range(32), 127)}}


def subgoal_markdown(
    records: Iterable[Record], subgoal: int, frames: Callable[[str], bytes], *, trace_uri: str = ""
) -> str:
    """Return the last ten steps of a sub-goal with thumbnails, in about 60 kB at most.

    ``frames`` returns the bytes of a picture by its SHA-256, or raises `DamagedTrace`. ``records`` may be limited to
    this sub-goal (`Trace.records`).
    """
    story = build_story(record for record in records if record.event.subgoal == subgoal)
    if not story.subgoals:
        return f"The trace has no event of sub-goal {subgoal}.\n"
    goal = story.subgoals[0]
    shown = goal.steps[-MAX_STEPS:]
    left_out = len(goal.steps) - len(shown)
    parts = [_head(goal)]
    parts += _guided(goal.guided[-MAX_STEPS:])
    if left_out:
        parts.append(f"*Not shown here, but in the trace: the first {count(left_out, 'step')}.*")
    # Base64 turns three bytes into four.
    each = (MAX_BYTES - 2_000 - _TEXT_BYTES * len(shown)) * 3 // 4 // max(1, len(shown))
    parts += [_step(story, step, frames, most_bytes=min(8_000, each)) for step in shown]
    if trace_uri:
        parts.append(f"Trace: {code(trace_uri)}")
    return "\n\n".join(parts) + "\n"


def escaped(text: str, limit: int = 400) -> str:
    """Return untrusted text as one line of Markdown in which nothing is markup."""
    flat = " ".join(visible(text).split())
    flat = flat if len(flat) <= limit else flat[: limit - 1] + "…"
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), flat)


def code(text: str) -> str:
    """Return text as inline code. In Prefect's pages, tags would be interpreted even inside a line."""
    return "`" + " ".join(visible(text).split()).replace("`", "'") + "`"


def _guided(guided: list[tuple[str, str]]) -> list[str]:
    return [f"*{escaped(name, 80)}: {escaped(text, 400)}*" for name, text in guided]


def _head(goal: Subgoal) -> str:
    facts = [STATUS_WORDS[goal.status][1], count(len(goal.steps), "step"), money(goal.cost_micro_usd)]
    facts.append(duration(goal.seconds))
    facts += [f"by {escaped(goal.layer, 80)}"] if goal.layer else []
    lines = [f"### {escaped(goal.title, 120)}"]
    if goal.opened and goal.opened.progress:
        lines.append(f"*{escaped(goal.opened.progress, 160)}*")
    lines.append("**" + "** · **".join(facts) + "**")
    if goal.closed and (goal.closed.answer or goal.closed.reason):
        lines.append(f"> {escaped(goal.closed.answer or goal.closed.reason, 500)}")
    return "\n\n".join(lines)


def _step(story: Story, step: Step, frames: Callable[[str], bytes], *, most_bytes: int) -> str:
    facts = [OUTCOME_WORDS[step.outcome][1]]
    facts += [money(step.cost_micro_usd)] if step.calls else []
    facts += [duration(step.timed.total_us / 1e6)] if step.timed else []
    facts += ["clicked once more"] if step.repeated else []
    facts += [f"macro {code(step.decision.macro[:64])}"] if step.decision and step.decision.macro else []
    facts += ["decided before"] if step.decision and step.decision.cached else []
    lines = [f"**{step.number} · {escaped(step.label, 80)}** — {' · '.join(facts)}"]
    if step.decision and step.decision.thought:
        lines.append(escaped(step.decision.thought, 240))
    lines += _guided(step.guided)
    image = _thumbnail(story, step, frames, most_bytes)
    if image:
        lines.append(image)
    frame = story.frames.get(step.before)
    if frame and frame.masks:
        lines.append(f"*Masked before sending: {escaped(kind_counts([mask.kind for mask in frame.masks]), 120)}*")
    if step.before:
        lines.append(f"sha256 {code(step.before[:64])}")
    return "\n\n".join(lines)


def _thumbnail(story: Story, step: Step, frames: Callable[[str], bytes], most_bytes: int) -> str:
    if not step.before:
        return ""
    frame = story.frames.get(step.before)
    shown = area(frame) if frame else None
    try:
        copy = thumbnail(frames(step.before), marks(step.action), shown, most_bytes=most_bytes)
    except DamagedTrace:
        return "*The picture is not in the trace.*"
    if copy is None:
        return "*The picture cannot be shown.*"
    encoded = base64.b64encode(copy.data).decode("ascii")
    return f'<img width="320" alt="Screen before step {step.number}" src="data:image/jpeg;base64,{encoded}">'

"""One step of a run as HTML: a card with what was seen, thought, done and paid."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, clock, count, duration, kinds, money, safe
from holo_tasks.audit.pages.gesture_marks import Arrow, Mark, Ring, area, caption, marks
from holo_tasks.audit.pages.run_view import Step, Story
from holo_tasks.core.events import FrameTaken

Reference: TypeAlias = Callable[[str], str | None]
"""Gives the id under which a picture is in the page, or None when the trace lacks it."""


def step_card(story: Story, step: Step, reference: Reference) -> str:
    """The whole card. ``reference`` is asked for each picture that is shown."""
    kind, outcome = OUTCOME_WORDS[step.outcome]
    anchor = step_anchor(step)
    prompt, reply = step.tokens
    facts = [money(step.cost_micro_usd)] if step.calls else []
    facts += [f"{prompt:,} + {reply:,} tokens"] if prompt or reply else []
    facts += [duration(step.timed.total_us / 1e6)] if step.timed else []
    if step.decision and step.decision.cached:
        facts.append("decided before: no call")
    if step.decision and step.decision.confidence:
        facts.append(f"confidence {safe(step.decision.confidence)}")
    return (
        f'<article class="step" id="{anchor}" tabindex="-1" data-subgoal="{step.subgoal}"'
        f' data-outcome="{step.outcome}" aria-labelledby="{anchor}-h">\n'
        f'<header><h4 id="{anchor}-h"><a href="#{anchor}" title="Link to this step">{step.number}</a> '
        f'<bdi>{safe(step.label)}</bdi></h4><span class="chip {kind}">{outcome}</span>'
        f'<span class="meta">{" · ".join(facts)}</span></header>\n'
        f"{_words(step)}{_pictures(story, step, reference)}{_latency(step)}{_details(story, step)}</article>\n"
    )


def step_anchor(step: Step) -> str:
    return f"s{step.subgoal}-{step.number}"


def picture(story: Story, step: Step, sha256: str, name: str, *, before: bool, about: str) -> str:
    """A picture of the page with what was done (before) or what changed (after) drawn over it.

    The drawing is in screen pixels, whatever size the embedded copy has.
    """
    left, top, width, height = area(story.frames.get(sha256))
    over = "".join(_svg_mark(mark, width) for mark in marks(step.action)) if before else _svg_box(step)
    return svg_picture(name, (left, top, width, height), over, about)


def svg_picture(name: str, shown: tuple[int, int, int, int], over: str, about: str) -> str:
    """A picture of the page as the part of the screen it shows, with something drawn over it in screen pixels."""
    left, top, width, height = shown
    return (
        f'<svg class="shot" viewBox="{left} {top} {width} {height}" role="img" aria-label="{safe(about)}">'
        f'<use href="#{name}" transform="translate({left} {top}) scale({width / 1000:.6f} {height / 1000:.6f})"/>'
        f"{over}</svg>"
    )


def svg_ring(x: int, y: int, width: int) -> str:
    """A ring around a pixel of a picture that is ``width`` pixels wide."""
    return _svg_mark(Ring(x, y), width)


def _words(step: Step) -> str:
    parts = []
    if step.decision:
        thought = step.decision.thought.strip()
        parts.append(
            f'<p class="thought text" dir="auto">{safe(thought)}</p>\n'
            if thought
            else '<p class="thought none">No thought was given.</p>\n'
        )
        if step.decision.note:
            parts.append(f'<p class="note text" dir="auto"><b>Noted</b>{safe(step.decision.note)}</p>\n')
    said = [("warn", "Corrected", text) for text in step.corrections]
    said += [("warn", "Model call failed", call.failure) for call in step.calls if call.failure]
    said += [("bad", "Not permitted", permit.rule) for permit in step.refusals]
    said += [("bad", "Action failed", text) for text in step.failures]
    said += [("warn", "Looked again", step.moved)] if step.moved else []
    said += [("warn", "Clicked once more", step.repeated)] if step.repeated else []
    said += [("warn", "Told to take stock", step.stuck)] if step.stuck else []
    said += [("info", name, text) for name, text in step.guided]
    parts += [f'<p class="said {kind} text"><b>{safe(name)}</b>{safe(text)}</p>\n' for kind, name, text in said]
    return "".join(parts)


def _pictures(story: Story, step: Step, reference: Reference) -> str:
    figures = []
    if step.before:
        about = f"Screen before step {step.number}: {step.label}"
        figures.append(_figure(story, step, step.before, reference, before=True, about=about))
    if step.after and step.after != step.before:
        about = f"Screen after step {step.number}: {OUTCOME_WORDS[step.outcome][1].lower()}"
        figures.append(_figure(story, step, step.after, reference, before=False, about=about))
    elif step.after:
        figures.append(
            "<figure><figcaption><span>After</span></figcaption>"
            '<div class="missing">The picture is the same, byte for byte</div></figure>'
        )
    if not figures:
        return ""
    return f'<div class="pair{" one" if len(figures) == 1 else ""}">{"".join(figures)}</div>\n'


def _figure(story: Story, step: Step, sha256: str, reference: Reference, *, before: bool, about: str) -> str:
    name = reference(sha256)
    if name is None:
        shown = '<div class="missing">This picture is not in the trace</div>'
    else:
        shown = (
            f'<button type="button" class="zoom" aria-label="Enlarge: {safe(about)}">'
            f"{picture(story, step, sha256, name, before=before, about=about)}</button>"
        )
    typed = caption(step.action) if before else ""
    if typed:
        verb = "Typed" if step.action and step.action.gesture_kind.lower() == "write" else "Pressed"
        shown += f'<div class="typed">{verb} <code class="text">{safe(typed)}</code></div>'
    if masked := _masked(story.frames.get(sha256)):
        shown += f'<p class="masked">Masked before it left: <bdi>{safe(masked)}</bdi></p>'
    what = "Before" if before else "After"
    return (
        f'<figure><figcaption><span>{what}</span><span class="mono" title="{safe(sha256)}">'
        f"sha256 {safe(sha256[:16])}…</span></figcaption>{shown}</figure>"
    )


def _svg_mark(mark: Mark, width: int) -> str:
    radius = max(6, width // 48)
    match mark:
        case Ring(x, y, note, hover):
            # A pixel's centre is half a pixel from its corner.
            at = f'cx="{x + 0.5}" cy="{y + 0.5}"'
            dashed, dot = (" hover" if hover else ""), max(2, radius // 8)
            label = f"<title>{safe(note or 'click')} at {x}, {y}</title>"
            return (
                f'<g class="at">{label}<circle class="edge" {at} r="{radius}"/>'
                f'<circle class="mark{dashed}" {at} r="{radius}"/><circle class="dot" {at} r="{dot}"/></g>'
            )
        case Arrow(x1, y1, x2, y2):
            line = f'x1="{x1 + 0.5}" y1="{y1 + 0.5}" x2="{x2 + 0.5}" y2="{y2 + 0.5}"'
            return (
                f'<line class="edge" {line} marker-end="url(#tip-edge)"/>'
                f'<line class="mark" {line} marker-end="url(#tip)"/>'
            )


def _svg_box(step: Step) -> str:
    box = step.verdict.changed_box if step.verdict else []
    if len(box) != 4:
        return ""
    left, top, width, height = box
    at = f'x="{left}" y="{top}" width="{max(0, width)}" height="{max(0, height)}" rx="3"'
    return f'<rect class="changed-edge" {at}/><rect class="changed" {at}><title>What changed</title></rect>'


def shares(parts: list[tuple[str, int]], *, height: int) -> str:
    """A stacked bar as SVG; ``parts`` are class names and amounts."""
    total = sum(amount for _, amount in parts) or 1
    x = 0.0
    bars = []
    for name, amount in parts:
        width = 1000 * max(0, amount) / total
        bars.append(f'<rect class="{name}" x="{x:.1f}" y="0" width="{width:.1f}" height="{height}"/>')
        x += width
    return f'<svg viewBox="0 0 1000 {height}" preserveAspectRatio="none" aria-hidden="true">{"".join(bars)}</svg>'


def latency_parts(step: Step) -> list[tuple[str, int]]:
    """Where the step's time went, in microseconds; overhead is the rest."""
    timed = step.timed
    if timed is None:
        return []
    named = [("perceive", timed.perceive_us), ("decide", timed.decide_us), ("act", timed.act_us)]
    return [*named, ("overhead", max(0, timed.total_us - sum(amount for _, amount in named)))]


def legend_items(parts: list[tuple[str, int]]) -> str:
    """What the colours of a bar stand for, with their times."""
    names = {"perceive": "Perceive", "decide": "Decide", "act": "Act", "overhead": "Overhead"}
    return "".join(f'<span><i class="{name}"></i>{names[name]} {duration(us / 1e6)}</span>' for name, us in parts if us)


def _latency(step: Step) -> str:
    parts = latency_parts(step)
    if not parts:
        return ""
    bar, items = shares(parts, height=7), legend_items(parts)
    return f'<div class="latency"><div class="bar">{bar}</div><div class="legend">{items}</div></div>\n'


def _details(story: Story, step: Step) -> str:
    rows = [("Recorded", f"{safe(clock(step.begun))} – {safe(clock(step.ended))} UTC")]
    if step.decision:
        asked = json.dumps(step.decision.arguments, ensure_ascii=False)
        rows.append(("Asked for", f"<code class='text'>{safe(step.decision.tool_name)} {safe(asked)}</code>"))
    if step.action:
        done = json.dumps(step.action.gesture, ensure_ascii=False)
        rows.append(("Gesture", f"<code class='text'>{safe(step.action.gesture_kind)} {safe(done)}</code>"))
    if step.receipt:
        took = duration(step.receipt.took_us / 1e6)
        rows.append(("Input", f"{count(step.receipt.input_events, 'event')} in {took}"))
    for call in step.calls:
        cost = money(call.cost_micro_usd) + (" (estimated)" if call.estimated else "")
        spent = f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens · {cost}"
        came = safe(call.failure) or (f"{duration(call.latency_us / 1e6)} · {spent}" if call.latency_us else "no reply")
        rows.append((f"Model call {call.attempt}", f"<bdi>{safe(call.endpoint)}</bdi> · {came}"))
    for name, sha256 in (("Picture before", step.before), ("Picture after", step.after)):
        if sha256:
            rows.append((name, f"{_frame_words(story.frames.get(sha256))}<br><code>{safe(sha256)}</code>"))
    inner = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<details><summary>Details</summary><dl class="facts">{inner}</dl></details>\n'


def _frame_words(frame: FrameTaken | None) -> str:
    if frame is None:
        return "recorded in another step"
    _, _, width, height = area(frame)
    sent = f"{frame.sent_width} × {frame.sent_height} sent of {width} × {height}"
    settled = "settled" if frame.settled else "still changing"
    masked = f"masked: <bdi>{safe(_masked(frame))}</bdi>" if frame.masks else "nothing masked"
    return f"{sent}, {frame.size_bytes:,} bytes, {settled}, {masked}"


def _masked(frame: FrameTaken | None) -> str:
    return kinds([mask.kind[:60] for mask in frame.masks]) if frame else ""

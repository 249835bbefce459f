"""A run as one HTML page that needs nothing else: no network, no server, not even JavaScript."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path
from string import Template
from tempfile import TemporaryFile
from typing import IO

from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, STATUS_WORDS, count, duration, money, safe
from holo_tasks.audit.pages.page import asset, end, head, whole_page
from holo_tasks.audit.pages.report_asides import asides
from holo_tasks.audit.pages.report_head import header, overview
from holo_tasks.audit.pages.report_step import picture, step_anchor, step_card
from holo_tasks.audit.pages.run_view import MOST_TOLD, Step, Story, Subgoal, Teller
from holo_tasks.audit.pages.thumbnails import smaller
from holo_tasks.audit.reader import ChainCheck, Trace, check_lines, open_trace

FILMSTRIP = 10


class Pictures:
    """The pictures of a page: each is embedded once, at its end, however often it is shown.

    Until then they wait in a temporary file, so that a long run does not need much memory.
    """

    def __init__(self, trace: Trace, waiting: IO[str]) -> None:
        self._trace = trace
        self._waiting = waiting
        self._names: dict[str, str | None] = {}

    def reference(self, sha256: str) -> str | None:
        """The id of a picture in the page; None if the trace does not have it."""
        if sha256 not in self._names:
            self._names[sha256] = self._take_in(sha256)
        return self._names[sha256]

    def write(self, page: IO[str]) -> None:
        self._waiting.seek(0)
        page.write('<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>\n')
        shutil.copyfileobj(self._waiting, page)
        page.write("</defs></svg>\n")

    def _take_in(self, sha256: str) -> str | None:
        try:
            copy = smaller(self._trace.frame(sha256))
        except DamagedTrace:
            return None
        if copy is None:
            return None
        name = f"p{len(self._names) + 1}"
        encoded = base64.b64encode(copy.data).decode("ascii")
        # A square of 1000 x 1000: whoever shows it scales it to the screen it was taken of.
        self._waiting.write(
            f'<image id="{name}" width="1000" height="1000" preserveAspectRatio="none"'
            f' href="data:image/jpeg;base64,{encoded}"/>\n'
        )
        return name


def write_report(trace: Trace | str | Path, out: Path) -> Path:
    """Write the page for a run's trace to ``out``, whole or not at all. A damaged trace is shown as far as it goes."""
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    story, chain = _told(trace)
    with whole_page(out, "report") as page, TemporaryFile("w+") as waiting:
        _write_page(page, Pictures(trace, waiting), trace, story, chain)
    return out


def _told(trace: Trace) -> tuple[Story, ChainCheck]:
    """Read a trace once, as far as it can be read."""
    size = 0

    def measured() -> Iterator[bytes]:
        nonlocal size
        for line in trace.lines():
            size += len(line)
            if size > MOST_TOLD:
                raise DamagedTrace(f"{trace.uri} has more than {MOST_TOLD:,} bytes of events: too many for one page")
            yield line

    teller = Teller()
    chain = check_lines(measured(), teller.add)
    return teller.story, chain


def _write_page(page: IO[str], pictures: Pictures, trace: Trace, story: Story, chain: ChainCheck) -> None:
    script = asset("report_page.js")
    title = story.opened.title if story.opened else trace.uri.rpartition("/")[2]
    body = Template(asset("report_page.html")).substitute(
        header=header(trace, story, chain, title),
        overview=overview(story),
        subgoal_options="".join(
            f'<option value="{goal.number}">{goal.number} · {safe(goal.title[:60])}</option>' for goal in story.subgoals
        ),
        outcome_options="".join(
            f'<option value="{key}">{words}</option>'
            for key, (_, words) in OUTCOME_WORDS.items()
            if any(step.outcome == key for step in story.steps)
        ),
    )
    page.write(head(title, script) + body)
    _write_guided(page, story.guided)
    for goal in story.subgoals:
        _write_goal(page, story, goal, pictures)
    if story.asides:
        page.write(asides(story, pictures.reference))
    if not story.steps:
        page.write('<p class="panel empty">No step was taken in this run.</p>\n')
    foot = f"{count(chain.records, 'record')} · {safe(trace.uri)} · frames are shown smaller than they were sent"
    page.write(Template(asset("report_tail.html")).substitute(footer=foot))
    pictures.write(page)
    page.write(end(script))


def _write_goal(page: IO[str], story: Story, goal: Subgoal, pictures: Pictures) -> None:
    kind, status = STATUS_WORDS[story.status_of(goal)]
    facts = [count(len(goal.steps), "step"), money(goal.cost_micro_usd), duration(goal.seconds)]
    facts += [f"by {safe(goal.layer)}"] if goal.layer and goal.layer != "done before" else []
    page.write(
        f'<section class="goal" id="g{goal.number}" aria-labelledby="g{goal.number}-h">\n<header>'
        f'<h3 id="g{goal.number}-h">{goal.number} · <bdi>{safe(goal.title)}</bdi></h3>'
        f'<span class="chip {kind}">{status}</span><span class="meta">{" · ".join(facts)}</span></header>\n'
    )
    if goal.opened and goal.opened.goal and goal.opened.goal != goal.title:
        page.write(f'<p class="lead text" dir="auto">{safe(goal.opened.goal)}</p>\n')
    if goal.closed and goal.closed.reason:
        page.write(f'<p class="said warn text"><b>Ended</b>{safe(goal.closed.reason)}</p>\n')
    _write_guided(page, goal.guided)
    page.write(_filmstrip(story, [step for step in goal.steps if step.action], pictures))
    for step in goal.steps:
        page.write(step_card(story, step, pictures.reference))
    page.write("</section>\n")


def _write_guided(page: IO[str], guided: list[tuple[str, str]]) -> None:
    for name, text in guided:
        page.write(f'<p class="said info text"><b>{safe(name)}</b>{safe(text)}</p>\n')


def _filmstrip(story: Story, acted: list[Step], pictures: Pictures) -> str:
    frames = []
    for step in acted[-FILMSTRIP:]:
        name = pictures.reference(step.before)
        if name:
            about = f"Step {step.number}: {step.label}"
            shown = picture(story, step, step.before, name, before=True, about=about)
            under = f"<span>{step.number} · <bdi>{safe(step.label)}</bdi></span>"
            frames.append(f'<li><a href="#{step_anchor(step)}">{shown}{under}</a></li>')
    if len(frames) < 3:
        return ""
    what = f"The last {len(frames)} actions" if len(acted) > len(frames) else "The actions"
    return f'<p class="caption">{what}</p>\n<ol class="strip" aria-label="{what}">{"".join(frames)}</ol>\n'

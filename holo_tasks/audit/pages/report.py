"""A run as one HTML page that needs nothing else: no network, no server, not even JavaScript."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO

from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, STATUS_WORDS
from holo_tasks.audit.pages.gesture_marks import area
from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.audit.pages.report_asides import question, uncalled
from holo_tasks.audit.pages.report_head import MOST_DONE_BEFORE, came_to, charts, tiles, told_below
from holo_tasks.audit.pages.report_step import Picture, about, figures, masked, picture_before
from holo_tasks.audit.pages.run_view import MOST_TOLD, Step, Story, Subgoal, Teller, together
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

    def taken(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each picture and its JPEG in Base64, one at a time."""
        self._waiting.seek(0)
        for line in self._waiting:
            name, _, encoded = line.rstrip("\n").partition(" ")
            yield name, encoded

    def _take_in(self, sha256: str) -> str | None:
        try:
            copy = smaller(self._trace.frame(sha256))
        except DamagedTrace:
            return None
        if copy is None:
            return None
        name = f"p{len(self._names) + 1}"
        encoded = base64.b64encode(copy.data).decode("ascii")
        self._waiting.write(f"{name} {encoded}\n")
        return name


@dataclass(frozen=True)
class Effort:
    """Which layers came to what an earlier run has done, and what that cost; None where nobody knows."""

    by: str
    cost_micro_usd: int | None


NOTHING_KNOWN: Mapping[str, Effort] = MappingProxyType({})


def write_report(trace: Trace | str | Path, out: Path, done_before: Mapping[str, Effort] = NOTHING_KNOWN) -> Path:
    """Write the page for a run's trace to ``out``, whole or not at all. A damaged trace is shown as far as it goes.

    ``done_before`` are the efforts for items that earlier runs have done: the trace only names the evidence of that.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    story, chain = _told(trace)
    with whole_page(out, "report") as page, TemporaryFile("w+") as waiting:
        _write_page(page, Pictures(trace, waiting), trace, story, chain, done_before)
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


def _write_page(
    page: IO[str],
    pictures: Pictures,
    trace: Trace,
    story: Story,
    chain: ChainCheck,
    efforts: Mapping[str, Effort],
) -> None:
    write_page(
        page,
        "report.html",
        "report_page.js",
        STATUS_WORDS=STATUS_WORDS,
        OUTCOME_WORDS=OUTCOME_WORDS,
        title=story.opened.title if story.opened else trace.uri.rpartition("/")[2],
        trace=trace,
        story=story,
        chain=chain,
        pictures=pictures,
        outcomes={step.outcome for step in story.steps},
        tiles=tiles(story),
        came_to=came_to(story),
        charts=charts(story),
        most_done_before=MOST_DONE_BEFORE,
        efforts=efforts,
        cost_of_asides=together(aside.cost_micro_usd for aside in story.asides),
        uncalled=sum(map(uncalled, story.asides)),
        told_below=told_below,
        about=about,
        area=area,
        masked=masked,
        figures=lambda step: figures(story, step, pictures.reference),
        filmstrip=lambda goal: _filmstrip(story, goal, pictures),
        question=lambda aside: question(story, aside, pictures.reference),
    )


@dataclass(frozen=True)
class Filmstrip:
    """The last screens on which something was done, with the steps that did it."""

    caption: str
    frames: list[tuple[Step, Picture]]


def _filmstrip(story: Story, goal: Subgoal, pictures: Pictures) -> Filmstrip:
    acted, frames = [step for step in goal.steps if step.action], []
    for step in acted[-FILMSTRIP:]:
        if picture := picture_before(story, step, pictures.reference, f"Step {step.number}: {step.label}"):
            frames.append((step, picture))
    return Filmstrip(f"The last {len(frames)} actions" if len(acted) > len(frames) else "The actions", frames)

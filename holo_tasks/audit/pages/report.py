"""Write a run's report as one self-contained HTML page: no network, no server, and usable without JavaScript.

`write_report` is used by `holo-tasks report`, `holo-tasks index` and the flows.
"""

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
from holo_tasks.audit.pages.report_asides import question, without_model_call
from holo_tasks.audit.pages.report_head import MAX_DONE_BEFORE, charts, outcome_text, subtitles, tiles
from holo_tasks.audit.pages.report_step import Picture, about, figures, masked, picture_before
from holo_tasks.audit.pages.run_view import MAX_STORY_BYTES, Step, Story, StoryBuilder, Subgoal, total_cost
from holo_tasks.audit.pages.thumbnails import smaller
from holo_tasks.audit.reader import ChainCheck, Trace, check_lines, open_trace

FILMSTRIP = 10


class Pictures:
    """The pictures of a page. Each is embedded once, at the end of the page, however often it is shown.

    Until then they are stored in a temporary file, so that a long run needs little memory.
    """

    def __init__(self, trace: Trace, waiting: IO[str]) -> None:
        self._trace = trace
        self._waiting = waiting
        self._names: dict[str, str | None] = {}

    def reference(self, sha256: str) -> str | None:
        """Return the id of a picture in the page, or ``None`` if the trace does not have it."""
        if sha256 not in self._names:
            self._names[sha256] = self._add(sha256)
        return self._names[sha256]

    def embedded(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each picture and its JPEG in Base64, one at a time."""
        self._waiting.seek(0)
        for line in self._waiting:
            name, _, encoded = line.rstrip("\n").partition(" ")
            yield name, encoded

    def _add(self, sha256: str) -> str | None:
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
    """The layers that produced an earlier run's result, and its cost. ``None`` if the cost is unknown."""

    by: str
    cost_micro_usd: int | None


NOTHING_KNOWN: Mapping[str, Effort] = MappingProxyType({})


def write_report(trace: Trace | str | Path, out: Path, done_before: Mapping[str, Effort] = NOTHING_KNOWN) -> Path:
    """Write the report of a trace to ``out`` atomically. A damaged trace is shown as far as it can be read.

    ``done_before`` has the efforts for items that earlier runs finished, since a trace only refers to those runs.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    story, chain = _read_story(trace)
    with whole_page(out, "report") as page, TemporaryFile("w+") as waiting:
        _write_page(page, Pictures(trace, waiting), trace, story, chain, done_before)
    return out


def _read_story(trace: Trace) -> tuple[Story, ChainCheck]:
    """Read a trace once, as far as it is readable."""
    size = 0

    def measured() -> Iterator[bytes]:
        nonlocal size
        for line in trace.lines():
            size += len(line)
            if size > MAX_STORY_BYTES:
                raise DamagedTrace(
                    f"{trace.uri} has more than {MAX_STORY_BYTES:,} bytes of events: too many for one page"
                )
            yield line

    builder = StoryBuilder()
    chain = check_lines(measured(), builder.add)
    return builder.story, chain


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
        outcome_text=outcome_text(story),
        charts=charts(story),
        max_done_before=MAX_DONE_BEFORE,
        efforts=efforts,
        cost_of_asides=total_cost(aside.cost_micro_usd for aside in story.asides),
        without_model_call=sum(map(without_model_call, story.asides)),
        subtitles=subtitles,
        about=about,
        area=area,
        masked=masked,
        figures=lambda step: figures(story, step, pictures.reference),
        filmstrip=lambda goal: _filmstrip(story, goal, pictures),
        question=lambda aside: question(story, aside, pictures.reference),
    )


@dataclass(frozen=True)
class Filmstrip:
    """The screens of a sub-goal's last actions, each with its step."""

    caption: str
    frames: list[tuple[Step, Picture]]


def _filmstrip(story: Story, goal: Subgoal, pictures: Pictures) -> Filmstrip:
    acted, frames = [step for step in goal.steps if step.action], []
    for step in acted[-FILMSTRIP:]:
        if picture := picture_before(story, step, pictures.reference, f"Step {step.number}: {step.label}"):
            frames.append((step, picture))
    return Filmstrip(f"The last {len(frames)} actions" if len(acted) > len(frames) else "The actions", frames)

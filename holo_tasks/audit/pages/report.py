"""Write a run's report as an HTML page: no network, no server, and usable without JavaScript.

The page embeds its pictures, or a browser loads them from a folder next to the page as they come into view.
`write_report` is used by `holo-tasks report`, `holo-tasks index` and the flows.
"""

from __future__ import annotations

import base64
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Literal, TypeAlias
from urllib.parse import quote

from holo_tasks.audit.errors import DamagedTrace
from holo_tasks.audit.pages.formatting import OUTCOME_WORDS, STATUS_WORDS, named_values
from holo_tasks.audit.pages.gesture_marks import area
from holo_tasks.audit.pages.page import whole_page, write_page
from holo_tasks.audit.pages.report_asides import question, without_model_call
from holo_tasks.audit.pages.report_head import (
    MAX_DONE_BEFORE,
    charts,
    most_of,
    outcome_text,
    subtitles,
    summary,
    tiles,
)
from holo_tasks.audit.pages.report_step import Picture, about, figures, masked, picture_before, trouble
from holo_tasks.audit.pages.run_view import MAX_STORY_BYTES, Step, Story, StoryBuilder, Subgoal, total_cost
from holo_tasks.audit.pages.thumbnails import smaller
from holo_tasks.audit.reader import ChainCheck, Trace, check_lines, open_trace
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import make_private, open_private

FILMSTRIP = 10
Place: TypeAlias = Literal["inside", "folder"]
"""Place of a report's pictures: inside the page, or in a folder next to it."""
_FILE = re.compile(r"[0-9a-f]{16}\.jpg")
"""Names of the picture files next to a page."""


class Pictures(ABC):
    """The pictures of a page. Each is stored once, however often it is shown."""

    folder: str = ""
    """Name of the folder of the pictures, or an empty string if the page embeds them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names: dict[str, str | None] = {}

    def reference(self, sha256: str) -> str | None:
        """Return the URL of a picture for the page, or ``None`` if the trace does not have it."""
        if sha256 not in self._names:
            self._names[sha256] = self._add(sha256)
        return self._names[sha256]

    def embedded(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each embedded picture and its JPEG in Base64, one at a time."""
        yield from ()

    def _add(self, sha256: str) -> str | None:
        try:
            copy = smaller(self._trace.frame(sha256))
        except DamagedTrace:
            return None
        return self._store(sha256, copy.data) if copy else None

    @abstractmethod
    def _store(self, sha256: str, jpeg: bytes) -> str:
        """Store a picture, and return its URL for the page."""


class EmbeddedPictures(Pictures):
    """Pictures at the end of the page. Until then they are in a temporary file, so that a long run needs little
    memory."""

    def __init__(self, trace: Trace, waiting: IO[str]) -> None:
        super().__init__(trace)
        self._waiting = waiting

    def embedded(self) -> Iterator[tuple[str, str]]:
        self._waiting.seek(0)
        for line in self._waiting:
            name, _, encoded = line.rstrip("\n").partition(" ")
            yield name, encoded

    def _store(self, sha256: str, jpeg: bytes) -> str:
        name = f"p{len(self._names) + 1}"
        self._waiting.write(f"{name} {base64.b64encode(jpeg).decode('ascii')}\n")
        return f"#{name}"


class PictureFiles(Pictures):
    """Pictures in a private folder next to the page, ``report-pictures`` for ``report.html``."""

    def __init__(self, trace: Trace, out: Path) -> None:
        super().__init__(trace)
        self._place = out.with_name(f"{out.stem}-pictures")
        self._written: set[str] = set()
        self.folder = self._place.name
        try:
            make_private(self._place)
        except OSError as error:
            raise InvalidUsage(f"The pictures cannot be written to {self._place}: {error.strerror}.") from None

    def remove_old(self) -> None:
        """Delete the pictures of an earlier report from the folder."""
        for file in self._place.iterdir():
            if _FILE.fullmatch(file.name) and file.name not in self._written:
                file.unlink()

    def _store(self, sha256: str, jpeg: bytes) -> str:
        name = f"{sha256[:16]}.jpg"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(open_private(self._place / name, flags), "wb") as file:
            file.write(jpeg)
        self._written.add(name)
        return f"{quote(os.fsencode(self.folder))}/{name}"


@dataclass(frozen=True)
class Effort:
    """The layers that produced an earlier run's result, and its cost. ``None`` if the cost is unknown."""

    by: str
    cost_micro_usd: int | None


NOTHING_KNOWN: Mapping[str, Effort] = MappingProxyType({})


def write_report(
    trace: Trace | str | Path,
    out: Path,
    done_before: Mapping[str, Effort] = NOTHING_KNOWN,
    *,
    pictures: Place = "inside",
) -> Path:
    """Write the report of a trace to ``out`` atomically. A damaged trace is shown as far as it can be read.

    ``done_before`` has the efforts for items that earlier runs finished, since a trace only refers to those runs. With
    ``pictures="folder"``, the pictures are files in a folder next to the page, ``report-pictures`` for ``report.html``.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    story, chain = _read_story(trace)
    if pictures == "inside":
        with whole_page(out, "report") as page, TemporaryFile("w+") as waiting:
            _write_page(page, EmbeddedPictures(trace, waiting), trace, story, chain, done_before)
        return out
    with whole_page(out, "report") as page:
        files = PictureFiles(trace, out)
        _write_page(page, files, trace, story, chain, done_before)
    files.remove_old()
    return out


def _read_story(trace: Trace) -> tuple[Story, ChainCheck]:
    """Read the readable part of a trace once."""
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
        images="'self'" if pictures.folder else "data:",
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
        named_values=named_values,
        summary=summary(story),
        wrong={step.anchor for step in story.steps if trouble(step)},
        dearest={step.anchor for step in most_of(story, "cost")},
        slowest={step.anchor for step in most_of(story, "time")},
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

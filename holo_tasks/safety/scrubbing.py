"""The doors at which the values of secrets are taken out of what leaves this process.

`hushing` says which values; from then on texts that pass through `hushed`, errors through `hush_error`, what goes to
the shared database and, once `hush_logs` was called, every log record of this process come out without them. The
trace and the model have doors of their own: `ScrubbedRecorder`, `scrubbed`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from holo_tasks.core.events import AnyEvent, Event
from holo_tasks.core.frame import Shot
from holo_tasks.core.model import Dialect, Model, Questioner, Request
from holo_tasks.core.ports import ModelClient, Recorder, Reply
from holo_tasks.core.scrub import Scrubber
from holo_tasks.core.step import Step
from holo_tasks.core.transcript import Correction, Transcript

_lock = threading.Lock()
_known: tuple[Scrubber, ...] = ()
_event: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


class Hidden(RuntimeError):
    """Stands for an error that held the value of a secret and could not be rid of it."""


def hush(scrubber: Scrubber) -> None:
    """Keep some values out of all texts of this process, to its end."""
    global _known
    with _lock:
        _known = (*_known, scrubber)


@contextmanager
def hushing(scrubber: Scrubber) -> Iterator[None]:
    """Keep some values out of all texts of this process, in all its threads, until this is left."""
    global _known
    hush(scrubber)
    try:
        yield
    finally:
        with _lock:
            _known = tuple(other for other in _known if other is not scrubber)


def hushed(text: str) -> str:
    """Return a text without the values of the secrets that are in use."""
    for scrubber in _known:
        text = scrubber.text(text)
    return text


def hushed_plain(value: Any) -> Any:
    """Return plain values, as JSON has them, without the values of the secrets that are in use."""
    for scrubber in _known:
        value = scrubber.plain(value)
    return value


def hush_error(error: BaseException) -> BaseException:
    """Take values out of an error and of those that led to it; return it, or what stands for one that keeps them."""
    if not _known:
        return error
    for one in _line(error):
        if any(isinstance(word, str) and hushed(word) != word for word in one.args):
            one.args = tuple(hushed(word) if isinstance(word, str) else word for word in one.args)
        if hasattr(one, "__notes__"):
            one.__notes__ = [hushed(note) for note in one.__notes__]
        if one is not error and _tells(one):
            one.__cause__ = one.__context__ = None
            _forget(error, one)
    if not _tells(error):
        return error
    kept = Hidden(f"{type(error).__name__}: {hushed(str(error))}")
    kept.__suppress_context__ = True
    return kept


def hush_logs() -> None:
    """Make all log records of this process from now on without values, also in tracebacks; once is enough."""
    make = logging.getLogRecordFactory()
    if getattr(make, "hushes", False):
        return

    def without_values(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if _known:
            text = record.getMessage()
            if (said := hushed(text)) != text:
                record.msg, record.args = said, ()
            if record.exc_info and record.exc_info[1] is not None:
                told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
                if (safe := hushed(told)) != told:
                    record.exc_info, record.exc_text = None, safe
        return record

    without_values.hushes = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(without_values)


@dataclass(frozen=True)
class ScrubbedRecorder:
    """Records events without values."""

    recorder: Recorder
    scrubber: Scrubber

    async def keep(self, shot: Shot) -> None:
        await self.recorder.keep(shot)

    async def record(self, event: Event) -> None:
        if self.scrubber.finds(event.model_dump_json()):
            event = _event.validate_python(self.scrubber.plain(event.model_dump()))
        await self.recorder.record(event)


def scrubbed(model: Model, scrubber: Scrubber) -> Model:
    """Return a model that is never told a value, and whose replies hold none."""
    return replace(
        model,
        client=_Client(model.client, scrubber),
        dialect=_Dialect(model.dialect, scrubber),
        question=_Question(model.question, scrubber),
    )


@dataclass(frozen=True)
class _Client:
    client: ModelClient
    scrubber: Scrubber

    @property
    def endpoint(self) -> str:
        return self.client.endpoint

    async def complete(self, body: Mapping[str, Any], *, timeout_s: float) -> Reply:
        try:
            reply = await self.client.complete(self.scrubber.plain(body), timeout_s=timeout_s)
        except Exception as error:
            hidden = hush_error(error)
            if hidden is error:
                raise
            raise hidden from None
        text = self.scrubber.text
        calls = tuple(replace(one, name=text(one.name), arguments=text(one.arguments)) for one in reply.tool_calls)
        return replace(reply, content=text(reply.content), reasoning=text(reply.reasoning), tool_calls=calls)


@dataclass(frozen=True)
class _Dialect:
    dialect: Dialect
    scrubber: Scrubber

    @property
    def reading(self) -> str:
        return self.dialect.reading

    def request(
        self, transcript: Transcript, *, correction: Correction | None = None, answer_only: bool = False
    ) -> Request:
        request = self.dialect.request(transcript, correction=correction, answer_only=answer_only)
        return Request(self.scrubber.plain(request.body), request.shots)

    def parse(self, reply: Reply, *, answer_only: bool = False) -> Step:
        return self.dialect.parse(reply, answer_only=answer_only)


@dataclass(frozen=True)
class _Question:
    question: Questioner
    scrubber: Scrubber

    def __call__(self, text: str, shots: Sequence[Shot], schema: Mapping[str, Any], *, thinking: bool) -> Request:
        request = self.question(text, shots, schema, thinking=thinking)
        return Request(self.scrubber.plain(request.body), request.shots)


def _tells(error: BaseException) -> bool:
    text = f"{error} {error!r}"
    return hushed(text) != text


def _line(error: BaseException) -> list[BaseException]:
    """Return an error and all that led to it or are in it."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        one = queue.pop()
        if one is not None and one not in found:
            found.append(one)
            queue += [one.__cause__, one.__context__]
            queue += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
    return found


def _forget(error: BaseException, told: BaseException) -> None:
    """Take an error out of the line that led to another."""
    for one in _line(error):
        one.__cause__ = None if one.__cause__ is told else one.__cause__
        one.__context__ = None if one.__context__ is told else one.__context__

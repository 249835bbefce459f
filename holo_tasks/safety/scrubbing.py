"""The doors at which the values of secrets are taken out of what leaves this process.

`hushing` says which values; from then on texts that pass through `hushed`, errors through `hush_error`, what goes to
the shared database and, once `hush_logs` was called, every log record of this process come out without them. The
trace and the model have doors of their own, in `scrubbed`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.scrub import Scrubber
from holo_tasks.core.visible_text import exact

_lock = threading.Lock()
_known: tuple[Scrubber, ...] = ()


class Hidden(RuntimeError):
    """Stands for an error that held the value of a secret and could not be rid of it."""


def hush(scrubber: Scrubber) -> None:
    """Keep some values out of all texts of this process, to its end."""
    global _known
    if scrubber:
        with _lock:
            _known = (*_known, scrubber)


@contextmanager
def hushing(scrubber: Scrubber) -> Iterator[None]:
    """Keep some values out of all texts of this process, in all its threads, until this is left."""
    global _known
    with _lock:
        _known = (*_known, scrubber)  # also one that has nothing to look for yet
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


def check_open(what: str, text: str) -> str:
    """Return a text that others find things by, or raise `InvalidUsage` if it holds a value: it is written down."""
    if hushed(text) != text:
        raise InvalidUsage(
            f"{what} holds the value of a secret ({exact(hushed(text))}), and it would be kept as it is."
        )
    return text


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
            _hush_record(record)
        return record

    without_values.hushes = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(without_values)


def _hush_record(record: logging.LogRecord) -> None:
    try:
        text = record.getMessage()
    except Exception as error:  # a bad call, of which logging only tells when it writes, and with all it was given
        what = repr(record.msg) if isinstance(record.msg, str) else f"A {type(record.msg).__name__}"
        text = f"{what} cannot be logged ({type(error).__name__})."
        record.msg, record.args = text, ()
    if (said := hushed(text)) != text:
        record.msg, record.args = said, ()
    if isinstance(record.stack_info, str):
        record.stack_info = hushed(record.stack_info)
    if record.exc_info and record.exc_info[1] is not None:
        try:
            told = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            safe = hushed(told)
        except Exception as error:
            told, safe = "", f"A traceback that cannot be told ({type(error).__name__})."
        if safe != told:
            record.exc_info, record.exc_text = None, safe


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

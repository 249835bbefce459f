"""Remove the values of secrets from all texts that leave this process.

`secrets_registered` registers the values. From then on `scrub_text` removes them from texts, `scrub_error` from errors,
and the shared database from its text columns. After a call of `scrub_logs`, log records hold no values either.
`scrubbed_model` does the same for the trace and the model.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.texts.visible_text import exact

_lock = threading.Lock()
_known: tuple[Scrubber, ...] = ()


class HiddenError(RuntimeError):
    """Replacement for an error from which a secret's value could not be removed."""


def register_secrets(scrubber: Scrubber) -> None:
    """Register secret values until the process ends."""
    global _known
    if scrubber:
        with _lock:
            _known = (*_known, scrubber)


@contextmanager
def secrets_registered(scrubber: Scrubber) -> Iterator[None]:
    """Register secret values for all threads of this process, within this block."""
    global _known
    with _lock:
        _known = (*_known, scrubber)  # also an empty one, which may get values later
    try:
        yield
    finally:
        with _lock:
            _known = tuple(other for other in _known if other is not scrubber)


def scrub_text(text: str) -> str:
    """Return a text without the values of the registered secrets."""
    for scrubber in _known:
        text = scrubber.text(text)
    return text


def scrub_data(value: Any) -> Any:
    """Return a JSON-like value without the values of the registered secrets."""
    for scrubber in _known:
        value = scrubber.plain(value)
    return value


def check_open(what: str, text: str) -> str:
    """Return a text that serves as an identifier. Raises `InvalidUsage` if it holds a secret's value."""
    if scrub_text(text) != text:
        raise InvalidUsage(
            f"{what} holds the value of a secret ({exact(scrub_text(text))}), and it would be stored in the clear."
        )
    return text


def scrub_error(error: BaseException) -> BaseException:
    """Remove secret values from an error and its causes; return it, or a `HiddenError` if that is not possible."""
    if not _known:
        return error
    for one in _chain(error):
        if any(isinstance(word, str) and scrub_text(word) != word for word in one.args):
            one.args = tuple(scrub_text(word) if isinstance(word, str) else word for word in one.args)
        if hasattr(one, "__notes__"):
            one.__notes__ = [scrub_text(note) for note in one.__notes__]
        if one is not error and _reveals(one):
            one.__cause__ = one.__context__ = None
            _unlink(error, one)
    if not _reveals(error):
        return error
    replacement = HiddenError(f"{type(error).__name__}: {scrub_text(str(error))}")
    replacement.__suppress_context__ = True
    return replacement


def scrub_logs() -> None:
    """Remove secret values from all log records of this process from now on, including tracebacks.

    Repeated calls are harmless.
    """
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
    except Exception as error:  # a wrong log call; logging would print its arguments when it writes the record
        what = repr(record.msg) if isinstance(record.msg, str) else f"A {type(record.msg).__name__}"
        text = f"{what} cannot be logged ({type(error).__name__})."
        record.msg, record.args = text, ()
    if (clean := scrub_text(text)) != text:
        record.msg, record.args = clean, ()
    if isinstance(record.stack_info, str):
        record.stack_info = scrub_text(record.stack_info)
    if record.exc_info and record.exc_info[1] is not None:
        try:
            traceback_text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            safe = scrub_text(traceback_text)
        except Exception as error:
            traceback_text, safe = "", f"A traceback that cannot be formatted ({type(error).__name__})."
        if safe != traceback_text:
            record.exc_info, record.exc_text = None, safe


def _reveals(error: BaseException) -> bool:
    """Return whether an error's text holds a secret's value."""
    text = f"{error} {error!r}"
    return scrub_text(text) != text


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error with all of its causes, contexts and grouped errors."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        one = queue.pop()
        if one is not None and one not in found:
            found.append(one)
            queue += [one.__cause__, one.__context__]
            queue += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
    return found


def _unlink(error: BaseException, cause: BaseException) -> None:
    """Remove ``cause`` from all causes and contexts of an error."""
    for one in _chain(error):
        one.__cause__ = None if one.__cause__ is cause else one.__cause__
        one.__context__ = None if one.__context__ is cause else one.__context__

"""Every door that texts leave by takes the values of secrets out of them."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from holo_tasks.core import events
from holo_tasks.core.errors import LimitReached, ModelFailed
from holo_tasks.core.scrub import Scrubber
from holo_tasks.core.secret import Secret
from holo_tasks.core.transcript import Transcript
from holo_tasks.safety.runbook import RunBook
from holo_tasks.safety.scrubbed import ScrubbedRecorder, scrubbed
from holo_tasks.safety.scrubbing import Hidden, hush_error, hush_logs, hushed, hushing
from holo_tasks.safety.store import Store
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, work, wrote

VALUE = "Kranich 9/Zoë"
SCRUBBER = Scrubber([Secret("crane", VALUE)])


async def test_what_the_model_echoes_is_typed_by_name_and_never_sent_or_kept() -> None:
    told = step("write", content=f"it is {VALUE}", note=VALUE, thought=VALUE.encode().hex())
    client, recorder = MemoryModel([wrote(told), wrote(step("answer", content=VALUE))]), MemoryRecorder()
    walk = walk_of(scrubbed(as_model(client), SCRUBBER), recorder=ScrubbedRecorder(recorder, SCRUBBER))
    assert (await work(walk)).text == "{{secret:crane}}"
    (intended,) = recorder.of("action")
    assert intended.gesture["text"] == "it is {{secret:crane}}"
    assert not SCRUBBER.finds(str(recorder.events) + str(client.bodies))


async def test_the_task_and_an_error_of_the_endpoint_are_told_without_it() -> None:
    client = MemoryModel([ModelFailed(f"it said {VALUE}")])
    walk = walk_of(scrubbed(as_model(client), SCRUBBER), transcript=Transcript(f"Sign on with {VALUE}"))
    with hushing(SCRUBBER), pytest.raises(ModelFailed, match=r"it said \{\{secret:crane\}\}"):
        await work(walk)
    assert "Sign on with {{secret:crane}}" in str(client.bodies)


async def test_an_event_without_a_value_is_recorded_as_it_is() -> None:
    recorder, event = MemoryRecorder(), events.Corrected(reason="harmless")
    await ScrubbedRecorder(recorder, SCRUBBER).record(event)
    assert recorder.events == [event]


def test_errors_and_those_that_led_to_them_are_rid_of_it() -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            return VALUE

    with hushing(SCRUBBER):
        error = LimitReached(f"at {VALUE}", limit="max_steps")
        error.__cause__ = ValueError(VALUE)
        error.__cause__.__context__ = Stubborn()
        assert hush_error(error) is error
        assert not SCRUBBER.finds(f"{error}{error.__cause__!r}{error.__cause__.__context__}")
        hidden = hush_error(Stubborn())
        assert isinstance(hidden, Hidden)
        assert str(hidden) == "Stubborn: {{secret:crane}}"
    assert hushed(VALUE) == VALUE, "only while it is in use"


def test_log_records_and_their_tracebacks_are_rid_of_it() -> None:
    hush_logs()
    heard = io.StringIO()
    logger, handler = logging.getLogger("a logger of somebody else"), logging.StreamHandler(heard)
    logger.addHandler(handler)
    try:
        with hushing(SCRUBBER):
            logger.warning("it is %s, %d %%", VALUE, 7)
            logger.error("gone wrong", exc_info=ValueError(VALUE))
            logger.warning("nothing of %s", "that")
    finally:
        logger.removeHandler(handler)
    assert heard.getvalue().startswith("it is {{secret:crane}}, 7 %\ngone wrong\nValueError: {{secret:crane}}\n")
    assert heard.getvalue().endswith("nothing of that\n")


def test_the_shared_database_never_holds_it(tmp_path: Path) -> None:
    book = RunBook(Store(f"sqlite:///{tmp_path / 'holo.db'}"))
    with hushing(SCRUBBER):
        book.began("r", title=VALUE, model="m", limit_micro=None, trace="t", flow_run_id="")
        book.ended("r", status="invalid", reason=f"about {VALUE}", steps=1, spent_micro=0)
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert VALUE.encode() not in data
    assert b"about {{secret:crane}}" in data

"""Secret values are removed from all texts that leave the process."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from pydantic import TypeAdapter

from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage, LimitReached, ModelFailed
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.core.secrets.codes import Codes
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.texts.outside_text import strings_in
from holo_tasks.models.profile import profile_for
from holo_tasks.run.items.stored_results import to_stored_json
from holo_tasks.safety import scrubbing
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.records.kill_requests import Kills
from holo_tasks.safety.records.run_list import RunBook
from holo_tasks.safety.scrubbed_model import FREE_TEXT, UNCHANGED, ScrubbedRecorder, with_scrubber
from holo_tasks.safety.scrubbing import HiddenError, check_open, scrub_error, scrub_logs, scrub_text, secrets_registered
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, called, walk_of, work, wrote

VALUE = "Kranich 9/Zoë"
SCRUBBER = Scrubber([Secret("crane", VALUE)])


async def test_an_echoed_value_is_typed_by_name_and_never_sent_or_stored() -> None:
    told = step("write", content=VALUE, note=VALUE, thought=VALUE.encode().hex())
    client, recorder = MemoryModel([wrote(told), wrote(step("answer", content=VALUE))]), MemoryRecorder()
    walk = walk_of(with_scrubber(as_model(client), SCRUBBER), recorder=ScrubbedRecorder(recorder, SCRUBBER))
    assert (await work(walk)).text == "{{secret:crane}}"
    (intended,) = recorder.of("action")
    assert intended.gesture["text"] == "{{secret:crane}}"
    assert not SCRUBBER.may_hold(str(recorder.events) + str(client.bodies))


def texts_in(messages: list[dict[str, Any]]) -> list[str]:
    return [text for text in strings_in(messages) if not text.startswith("data:image/")]


SHORT = Scrubber([Secret("pw", "admin"), Secret("pin", "1234")])


@pytest.mark.parametrize("dialect", ["structured", "tools"])
@pytest.mark.parametrize(
    ("content", "typed", "refused"),
    [
        ("administrator", "{{secret:pw}}istrator", ""),
        ("Invoice 12345", "Invoice {{secret:pin}}5", ""),
        ("admin", "{{secret:pw}}", ""),
        ("1234 by admin", "{{secret:pin}} by {{secret:pw}}", ""),
        ("{{secret:pw}}", "", "The task does not name the secret"),
        ("{{secret:pw}}istrator", "", "A secret cannot be typed together"),
        ("admin {{secret:pw}}", "", "A secret cannot be typed together"),
        ("admin{{secret:pin}}", "", "A secret cannot be typed together"),
        ("{{secret:admin}}", "", "A secret cannot be typed together"),
    ],
)
async def test_only_names_written_by_the_model_count_as_secrets(
    dialect: str, content: str, typed: str, refused: str
) -> None:
    replies = {
        "structured": (wrote(step("write", content=content)), wrote(step("answer", content="done"))),
        "tools": (called("write", {"content": content}), called("answer", {"content": "done"}, call_id="c2")),
    }[dialect]
    client, recorder, desktop = MemoryModel(replies), MemoryRecorder(), PaintedDesktop()
    model = with_scrubber(as_model(client, dialect=dialect), SHORT)
    walk = walk_of(model, recorder=ScrubbedRecorder(recorder, SHORT), desktop=desktop)
    walk.secrets = frozenset()
    await work(walk)
    assert [gesture.text for gesture in desktop.gestures] == ([typed] if typed else [])
    assert refused in str(client.bodies[1]["messages"])
    assert not any(map(SHORT.may_hold, texts_in(client.bodies[1]["messages"])))
    assert not any(SHORT.may_hold(event.model_dump_json()) for event in recorder.of("action") + recorder.of("reply"))


async def test_a_value_written_by_the_model_is_not_a_named_secret() -> None:
    client = MemoryModel([wrote(step("write", content="admin")), wrote(step("answer", content=""))])
    walk = walk_of(with_scrubber(as_model(client), SHORT), desktop=(desktop := PaintedDesktop()))
    walk.services = replace(walk.services, secret_fields={"pw": ("Password",)})
    await work(walk)
    assert [gesture.text for gesture in desktop.gestures] == ["{{secret:pw}}"]


async def test_tasks_and_endpoint_errors_are_scrubbed() -> None:
    client = MemoryModel([ModelFailed(f"it said {VALUE}")])
    walk = walk_of(with_scrubber(as_model(client), SCRUBBER), transcript=Transcript(f"Sign on with {VALUE}"))
    with secrets_registered(SCRUBBER), pytest.raises(ModelFailed, match=r"it said \{\{secret:crane\}\}"):
        await work(walk)
    assert "Sign on with {{secret:crane}}" in str(client.bodies)


async def test_an_event_without_a_value_is_unchanged() -> None:
    recorder, event = MemoryRecorder(), events.Corrected(reason="harmless")
    await ScrubbedRecorder(recorder, SCRUBBER).record(event)
    assert recorder.events == [event]


def test_errors_and_their_causes_are_scrubbed() -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            return VALUE

    with secrets_registered(SCRUBBER):
        error = LimitReached(f"at {VALUE}", limit="max_steps")
        error.__cause__ = ValueError(VALUE)
        error.__cause__.__context__ = Stubborn()
        assert scrub_error(error) is error
        assert not SCRUBBER.may_hold(f"{error}{error.__cause__!r}{error.__cause__.__context__}")
        hidden = scrub_error(Stubborn())
        assert isinstance(hidden, HiddenError)
        assert str(hidden) == "Stubborn: {{secret:crane}}"
    assert scrub_text(VALUE) == VALUE, "only while it is in use"


def test_log_records_and_tracebacks_are_scrubbed() -> None:
    scrub_logs()
    heard = io.StringIO()
    logger, handler = logging.getLogger("a logger of somebody else"), logging.StreamHandler(heard)
    logger.addHandler(handler)
    try:
        with secrets_registered(SCRUBBER):
            logger.warning("it is %s, %d %%", VALUE, 7)
            logger.error("gone wrong", exc_info=ValueError(VALUE))
            logger.warning("nothing of %s", "that")
    finally:
        logger.removeHandler(handler)
    assert heard.getvalue().startswith("it is {{secret:crane}}, 7 %\ngone wrong\nValueError: {{secret:crane}}\n")
    assert heard.getvalue().endswith("nothing of that\n")


def test_the_shared_database_is_scrubbed(tmp_path: Path) -> None:
    book = RunBook(Store(f"sqlite:///{tmp_path / 'holo.db'}"))
    with secrets_registered(SCRUBBER):
        book.began("r", title=VALUE, model="m", limit_micro=None, trace="t", flow_run_id="")
        book.ended("r", status="invalid", reason=f"about {VALUE}", steps=1, spent_micro=0)
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert VALUE.encode() not in data
    assert b"about {{secret:crane}}" in data


RESERVED = (
    "user",
    "click",
    "true",
    "123",
    "answer",
    "left",
    "write",
    "text",
    "object",
    "function",
    "stop",
    "ctrl",
    "a",
)


@pytest.mark.parametrize("dialect", ["structured", "tools"])
async def test_values_equal_to_protocol_words_break_nothing(dialect: str) -> None:
    scrubber = Scrubber([Secret(f"s{number}", word) for number, word in enumerate(RESERVED)])
    steps: list[dict[str, Any]] = [
        {"tool_name": "click", "element": "the left one", "x": 123, "y": 5, "button": "left"},
        {"tool_name": "hotkey", "keys": ["ctrl", "a"]},
        {"tool_name": "answer", "content": json.dumps({"user": True, "is": "the user"})},
    ]
    told = [wrote({"note": "user", "thought": "So.", "tool_call": one}) for one in steps]
    if dialect == "tools":
        told = [called(one.pop("tool_name"), one) for one in steps]
    client, recorder = MemoryModel(told), MemoryRecorder()
    profile = profile_for("holo3-1-35b-a3b")
    model = with_scrubber(as_model(client, profile, dialect), scrubber)
    walk = walk_of(model, recorder=ScrubbedRecorder(recorder, scrubber), transcript=Transcript("Be the user."))
    answer = await work(walk)
    assert json.loads(answer.text) == {"user": True, "is": "the {{secret:s0}}"}
    assert [event.tool_name for event in recorder.of("decision")] == ["click", "hotkey", "answer"]
    assert recorder.of("action")[0].gesture["button"] == "left"
    assert recorder.of("action")[1].gesture["keys"] == ["ctrl", "a"]
    plain = MemoryModel(told)
    await work(walk_of(as_model(plain, profile, dialect), transcript=Transcript("Be the user.")))
    for ours, theirs in zip(client.bodies, plain.bodies, strict=True):
        assert skeleton(ours) == skeleton(theirs)
    assert "Be the {{secret:s0}}." in str(client.bodies)


def skeleton(body: dict[str, Any]) -> object:
    """Return a request without its free text."""
    rest = {name: value for name, value in body.items() if name != "messages"}
    return rest, [
        (one["role"], sorted(one), one["content"] if one["role"] == "system" else 0) for one in body["messages"]
    ]


def test_every_event_field_is_free_text_or_listed_as_fixed() -> None:
    for kind in get_args(get_args(events.AnyEvent)[0]):
        for name, field in kind.model_fields.items():
            numbers = field.annotation in (int, bool, int | None, list[int])
            assert numbers or (name in FREE_TEXT) != (name in UNCHANGED), f"{kind.__name__}.{name}"


async def test_events_keep_their_names_and_digests() -> None:
    recorder, digest = MemoryRecorder(), "feed" * 16
    scrubber = Scrubber([Secret("a", "feed"), Secret("b", "answered"), Secret("c", "run_closed"), Secret("d", "Holo")])
    ours = ScrubbedRecorder(recorder, scrubber)
    await ours.record(
        events.RunClosed(status="answered", answer="feed", reason="answered by Holo", steps=1, cost_micro_usd=None)
    )
    await ours.record(events.Judged(outcome="changed", before=digest, after=digest, changed_box=[]))
    await ours.record(events.SubgoalOpened(title="feed", goal="feed", token="feed-7", model="Holo3"))
    closed, judged, opened = recorder.events
    assert closed == events.RunClosed(
        status="answered", answer="{{secret:a}}", reason="{{secret:b}} by {{secret:d}}", steps=1, cost_micro_usd=None
    )
    assert judged == events.Judged(outcome="changed", before=digest, after=digest, changed_box=[])
    assert opened == events.SubgoalOpened(title="{{secret:a}}", goal="{{secret:a}}", token="feed-7", model="Holo3")


def test_rows_are_found_regardless_of_secrets(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'holo.db'}")
    book, kills = RunBook(store), Kills(store)
    asked = kills.ask("run-abcd", "no more")  # by a process that knows no secret
    with secrets_registered(Scrubber([Secret("x", "abcd"), Secret("y", "answered")])):
        assert kills.find_request("run-abcd", [], 0.0) is not None
        book.began("run-abcd", title="abcd", model="abcd", limit_micro=None, trace="file:///abcd", flow_run_id="abcd")
        book.ended("run-abcd", status="answered", reason="abcd", steps=1, spent_micro=0)
        with pytest.raises(InvalidUsage, match=r"it would be stored in the clear"):
            check_open("The token", "cust-abcd")
    (row,) = book.latest(1)
    assert (row.run_id, row.status, row.trace) == ("run-abcd", "answered", "file:///abcd")
    assert (row.title, row.reason) == ("{{secret:x}}", "{{secret:x}}")
    assert asked == 1


@pytest.mark.parametrize(
    ("returns", "result", "kept"),
    [
        (dict[str, Any], {"user": True, "n": 123, "t": "the user"}, {"user": True, "n": 123, "t": "the {{secret:s}}"}),
        (list[Literal["user", "admin"]], ["user", "admin"], ["user", "admin"]),
        (tuple[Literal["user"], str], ("user", "user"), ("user", "{{secret:s}}")),
        (str, "user", "{{secret:s}}"),
    ],
)
def test_a_stored_result_is_scrubbed_if_it_stays_valid(returns: Any, result: Any, kept: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(returns)
    with secrets_registered(Scrubber([Secret("s", "user"), Secret("n", "123")])):
        text, found = to_stored_json(adapter, result)
    assert found == kept
    assert adapter.validate_json(text) == kept


def test_a_wrong_log_call_raises_nothing_and_reveals_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError(VALUE)

    scrub_logs()
    heard = io.StringIO()
    logger, handler = logging.getLogger("a careless logger"), logging.StreamHandler(heard)
    logger.addHandler(handler)
    try:
        with secrets_registered(SCRUBBER):
            logger.warning("%d", VALUE)
            logger.warning("%s", Broken())
            logger.warning(Broken())
            exec(compile("logger.warning('here', stack_info=True)  # " + VALUE, VALUE, "exec"), {"logger": logger})
    finally:
        logger.removeHandler(handler)
    said = heard.getvalue() + capsys.readouterr().err
    assert not SCRUBBER.may_hold(said)
    assert "cannot be logged (TypeError" in said
    assert 'File "{{secret:crane}}"' in said


def test_nothing_is_scrubbed_until_a_code_arrives() -> None:
    codes = Codes()
    with secrets_registered(Scrubber([], codes)):
        assert scrub_text("It is 418203.") == "It is 418203."
        codes.learn("by mail", "418203")
        assert scrub_text("It is 418203.") == "It is [secret by mail, a code]."
    assert scrubbing._known == ()

"""The rehearsal model over real HTTP, with the client library that flows use."""

from __future__ import annotations

import copy
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.ports import Reply, ToolRequest
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.transcript import ModelStep, Observed, StepResult, Transcript
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.dialects.tools import Tools
from holo_tasks.models.profile import profile_for
from holo_tasks.models.questions import Questions, locate
from holo_tasks.rehearsal.server import MODEL, OWNER, Rehearsal, RehearsalServer
from holo_tasks.scripts.playbook import load_playbook

PLAYBOOK = Path(__file__).parents[2] / "flows" / "expense_audit.playbook.yaml"
READ = "Open transaction TX-10482 in Meridian Ledger and read its record."


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(Rehearsal(load_playbook(PLAYBOOK))) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
async def client(server: RehearsalServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as made:
        yield made


async def ask(client: openai.AsyncOpenAI, body: dict[str, Any]) -> Any:
    known = {"model", "messages", "temperature", "tools", "tool_choice"} & body.keys()
    extra = {key: value for key, value in body.items() if key not in known}
    return await client.chat.completions.create(**{k: body[k] for k in known}, extra_body=extra)


def parse_step(content: str) -> Step:
    return Structured(profile_for("rehearsal")).parse(Reply(content, "stop", None))


def picture(*texts: str) -> Image.Image:
    drawn = Image.new("RGB", (640, 400), "#c3c3c3")
    for number, text in enumerate(texts):
        place = (200, 30 + 80 * number)
        ImageDraw.Draw(drawn).text(place, text, fill="black", font=ImageFont.load_default(22))
    return drawn


def shot(*texts: str) -> Any:
    from holo_tasks.core.screen.frame import Frame, RedactedFrame
    from holo_tasks.core.screen.geometry import Size
    from holo_tasks.models.encoding import JpegEncoder

    drawn = picture(*texts)
    return JpegEncoder().encode(RedactedFrame(Frame(drawn.tobytes(), Size(*drawn.size), ":0")))


def stats(server: RehearsalServer) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server.base_url}/rehearsal/stats") as reply:
        return dict(json.load(reply))


def test_a_disconnected_client_is_not_logged_but_other_errors_are(
    server: RehearsalServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (BrokenPipeError(), ConnectionResetError()):
        try:
            raise error
        except ConnectionError:
            server.handle_error(None, ("127.0.0.1", 1))
    assert capsys.readouterr().err == ""
    try:
        raise KeyError("a fault of its own")
    except KeyError:
        server.handle_error(None, ("127.0.0.1", 1))
    assert "a fault of its own" in capsys.readouterr().err


async def test_the_server_states_that_it_is_not_a_language_model(client: openai.AsyncOpenAI) -> None:
    (model,) = (await client.models.list()).data
    assert (model.id, model.owned_by) == (MODEL, OWNER)
    assert "not a language model" in OWNER


async def test_follows_the_playbook_through_a_conversation(
    client: openai.AsyncOpenAI, server: RehearsalServer, body: Any
) -> None:
    before = stats(server)
    menu, transcript = shot("MAIN MENU", "Transaction search", "Sign off"), Transcript(READ)
    transcript = transcript.extended(Observed(menu))
    reply = await ask(client, body(transcript=transcript))
    message = reply.choices[0].message
    step = parse_step(message.content)
    assert step.tool_call.tool_name == "click"
    assert step.tool_call.element == "Transaction search button"
    assert abs(step.tool_call.y - 310) < 25
    assert "menu-to-search" in message.reasoning_content
    assert reply.usage.prompt_tokens_details.cached_tokens == 0
    first = reply.usage.prompt_tokens

    transcript = transcript.extended(
        ModelStep(step), StepResult("click", "Clicked."), Observed(shot("NO RECORD FOUND", "Back"))
    )
    reply = await ask(client, body(transcript=transcript))
    assert parse_step(reply.choices[0].message.content).tool_call.element == "Back button"
    assert reply.usage.prompt_tokens_details.cached_tokens == first

    after = stats(server)
    assert after["requests"] - before["requests"] == 2
    assert after["images"] - before["images"] == 2
    assert after["breaches"] == before["breaches"]
    assert after["ocr_seconds"] > before["ocr_seconds"]


async def test_a_breach_is_refused_by_its_rule(client: openai.AsyncOpenAI, server: RehearsalServer, body: Any) -> None:
    request = copy.deepcopy(body(2))
    request["messages"][3]["reasoning_content"] = "Rehearsal."
    before = stats(server)["breaches_by_rule"].get("S40", 0)
    with pytest.raises(openai.BadRequestError, match="S40: reasoning is never replayed") as caught:
        await ask(client, request)
    assert caught.value.code == "S40"
    assert stats(server)["breaches_by_rule"]["S40"] == before + 1


async def test_rewritten_history_is_refused(client: openai.AsyncOpenAI, body: Any) -> None:
    transcript = Transcript(READ).extended(Observed(shot("MAIN MENU", "Transaction search", "Exit")))
    step = parse_step((await ask(client, body(transcript=transcript))).choices[0].message.content)
    changed = step.model_copy(update={"thought": "Something else."})
    transcript = transcript.extended(
        ModelStep(changed), StepResult("click", "Clicked."), Observed(shot("FLAG SAVED", "OK"))
    )
    with pytest.raises(openai.BadRequestError, match="C05"):
        await ask(client, body(transcript=transcript))


async def test_the_server_supports_function_calling(client: openai.AsyncOpenAI, server: RehearsalServer) -> None:
    before, dialect = stats(server), Tools(profile_for("rehearsal"))
    transcript = Transcript(READ).extended(Observed(shot("MAIN MENU", "Transaction search", "Leave")))
    first = await ask(client, dialect.request(transcript).body)
    assert first.choices[0].finish_reason == "tool_calls"
    step = called(dialect, first)
    assert step.tool_call.element == "Transaction search button"
    assert step.note

    transcript = transcript.extended(
        ModelStep(step), StepResult("click", "Clicked."), Observed(shot("NO RECORD FOUND", "Back"))
    )
    second = await ask(client, dialect.request(transcript).body)
    assert called(dialect, second).tool_call.element == "Back button"
    assert second.usage.prompt_tokens_details.cached_tokens > 0

    forged = step.model_copy(update={"call_id": "call_of_mine"})
    transcript = Transcript(READ, (transcript.entries[0], ModelStep(forged), *transcript.entries[2:]))
    with pytest.raises(openai.BadRequestError, match="C05"):
        await ask(client, dialect.request(transcript).body)
    assert stats(server)["breaches"] == before["breaches"] + 1


async def test_at_the_step_limit_the_answer_is_a_function_call(client: openai.AsyncOpenAI) -> None:
    dialect = Tools(profile_for("rehearsal"))
    transcript = Transcript(READ).extended(Observed(shot("MAIN MENU", "Transaction search")))
    reply = await ask(client, dialect.request(transcript, answer_only=True).body)
    assert called(dialect, reply).tool_call.tool_name == "answer"


def called(dialect: Tools, completion: Any) -> Step:
    message = completion.choices[0].message
    calls = [ToolRequest(call.id, call.function.name, call.function.arguments) for call in message.tool_calls]
    return dialect.parse(Reply(message.content, "tool_calls", None, tool_calls=tuple(calls)))


def question(text: str, *shown: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    axis = {"type": "integer", "minimum": 0, "maximum": 1000}
    asked = schema or {"x": axis, "y": axis}
    closed = {"type": "object", "properties": asked, "required": list(asked), "additionalProperties": False}
    return Questions(profile_for("rehearsal"))(text, [shot(*shown)], closed, thinking=False).body


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (locate("Transaction search"), 1),
        (locate("the button that says “Sign off”"), 2),
        (locate("Transaction search button"), 1),
        ('Where is "MAIN MENU"?', 0),
        ("Click on sign off, please.", 2),
    ],
)
async def test_finds_a_text_that_is_asked_for(client: openai.AsyncOpenAI, text: str, row: int) -> None:
    reply = await ask(client, question(text, "MAIN MENU", "Transaction search", "Sign off"))
    point = json.loads(reply.choices[0].message.content)
    assert set(point) == {"x", "y"}
    assert abs(point["y"] - 1000 * (30 + 80 * row + 11) / 400) < 25
    assert 200 / 640 * 1000 < point["x"] < 600


@pytest.mark.parametrize("text", ["Where is “Print”?", locate("Sign off")])
async def test_a_missing_or_ambiguous_text_is_not_found(client: openai.AsyncOpenAI, text: str) -> None:
    with pytest.raises(
        openai.BadRequestError, match="does not show the text of the question, or shows it twice"
    ) as caught:
        await ask(client, question(text, "MAIN MENU", "Sign off", "Sign off"))
    assert caught.value.code == "not_found"


async def test_questions_without_a_text_to_find_are_refused(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="the rehearsal model answers no questions"):
        await ask(client, question("Is this the main menu?", "MAIN MENU", schema={"yes": {"type": "boolean"}}))


async def test_at_the_step_limit_it_answers(client: openai.AsyncOpenAI, body: Any) -> None:
    transcript = Transcript(READ).extended(Observed(shot("MAIN MENU", "Transaction search")))
    reply = await ask(client, body(transcript=transcript, final=True))
    assert parse_step(reply.choices[0].message.content).tool_call.tool_name == "answer"


async def test_streaming_is_refused_with_a_message(client: openai.AsyncOpenAI, body: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="does not stream"):
        await ask(client, {**body(0), "stream": True})


async def test_an_unknown_model_name_is_answered_404(client: openai.AsyncOpenAI, body: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="only 'rehearsal'"):
        await ask(client, {**body(0), "model": "holo3-1-35b-a3b"})


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/chat/completions", b"{", 400),
        ("/chat/completions", b"[]", 400),
        ("/chat/completions", b"{}", 400),
        ("/completions", b"{}", 404),
        ("/nothing", None, 404),
    ],
)
def test_nonsense_gets_an_error_object(server: RehearsalServer, path: str, data: bytes | None, status: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(server.base_url + path, data=data)
    assert caught.value.code == status
    assert json.load(caught.value)["error"]["message"]


async def test_an_answer_takes_at_least_the_configured_latency(body: Any) -> None:
    with RehearsalServer(Rehearsal(load_playbook(PLAYBOOK)), latency_s=0.3) as slow:
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        async with openai.AsyncOpenAI(base_url=slow.base_url, api_key="none", max_retries=0) as client:
            started = time.monotonic()
            with pytest.raises(openai.BadRequestError):
                await ask(client, {**body(0), "temperature": 0.1})
            assert time.monotonic() - started >= 0.3
        slow.shutdown()


def run(*options: str, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "holo_tasks.rehearsal", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_the_command_prints_its_address_and_ends_on_a_signal() -> None:
    with run("--playbook", str(PLAYBOOK)) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{ready['base_url']}/models") as reply:
            assert json.load(reply)["data"][0]["id"] == ready["model"] == "rehearsal"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize("how", [[], ["nohup"]], ids=["plain", "nohup"])
def test_the_server_ends_with_its_parent_unless_started_by_nohup(how: list[str]) -> None:
    command = [*how, sys.executable, "-m", "holo_tasks.rehearsal.server", "--playbook", str(PLAYBOOK)]
    starter = (
        "import subprocess, time;"
        f"p = subprocess.Popen({command!r}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True);"
        "print(p.stdout.readline(), p.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        ready, server = json.loads(parent.stdout.readline()), int(parent.stdout.readline())
        parent.kill()
    try:
        if how:
            time.sleep(1.5)  # three times the interval at which the server checks its parent
            assert urllib.request.urlopen(f"{ready['base_url']}/models").status == 200
            return
        deadline = time.monotonic() + 10
        while Path(f"/proc/{server}").exists() and _runs(server):
            assert time.monotonic() < deadline, "the server outlived its parent"
            time.sleep(0.1)
    finally:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("text", "says"), [("name: x", "goals"), (None, "cannot read the playbook")], ids=["wrong", "missing"]
)
def test_a_bad_playbook_is_one_line_and_exit_2(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    if text is not None:
        path.write_text(text)
    process = run("--playbook", str(path))
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_a_repeated_picture_is_read_once(server: RehearsalServer) -> None:
    buffer = io.BytesIO()
    picture("SOMETHING NEW", f"number {os.getpid()}").save(buffer, "PNG")
    reader = server.rehearsal.reader
    assert reader.read(Image.open(buffer)).how != "remembered"
    assert reader.read(Image.open(buffer)).how == "remembered"

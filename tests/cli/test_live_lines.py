"""Progress messages of a command, on a terminal and elsewhere, and the texts that they never contain."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.cli.run_command.live_lines import LiveLines, doing
from holo_tasks.core import events
from holo_tasks.machine.output import say
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.records.handoffs import Handoffs
from tests.support.command_line import CommandLine, until
from tests.support.scripted_model import ScriptedModel, step


def decided(tool_name: str, label: str = "", **arguments: Any) -> events.Decided:
    return events.Decided(step=1, note=None, thought="", tool_name=tool_name, arguments=arguments, label=label)


def reply(cost: int | None) -> events.ReplyReceived:
    return events.ReplyReceived(
        step=1,
        attempt=1,
        latency_us=1,
        prompt_tokens=1,
        cached_tokens=0,
        completion_tokens=1,
        cost_micro_usd=cost,
        estimated=False,
        finish_reason="stop",
        content="hunter2",
    )


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (decided("click", "click ‘Save’"), "click ‘Save’"),
        (decided("write", "write ‘hunter2’", content="hunter2"), "type text"),
        (
            decided("write_at", "write ‘hunter2’ into ‘Name’", content="hunter2", element="Name"),
            "type text into ‘Name’",
        ),
        (
            decided("hold_and_tap_key", "hold shift and tap h u", hold_keys=["shift"], tap_keys=["h", "u"]),
            "press keys",
        ),
        (decided("hotkey", "press h", keys=["h"]), "press keys"),
        (decided("hotkey", "press shift+h", keys=["shift", "h"]), "press keys"),
        (decided("hotkey", "press ctrl+h", keys=["ctrl", "h"]), "press ctrl+h"),
        (decided("hotkey", "press enter", keys=["enter"]), "press enter"),
    ],
)
def test_progress_messages_do_not_contain_typed_text(event: events.Decided, said: str) -> None:
    assert doing(event) == said


@pytest.mark.parametrize(
    ("costs", "limit", "said"),
    [
        ((1_500, 2_000), None, "$0.0035"),
        ((1_500,), 500_000, "$0.0015 of $0.5000"),
        ((1_500, None), None, "cost unknown"),
    ],
)
def test_each_step_reports_the_cost_and_the_limit(
    costs: tuple[int | None, ...], limit: int | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aloud = LiveLines(7, limit, live=False)
    for cost in costs:
        aloud.on_event(reply(cost))
    aloud.on_event(decided("click", "click ‘Save’"))
    aloud.close()
    assert capsys.readouterr() == ("", f"holo-tasks: step 1 of 7: click ‘Save’; {said}\n")


def test_a_terminal_line_is_redrawn_and_remains_after_the_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    aloud = LiveLines(7, None, live=True)
    aloud.on_event(
        events.RequestSent(step=1, attempt=1, model="m", endpoint="", shots=[], messages=1, prompt_sha256="")
    )
    aloud.on_event(
        decided("click", "click ‘Save’ and a label that is much wider than any terminal is in all likelihood")
    )
    aloud.on_event(events.Judged(step=1, outcome="changed", before="", after="", changed_box=[]))
    aloud.on_event(events.CallFailed(step=2, attempt=1, reason="HTTP 503.", transient=True))
    aloud.close()
    said = capsys.readouterr().err
    lines = [line.split("\r\x1b[2K")[-1] for line in said.split("\n")]
    assert "asking the model" in said
    assert all(len(line) < 80 for part in said.split("\n") for line in part.split("\r\x1b[2K"))
    assert lines[0] == "holo-tasks: step 1 of 7: the model did not answer (HTTP 503)"
    assert lines[1].startswith("holo-tasks: step 1 of 7: click ‘Save’ and a label")


@pytest.mark.parametrize(
    ("tool", "said"), [("answer", "step 1 of 7: answer · $0.0000"), ("wait", "step 1 of 7: wait · 9.00 s · $0.0000")]
)
def test_an_answer_is_printed_without_a_duration(
    tool: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aloud = LiveLines(7, None, live=True)
    aloud.on_event(decided(tool, tool))
    now_s = time.monotonic() + 9.0
    monkeypatch.setattr("holo_tasks.cli.run_command.live_lines.time.monotonic", lambda: now_s)
    aloud.close()
    assert capsys.readouterr().err.endswith(f"holo-tasks: {said}\n")


def talk(to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write more to a file than the buffer of an unread pipe or terminal holds."""
    monkeypatch.setattr("sys.stderr", os.fdopen(os.dup(to), "w"))
    aloud = LiveLines(9999, None, live=False)
    for _ in range(9999):
        aloud.on_event(decided("click", f"click ‘{'Save' * 10}’"))
    aloud.close()


def test_a_pipe_that_is_read_late_does_not_block_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    end, pipe = os.pipe()
    talk(pipe, monkeypatch)
    say("the last word")
    sys.stderr.close()
    os.close(pipe)
    with os.fdopen(end) as said:
        lines = said.read().splitlines()
    assert lines[0].endswith("click ‘" + "Save" * 10 + "’; $0.0000")
    assert lines[-1] == "holo-tasks: the last word"


def test_a_stopped_terminal_does_not_block_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, theirs = pty.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    talk(theirs, monkeypatch)
    termios.tcflow(theirs, termios.TCOON)
    assert "click" in heard(terminal)
    os.close(theirs)
    os.close(terminal)


def heard(terminal: int) -> str:
    """Return the next output on a terminal; empty at its end."""
    ready, _, _ = select.select([terminal], [], [], 60.0)
    assert ready, "no more output"
    try:
        return os.read(terminal, 10_000).decode()
    except OSError:  # the end of a terminal
        return ""


@pytest.mark.desktop
def test_a_command_prints_its_question_at_once_and_resumes_after_the_answer(cli: CommandLine, app: str) -> None:
    script = [step("ask_human", question="Which {button}?"), step("answer", content="the big one")]
    handoffs = Handoffs(store_at(Path(cli.env["HOLO_HOME"])))
    terminal, theirs = pty.openpty()
    with ScriptedModel(script) as model:
        options = ("--app", app, "--base-url", model.base_url, "--hand-off", "3000", "--max-cost-usd", "0.25")
        running = cli.start("run", "Look.", *options, stderr=theirs, env={"TERM": "xterm"})
        os.close(theirs)
        (waiting,) = until(handoffs.waiting)
        said = ""
        while "with this link" not in said:
            said += heard(terminal)
        answer = ("--choice", "done", "--note", "the big one", "--by", "ada")
        resumed = cli("handoff", "resume", waiting.id, *answer)
        assert (resumed.code, resumed.stderr) == (0, "")
        assert resumed.stdout == f"{waiting.id}: ‘done’; run {waiting.run_id} goes on.\n"
        ended = running.end()
        while more := heard(terminal):
            said += more
    os.close(terminal)
    assert (ended.code, ended.stdout) == (0, "the big one\n")
    assert "They say: the big one" in str(model.requests[1]["messages"])
    assert "a person is needed: Which {button}?" in said
    assert re.search(r"it waits until \d\d:\d\d UTC.* \(in (49|50) min\)", said)
    assert f"HOLO_HOME={cli.env['HOLO_HOME']} holo-tasks handoff resume {waiting.id} --choice done" in said
    assert waiting.live in said
    assert "ada answered ‘done’" in said
    assert "of $0.2500" in said
    assert re.search(r"\r\x1b\[2Kholo-tasks: step 1 of 50: asking the model", said)
    assert re.search(r"step 2 of 50: answer · \$0\.\d+ of \$0\.2500\r?\n", said)

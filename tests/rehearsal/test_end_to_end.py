"""The rehearsal model on the real legacy program, on a real X server, through the real dialect."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.tool_calls import AnswerCall, AskHumanCall
from holo_tasks.core.prompts.transcript import ModelStep, Observed, StepResult, Transcript
from holo_tasks.core.screen.frame import RedactedFrame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.desktop import Desktop, VirtualDesktop
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.dialects.structured import Structured
from holo_tasks.models.encoding import JpegEncoder
from holo_tasks.models.profile import profile_for
from tests.support.long import few

LEDGER = Path(__file__).parents[2] / "flows" / "demo" / "legacy_ledger.py"
PLAYBOOK = Path(__file__).parents[2] / "flows" / "expense_audit.playbook.yaml"
PASSWORD = "tulip-7 Zoë"

SIGN_ON = "Sign on to Meridian Ledger as user auditor. The password is {{secret:portal_password}}. Then stop."
READ = "Open transaction {} in Meridian Ledger and read its record. If there is none, say so."
FLAG = (
    'File a flag for review on transaction {} in Meridian Ledger with reason "{}" and note "{}". '
    "Do not file it twice. Answer with the number of the flag."
)

pytestmark = [pytest.mark.desktop, pytest.mark.slow]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    command = [sys.executable, "-m", "holo_tasks.rehearsal", "--playbook", str(PLAYBOOK)]
    with subprocess.Popen([*command, "--log", "warning"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["base_url"]
        server.terminate()


@asynccontextmanager
async def ledger_on_desktop(folder: Path, size: Size, *options: str) -> AsyncIterator[Desktop]:
    from legacy_ledger_db import Transaction, create_database

    from holo_tasks.desktop import tk_python

    create_database(
        folder / "ledger.db",
        [
            Transaction("TX-10482", "Grand Hôtel Zürich", "2026-03-14", 128450, "EUR", "A. Kovács", "Posted"),
            Transaction("TX-10500", "Blue Line Taxi Co.", "2026-03-02", 4210, "USD", "M. Weber", "Open"),
        ],
    )
    app = shlex.join([tk_python(), str(LEDGER), "--db", str(folder / "ledger.db"), *options])
    async with VirtualDesktop(
        size=size, app=app, env={"MERIDIAN_PASSWORD": PASSWORD}, secrets={"portal_password": PASSWORD}
    ) as desktop:
        yield desktop


async def pursue(desktop: Desktop, base_url: str, task: str, most: int = 40) -> object:
    """Work on a task as a run does: look, ask, act. Return the answer."""
    endpoint, dialect = ModelEndpoint(base_url, None), Structured(profile_for("rehearsal"))
    transcript, said = Transcript(task), []
    try:
        for _ in range(most):
            frame = await desktop.look(after_action=bool(said))
            shot = JpegEncoder().encode(RedactedFrame(frame))
            transcript = transcript.extended(Observed(shot))
            reply = await endpoint.complete(dialect.request(transcript).body, timeout_s=60)
            step = dialect.parse(reply)
            said.append(step.thought)
            if isinstance(step.tool_call, AnswerCall):
                return json.loads(step.tool_call.content)
            if isinstance(step.tool_call, AskHumanCall):
                pytest.fail(f"asked a person: {step.tool_call.question}\n" + "\n".join(said))
            gesture = to_gesture(step.tool_call, shot)
            assert gesture is not None
            await desktop.do(gesture)
            transcript = transcript.extended(ModelStep(step), StepResult(step.tool_call.tool_name, "Done."))
    finally:
        await endpoint.close()
    pytest.fail("no answer\n" + "\n".join(said))


@pytest.mark.parametrize(
    ("size", "options"),
    few(
        [
            (Size(1280, 800), ("--position", "60,40", "--seed", "3", "--tip-after", "4", "--session-actions", "9")),
            (Size(1600, 1000), ("--position", "330,170", "--font-size", "15", "--seed", "8", "--tip-after", "5")),
        ]
    ),
    ids=["1280x800", "1600x1000, larger font"],
)
@pytest.mark.long
async def test_audits_a_transaction_wherever_the_window_is(
    size: Size, options: tuple[str, ...], base_url: str, tmp_path: Path
) -> None:
    from legacy_ledger_db import LedgerFile

    note = "Receipt says 1248.50 EUR, the ledger says 1284.50 EUR."
    async with ledger_on_desktop(tmp_path, size, *options) as desktop:
        assert await pursue(desktop, base_url, SIGN_ON) == {"signed_on": True}
        assert await pursue(desktop, base_url, READ.format("TX-10482")) == {
            "found": True,
            "reference": "TX-10482",
            "merchant": "Grand Hôtel Zürich",
            "date": "2026-03-14",
            "amount": "1284.50",
            "currency": "EUR",
            "status": "Posted",
            "flags": 0,
        }
        filed = await pursue(desktop, base_url, FLAG.format("TX-10482", "Wrong amount", note))
        assert filed == {"flag": 1001}
        again = await pursue(desktop, base_url, FLAG.format("TX-10482", "Wrong amount", note))
        assert again == {"flag": None, "already": True}
        missing = await pursue(desktop, base_url, READ.format("TX-99999"))
        assert isinstance(missing, dict)
        assert missing["found"] is False
        assert missing["amount"] is None
    flags = LedgerFile(tmp_path / "ledger.db").flags()
    assert [(flag.reference, flag.reason, flag.note) for flag in flags] == [("TX-10482", "Wrong amount", note)]

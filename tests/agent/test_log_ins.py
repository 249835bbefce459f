"""The how-to page about log-ins as a test: a program with a second factor, an expiring session, and mailed codes."""

from __future__ import annotations

import importlib.util
import json
import logging
import shlex
import sys
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from email.utils import localtime, make_msgid
from pathlib import Path
from types import ModuleType
from typing import Any

import pyotp
import pytest
from PIL import Image
from prefect import flow
from prefect.client.orchestration import get_client

from holo_blocks import AuditBucket, HoloDesktop, HoloMailbox, HoloModel, holo_agent
from holo_tasks import Interruption, Screens, Script, SecretSpec, State, Text, pursue, subgoal
from holo_tasks.desktop import tk_python
from holo_tasks.office.mailbox import ImapAccount
from holo_tasks.vision.ocr_reader import Reader
from tests.support.doc_pages import DOCS, blocks
from tests.support.dovecot import PASSWORD, mail_server
from tests.support.prefect_api import PrefectAPI
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.usefixtures("prefect"), pytest.mark.desktop]

APPS = Path(__file__).parents[1] / "apps"
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXQ"
SECRET = "hunter2-harbour"
CODES, BEFORE = ["402917", "583164"], "771305"
"""Codes that the program mails in order, and one from before: fixed, so that the tests know them."""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The code of the page, as a reader copies it."""
    texts = [block.text for block in blocks("python", pages=[DOCS / "how-to" / "log-ins.md"])]
    path = tmp_path / "portal_page.py"
    path.write_text("\n\n".join(texts), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


class Portal:
    """The program, its blocks, and its log of codes."""

    def __init__(self, folder: Path, *, look_ups: int, maildir: Path | None = None) -> None:
        self.folder = folder / "portal"
        self.folder.mkdir()
        told = {"user": "anna", "password": SECRET, "seed": f"otpauth://totp/anna?secret={SEED}&period=15"}
        told |= {"look_ups": look_ups, "maildir": str(maildir or ""), "pyotp": str(Path(pyotp.__file__).parents[1])}
        told["codes"] = CODES
        (self.folder / "settings.json").write_text(json.dumps(told))
        self.desktop = HoloDesktop(
            app=shlex.join([tk_python(), str(APPS / "portal_tk.py"), str(self.folder)]),
            width=900,
            height=560,
            secrets={"portal_password": SECRET, "portal_seed": told["seed"]},
            named_secrets=(SecretSpec(name="portal_seed", totp=True),),
        )
        self.evidence = folder / "evidence"

    @property
    def log(self) -> list[list[str]]:
        return [line.split() for line in (self.folder / "log").read_text().splitlines()]

    def codes(self, outcome: str) -> list[str]:
        return [words[1] for words in self.log if words[0] == "code" and words[2] == outcome]


@pytest.fixture
def model() -> Iterator[HoloModel]:
    with ScriptedModel([]) as served:
        yield HoloModel(base_url=served.base_url, model="holo3-1-35b-a3b")


async def test_an_expired_session_is_signed_in_again_and_no_code_leaks(
    page: ModuleType, tmp_path: Path, model: HoloModel, caplog: pytest.LogCaptureFixture, prefect: str
) -> None:
    portal = Portal(tmp_path, look_ups=1)
    named = {"holo": model, "portal": portal.desktop, "evidence": AuditBucket(local_folder=str(portal.evidence))}
    for name, block in named.items():
        await block.save(name, overwrite=True)
    caplog.set_level(logging.DEBUG)
    state = await page.read_portal(["R-1", "R-2"], return_state=True)
    assert await state.result() == ["OPEN-R-1", "OPEN-R-2"]
    taken = portal.codes("taken")
    assert len(set(taken)) == len(taken) == 2
    assert [words[0] for words in portal.log].count("expired") == 1
    assert not portal.codes("wrong")
    assert not portal.codes("replayed")
    private = [SEED, *taken, SECRET]
    for file in portal.evidence.rglob("*"):
        found = file.read_bytes() if file.is_file() else b""
        assert not [text for text in private if text.encode() in found], file
    assert not [text for text in private if text in caplog.text]
    assert not [text for text in private if text in await said_by_prefect(str(state.state_details.flow_run_id))]
    texts = shown(portal.evidence)
    assert any("SECOND STEP" in text for text in texts), "the pictures show that program"
    assert not [text for text in texts if any(code in text.replace(" ", "") for code in taken)]


async def test_a_mailed_code_is_used_once_and_kept_private(
    page: ModuleType, tmp_path: Path, model: HoloModel, mail: Callable[..., ImapAccount]
) -> None:
    account = mail("plain")
    came_before(account_home(mail), BEFORE)
    portal = Portal(tmp_path, look_ups=1, maildir=account_home(mail))
    box = HoloMailbox(host="localhost", port=account.port, user=account.user, password=PASSWORD, security="plain")
    await box.save("codes", overwrite=True)
    signed_off = State("signed off", Text("SIGN ON TO THE PORTAL"))
    screens = Screens(
        states=page.PORTAL.states,
        interruptions=[Interruption(signed_off, Script(page.sign_on_by_mail))],
        home="records",
    )

    @subgoal(screens=screens, layers=lambda record: Script(page.read_status, record=record), effect=None)
    async def status_of(record: str) -> str:
        return str(await pursue(f"Read {record}."))

    @flow(name="by mail", persist_result=False)
    async def by_mail() -> list[str]:
        evidence = AuditBucket(local_folder=str(portal.evidence))
        async with holo_agent("By mail", model=model, desktop=portal.desktop, audit=evidence, allow="act"):
            return [await status_of(record) for record in ("R-1", "R-2")]

    assert await by_mail() == ["OPEN-R-1", "OPEN-R-2"]
    sent, taken = [words[1] for words in portal.log if words[0] == "mailed"], portal.codes("taken")
    assert sent == taken == CODES
    for file in portal.evidence.rglob("*"):
        found = file.read_bytes() if file.is_file() else b""
        assert not [code for code in taken if code.encode() in found], file
    assert not [text for text in shown(portal.evidence) if any(code in text.replace(" ", "") for code in taken)]


@pytest.fixture(scope="module")
def mail() -> Iterator[Callable[..., ImapAccount]]:
    yield from mail_server()


def account_home(mail: Callable[..., ImapAccount]) -> Path:
    home: Path = mail.home  # type: ignore[attr-defined]
    return home


def came_before(maildir: Path, code: str) -> None:
    """Put a valid letter with a code into a mailbox before the log-in begins."""
    letter = EmailMessage()
    letter["From"], letter["To"] = "Harbour Portal <codes@portal.example>", "anna@localhost"
    letter["Date"], letter["Subject"], letter["Message-ID"] = localtime(), "Your code", make_msgid()
    letter.set_content(f"Your code for the portal is {code}. It is good once.\n")
    path = maildir / "new" / "1.before"
    path.write_bytes(letter.as_bytes())
    path.chmod(0o644)


async def said_by_prefect(flow_run_id: str) -> str:
    """Return all data of a run on the server."""
    told: list[Any] = []
    api = PrefectAPI(str(get_client().api_url).rstrip("/"))
    told += [api.flow_run(flow_run_id), api.post("/task_runs/filter", {}), api.post("/artifacts/filter", {})]
    told += [
        api.post("/logs/filter", {"limit": 200}),
        api.post("/flow_runs/filter", {}),
        api.post("/variables/filter", {}),
    ]
    return json.dumps(told)


def shown(evidence: Path) -> set[str]:
    """Return the lines that OCR reads in the pictures of a run."""
    reader, lines = Reader(), set()
    # In order of time: only the changed regions of each picture must be read.
    for picture in sorted(evidence.rglob("frames/*"), key=lambda path: path.stat().st_mtime_ns):
        lines |= {line.text for line in reader.read(Image.open(picture).convert("RGB")).sight.lines}
    return lines

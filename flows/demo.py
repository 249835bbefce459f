"""`make demo`: run the expense audit on this machine, with real services and a rehearsal model.

Nothing has to be set up.

The demo starts a Prefect server, an S3 server and the rehearsal model. It writes the mailbox and the database of the
legacy program, and saves the blocks. Then it runs the flow and prints the places of all results. In a second run all
work is already done. With HAI_API_KEY or HOLO_BASE_URL in the environment, the demo uses a real Holo model.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "flows" / "demo"
PLAYBOOK = "look-up.playbook.yaml"
"""File of the playbook. It is compiled from the first half of the mailbox and looks up the rest."""
HOLO = Path(sys.executable).with_name("holo-tasks")
"""The command line."""
MARK = ".holo-demo"
"""File that marks a folder as the output of the demo. Only such a folder is deleted by --fresh."""
sys.path[:0] = [str(PROGRAMS), str(ROOT / "flows")]

if TYPE_CHECKING:
    from s3_server import S3Server

    from holo_blocks import HoloModel


def main() -> int:
    """Run the demo; return the exit code."""
    options = _options()
    out: Path = options.out.resolve()
    if not re.fullmatch(r"\d{2,5}x\d{2,5}", options.size):
        sys.exit(f"demo: --size must look like 1280x800, not {options.size!r}")
    if options.fresh and out.exists():
        if not (out / MARK).exists():
            sys.exit(f"demo: {out} is not the output of an earlier demo; --fresh would delete it")
        shutil.rmtree(out, ignore_errors=True)
    os.umask(0o077)  # all output is private
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    # Prefect reads its settings on import, so they are set before.
    os.environ.update(
        PREFECT_HOME=str(out / "prefect"),
        HOLO_HOME=str(out / "holo"),
        HOLO_REPORTS=str(out),
        # The logs are in the Prefect UI. The console shows its own table.
        PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL="WARNING",
        PREFECT_SERVER_ANALYTICS_ENABLED="0",
        DO_NOT_TRACK="1",
    )
    os.environ.pop("PREFECT_PROFILE", None)
    from holo_tasks import HoloError

    started = time.monotonic()
    try:
        with ExitStack() as stack:
            _run(options, out, stack)
    except HoloError as error:
        print(f"demo: {error.status}: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    print(f"finished in {time.monotonic() - started:.0f} s")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "demo-output", help="folder for all output")
    parser.add_argument("--fresh", action="store_true", help="delete the output of earlier runs first")
    parser.add_argument("--quick", action="store_true", help="one letter of each kind instead of all 16")
    parser.add_argument(
        "--by-model", action="store_true", help="let the model look up all receipts, then compile the run"
    )
    parser.add_argument("--person", action="store_true", help="wait for your answers to hand-offs")
    parser.add_argument("--keep", action="store_true", help="leave Prefect and S3 running until Enter is pressed")
    parser.add_argument("--size", default="1280x800", help="size of the desktop")
    parser.add_argument("--font-size", default="11", help="font size of the legacy program")
    parser.add_argument("--position", default=None, help="X,Y of the legacy program's window")
    parser.add_argument("--seed", default="7", help="seed of the legacy program's delays and tips")
    return parser.parse_args()


def _run(options: argparse.Namespace, out: Path, stack: ExitStack) -> None:
    from s3_server import S3Server

    from holo_tasks import TemporaryServer

    with _timed("starting a Prefect server, an S3 server and the model"):
        server = TemporaryServer(os.environ, ui=True)
        stack.callback(server.stop)
        server.enter(os.environ)
        model, rehearsal = stack.enter_context(_model())
        s3 = stack.enter_context(S3Server(out / "s3"))
        app = _legacy_program(options, out)
        server.wait()
    with _timed("filling in the Prefect blocks"):
        asyncio.run(_fill_in_blocks(options, out, s3, model, app))
    print(f"  model     {model.model} at {model.base_url}{' (not a language model)' * rehearsal}")
    pages = server.url.removesuffix("/api")
    print(f"  prefect   {pages}  (password of its pages: {server.login})\n", flush=True)

    from expense_audit import expense_audit

    def audit(report: str = "expense-audit.html", **how: Any) -> None:
        async def audited() -> None:
            async with _answering_person(by_hand=options.person):
                await expense_audit(workbook="expense-audit.xlsx", report=report, ask_person_seconds=900, **how)

        asyncio.run(audited())

    _set_s3_environment(s3)
    if options.by_model:
        audit()
        _compile(out)
    elif not (out / PLAYBOOK).exists():
        # The model looks up the first half. A playbook is compiled from that run, and looks up the rest.
        audit("expense-audit-by-model.html", most=_half(options))
        _show_evidence(out)
        _compile(out)
    if not options.by_model:
        audit(playbook=PLAYBOOK if (out / PLAYBOOK).exists() else None)
    _show_flags(out / "meridian.db")
    _show_evidence(out)
    _show_runs(out, s3)
    print(
        f"objects   {s3.folder}  (SeaweedFS, bucket {s3.bucket!r})\n"
        f"prefect   PREFECT_HOME={out / 'prefect'} PREFECT_SERVER_API_AUTH_STRING={server.login} "
        f"{ROOT / '.venv/bin/prefect'} server start"
    )
    if options.keep:
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            input(f"Prefect runs at {pages} with the password {server.login}. Press Enter to stop it. ")


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    print(f"  {what} … ", end="", flush=True)
    yield
    print(f"{time.monotonic() - started:.1f} s", flush=True)


@asynccontextmanager
async def _answering_person(*, by_hand: bool) -> AsyncIterator[None]:
    """Answer hand-offs with the command that a person would type. With ``by_hand``, print the command instead."""
    answering = asyncio.create_task(_answer(by_hand))
    try:
        yield
    finally:
        answering.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await answering


async def _answer(by_hand: bool) -> None:
    from receipts_mailbox import MANGLED_SAYS

    from holo_tasks import waiting_handoffs
    from receipts.ask_person import IN_THE_NOTE

    answered: set[str] = set()
    while True:
        await asyncio.sleep(1)
        for handoff in await asyncio.to_thread(waiting_handoffs):
            if handoff.id in answered:
                continue
            answered.add(handoff.id)
            if by_hand:
                print(f"  a person is asked: {handoff.question}")
                offered = ["done"] if "done" in handoff.choices else handoff.choices
                choices = ", or ".join(f"--choice {shlex.quote(choice)}" for choice in offered)
                resume = f"{HOLO} handoff resume {handoff.id} {choices}"
                print(f"  answer with: HOLO_HOME={os.environ['HOLO_HOME']} {resume}")
                print(f"  the desktop: {handoff.live or 'not shown'}", flush=True)
                continue
            words = ["handoff", "resume", handoff.id, "--by", "accountant", "--choice"]
            # The demo takes the last choice, which is the safe one, for all other questions.
            words += [IN_THE_NOTE, "--note", MANGLED_SAYS] if IN_THE_NOTE in handoff.choices else [handoff.choices[-1]]
            print(f"  the demo plays the person: holo-tasks {shlex.join(words)}", flush=True)
            done = await asyncio.create_subprocess_exec(HOLO, *words, stdout=asyncio.subprocess.PIPE)
            said, _ = await done.communicate()
            print(f"    {said.decode().strip()}", flush=True)


@contextmanager
def _model() -> Iterator[tuple[HoloModel, bool]]:
    """Yield the block of a model, and whether it is the rehearsal model.

    It is a real Holo model if the environment names one.
    """
    from holo_blocks import HoloModel, rehearsal_model

    if block := HoloModel.from_environment():
        yield block, False
        return
    with rehearsal_model(ROOT / "flows" / "expense_audit.playbook.yaml") as block:
        yield block, True


def _legacy_program(options: argparse.Namespace, out: Path) -> str:
    """Write the mailbox and the database of the legacy program if they are missing.

    Returns the command of the program.
    """
    from legacy_ledger_db import Transaction, create_database
    from receipts_mailbox import transactions, write_maildir

    from holo_tasks.desktop import tk_python

    write_maildir(out / "mailbox", one_of_each=options.quick)
    database = out / "meridian.db"
    if not database.exists():
        create_database(database, [Transaction(**cast("dict[str, Any]", row)) for row in transactions()])
    secret = out / "portal-password"
    if not secret.exists():
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_urlsafe(12))
    command = [tk_python(), str(PROGRAMS / "legacy_ledger.py"), "--db", str(database), "--secret-file", str(secret)]
    command += ["--seed", options.seed, "--font-size", options.font_size]
    if options.position:
        command += ["--position", options.position]
    return shlex.join(command)


async def _fill_in_blocks(options: argparse.Namespace, out: Path, s3: S3Server, model: HoloModel, app: str) -> None:
    """Save the blocks that a user would create in the Prefect UI."""
    from prefect.types import SecretDict
    from pydantic import SecretStr

    from holo_blocks import AuditBucket, HoloDesktop, HoloMailbox

    width, height = (int(side) for side in options.size.lower().split("x"))
    password = (out / "portal-password").read_text()
    blocks = [
        HoloMailbox(maildir=str(out / "mailbox")),
        model,
        HoloDesktop(app=app, width=width, height=height, secrets=SecretDict({"portal_password": password})),
        AuditBucket(
            bucket=s3.bucket,
            prefix="expense-audit",
            endpoint_url=s3.endpoint,
            region="us-east-1",
            access_key_id=SecretStr(s3.access_key),
            secret_access_key=SecretStr(s3.secret_key),
        ),
    ]
    for block in blocks:
        await block.asave("expense-audit", overwrite=True)


def _half(options: argparse.Namespace) -> int:
    """Return the number of receipts that the model looks up before a playbook exists."""
    from receipts_mailbox import expected

    return sum(one.outcome != "not_a_receipt" for one in expected(one_of_each=options.quick)) // 2


def _set_s3_environment(s3: S3Server) -> None:
    """Set the environment variables by which readers of evidence find the S3 server."""
    os.environ.update(AWS_ENDPOINT_URL=s3.endpoint, AWS_REGION="us-east-1")
    os.environ.update(AWS_ACCESS_KEY_ID=s3.access_key, AWS_SECRET_ACCESS_KEY=s3.secret_key)


def _holo(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `holo-tasks`; return its exit code and output."""
    return subprocess.run([HOLO, *words], capture_output=True, text=True, check=False)


def _newest() -> str:
    """Return the trace of the newest run."""
    (newest,) = json.loads(_holo("runs", "--last", "1", "--json").stdout)["runs"]
    return str(newest["trace"])


def _compile(out: Path) -> None:
    """Compile a playbook from the newest run and print it. Prints the reason if that is not possible."""
    file, began = out / PLAYBOOK, time.monotonic()
    made = _holo("compile", _newest(), "--goal", "look-up", "--out", str(file))
    if made.returncode:
        error = made.stderr.strip().rpartition("invalid: ")[2]
        print(f"\nplaybook  none: {error} The model looks up the rest too.", flush=True)
        return
    print(made.stderr, end="", file=sys.stderr, flush=True)
    print(f"\nplaybook  {file}  (compiled from this run's evidence in {time.monotonic() - began:.1f} s)")
    goal = yaml.safe_load(file.read_text(encoding="utf-8"))["goals"]["look-up"]
    for number, step in enumerate(goal.get("steps", ()), start=1):
        print(f"  {number}. {', '.join(f'{key}: {value}' for key, value in step.items())}")
    for rule in goal.get("rules", ()):
        screen = rule.get("screen", [])
        shown = [screen] if isinstance(screen, str) else screen
        print(f"  {', '.join(map(str, shown))}: {' '.join(action['thought'] for action in rule['do'])}")
    print("The playbook looks up the rest. The model continues where it does not fit.\n", flush=True)


def _show_evidence(out: Path) -> None:
    """Verify the newest run's evidence as an auditor would, and print the verdict."""
    key = out / "public.pem"
    key.write_text(_holo("keys", "show").stdout)
    found = _holo("verify", _newest(), "--public-key", str(key))
    print(f"\nevidence  {found.stdout.strip() or found.stderr.strip()}")


def _show_runs(out: Path, s3: S3Server) -> None:
    """Write the overview of all runs in the bucket."""
    made = _holo("index", f"s3://{s3.bucket}/expense-audit", "--out", str(out / "runs.html"))
    print(f"all runs  {made.stdout.strip() or made.stderr.strip()}")


def _show_flags(database: Path) -> None:
    from legacy_ledger_db import LedgerFile

    print("\nflags on file in Meridian Ledger's own database")
    for flag in LedgerFile(database).flags():
        print(f"  {flag.id}  {flag.reference}  {flag.reason:<18}  {flag.note}")


if __name__ == "__main__":
    sys.exit(main())

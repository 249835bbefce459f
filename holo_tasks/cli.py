"""`holo-tasks`: run a goal, write a report, list models, see what works. Only results go to stdout."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holo_tasks.core.errors import HoloError, InvalidUsage, Killed
from holo_tasks.printable import printable
from holo_tasks.stopping import cancel_at_signals, interrupt_at_signals

if TYPE_CHECKING:
    from holo_tasks.core.geometry import Size
    from holo_tasks.core.scrub import Scrubber
    from holo_tasks.core.secret import Secret
    from holo_tasks.outcome import Outcome, Settings
    from holo_tasks.prefect_server import TemporaryServer
    from holo_tasks.safety.masking.settings import Redaction

MAX_SIDE = 16_384
EMPTY: dict[str, dict[str, object]] = {
    "models": {},
    "doctor": {"status": "failed", "checks": []},
    "runs": {"runs": [], "items": []},
    "index": {
        "runs": 0,
        "damaged": 0,
        "success_rate": None,
        "cost_micro_usd": 0,
        "cost_unknown": 0,
        "failures": [],
        "rows": [],
    },
    "verify": {"verdict": None},
}
"""What ``--json`` prints when a command was refused; nothing for a list that there is not."""
WRITTEN = "exit codes: 0 written, also of damaged traces; 2 nothing could be read or written"
NO_RUN = {"answer": None, "steps": 0, "cost_usd": 0.0, "trace": None, "flow_run_id": None}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status's code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    interrupt_at_signals()
    try:
        options = _parser().parse_args(given)
        options.given = given
        code: int = options.do(options)
    except HoloError as error:
        code = _fail(error, given)
    except BaseException as error:
        if not _from_outside(error):
            raise
        code = _fail(Killed("The command was stopped from outside."), given)
    if "holo_tasks.leaving" in sys.modules:
        from holo_tasks.leaving import leave

        leave(code)
    sys.exit(code)


def _from_outside(error: BaseException) -> bool:
    """Say whether somebody stopped this command. Loading asyncio for its `CancelledError` would take long."""
    return isinstance(error, KeyboardInterrupt) or type(error).__name__ == "CancelledError"


def _prepare_streams() -> None:
    """Put something in the place of standard streams that are closed: what is opened next would be taken for them."""
    while (unused := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(unused)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  # as long as the process
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _put(line: str, code: int) -> int:
    """Write the result to stdout; return the exit code. A reader that has gone is no error, a full disk is."""
    try:
        print(line, flush=True)
    except OSError as error:
        # What is still held back would be tried again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _say(f"invalid: the result cannot be written to stdout: {error.strerror}.")
            return code or InvalidUsage.exit_code
    return code


def _say(text: str, place: str = "") -> None:
    """Write one line to stderr, the ``place`` at its end as it is; where nobody reads it, the exit code has to do."""
    with contextlib.suppress(OSError):
        print(f"holo-tasks: {printable(_hushed(' '.join(text.split())) + place)}", file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        # Options are said in full: what was given is looked at again when a command is refused.
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise InvalidUsage(f"{message}; see `{self.prog} --help`.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="holo-tasks", description="Run Holo computer-use agents as Prefect flows.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    run = commands.add_parser(
        "run",
        help="pursue one goal on a screen",
        description="Pursue one goal on a screen and print the answer. Looks only, unless --allow act is given.",
        epilog="exit codes: 0 answered, 2 invalid, 10 limit, 11 needs_person, 12 refused, 13 killed, "
        "14 model_failed, 15 desktop_failed",
    )
    run.add_argument("goal", metavar="GOAL", help="what to do, in plain words")
    screen = run.add_mutually_exclusive_group()
    screen.add_argument("--display", metavar=":N", help="an X display that is already running")
    screen.add_argument("--app", metavar="COMMAND", help="a program to start on a new virtual desktop")
    run.add_argument("--size", metavar="WxH", default="1280x800", help="of the virtual desktop (%(default)s)")
    _add_model(run)
    run.add_argument("--max-steps", type=int, default=50, metavar="N", help="(%(default)s)")
    run.add_argument("--max-cost-usd", type=float, metavar="X", help="stop before spending more")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="stop after this time")
    run.add_argument("--allow", choices=["read", "act"], help="whether input is sent (read)")
    run.add_argument("--rules", metavar="FILE.toml", type=Path, help="which actions are allowed, and which need a yes")
    run.add_argument("--redact", metavar="FILE.toml", type=Path, help="what is painted over before a screen is sent")
    _add_audit(run)
    _add_local_only(run)
    run.add_argument(
        "--secret",
        metavar="NAME[=PROGRAM]",
        action="append",
        default=[],
        help="to be typed as {{secret:NAME}}, into that program; its value is HOLO_SECRET_NAME's or a Secret block's",
    )
    run.add_argument("--token", metavar="KEY", help="business item; finished once, it is never done again")
    run.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    run.set_defaults(do=_run)

    report = commands.add_parser("report", help="write a trace as one HTML page", epilog=WRITTEN)
    report.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    report.add_argument("--out", metavar="FILE.html", type=Path, required=True)
    report.set_defaults(do=_report)

    index = commands.add_parser(
        "index",
        help="write an overview of many runs as one HTML page",
        description="Read all traces below a folder or a bucket's prefix: success, cost, steps, reasons of failure. "
        "Give --out, --json or both.",
        epilog=WRITTEN,
    )
    _add_where(index)
    index.add_argument("--out", metavar="FILE.html", type=Path)
    index.add_argument("--reports", action="store_true", help="write each run's report beside the page, and link it")
    index.add_argument("--json", action="store_true", help="print one JSON object")
    index.set_defaults(do=_index)

    export = commands.add_parser(
        "export",
        help="write runs as CSV",
        description="Write a row for each run below a folder or a bucket's prefix.",
        epilog=WRITTEN,
    )
    _add_where(export)
    export.add_argument("--csv", metavar="FILE", required=True, help="where the rows go; - is stdout")
    export.add_argument("--steps", action="store_true", help="a row for each step instead")
    export.set_defaults(do=_export)

    verify = commands.add_parser(
        "verify",
        help="check that a trace is what was recorded, all of it",
        description="Check a trace offline: every record's signature and place, every picture, and the heads that were "
        "anchored apart from it.",
        epilog="exit codes: 0 VALID, 3 INCOMPLETE (the end is missing), 4 TAMPERED, 2 nothing could be checked",
    )
    verify.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    told = "as `holo-tasks keys show` printed it where the run was recorded"
    verify.add_argument("--public-key", metavar="FILE", type=Path, required=True, help=told)
    told = "heads kept apart from the trace (those of HOLO_HOME and HOLO_ANCHORS)"
    verify.add_argument("--anchors", metavar="FILE|s3://BUCKET/PREFIX", help=told)
    verify.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    verify.set_defaults(do=_verify)

    keys = commands.add_parser("keys", help="the key that traces are signed with")
    which_key = keys.add_subparsers(dest="which", required=True, metavar="COMMAND", parser_class=_Parser)
    new = which_key.add_parser("new", help="make a key pair; the first run does so, too")
    new.add_argument("--replace", action="store_true", help="keep the key there is aside, and sign with a new one")
    new.set_defaults(do=_new_key)
    which_key.add_parser("show", help="print the public key (PEM)").set_defaults(do=_show_key)

    models = commands.add_parser("models", help="list the models that are known, and how each is spoken to")
    models.add_argument("--json", action="store_true", help="print one JSON array")
    models.set_defaults(do=_models)

    approve = commands.add_parser(
        "approve",
        help="say yes to an action that waits for a person, or list those that do",
        description="Say yes to one action on one screen. It can be used once; then run the work again.",
        epilog="exit codes: 0 done, 2 nothing waits under that number",
    )
    approve.add_argument("id", metavar="ID", type=int, nargs="?", help="as the run said; without it, list what waits")
    approve.add_argument("--by", metavar="NAME", help="who says yes (you)")
    approve.add_argument("--ttl", type=float, default=900.0, metavar="SECONDS", help="how long it can be used (900)")
    approve.set_defaults(do=_approve)

    kill = commands.add_parser(
        "kill",
        help="stop runs at once: their input, whatever hangs",
        description="Stop the input of runs within a second, whatever hangs, and end them; say what became of each.",
        epilog="exit codes: 0 all input has stopped, 2 there is no such run, 15 some process did not answer",
    )
    which = kill.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="ID", help="a run's id, or its flow run's")
    which.add_argument("--all", action="store_true", help="all runs that have begun by now")
    kill.add_argument("--reason", metavar="TEXT", default="", help="kept in the run's trace")
    kill.set_defaults(do=_kill)

    runs = commands.add_parser("runs", help="list runs with status, spend and limit, and what waits for a person")
    runs.add_argument("--last", type=int, default=20, metavar="N", help="(%(default)s)")
    runs.add_argument("--json", action="store_true", help="print one JSON object")
    runs.set_defaults(do=_runs)

    retry = commands.add_parser(
        "retry",
        help="drive an unfinished item again",
        description="Drive an item of the dead-letter list again, with a fresh budget. What an interrupted attempt may "
        "have done is looked for, never repeated; say --done or --not-done once you have looked yourself.",
        epilog="exit codes: as of `run`; 2 there is no such item",
    )
    retry.add_argument("item", metavar="ITEM", help="its token, as `holo-tasks runs` shows it")
    known = retry.add_mutually_exclusive_group()
    told = "it is finished; this was the answer, of a flow's sub-goal the result as JSON"
    known.add_argument("--done", metavar="ANSWER", nargs="?", const="done", help=told)
    known.add_argument("--not-done", action="store_true", help="its effect is not there: it may be done from the start")
    retry.set_defaults(do=_retry)

    doctor = commands.add_parser(
        "doctor",
        help="try the model's endpoint, the screen and the evidence store",
        description="Try what a run needs, with one cheap call each, and say in a sentence what is wrong.",
        epilog="exit codes: 0 nothing failed, 2 something is set up wrong, else 14 the model's endpoint failed, "
        "else 15 the desktop failed",
    )
    _add_model(doctor)
    doctor.add_argument(
        "--display", metavar=":N", help="an X display that is already running (DISPLAY, else one is started)"
    )
    _add_audit(doctor)
    _add_local_only(doctor)
    doctor.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="for each check (%(default)g)")
    doctor.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    doctor.set_defaults(do=_doctor)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="OpenAI-compatible endpoint (H Company's own)")
    parser.add_argument("--model", metavar="NAME", help="model name (holo3-1-35b-a3b)")
    parser.add_argument("--dialect", choices=["auto", "structured", "tools", "holotron"], default="auto")


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--audit", metavar="DIR|s3://BUCKET/PREFIX", help="where the evidence goes")


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", metavar="DIR|s3://BUCKET/PREFIX", nargs="?", help="where runs are kept (HOLO_HOME/runs)"
    )


def _add_local_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--local-only", action="store_true", help="refuse every endpoint that is not this machine (HOLO_LOCAL_ONLY=1)"
    )


def _run(options: argparse.Namespace) -> int:
    import logging

    from holo_tasks import local_only
    from holo_tasks.leaving import run
    from holo_tasks.outcome import already_done
    from holo_tasks.prefect_server import TemporaryServer, configured_api_url, reach_directly, require_server
    from holo_tasks.verifying import ready

    # All that can be known to be wrong, or done, is known before anything is started: Prefect takes seconds to load.
    _hush_environment(options)
    stays = local_only.enter(os.environ, asked=options.local_only)
    _check(options)
    # Secrets may come from its blocks, so it is bound to its address before they are looked up.
    url = local_only.pin_prefect(os.environ) if stays else configured_api_url(os.environ)
    settings = _settings(options)
    if stays:
        local_only.check_run(settings.base_url, settings.audit, url)
    settings.audit.check()
    if done := already_done(settings):
        return _tell(done, as_json=options.json)
    ready(settings.home)
    _quiet_prefect()
    logging.raiseExceptions = False
    server: TemporaryServer | None = None
    if url is None:
        reach_directly(os.environ)
        server = TemporaryServer(os.environ)
        # Prefect reads its settings as it is imported, so the address must be known before.
        os.environ["PREFECT_API_URL"] = server.url
    else:
        require_server(url)
    try:
        outcome = run(_run_async(settings, server))
    finally:
        if server is not None:
            server.stop()
    return _tell(outcome, as_json=options.json)


def _quiet_prefect() -> None:
    """Say how Prefect behaves, before it is imported."""
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    # How a run ended is told once, by this command; what Prefect has to say of it is on its own pages.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")


def _hush_environment(options: argparse.Namespace) -> None:
    """Keep the values that are in the environment out of what is said of the other options, too."""
    if options.secret:
        from holo_tasks.core.secret import Secret
        from holo_tasks.secret_sources import SecretSpec

        specs = [SecretSpec.parse(text) for text in options.secret]
        _hush(Secret(spec.name, value) for spec in specs if _is_text(value := os.environ.get(spec.variable, "")))


def _is_text(value: str) -> bool:
    return bool(value.strip()) and value == value.encode(errors="replace").decode()


def _hush(secrets: Iterable[Secret]) -> None:
    """Keep the values of secrets out of all that this command says, to its end."""
    from holo_tasks.core.scrub import Scrubber
    from holo_tasks.safety.scrubbing import hush

    hush(Scrubber(secrets))


def _hushed(text: str) -> str:
    scrubbing = sys.modules.get("holo_tasks.safety.scrubbing")
    return str(scrubbing.hushed_plain(text)) if scrubbing else text  # not loaded: there is no secret


def _asked_again(options: argparse.Namespace, scrubber: Scrubber) -> tuple[str, ...]:
    """Return the command's arguments to be kept: without values where a person writes freely, else as they are."""
    free = {options.goal, options.app, *options.secret}
    return tuple(
        "=".join([*name, scrubber.text(text)]) if text in free else word
        for word in options.given
        for *name, text in [word.split("=", 1) if word.startswith("--") else [word]]
    )


def _check(options: argparse.Namespace) -> None:
    """Refuse what is plainly wrong."""
    from holo_tasks.chosen import check_text
    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop

    if not options.goal.strip():
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    if len(options.goal) > 100_000:
        raise InvalidUsage(f"The goal has {len(options.goal)} characters; 100000 is the limit.")
    for name in ("goal", "token"):
        check_text(name, getattr(options, name) or "")
    if not 1 <= options.max_steps <= 10_000:
        raise InvalidUsage(f"--max-steps must be from 1 to 10000, not {options.max_steps}.")
    if options.token is not None and not options.token.strip():
        raise InvalidUsage("--token is empty; give the business item's own key, or leave it out.")
    if options.app is not None and not options.app.strip():
        raise InvalidUsage("--app is empty; give the command that starts the program.")
    # Making a desktop checks what it is made of; nothing is started yet.
    if options.app is not None:
        VirtualDesktop(size=_size(options.size), app=options.app)
    else:
        _size(options.size)
        AttachedDesktop(_display(options))


def _display(options: argparse.Namespace) -> str:
    display: str | None = options.display if options.display is not None else os.environ.get("DISPLAY")
    if not display:
        raise InvalidUsage("There is no screen: give --app COMMAND to start a program, or --display :N.")
    return display


async def _run_async(settings: Settings, server: TemporaryServer | None) -> Outcome:
    """Bring desktop, server and libraries up side by side, then run the goal."""
    import asyncio

    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop

    cancel_at_signals(asyncio.current_task())
    starting = (
        AttachedDesktop.start(display=settings.display, secrets=settings.secrets)
        if settings.display
        else VirtualDesktop.start(size=settings.size, app=settings.app, secrets=settings.secrets)
    )
    coming_up = asyncio.create_task(starting)
    try:
        await asyncio.to_thread(_load)
        if server is not None:
            await asyncio.to_thread(server.wait)
        desktop = await coming_up
        from holo_tasks.oneshot import run_goal

        return await run_goal(settings, desktop)
    finally:
        coming_up.cancel()
        (started,) = await asyncio.gather(coming_up, return_exceptions=True)
        if not isinstance(started, BaseException):
            await started.close()


def _load() -> None:
    """Import what takes seconds, beside the desktop and the server that come up meanwhile."""
    import holo_tasks.oneshot  # noqa: F401


def _settings(options: argparse.Namespace) -> Settings:
    from holo_tasks import chosen
    from holo_tasks.core.budget import Limits
    from holo_tasks.core.scrub import Scrubber
    from holo_tasks.home import holo_home
    from holo_tasks.models.dialects import dialect_for
    from holo_tasks.outcome import Settings
    from holo_tasks.safety.policy import Rules

    base_url = chosen.base_url(options.base_url)
    profile = chosen.profile(options.model)
    dialect_for(profile, options.dialect)  # refused here, before anything is started
    if options.max_cost_usd is not None and profile.price is None:
        raise InvalidUsage(
            f"The price of {profile.name} is not known, so --max-cost-usd cannot be kept; "
            "leave it out, or use a model with a known price."
        )
    key, home = chosen.api_key(base_url), holo_home()
    secrets = _secrets(options)
    scrubber = Scrubber(secrets.values())
    if options.token is not None and scrubber.holds(options.token):
        raise InvalidUsage("--token holds the value of a secret, and it would be kept as it is; give another one.")
    return Settings(
        goal=scrubber.text(options.goal.strip()),
        secrets=secrets,
        base_url=base_url,
        profile=profile,
        display=None if options.app is not None else _display(options),
        app=options.app,
        size=_size(options.size),
        api_key=key,
        dialect=options.dialect,
        max_steps=options.max_steps,
        limits=Limits(options.max_cost_usd, None, options.timeout),
        allow=options.allow,
        rules=Rules.load(options.rules) if options.rules is not None else None,
        redaction=_redaction(options.redact, secrets),
        audit=chosen.audit(options.audit, home),
        token=options.token,
        home=home,
        arguments=_asked_again(options, scrubber),
    )


def _secrets(options: argparse.Namespace) -> dict[str, Secret]:
    """Return what may be typed by name; all that is looked up in Prefect is what the environment does not hold."""
    if not options.secret:
        return {}
    import asyncio

    from holo_tasks.core.secret import check_bound
    from holo_tasks.prefect_server import configured_api_url, require_server
    from holo_tasks.secret_sources import SecretSpec, resolved

    specs = [SecretSpec.parse(text) for text in options.secret]
    url = configured_api_url(os.environ)
    if url is not None and not all(os.environ.get(spec.variable) for spec in specs):
        require_server(url)
        _quiet_prefect()
    found = asyncio.run(resolved(specs, blocks=url is not None))
    _hush(found.values())
    check_bound(found, starts=options.app is not None)
    return found


def _redaction(path: Path | None, secrets: Mapping[str, Secret]) -> Redaction | None:
    if path is None:
        return None
    from holo_tasks.redacting import check
    from holo_tasks.safety.masking.settings import Redaction

    redaction = Redaction.load(path)
    check(redaction, {name: secret.value for name, secret in secrets.items()})
    return redaction


def _runs(options: argparse.Namespace) -> int:
    from holo_tasks.home import holo_home
    from holo_tasks.run_list import listing

    if not 1 <= options.last <= 10_000:
        raise InvalidUsage(f"--last must be from 1 to 10000, not {options.last}.")
    return _put(listing(holo_home(), options.last, as_json=options.json), 0)


def _retry(options: argparse.Namespace) -> int:
    from holo_tasks import local_only
    from holo_tasks.home import holo_home
    from holo_tasks.retrying import retry

    if local_only.enter(os.environ):
        local_only.check_database()
        local_only.pin_prefect(os.environ)

    def again(arguments: Sequence[str]) -> int:
        words = _parser().parse_args(list(arguments))
        words.given = list(arguments)
        code: int = words.do(words)
        return code

    said, code = retry(holo_home(), options.item, done=options.done, not_done=options.not_done, again=again)
    return _put(said, code) if said else code


def _size(text: str) -> Size:
    from holo_tasks.core.geometry import Size

    match = re.fullmatch(r"(\d{2,5})[xX](\d{2,5})", text.strip())
    if not match or not all(64 <= int(side) <= MAX_SIDE for side in match.groups()):
        raise InvalidUsage(f"--size must look like 1280x800, with sides from 64 to {MAX_SIDE}, not {text!r}.")
    return Size(int(match[1]), int(match[2]))


def _report(options: argparse.Namespace) -> int:
    from holo_tasks.audit.report import write_report

    if not options.out.name:
        raise InvalidUsage(f"--out must name a file, not {str(options.out)!r}.")
    try:
        write_report(options.trace, options.out)
    except OSError as error:
        raise InvalidUsage(f"The report cannot be written: {error.strerror}; check TRACE and --out.") from None
    return _put(str(options.out), 0)


def _index(options: argparse.Namespace) -> int:
    from holo_tasks.overview import index

    return index(options.where, options.out, as_object=options.json, reports=options.reports, put=_put)


def _export(options: argparse.Namespace) -> int:
    from holo_tasks.overview import export

    return export(options.where, options.csv, steps=options.steps, put=_put)


def _verify(options: argparse.Namespace) -> int:
    from holo_tasks.home import holo_home
    from holo_tasks.verifying import as_json, in_words, verify_trace

    found = verify_trace(options.trace, options.public_key, options.anchors, holo_home())
    if options.json:
        _say(in_words(found))
    return _put(as_json(found) if options.json else printable(in_words(found)), found.exit_code)


def _new_key(options: argparse.Namespace) -> int:
    from holo_tasks.home import holo_home
    from holo_tasks.verifying import new_key

    path, said = new_key(holo_home(), replace=options.replace)
    for line in said:
        _say(line)
    return _put(path, 0)


def _show_key(options: argparse.Namespace) -> int:
    from holo_tasks.home import holo_home
    from holo_tasks.verifying import public_pem

    return _put(public_pem(holo_home()), 0)


def _models(options: argparse.Namespace) -> int:
    from holo_tasks.model_list import model_list

    return _put(model_list(as_json=options.json, tty=sys.stdout.isatty()), 0)


def _approve(options: argparse.Namespace) -> int:
    from holo_tasks.approving import approve

    told = approve(options.id, by=options.by, ttl_s=options.ttl)
    if not told:
        _say("nothing waits for a person's yes")
        return 0
    return _put(told, 0)


def _kill(options: argparse.Namespace) -> int:
    from holo_tasks.home import holo_home
    from holo_tasks.kill_command import check, kill

    home = holo_home()
    check(options.run, options.all, home)
    found = kill(home, options.run, options.reason.strip())
    for doubt in found.doubts:
        _say(doubt)
    return _put("\n".join(found.lines or ("no run is under way",)), 15 if found.doubts else 0)


def _doctor(options: argparse.Namespace) -> int:
    from holo_tasks import local_only
    from holo_tasks.doctor.examination import Asked, examine

    local_only.enter(os.environ, asked=options.local_only)
    asked = Asked(options.base_url, options.model, options.dialect, options.display, options.audit, options.timeout)
    return examine(asked, _put, as_json=options.json)


def _tell(outcome: Outcome, *, as_json: bool) -> int:
    from dataclasses import replace

    from holo_tasks.core.money import usd

    if outcome.message:
        _say(f"{outcome.status}: {outcome.message}")
    answer = None if outcome.answer is None else _hushed(outcome.answer)
    spent = f"{outcome.steps} steps, {usd(outcome.cost_micro_usd)}"
    _say(f"{outcome.status} after {spent}; trace:", f" {outcome.trace or 'none'}")
    if not as_json and answer is None:
        return outcome.exit_code
    return _put(replace(outcome, answer=answer).to_json() if as_json else str(answer), outcome.exit_code)


def _fail(error: HoloError, given: Sequence[str]) -> int:
    _say(f"{error.status}: {error}")
    found = EMPTY.get(given[0] if given else "", {"status": error.status, **NO_RUN})
    if "--json" not in given or not found:
        return error.exit_code
    import json

    return _put(json.dumps(found), error.exit_code)


if __name__ == "__main__":
    main()

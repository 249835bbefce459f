"""`holo-tasks`: run a goal, write a report. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from holo_tasks.core.errors import HoloError, InvalidUsage

if TYPE_CHECKING:
    from holo_tasks.core.geometry import Size
    from holo_tasks.oneshot import Outcome, Settings
    from holo_tasks.prefect_server import TemporaryServer

MAX_SIDE = 16_384


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the status's code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parser().parse_args(given)
        code: int = options.do(options)
    except HoloError as error:
        code = _fail(error, as_json="--json" in given)
    except KeyboardInterrupt:
        print("holo-tasks: stopped.", file=sys.stderr)
        code = 13
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.stdout.flush()
    sys.exit(code)


class _Parser(argparse.ArgumentParser):
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
    run.add_argument("--base-url", metavar="URL", help="OpenAI-compatible endpoint (H Company's own)")
    run.add_argument("--model", metavar="NAME", help="model name (holo3-1-35b-a3b)")
    run.add_argument("--dialect", choices=["auto", "structured", "tools", "holotron"], default="auto")
    run.add_argument("--max-steps", type=int, default=50, metavar="N", help="(%(default)s)")
    run.add_argument("--max-cost-usd", type=float, metavar="X", help="stop before spending more")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="stop after this time")
    run.add_argument("--allow", choices=["read", "act"], default="read", help="whether input is sent (%(default)s)")
    run.add_argument("--audit", metavar="DIR|s3://BUCKET/PREFIX", help="where the evidence goes")
    run.add_argument("--token", metavar="KEY", help="business item; finished once, it is never done again")
    run.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    run.set_defaults(do=_run)

    report = commands.add_parser("report", help="write a trace as one HTML page")
    report.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    report.add_argument("--out", metavar="FILE.html", type=Path, required=True)
    report.set_defaults(do=_report)
    return parser


def _run(options: argparse.Namespace) -> int:
    from holo_tasks.prefect_server import TemporaryServer, configured_api_url, require_server

    _check_before_import(options)
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
    server: TemporaryServer | None = None
    url = configured_api_url(os.environ)
    if url is None:
        server = TemporaryServer(os.environ)
        # Prefect reads its settings as it is imported, so the address must be known before.
        os.environ["PREFECT_API_URL"] = server.url
    else:
        require_server(url)
    try:
        outcome = asyncio.run(_run_async(options, server))
    finally:
        if server is not None:
            server.stop()
    return _tell(outcome, as_json=options.json)


def _check_before_import(options: argparse.Namespace) -> None:
    """Refuse what is plainly wrong at once: the libraries behind a run take seconds to load."""
    from holo_tasks.core.budget import Limits

    if not options.goal.strip():
        raise InvalidUsage("The goal is empty; say in a sentence what the agent should do.")
    if len(options.goal) > 100_000:
        raise InvalidUsage(f"The goal has {len(options.goal)} characters; 100000 is the limit.")
    if not 1 <= options.max_steps <= 10_000:
        raise InvalidUsage(f"--max-steps must be from 1 to 10000, not {options.max_steps}.")
    if options.token is not None and not options.token.strip():
        raise InvalidUsage("--token is empty; give the business item's own key, or leave it out.")
    Limits(options.max_cost_usd, None, options.timeout)
    _size(options.size)
    if options.display is None and options.app is None and not os.environ.get("DISPLAY"):
        raise InvalidUsage("There is no screen: give --app COMMAND to start a program, or --display :N.")
    if options.app is not None and not options.app.strip():
        raise InvalidUsage("--app is empty; give the command that starts the program.")


async def _run_async(options: argparse.Namespace, server: TemporaryServer | None) -> Outcome:
    """Bring desktop, server and libraries up side by side, then run the goal."""
    from holo_tasks.desktop import AttachedDesktop, VirtualDesktop

    size = _size(options.size)
    display = options.display or (None if options.app else os.environ["DISPLAY"])
    starting = AttachedDesktop.start(display=display) if display else VirtualDesktop.start(size=size, app=options.app)
    coming_up = asyncio.create_task(starting)
    try:
        settings = await asyncio.to_thread(_settings, options)
        from holo_tasks.oneshot import already_done, run_goal

        if done := already_done(settings):
            return done
        if settings.audit is not None:
            await asyncio.to_thread(settings.audit.check)
        if server is not None:
            await asyncio.to_thread(server.wait)
        desktop = await coming_up
        return await run_goal(settings, desktop)
    finally:
        coming_up.cancel()
        (started,) = await asyncio.gather(coming_up, return_exceptions=True)
        if not isinstance(started, BaseException):
            await started.close()


def _settings(options: argparse.Namespace) -> Settings:
    from pydantic import SecretStr

    from holo_tasks.audit import Destination
    from holo_tasks.core.budget import Limits
    from holo_tasks.home import holo_home
    from holo_tasks.models.client import HOSTED_BASE_URL, check_base_url
    from holo_tasks.models.profile import DEFAULT_MODEL, profile_for
    from holo_tasks.oneshot import Settings

    base_url = check_base_url(options.base_url or os.environ.get("HOLO_BASE_URL") or HOSTED_BASE_URL)
    profile = profile_for(options.model or os.environ.get("HOLO_MODEL") or DEFAULT_MODEL)
    profile.pick_dialect(options.dialect)
    if options.max_cost_usd is not None and profile.price is None:
        raise InvalidUsage(
            f"The price of {profile.name} is not known, so --max-cost-usd cannot be kept; "
            "leave it out, or use a model with a known price."
        )
    key = _api_key(base_url, os.environ)
    return Settings(
        goal=options.goal.strip(),
        base_url=base_url,
        profile=profile,
        display=options.display,
        app=options.app,
        size=_size(options.size),
        api_key=SecretStr(key) if key else None,
        dialect=options.dialect,
        max_steps=options.max_steps,
        limits=Limits(options.max_cost_usd, None, options.timeout),
        allow=options.allow,
        audit=Destination.parse(options.audit) if options.audit else None,
        token=options.token,
        home=holo_home(),
    )


def _api_key(base_url: str, environ: Mapping[str, str]) -> str | None:
    """Return the key for an endpoint; the hosted key is never sent anywhere else."""
    from holo_tasks.models.client import is_hosted

    if not is_hosted(base_url):
        return environ.get("HOLO_API_KEY") or None
    if key := environ.get("HAI_API_KEY"):
        return key
    raise InvalidUsage(
        "There is no API key for H Company's endpoint: set HAI_API_KEY, or give --base-url for another server."
    )


def _size(text: str) -> Size:
    from holo_tasks.core.geometry import Size

    match = re.fullmatch(r"(\d{2,5})[xX](\d{2,5})", text.strip())
    if not match or not all(64 <= int(side) <= MAX_SIDE for side in match.groups()):
        raise InvalidUsage(f"--size must look like 1280x800, with sides from 64 to {MAX_SIDE}, not {text!r}.")
    return Size(int(match[1]), int(match[2]))


def _report(options: argparse.Namespace) -> int:
    from holo_tasks.audit.report import write_report

    write_report(options.trace, options.out)
    print(options.out)
    return 0


def _tell(outcome: Outcome, *, as_json: bool) -> int:
    from holo_tasks.core.money import usd

    if outcome.message:
        print(f"holo-tasks: {outcome.status}: {outcome.message}", file=sys.stderr)
    print(
        f"holo-tasks: {outcome.status} after {outcome.steps} steps, {usd(outcome.cost_micro_usd)}; "
        f"trace: {outcome.trace}",
        file=sys.stderr,
    )
    if as_json:
        print(outcome.to_json())
    elif outcome.answer is not None:
        print(outcome.answer)
    return outcome.exit_code


def _fail(error: HoloError, *, as_json: bool) -> int:
    print(f"holo-tasks: {error.status}: {' '.join(str(error).split())}", file=sys.stderr)
    if as_json:
        import json

        blank = {"answer": None, "steps": 0, "cost_usd": 0.0, "trace": None, "flow_run_id": None}
        print(json.dumps({"status": error.status, **blank}))
    return error.exit_code


if __name__ == "__main__":
    main()

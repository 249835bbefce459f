"""Dispatch of the command line: `main` parses the arguments and calls the command.

Only results go to stdout. Messages go to stderr. A `HoloError` becomes a message and its exit code.
"""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from holo_tasks.cli.parser import command_line
from holo_tasks.cli.signals import interrupt_at_signals
from holo_tasks.core.errors import HoloError, InvalidUsage, Killed
from holo_tasks.core.texts.printable import printable
from holo_tasks.machine.lazy_imports import defer_large_imports
from holo_tasks.machine.memory import collect_garbage_rarely, reuse
from holo_tasks.machine.output import prepare_streams, put, release_streams, say
from holo_tasks.machine.process_protection import close_process
from holo_tasks.machine.umask import narrow_umask

EMPTY: dict[str, dict[str, object]] = {
    "models": {},
    "look": {"windows": [], "elements": [], "texts": [], "took_ms": {"tree": None, "text": None, "capture": None}},
    "handoff": {},
    "doctor": {"status": "failed", "checks": []},
    "runs": {"runs": [], "items": []},
    "fleet": {"lists": [], "seats": [], "runs": []},
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
    "playbook": {"file": None, "proposals": []},
    "compile": {
        "file": None,
        "goal": None,
        "params": {},
        "steps": 0,
        "left_out": 0,
        "astray": 0,
        "ask_model": [],
        "probe": None,
        "by_model": [],
        "runs": [],
    },
    "record": {
        "file": None,
        "goal": None,
        "params": {},
        "steps": 0,
        "ask_model": [],
        "by_model": [],
        "runs": [],
        "secrets": [],
    },
}
"""The object that ``--json`` prints when a command is refused; an empty one is not printed.

A command without an entry gets the object of `run`.
"""
REPLAYED: dict[str, object] = {"layer": None, "model_calls": 0, "healed": 0, "done_before": None}
NO_RUN = {"answer": None, "steps": 0, "cost_usd": 0.0, "trace": None, "flow_run_id": None}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with the code of its status. ``arguments`` default to `sys.argv`."""
    close_process()
    collect_garbage_rarely()
    reuse()
    defer_large_imports()
    ended: list[int] = []
    if arguments is None:  # the process belongs to this command and does nothing afterwards
        atexit.register(_exit_fast, ended)
    given = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    narrow_umask()
    interrupt_at_signals()
    code = exit_code(given)
    release_streams()
    ended.append(code)
    if "holo_tasks.cli.exit" in sys.modules:
        from holo_tasks.cli.exit import leave

        leave(code)
    sys.exit(code)


def _exit_fast(ended: Sequence[int]) -> None:
    """End the process with `os._exit` if its exit code is known, which saves most of a second of interpreter shutdown.

    Handlers that are registered first run last, so the handlers of other libraries have run. After a traceback
    ``ended`` is empty, and Python shuts down as usual.
    """
    if ended:
        if "logging" in sys.modules:
            sys.modules["logging"].shutdown()
        release_streams()
        os._exit(ended[0])


def exit_code(given: Sequence[str]) -> int:
    """Run a command and return its exit code. Errors and signals are printed on stderr."""
    try:
        return carry_out(given)
    except HoloError as error:
        return _fail(error, given)
    except BaseException as error:
        if not _is_interruption(error):
            if cause := _wrong_variable(error):
                return _fail(cause, given)
            raise
        return _fail(Killed("The command was stopped from outside."), given)


def carry_out(given: Sequence[str]) -> int:
    """Parse the arguments, run the command and return its exit code."""
    parser = command_line()
    options = parser.parse_args(list(given))
    if options.version:
        return _versions()
    if options.command is None:
        return put(parser.format_help().rstrip(), 0)
    options.given = list(given)
    return COMMANDS[options.command](options)


def _wrong_variable(error: BaseException) -> InvalidUsage | None:
    """Return the error for a proxy or certificate in the environment with which no HTTP client can be made."""
    if isinstance(error, (ImportError, OSError, ValueError)):
        from holo_tasks.machine.network_variables import check_network_variables

        try:
            check_network_variables(os.environ)
        except InvalidUsage as cause:
            return cause
    return None


def _is_interruption(error: BaseException) -> bool:
    """Return whether a signal stopped this command.

    The exceptions of asyncio and of Prefect's SIGTERM handler are compared by name, since importing them takes long.
    """
    return isinstance(error, KeyboardInterrupt) or type(error).__name__ in ("CancelledError", "TerminationSignal")


def _versions() -> int:
    from holo_tasks.cli.version import versions

    return put(versions(), 0)


def _demo(options: argparse.Namespace) -> int:
    from holo_tasks.cli.demo import demo

    return demo(options.folder, opens=options.open)


def _init(options: argparse.Namespace) -> int:
    from holo_tasks.cli.init import init

    return init(options.name, options.template)


def _run(options: argparse.Namespace) -> int:
    from holo_tasks.cli.run_command.run import run_command

    return run_command(options)


def _mcp(options: argparse.Namespace) -> int:
    from holo_tasks.cli.mcp.server import serve

    return serve(options)


def _runs(options: argparse.Namespace) -> int:
    from holo_tasks.cli.runs import listing
    from holo_tasks.machine.home import holo_home

    if not 1 <= options.last <= 10_000:
        raise InvalidUsage(f"--last must be from 1 to 10000, not {options.last}.")
    _catch_up()
    return put(listing(holo_home(), options.last, as_json=options.json), 0)


def _fleet(options: argparse.Namespace) -> int:
    from holo_tasks.cli.fleet import fleet
    from holo_tasks.machine.home import holo_home

    return put(fleet(holo_home(), options.list, as_json=options.json), 0)


def _catch_up() -> None:
    """Deliver the reports that earlier runs could not deliver, and print the results. Failures are printed only."""
    from holo_tasks.machine.home import holo_home
    from holo_tasks.run.prefect_edge.deferred_reports import catch_up

    try:
        for line in catch_up(holo_home()):
            say(line)
    except Exception as error:  # Prefect or the database; a command that needs them reports the fault itself
        say(f"Reports of earlier runs could not be delivered: {str(error).partition(chr(10))[0]}")


def _retry(options: argparse.Namespace) -> int:
    from holo_tasks.cli.retry import retry
    from holo_tasks.machine.home import holo_home
    from holo_tasks.prefect_server import local_only

    if local_only.enter(os.environ):
        local_only.check_database()
        local_only.pin_prefect(os.environ)
    _catch_up()
    said, code = retry(
        holo_home(), options.item, goal=options.goal, done=options.done, not_done=options.not_done, again=carry_out
    )
    return put(said, code) if said else code


def _report(options: argparse.Namespace) -> int:
    from holo_tasks.audit.pages.report import write_report

    if not options.out.name:
        raise InvalidUsage(f"--out must name a file, not {str(options.out)!r}.")
    try:
        write_report(options.trace, options.out, pictures=options.pictures)
    except OSError as error:
        raise InvalidUsage(f"The report cannot be written: {error.strerror}; check TRACE and --out.") from None
    return put(str(options.out), 0)


def _index(options: argparse.Namespace) -> int:
    from holo_tasks.cli.index import index

    reports = options.pictures if options.reports else None
    return index(options.where, options.out, as_object=options.json, reports=reports, put=put)


def _export(options: argparse.Namespace) -> int:
    from holo_tasks.cli.index import export

    return export(options.where, options.csv, steps=options.steps, put=put)


def _verify(options: argparse.Namespace) -> int:
    from holo_tasks.cli.verify import as_json, in_words, verify_trace
    from holo_tasks.machine.home import holo_home

    found = verify_trace(options.trace, options.public_key, options.anchors, holo_home())
    if options.json:
        say(in_words(found))
    return put(as_json(found) if options.json else printable(in_words(found)), found.exit_code)


def _compile(options: argparse.Namespace) -> int:
    from holo_tasks.cli.compile import compile_traces
    from holo_tasks.machine.home import holo_home

    given = options.trace, options.out, options.goal, options.param, options.public_key
    said = compile_traces(*given, holo_home(), as_json=options.json, probes=options.probe, strict=options.strict)
    return put(said, 0)


def _record(options: argparse.Namespace) -> int:
    from holo_tasks.cli.record_command.record import record

    return put(record(options), 0)


def _playbook(options: argparse.Namespace) -> int:
    from holo_tasks.cli.playbook import review, settle

    if options.which == "review":
        return put(review(options.file, options.out, as_json=options.json), 0)
    return put(settle(options.file, options.which, options.id, options.why, as_json=options.json), 0)


def _keys(options: argparse.Namespace) -> int:
    return _new_key(options) if options.which == "new" else _show_key(options)


def _new_key(options: argparse.Namespace) -> int:
    from holo_tasks.cli.verify import new_key
    from holo_tasks.machine.home import holo_home

    path, said = new_key(holo_home(), replace=options.replace)
    for line in said:
        say(line)
    return put(path, 0)


def _show_key(options: argparse.Namespace) -> int:
    from holo_tasks.cli.verify import public_pem
    from holo_tasks.machine.home import holo_home

    return put(public_pem(holo_home()), 0)


def _look(options: argparse.Namespace) -> int:
    from holo_tasks.cli.look import look

    return look(options, put)


def _models(options: argparse.Namespace) -> int:
    from holo_tasks.cli.models import model_list

    return put(model_list(as_json=options.json, tty=sys.stdout.isatty()), 0)


def _approve(options: argparse.Namespace) -> int:
    from holo_tasks.cli.approve import approve

    text = approve(options.id, by=options.by, ttl_s=options.ttl)
    if not text:
        say("no action waits for an approval")
        return 0
    return put(text, 0)


def _handoff(options: argparse.Namespace) -> int:
    from holo_tasks.cli.handoff import listed, resume

    if options.which == "resume":
        return put(resume(options.id, choice=options.choice, note=options.note, by=options.by), 0)
    text = listed(as_json=options.json)
    if not text:
        say("no hand-off is open")
        return 0
    return put(text, 0)


def _kill(options: argparse.Namespace) -> int:
    from holo_tasks.cli.kill import check, kill
    from holo_tasks.machine.home import holo_home

    home = holo_home()
    check(options.run, options.all, home)
    found = kill(home, options.run, options.reason.strip())
    for doubt in found.doubts:
        say(doubt)
    none = "no run was stopped" if found.doubts else "no run is under way"
    return put("\n".join(found.lines or (none,)), 15 if found.doubts else 0)


def _drain(options: argparse.Namespace) -> int:
    from holo_tasks.cli.drain import drain
    from holo_tasks.machine.home import holo_home

    return put(*drain(holo_home(), options.wait, off=options.off))


def _doctor(options: argparse.Namespace) -> int:
    from holo_tasks.cli.doctor.examination import DoctorOptions, examine
    from holo_tasks.prefect_server import local_only

    local_only.enter(os.environ, by_option=options.local_only)
    asked = DoctorOptions(
        options.base_url, options.model, options.dialect, options.display, options.audit, options.timeout
    )
    return examine(asked, put, as_json=options.json)


def _fail(error: HoloError, given: Sequence[str]) -> int:
    say(f"{error.status}: {error}")
    found = EMPTY.get(given[0] if given else "", {"status": error.status, **NO_RUN})
    if found.keys() == {"status", *NO_RUN} and any(word.partition("=")[0] == "--playbook" for word in given):
        found |= REPLAYED
    if "--json" not in given or not found:
        return error.exit_code
    import json

    return put(json.dumps(found), error.exit_code)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "init": _init,
    "run": _run,
    "mcp": _mcp,
    "report": _report,
    "index": _index,
    "export": _export,
    "verify": _verify,
    "compile": _compile,
    "record": _record,
    "playbook": _playbook,
    "keys": _keys,
    "models": _models,
    "approve": _approve,
    "handoff": _handoff,
    "kill": _kill,
    "drain": _drain,
    "runs": _runs,
    "fleet": _fleet,
    "retry": _retry,
    "doctor": _doctor,
    "look": _look,
}


if __name__ == "__main__":
    main()

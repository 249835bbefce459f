"""The commands of the command line, their options and help texts.

docs/reference/command-line.md documents the same options; tests/docs keeps both together.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.activity import PATIENCE_S

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["_Parser"]

WRITTEN = "exit codes: 0 written, even if a trace is damaged; 2 nothing could be read or written"
JSON_LAST = "print one JSON object as the last line"


class _Parser(argparse.ArgumentParser):
    """Argument parser that raises `InvalidUsage` and accepts no abbreviated options."""

    def __init__(self, **options: Any) -> None:
        # Without abbreviations, a refused command can find --json and --playbook in its arguments.
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise InvalidUsage(f"{message}; see `{self.prog} --help`.")


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `holo-tasks` with all commands."""
    parser = _Parser(
        prog="holo-tasks",
        description="Run Holo computer-use agents as Prefect flows.",
        epilog="Begin with `holo-tasks demo`. `holo-tasks COMMAND --help` describes one command.",
    )
    parser.add_argument("--version", action="store_true", help="print the versions that a bug report needs")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_demo(commands)
    _add_init(commands)
    _add_run(commands)
    _add_mcp(commands)
    _add_report(commands)
    _add_index(commands)
    _add_export(commands)
    _add_verify(commands)
    _add_compile(commands)
    _add_record(commands)
    _add_playbook(commands)
    _add_keys(commands)
    _add_models(commands)
    _add_approve(commands)
    _add_handoff(commands)
    _add_kill(commands)
    _add_drain(commands)
    _add_runs(commands)
    _add_fleet(commands)
    _add_retry(commands)
    _add_doctor(commands)
    _add_look(commands)
    return parser


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        help="watch an agent audit three receipts: a first run in a minute, without a key",
        description="Audit three receipts against a small desktop program, on a virtual desktop. A rehearsal model "
        "replaces the language model, so the demo needs no key and costs nothing. It prints each action and the place "
        "of the report.",
        epilog="exit codes: 0 done, 2 the folder is not of a demo or OCR is not installed, 15 Debian packages are "
        "missing or the desktop failed, else those of `run`",
    )
    text = "folder of the demo, which is created; in the folder of an earlier demo it runs again (%(default)s)"
    demo.add_argument("--folder", metavar="DIR", type=Path, default=Path("holo-demo"), help=text)
    demo.add_argument("--open", action="store_true", help="open the report in a browser at the end")


def _add_init(commands: Commands) -> None:
    init = commands.add_parser(
        "init",
        help="write a project that runs at once: flow, blocks, deployment, test",
        description="Write a new folder with a flow, its blocks as code, a deployment, a test and a README. It runs at "
        "once, with a small practice program and a rehearsal model. Replace these by your program and a Holo model.",
        epilog="exit codes: 0 written; 2 nothing was written: the folder exists, or the name is not valid",
    )
    text = "the folder, which must not exist; its name has small letters, digits and hyphens"
    init.add_argument("name", metavar="NAME", help=text)
    init.add_argument(
        "--template",
        choices=("form", "list", "mailbox"),
        default="list",
        help="form types the rows of a CSV file into a form, list reads a figure for each item of a list, mailbox "
        "compares letters with records (%(default)s)",
    )


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run",
        help="work on one goal on a screen",
        description="Work on one goal on a screen and print the answer. No input is sent unless --allow act is given.",
        epilog="exit codes: 0 answered, 2 invalid, 10 limit, 11 needs_person, 12 refused, 13 killed, "
        "14 model_failed, 15 desktop_failed, 16 unavailable",
    )
    run.add_argument("goal", metavar="GOAL", help="the task, in plain words")
    _add_work(run)
    run.add_argument("--token", metavar="KEY", help="key of a business item: once finished, it is never done again")
    run.add_argument("--json", action="store_true", help=JSON_LAST)


def _add_work(run: _Parser) -> None:
    """Add the options of a run, which `mcp` also takes."""
    _add_screen(run)
    _add_model(run)
    run.add_argument("--max-steps", type=int, default=50, metavar="N", help="stop after N steps (%(default)s)")
    text = "most corrections per step: replies to the model with the errors of its reply (%(default)s)"
    run.add_argument("--max-corrections", type=int, default=3, metavar="N", help=text)
    run.add_argument("--max-cost-usd", type=float, metavar="X", help="stop before spending more")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="stop after this time")
    run.add_argument("--allow", choices=["read", "act"], help="act sends input, read does not (read)")
    run.add_argument("--rules", metavar="FILE.toml", type=Path, help="allowed actions, and actions that need a yes")
    run.add_argument("--redact", metavar="FILE.toml", type=Path, help="areas to paint over before a screen is sent")
    _add_audit(run)
    _add_local_only(run)
    run.add_argument(
        "--secret",
        metavar="NAME[=PROGRAM]",
        action="append",
        default=[],
        help="secret to type as {{secret:NAME}} into PROGRAM; its value comes from HOLO_SECRET_NAME or a Secret block",
    )
    run.add_argument(
        "--totp",
        metavar="NAME[=PROGRAM]",
        action="append",
        default=[],
        help="seed of the one-time code to type as {{totp:NAME}} into PROGRAM; its value comes from the same places",
    )
    run.add_argument(
        "--secret-field",
        metavar="NAME=LABEL",
        action="append",
        default=[],
        help="type this secret only into a field that was just clicked and has LABEL next to or above it",
    )
    run.add_argument(
        "--data",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value from another source: the model gets it as data, never as an instruction; the goal refers to NAME",
    )
    _add_replay(run)
    run.add_argument(
        "--hand-off",
        metavar="SECONDS",
        type=float,
        help="wait this time for a person if the agent asks for one or an action needs a yes; without it the run ends",
    )


def _add_mcp(commands: Commands) -> None:
    mcp = commands.add_parser(
        "mcp",
        help="let the model of another program start, follow, answer and stop runs",
        description="Serve the Model Context Protocol: on stdin and stdout, or with --http to programs on this "
        "machine. The options apply to every run; a client can only ask for less. No input is sent unless --allow "
        "act is given. The command needs the extra `mcp`.",
        epilog="exit codes: 0 the client has disconnected, 2 invalid",
    )
    _add_work(mcp)
    mcp.add_argument("--http", metavar="PORT", type=int, help="serve HTTP at 127.0.0.1, with a token; 0: any free port")
    text = "file with the token (HOLO_MCP_TOKEN, else HOLO_HOME/mcp/token, which is created)"
    mcp.add_argument("--token-file", metavar="FILE", type=Path, help=text)
    text = "most runs at work at a time (4; with --display 1)"
    mcp.add_argument("--at-once", metavar="N", type=int, help=text)
    text = "let a client name the program to start: it may then run any command as you"
    mcp.add_argument("--any-app", action="store_true", help=text)
    text = "let a client say yes to actions that need a person's yes (`confirm`)"
    mcp.add_argument("--may-approve", action="store_true", help=text)
    text = "give a client the links by which a person works on a desktop"
    mcp.add_argument("--live-links", action="store_true", help=text)


def _add_replay(run: argparse.ArgumentParser) -> None:
    text = "playbook that works first; the model continues if a step does not fit"
    run.add_argument("--playbook", metavar="FILE.yaml[#GOAL]", help=text)
    run.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the playbook")
    text = (
        "after a step that the model did for the playbook: off does nothing, propose writes a proposal next to the "
        "playbook, apply changes the playbook if the step was verified (propose)"
    )
    run.add_argument("--heal", choices=("off", "propose", "apply"), help=text)
    run.add_argument("--playbook-only", action="store_true", help="end if the playbook does not fit: call no model")
    text = "do values that the playbook refuses because it did them before (`again: refuse` in its file)"
    run.add_argument("--again", action="store_true", help=text)


def _add_screen(run: _Parser) -> None:
    screen = run.add_mutually_exclusive_group()
    screen.add_argument("--display", metavar=":N", help="an X display that is already running")
    screen.add_argument("--app", metavar="COMMAND", help="a program to start on a new virtual desktop")
    run.add_argument("--run-as", metavar="USER", help="start that program as this user, who cannot read your files")
    text = "network of that program: none, host (all of this machine's), or HOST:PORT, with commas (%(default)s)"
    run.add_argument("--network", metavar="none|host|HOST:PORT,…", default="host", help=text)
    text = "with --network none or HOST:PORT: a folder that the program can read, and write with =write"
    run.add_argument("--folder", metavar="PATH[=write]", action="append", default=[], help=text)
    run.add_argument("--memory-mb", metavar="N", type=int, default=0, help="with --network: most memory, in MB")
    run.add_argument(
        "--cpus", metavar="N", type=float, default=0.0, help="with --network: most processors, such as 0.5"
    )
    text = "use only this monitor of the display: its name or its number, as `holo-tasks doctor` lists them"
    run.add_argument("--monitor", metavar="NAME", help=text)
    run.add_argument("--size", metavar="WxH", default="1280x800", help="size of the virtual desktop (%(default)s)")
    _add_profiles(run)
    _add_patience(run)


def _add_profiles(command: argparse.ArgumentParser) -> None:
    text = "the profile of an office program or browser: new at each start, or kept for the next one (%(default)s)"
    command.add_argument("--profiles", metavar="new|kept|kept:NAME", default="new", help=text)


def _add_patience(command: argparse.ArgumentParser) -> None:
    text = "longest wait for a program that still works on the last input or waits for its server (%(default)g)"
    command.add_argument("--patience", metavar="SECONDS", type=float, default=PATIENCE_S, help=text)


def _add_report(commands: Commands) -> None:
    report = commands.add_parser("report", help="write a trace as one HTML page", epilog=WRITTEN)
    report.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    report.add_argument("--out", metavar="FILE.html", type=Path, required=True, help="the page to write")
    _add_pictures(report)


def _add_index(commands: Commands) -> None:
    index = commands.add_parser(
        "index",
        help="write an overview of many runs as one HTML page",
        description="Summarize all traces below a folder or a bucket's prefix: success, cost, steps, reasons of "
        "failure. Give --out, --json or both.",
        epilog=WRITTEN,
    )
    _add_where(index)
    index.add_argument("--out", metavar="FILE.html", type=Path, help="the page to write")
    index.add_argument("--reports", action="store_true", help="write each run's report next to the page, and link it")
    _add_pictures(index)
    index.add_argument("--json", action="store_true", help="print one JSON object")


def _add_pictures(command: argparse.ArgumentParser) -> None:
    text = "put a report's pictures inside the page (default), or in the folder FILE-pictures next to it for long runs"
    command.add_argument("--pictures", choices=("inside", "folder"), default="inside", help=text)


def _add_export(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="write runs as CSV",
        description="Write a row for each run below a folder or a bucket's prefix.",
        epilog=WRITTEN,
    )
    _add_where(export)
    export.add_argument("--csv", metavar="FILE", required=True, help="the file to write; - is stdout")
    export.add_argument("--steps", action="store_true", help="write a row for each step instead")


def _add_verify(commands: Commands) -> None:
    verify = commands.add_parser(
        "verify",
        help="verify that a trace is complete and unchanged",
        description="Verify a trace offline: the signature and place of every record, every picture, and the anchored "
        "heads of the trace.",
        epilog="exit codes: 0 VALID, 3 INCOMPLETE (the end is missing), 4 TAMPERED, 2 nothing could be checked",
    )
    verify.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    text = "the key that `holo-tasks keys show` prints on the machine of the run"
    verify.add_argument("--public-key", metavar="FILE", type=Path, required=True, help=text)
    text = "place of the anchored heads (HOLO_HOME and HOLO_ANCHORS)"
    verify.add_argument("--anchors", metavar="FILE|s3://BUCKET/PREFIX", help=text)
    verify.add_argument("--json", action="store_true", help=JSON_LAST)


def _add_compile(commands: Commands) -> None:
    compiler = commands.add_parser(
        "compile",
        help="make a playbook from finished runs, which repeats their work without the model",
        description="Make a playbook of one goal from traces of runs that answered it. Targets are names and words on "
        "the screen, never coordinates. A step that cannot be described safely is left to the model. Values that "
        "differ between runs become parameters; the playbook contains no value of a run. Each trace is verified first.",
        epilog="exit codes: 0 written; 2 nothing was written: a trace was tampered with or did not end as answered, "
        "no probe can be made, or with --strict a step would be left to the model",
    )
    compiler.add_argument("trace", metavar="TRACE", nargs="+", help="a run's folder or s3:// URI")
    compiler.add_argument("--out", metavar="FILE.yaml", type=Path, required=True, help="the playbook to write")
    text = "the sub-goal to compile, if the runs have several; else a name for the goal"
    compiler.add_argument("--goal", metavar="NAME", default="", help=text)
    compiler.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="make this text of a run a parameter (typed texts are parameters anyway)",
    )
    text = "a run that looked for the effect and answered done or something else: becomes the playbook's probe"
    compiler.add_argument("--probe", metavar="TRACE", action="append", default=[], help=text)
    text = "the key of the machine that recorded the runs (this machine's)"
    compiler.add_argument("--public-key", metavar="FILE", type=Path, help=text)
    text = "write nothing if a step would be left to the model"
    compiler.add_argument("--strict", action="store_true", help=text)
    compiler.add_argument("--json", action="store_true", help=JSON_LAST)


def _add_record(commands: Commands) -> None:
    record = commands.add_parser(
        "record",
        help="make a playbook from your own work on a screen",
        description="Do the work once with mouse and keyboard. The command makes a playbook that repeats it. With "
        "--app you work in a browser, on a virtual desktop with only that program. Text that you type into password "
        "fields becomes a secret and is not stored.",
        epilog="exit codes: 0 written; 2 nothing was done, or the command was wrong; 13 discarded by "
        "Ctrl+C; 15 desktop_failed; 16 unavailable",
    )
    record.add_argument("--app", metavar="COMMAND", help="a program to start")
    text = "the X display that you work on (DISPLAY, without --app); with --app the program is shown there"
    record.add_argument("--display", metavar=":N", help=text)
    record.add_argument("--size", metavar="WxH", default="1280x800", help="size of the virtual desktop (%(default)s)")
    _add_profiles(record)
    _add_patience(record)
    _add_accessibility(record)
    record.add_argument("--out", metavar="FILE.yaml", type=Path, required=True, help="the playbook to write")
    record.add_argument("--goal", metavar="NAME", default="", help="name of the goal (that of the file)")
    text = "make this typed text a parameter; on a terminal the command asks for names at the end"
    record.add_argument("--param", metavar="NAME=VALUE", action="append", default=[], help=text)
    text = "the answer of the goal: a text on the last screen, which each run reads again (no answer)"
    record.add_argument("--answer", metavar="TEXT", default="", help=text)
    record.add_argument("--redact", metavar="FILE.toml", type=Path, help="areas to paint over in the pictures")
    _add_audit(record)
    record.add_argument("--json", action="store_true", help=JSON_LAST)


def _add_playbook(commands: Commands) -> None:
    playbook = commands.add_parser(
        "playbook",
        help="review, apply or reject proposed changes of a playbook",
        description="If a step no longer fits, the model does it. The run then proposes another way to find its "
        "target, in a folder next to the playbook. Applying a proposal adds it to the playbook, after the old way.",
    )
    which = playbook.add_subparsers(dest="which", metavar="WHAT", required=True)
    review = which.add_parser("review", help="list the proposals, and how often each step fitted")
    review.add_argument("--out", metavar="PAGE.html", type=Path, help="also write a page with the pictures")
    done = "add proposals to the playbook", "reject proposals: they are not made again"
    for name, text in zip(("apply", "reject"), done, strict=True):
        settle = which.add_parser(name, help=text, epilog="exit codes: 0 done; 2 nothing was written: the proposal is "
            "unknown, or the playbook was changed since")  # fmt: skip
        settle.add_argument(
            "--id", metavar="ID", action="append", default=[], help="only this proposal (all open ones)"
        )
        settle.add_argument("--why", metavar="TEXT", default="", help="a reason, kept with the proposal")
    for command in which.choices.values():
        command.add_argument("file", metavar="FILE", type=Path, help="the playbook")
        command.add_argument("--json", action="store_true", help=JSON_LAST)


def _add_keys(commands: Commands) -> None:
    keys = commands.add_parser("keys", help="manage the key that signs traces")
    which_key = keys.add_subparsers(dest="which", required=True, metavar="COMMAND", parser_class=_Parser)
    new = which_key.add_parser("new", help="make a key pair, as the first run does")
    new.add_argument("--replace", action="store_true", help="keep the present key aside, and sign with a new one")
    which_key.add_parser("show", help="print the public key (PEM)")


def _add_models(commands: Commands) -> None:
    models = commands.add_parser("models", help="list the models with a profile: conventions, limits and prices")
    models.add_argument("--json", action="store_true", help="print one JSON array")


def _add_approve(commands: Commands) -> None:
    approve = commands.add_parser(
        "approve",
        help="approve an action that waits for a person, or list such actions",
        description="Approve one action on one screen. The approval can be used once; then run the work again.",
        epilog="exit codes: 0 done, 2 no action waits under that number",
    )
    text = "the number that the run printed; without it, list the waiting actions"
    approve.add_argument("id", metavar="ID", type=int, nargs="?", help=text)
    approve.add_argument("--by", metavar="NAME", help="name of the person who approves (you)")
    approve.add_argument("--ttl", type=float, default=900.0, metavar="SECONDS", help="validity of the approval (900)")


def _add_handoff(commands: Commands) -> None:
    handoff = commands.add_parser("handoff", help="list questions of runs to a person, and answer them")
    which = handoff.add_subparsers(dest="which", required=True, metavar="COMMAND", parser_class=_Parser)
    listed = which.add_parser("list", help="list the open hand-offs, with links to the live desktops")
    listed.add_argument("--json", action="store_true", help="print one JSON array")
    resume = which.add_parser(
        "resume",
        help="answer a hand-off, so that its run goes on",
        description="Answer a hand-off. The first answer counts, here or in Prefect's UI.",
        epilog="exit codes: 0 answered, 2 it waits for no answer or does not offer this one, 16 a service is away",
    )
    resume.add_argument("id", metavar="ID", help="the id that the run or `holo-tasks handoff list` printed")
    resume.add_argument("--choice", metavar="CHOICE", help="one of the offered choices (done, or the only one)")
    resume.add_argument("--note", metavar="TEXT", default="", help="kept in the trace; the agent may see it")
    resume.add_argument("--by", metavar="NAME", help="name of the person who answers (you)")


def _add_kill(commands: Commands) -> None:
    kill = commands.add_parser(
        "kill",
        help="stop runs at once, even if a program hangs",
        description="Stop the input of runs within a second, even if a program hangs, end the runs, and print the "
        "result for each.",
        epilog="exit codes: 0 all input has stopped, 2 the run is unknown, 15 a process did not answer",
    )
    which = kill.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="ID", help="the id of a run or of its flow run")
    which.add_argument("--all", action="store_true", help="all runs that have begun by now")
    kill.add_argument("--reason", metavar="TEXT", default="", help="kept in the run's trace")


def _add_drain(commands: Commands) -> None:
    drain = commands.add_parser(
        "drain",
        help="take no more items of work lists on this machine, before a shutdown",
        description="Take no more items of work lists on this machine. Its runs finish the items that they have. "
        "This holds until --off, or until the machine starts again.",
        epilog="exit codes: 0 no run is at work, or --wait was not given; 15 a run is still at work",
    )
    drain.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help="longest wait for the runs to end (%(default)g)"
    )
    drain.add_argument("--off", action="store_true", help="take items again")


def _add_runs(commands: Commands) -> None:
    runs = commands.add_parser("runs", help="list runs with status, cost and limit, and the dead-letter list")
    runs.add_argument("--last", type=int, default=20, metavar="N", help="number of runs and items (%(default)s)")
    runs.add_argument("--json", action="store_true", help="print one JSON object")


def _add_fleet(commands: Commands) -> None:
    fleet = commands.add_parser(
        "fleet",
        help="show the progress of work lists, the holders of seats, and the runs at work",
        description="Show the work lists, the seats and the runs at work, of all machines that share the database. "
        "The command changes nothing.",
        epilog="exit codes: 0 shown, even without any list; 16 the database is away",
    )
    fleet.add_argument("--list", metavar="NAME", help="only this list, and the runs that work on it")
    fleet.add_argument("--json", action="store_true", help="print one JSON object")


def _add_retry(commands: Commands) -> None:
    retry = commands.add_parser(
        "retry",
        help="work on an unfinished item again",
        description="Work on an item of the dead-letter list again, with a new budget. Actions of an interrupted "
        "attempt are never repeated: its probe looks for the effect. Give --done or --not-done after you have looked "
        "yourself.",
        epilog="exit codes: those of `run`; 2 the item is unknown, or several items have that key",
    )
    retry.add_argument("item", metavar="ITEM", help="the item's key, as `holo-tasks runs` shows it")
    retry.add_argument("--goal", metavar="NAME", help="the goal of the item, if several items have that key")
    known = retry.add_mutually_exclusive_group()
    text = "the item is finished with this answer; for a sub-goal of a flow, its result as JSON"
    known.add_argument("--done", metavar="ANSWER", nargs="?", const="done", help=text)
    text = "the effect of the item is not there, so it may be done from the start"
    known.add_argument("--not-done", action="store_true", help=text)


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="test the model's endpoint, the screen and the evidence store",
        description="Test the parts that a run needs, with two cheap calls of the model, and print each fault in a "
        "sentence.",
        epilog="exit codes: 0 nothing failed, 2 a setting is wrong, else 14 the model's endpoint failed, "
        "else 15 the desktop failed, else 16 the evidence store or the database is away",
    )
    _add_model(doctor)
    doctor.add_argument(
        "--display", metavar=":N", help="an X display that is already running (DISPLAY, else one is started)"
    )
    _add_audit(doctor)
    _add_local_only(doctor)
    doctor.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="longest time of each check (%(default)g)"
    )
    doctor.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_look(commands: Commands) -> None:
    look = commands.add_parser(
        "look",
        help="list the windows, elements and texts of a screen",
        description="Describe a screen for the author of a script: its windows with their programs, the elements that "
        "programs report, and its texts. The command sends no input, and neither reads nor shows the contents of "
        "password fields.",
        epilog="exit codes: 0 looked, 2 invalid, 15 desktop_failed",
    )
    screen = look.add_mutually_exclusive_group()
    screen.add_argument("--display", metavar=":N", help="an X display that is already running (DISPLAY)")
    screen.add_argument("--app", metavar="COMMAND", help="a program to start on a new virtual desktop")
    look.add_argument("--size", metavar="WxH", default="1280x800", help="size of the virtual desktop (%(default)s)")
    _add_profiles(look)
    _add_patience(look)
    _add_accessibility(look)
    text = "a playbook that declares screens: list its states that fit"
    look.add_argument("--screens", metavar="FILE", type=Path, help=text)
    look.add_argument("--json", action="store_true", help="print one JSON object")
    text = "write a page: the picture with boxes, and a line of script for each box"
    look.add_argument("--out", metavar="PAGE.html", type=Path, help=text)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="OpenAI-compatible endpoint (H Company's own)")
    parser.add_argument("--model", metavar="NAME", help="model name (holo3-1-35b-a3b)")
    choices = ["auto", "structured", "tools", "holotron"]
    text = "format of the conversation with the model (%(default)s)"
    parser.add_argument("--dialect", choices=choices, default="auto", help=text)


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--audit", metavar="DIR|s3://BUCKET/PREFIX", help="destination of the trace (HOLO_HOME/runs)")


def _add_accessibility(command: argparse.ArgumentParser) -> None:
    text = "read the elements of the programs on that display, over the accessibility bus that it names"
    command.add_argument("--accessibility", action="store_true", help=text)


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", metavar="DIR|s3://BUCKET/PREFIX", nargs="?", help="place of the traces (HOLO_HOME/runs)"
    )


def _add_local_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--local-only", action="store_true", help="refuse every endpoint that is not this machine (HOLO_LOCAL_ONLY=1)"
    )

"""The words of the command line: which commands there are, and what each can be given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from holo_tasks.core.activity import PATIENCE_S
from holo_tasks.core.errors import InvalidUsage

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["_Parser"]

WRITTEN = "exit codes: 0 written, also of damaged traces; 2 nothing could be read or written"


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        # Options are said in full: what was given is looked at again when a command is refused.
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise InvalidUsage(f"{message}; see `{self.prog} --help`.")


def command_line() -> argparse.ArgumentParser:
    parser = _Parser(prog="holo-tasks", description="Run Holo computer-use agents as Prefect flows.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
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


def _add_run(commands: Commands) -> None:
    run = commands.add_parser(
        "run",
        help="pursue one goal on a screen",
        description="Pursue one goal on a screen and print the answer. Looks only, unless --allow act is given.",
        epilog="exit codes: 0 answered, 2 invalid, 10 limit, 11 needs_person, 12 refused, 13 killed, "
        "14 model_failed, 15 desktop_failed, 16 unavailable",
    )
    run.add_argument("goal", metavar="GOAL", help="what to do, in plain words")
    _add_work(run)
    run.add_argument("--token", metavar="KEY", help="business item; finished once, it is never done again")
    run.add_argument("--json", action="store_true", help="print one JSON object as the last line")


def _add_work(run: _Parser) -> None:
    """Add what a run is given besides its goal."""
    _add_screen(run)
    _add_model(run)
    run.add_argument("--max-steps", type=int, default=50, metavar="N", help="(%(default)s)")
    told = "a step: how often the model is told what is wrong with its reply (%(default)s)"
    run.add_argument("--max-corrections", type=int, default=3, metavar="N", help=told)
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
    run.add_argument(
        "--totp",
        metavar="NAME[=PROGRAM]",
        action="append",
        default=[],
        help="a seed whose one-time code is typed as {{totp:NAME}}, into that program; given as a secret's value is",
    )
    run.add_argument(
        "--secret-field",
        metavar="NAME=LABEL",
        action="append",
        default=[],
        help="type that secret only into a field that was just clicked and has this label beside or above it",
    )
    run.add_argument(
        "--data",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a value that others wrote: told to the model as data, never as an instruction; the goal speaks of NAME",
    )
    _add_replay(run)
    run.add_argument(
        "--hand-off",
        metavar="SECONDS",
        type=float,
        help="wait so long for a person where the agent asks for one, or an action needs a yes; else the run ends",
    )


def _add_mcp(commands: Commands) -> None:
    mcp = commands.add_parser(
        "mcp",
        help="let the model of another program start, follow, answer and stop runs",
        description="Serve the Model Context Protocol: on stdin and stdout, or with --http to programs of this "
        "machine. What is given here holds for every run; a client can only ask for less. Looks only, unless --allow "
        "act is given. It takes the extra `mcp`.",
        epilog="exit codes: 0 the client has left, 2 invalid",
    )
    _add_work(mcp)
    mcp.add_argument("--http", metavar="PORT", type=int, help="serve HTTP at 127.0.0.1, with a token; 0: any free port")
    told = "the file that holds the token (HOLO_MCP_TOKEN, else HOLO_HOME/mcp/token, which is made)"
    mcp.add_argument("--token-file", metavar="FILE", type=Path, help=told)
    told = "how many runs may be at work at a time (4; with --display 1)"
    mcp.add_argument("--at-once", metavar="N", type=int, help=told)
    told = "let a client name the program that is started: it may then run any command as you"
    mcp.add_argument("--any-app", action="store_true", help=told)
    told = "let a client say yes to actions that need a person's yes (`confirm`)"
    mcp.add_argument("--may-approve", action="store_true", help=told)
    told = "tell a client the links by which a person works on a desktop"
    mcp.add_argument("--live-links", action="store_true", help=told)


def _add_replay(run: argparse.ArgumentParser) -> None:
    told = "made by `holo-tasks compile`, or written: it works first, and the model goes on where it does not fit"
    run.add_argument("--playbook", metavar="FILE.yaml[#GOAL]", help=told)
    run.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter of the playbook")
    told = (
        "what is made of a step that the model did in the playbook's place: nothing, a proposal beside the playbook "
        "(as without this), or a change of the file if it was verified"
    )
    run.add_argument("--heal", choices=("off", "propose", "apply"), help=told)
    run.add_argument("--playbook-only", action="store_true", help="end where the playbook does not fit: ask no model")


def _add_screen(run: _Parser) -> None:
    screen = run.add_mutually_exclusive_group()
    screen.add_argument("--display", metavar=":N", help="an X display that is already running")
    screen.add_argument("--app", metavar="COMMAND", help="a program to start on a new virtual desktop")
    run.add_argument("--run-as", metavar="USER", help="start that program as this user, who reads nothing of yours")
    told = "what that program reaches: none, host (all that this machine does), or HOST:PORT, with commas (%(default)s)"
    run.add_argument("--network", metavar="none|host|HOST:PORT,…", default="host", help=told)
    told = "with --network none or HOST:PORT: a folder that the program also sees, and writes to with =write"
    run.add_argument("--folder", metavar="PATH[=write]", action="append", default=[], help=told)
    run.add_argument("--memory-mb", metavar="N", type=int, default=0, help="with these: the memory that it may take")
    run.add_argument("--cpus", metavar="N", type=float, default=0.0, help="with these: the processors, as 0.5")
    told = "use this monitor of the display only: its name or its number, as `holo-tasks doctor` lists them"
    run.add_argument("--monitor", metavar="NAME", help=told)
    run.add_argument("--size", metavar="WxH", default="1280x800", help="of the virtual desktop (%(default)s)")
    _add_profiles(run)
    _add_patience(run)


def _add_profiles(command: argparse.ArgumentParser) -> None:
    told = "the settings of an office program or browser: new each time, or kept for the next start (%(default)s)"
    command.add_argument("--profiles", metavar="new|kept|kept:NAME", default="new", help=told)


def _add_patience(command: argparse.ArgumentParser) -> None:
    told = "how long to wait for a program that still works on the last input, as for its server (%(default)g)"
    command.add_argument("--patience", metavar="SECONDS", type=float, default=PATIENCE_S, help=told)


def _add_report(commands: Commands) -> None:
    report = commands.add_parser("report", help="write a trace as one HTML page", epilog=WRITTEN)
    report.add_argument("trace", metavar="TRACE", help="a run's folder or s3:// URI")
    report.add_argument("--out", metavar="FILE.html", type=Path, required=True)


def _add_index(commands: Commands) -> None:
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


def _add_export(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="write runs as CSV",
        description="Write a row for each run below a folder or a bucket's prefix.",
        epilog=WRITTEN,
    )
    _add_where(export)
    export.add_argument("--csv", metavar="FILE", required=True, help="where the rows go; - is stdout")
    export.add_argument("--steps", action="store_true", help="a row for each step instead")


def _add_verify(commands: Commands) -> None:
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


def _add_compile(commands: Commands) -> None:
    compiler = commands.add_parser(
        "compile",
        help="make a playbook of finished runs, which does without the model what they did",
        description="Make a playbook of one goal out of traces of runs that answered it. Targets are words on the "
        "screen, never coordinates; what differs from run to run is a parameter, and no value of a run gets into it. "
        "Each trace is verified first.",
        epilog="exit codes: 0 written; 2 nothing was written: a trace was tampered with or did not end as answered, "
        "what was done has no words on the screen, or no probe can be made",
    )
    compiler.add_argument("trace", metavar="TRACE", nargs="+", help="a run's folder or s3:// URI")
    compiler.add_argument("--out", metavar="FILE.yaml", type=Path, required=True, help="the playbook")
    told = "which sub-goal of the runs, where they have several; else what it is called"
    compiler.add_argument("--goal", metavar="NAME", default="", help=told)
    compiler.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="this literal of a run is a parameter (what was typed is one by itself)",
    )
    told = "a run that looked whether it is there, and answered done or something else: made the playbook's probe"
    compiler.add_argument("--probe", metavar="TRACE", action="append", default=[], help=told)
    compiler.add_argument("--public-key", metavar="FILE", type=Path, help="of who recorded the runs (this machine's)")
    compiler.add_argument("--json", action="store_true", help="print one JSON object as the last line")


def _add_record(commands: Commands) -> None:
    record = commands.add_parser(
        "record",
        help="make a playbook of what you do yourself on a screen",
        description="Do the work once, with mouse and keyboard: what you did becomes a playbook, which does it again "
        "without you. With --app you work in a browser, on a desktop of the program's own. What you type into password "
        "fields becomes a secret, and is kept nowhere.",
        epilog="exit codes: 0 written; 2 it cannot be done again as it was done, or the command was wrong; 13 thrown "
        "away by Ctrl+C; 15 desktop_failed; 16 unavailable",
    )
    record.add_argument("--app", metavar="COMMAND", help="a program to start")
    told = "an X display that you work on (DISPLAY, without --app); with --app the program is shown there"
    record.add_argument("--display", metavar=":N", help=told)
    record.add_argument("--size", metavar="WxH", default="1280x800", help="of the program's own desktop (%(default)s)")
    _add_profiles(record)
    _add_patience(record)
    told = "ask the programs on that display for their elements, over the bus that it names"
    record.add_argument("--accessibility", action="store_true", help=told)
    record.add_argument("--out", metavar="FILE.yaml", type=Path, required=True, help="the playbook to write")
    record.add_argument("--goal", metavar="NAME", default="", help="what the goal is called (as the file)")
    told = "this text that you type is a parameter; a terminal is asked at the end what each is to be called"
    record.add_argument("--param", metavar="NAME=VALUE", action="append", default=[], help=told)
    told = "what is to be answered: a text on the last screen, read anew each time (nothing)"
    record.add_argument("--answer", metavar="TEXT", default="", help=told)
    record.add_argument("--redact", metavar="FILE.toml", type=Path, help="what is painted over in the pictures")
    _add_audit(record)
    record.add_argument("--json", action="store_true", help="print one JSON object as the last line")


def _add_playbook(commands: Commands) -> None:
    playbook = commands.add_parser(
        "playbook",
        help="review, apply or reject what is proposed where a playbook does not fit any more",
        description="What the model did for a step that has moved is proposed beside the playbook: another way to find "
        "the same target, behind the old one. It is put into the file when it is applied.",
    )
    which = playbook.add_subparsers(dest="which", metavar="WHAT", required=True)
    review = which.add_parser("review", help="list the proposals, and how often each step fitted")
    review.add_argument("--out", metavar="PAGE.html", type=Path, help="write a page with the pictures, too")
    done = "put proposals into the playbook", "throw proposals away: none of them is made again"
    for name, told in zip(("apply", "reject"), done, strict=True):
        settle = which.add_parser(name, help=told, epilog="exit codes: 0 done; 2 there is no such proposal, or the "
            "playbook was changed since: nothing was written")  # fmt: skip
        settle.add_argument("--id", metavar="ID", action="append", default=[], help="this one only (all that are open)")
        settle.add_argument("--why", metavar="TEXT", default="", help="is kept with the proposal")
    for command in which.choices.values():
        command.add_argument("file", metavar="FILE", type=Path, help="the playbook")
        command.add_argument("--json", action="store_true", help="print one JSON object as the last line")


def _add_keys(commands: Commands) -> None:
    keys = commands.add_parser("keys", help="the key that traces are signed with")
    which_key = keys.add_subparsers(dest="which", required=True, metavar="COMMAND", parser_class=_Parser)
    new = which_key.add_parser("new", help="make a key pair; the first run does so, too")
    new.add_argument("--replace", action="store_true", help="keep the key there is aside, and sign with a new one")
    which_key.add_parser("show", help="print the public key (PEM)")


def _add_models(commands: Commands) -> None:
    models = commands.add_parser("models", help="list the models that are known, and how each is spoken to")
    models.add_argument("--json", action="store_true", help="print one JSON array")


def _add_approve(commands: Commands) -> None:
    approve = commands.add_parser(
        "approve",
        help="say yes to an action that waits for a person, or list those that do",
        description="Say yes to one action on one screen. It can be used once; then run the work again.",
        epilog="exit codes: 0 done, 2 nothing waits under that number",
    )
    approve.add_argument("id", metavar="ID", type=int, nargs="?", help="as the run said; without it, list what waits")
    approve.add_argument("--by", metavar="NAME", help="who says yes (you)")
    approve.add_argument("--ttl", type=float, default=900.0, metavar="SECONDS", help="how long it can be used (900)")


def _add_handoff(commands: Commands) -> None:
    handoff = commands.add_parser("handoff", help="list who waits for a person, and answer")
    which = handoff.add_subparsers(dest="which", required=True, metavar="COMMAND", parser_class=_Parser)
    listed = which.add_parser("list", help="what waits for an answer, with links to the live desktops")
    listed.add_argument("--json", action="store_true", help="print one JSON array")
    resume = which.add_parser(
        "resume",
        help="answer: the run goes on",
        description="Answer a hand-off, once: the first answer counts, here or in Prefect's pages.",
        epilog="exit codes: 0 answered, 2 it waits for no answer, or not for this one, 16 what is needed is away",
    )
    resume.add_argument("id", metavar="ID", help="as the run said, or `holo-tasks handoff list`")
    resume.add_argument("--choice", metavar="CHOICE", help="one of those that are offered (done, or the only one)")
    resume.add_argument("--note", metavar="TEXT", default="", help="kept in the trace; the agent may be told")
    resume.add_argument("--by", metavar="NAME", help="who answers (you)")


def _add_kill(commands: Commands) -> None:
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


def _add_drain(commands: Commands) -> None:
    drain = commands.add_parser(
        "drain",
        help="have no more items of lists taken on this machine, before it is stopped",
        description="Have no more items of lists taken on this machine; its runs end with the items that they have. "
        "That holds until --off, or until the machine is started again.",
        epilog="exit codes: 0 nobody is at work any more, or nobody was to be waited for; 15 some run still is",
    )
    drain.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="for its runs to end (%(default)g)")
    drain.add_argument("--off", action="store_true", help="let items be taken again")


def _add_runs(commands: Commands) -> None:
    runs = commands.add_parser("runs", help="list runs with status, spend and limit, and what waits for a person")
    runs.add_argument("--last", type=int, default=20, metavar="N", help="(%(default)s)")
    runs.add_argument("--json", action="store_true", help="print one JSON object")


def _add_fleet(commands: Commands) -> None:
    fleet = commands.add_parser(
        "fleet",
        help="show how far lists of work are, who has which seat, and the runs at work",
        description="Show lists of work, seats and the runs that are at work, of all machines that share the database. "
        "It changes nothing.",
        epilog="exit codes: 0 shown, also where there is no list yet; 16 the database is away",
    )
    fleet.add_argument("--list", metavar="NAME", help="this list alone, and the runs that work on it")
    fleet.add_argument("--json", action="store_true", help="print one JSON object")


def _add_retry(commands: Commands) -> None:
    retry = commands.add_parser(
        "retry",
        help="drive an unfinished item again",
        description="Drive an item of the dead-letter list again, with a fresh budget. What an interrupted attempt may "
        "have done is looked for, never repeated; say --done or --not-done once you have looked yourself.",
        epilog="exit codes: as of `run`; 2 there is no such item, or there are several",
    )
    retry.add_argument("item", metavar="ITEM", help="its token, as `holo-tasks runs` shows it")
    retry.add_argument("--goal", metavar="NAME", help="which one, where several items have that token")
    known = retry.add_mutually_exclusive_group()
    told = "it is finished; this was the answer, of a flow's sub-goal the result as JSON"
    known.add_argument("--done", metavar="ANSWER", nargs="?", const="done", help=told)
    known.add_argument("--not-done", action="store_true", help="its effect is not there: it may be done from the start")


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="try the model's endpoint, the screen and the evidence store",
        description="Try what a run needs, with two cheap calls of the model, and say in a sentence what is wrong.",
        epilog="exit codes: 0 nothing failed, 2 something is set up wrong, else 14 the model's endpoint failed, "
        "else 15 the desktop failed, else 16 the evidence store or the database is away",
    )
    _add_model(doctor)
    doctor.add_argument(
        "--display", metavar=":N", help="an X display that is already running (DISPLAY, else one is started)"
    )
    _add_audit(doctor)
    _add_local_only(doctor)
    doctor.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="for each check (%(default)g)")
    doctor.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_look(commands: Commands) -> None:
    look = commands.add_parser(
        "look",
        help="say what is on a screen: windows, elements, texts",
        description="Say what a script's author has to know of a screen: windows with programs, the elements that "
        "programs tell of, texts. It sends no input. What password fields hold is neither read nor shown.",
        epilog="exit codes: 0 looked, 2 invalid, 15 desktop_failed",
    )
    screen = look.add_mutually_exclusive_group()
    screen.add_argument("--display", metavar=":N", help="an X display that is already running (DISPLAY)")
    screen.add_argument("--app", metavar="COMMAND", help="a program to start on a new virtual desktop")
    look.add_argument("--size", metavar="WxH", default="1280x800", help="of the virtual desktop (%(default)s)")
    _add_profiles(look)
    _add_patience(look)
    told = "ask the programs on that display for their elements, over the bus that it names"
    look.add_argument("--accessibility", action="store_true", help=told)
    told = "a playbook that declares screens: say which of its states fit"
    look.add_argument("--screens", metavar="FILE", type=Path, help=told)
    look.add_argument("--json", action="store_true", help="print one JSON object")
    told = "write a page: the picture with boxes, and for each a line for a script"
    look.add_argument("--out", metavar="PAGE.html", type=Path, help=told)


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

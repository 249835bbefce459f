"""A small desktop program with one known hazard, for tests of agents. Standard library only.

python3 flows/benchmarks/nasty/programs/program.py KIND --store FILE --seed N

The task is always the same: file the given entry once. `seeds` defines the effects of the seed; the store (`store`)
records all actions on the program. The kind "expiry" asks for a user (clerk) and a password. The password comes from
`--secret-file` or the variable CASHBOOK_PASSWORD, never from the command line. A startup error is one line on stderr
and exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NoReturn

FLOWS = Path(__file__).resolve().parents[3]
# This file is run by its path, in a Python without our packages. The programs share the widgets of the demo's legacy
# program, and look like it.
sys.path[:1] = [str(FLOWS), str(FLOWS / "demo")]

from benchmarks.nasty.programs.seeds import KINDS, plan  # noqa: E402
from benchmarks.nasty.programs.store import NotAStore, Store  # noqa: E402


class CannotStart(RuntimeError):
    """Startup error: one line with the missing part and its remedy."""


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        _run(options)
    except (CannotStart, NotAStore) as error:
        print(f"nasty: {error}", file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace) -> None:
    decided = plan(options.kind, options.seed)
    if options.delay is not None:
        decided = replace(decided, delay_s=options.delay)
    password = _password(options.secret_file) if options.kind == "expiry" else ""
    store = Store(options.store)
    store.prepare()
    try:
        import tkinter as tk
    except ImportError as error:
        raise CannotStart("this Python has no tkinter: install the Debian package python3-tk") from error
    from legacy_ledger_look import Look

    kind = getattr(import_module(f"benchmarks.nasty.programs.{options.kind}"), options.kind.capitalize())
    try:
        root = tk.Tk(className=kind.title.replace(" ", ""))
    except tk.TclError as error:
        raise CannotStart(f"cannot open a window ({error}): set DISPLAY to a running X server") from error
    look = Look(root, options.font_size)
    x, y = decided.place
    root.geometry(f"{look.px(640)}x{look.px(470)}+{x}+{y}")
    program = kind(root, look, store, decided, options.state_file)
    program.password = password
    program.start()
    root.mainloop()


def _password(secret_file: Path | None) -> str:
    try:
        password = secret_file.read_text("utf-8").rstrip("\r\n") if secret_file else os.environ.get("CASHBOOK_PASSWORD")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"cannot read the secret file: {error}") from error
    if not password:
        raise CannotStart("no password: give --secret-file FILE or set CASHBOOK_PASSWORD")
    return password


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="nasty", description="A cashbook that is nasty in one known way.")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--store", type=Path, required=True, metavar="FILE", help="SQLite file of effects")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all random choices")
    parser.add_argument("--delay", type=_seconds, metavar="SECONDS", help="overrides the seed's delay")
    parser.add_argument("--font-size", type=_font_size, default=12, metavar="9..14")
    parser.add_argument(
        "--secret-file", type=Path, metavar="FILE", help="file with the password; overrides the variable"
    )
    parser.add_argument(
        "--state-file", type=Path, metavar="FILE", help="FOR TESTS ONLY: screen and widget boxes as JSON"
    )
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("must be from 0 to 3600")
    return seconds


def _font_size(text: str) -> int:
    size = int(text)
    if not 9 <= size <= 14:
        raise argparse.ArgumentTypeError("must be from 9 to 14")
    return size


if __name__ == "__main__":
    sys.exit(main())

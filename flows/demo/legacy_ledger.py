"""Meridian Ledger 4.2: an old desktop program without an API, for the demo and the tests.

It runs as its own process, with the standard library only (tkinter, sqlite3):

    MERIDIAN_PASSWORD=... python3 flows/demo/legacy_ledger.py --db FILE

Make FILE with `legacy_ledger_db.create_database`. The password comes from `--secret-file` or the variable
MERIDIAN_PASSWORD, never from the command line. If the program cannot start, it prints one line to stderr and exits with
code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from legacy_ledger_db import LedgerFile, NotALedger


class CannotStart(RuntimeError):
    """The program cannot start. The message names in one line the missing part and the remedy."""


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        _run(options)
    except (CannotStart, NotALedger) as error:
        print(f"legacy_ledger: {error}", file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace) -> None:
    ledger = LedgerFile(options.db)
    ledger.check()
    password = _password(options.secret_file)
    try:
        import tkinter as tk
    except ImportError as error:
        raise CannotStart("this Python has no tkinter: install the Debian package python3-tk") from error
    from legacy_ledger_look import Look
    from legacy_ledger_screens import MenuScreen, SearchScreen, SignOnScreen
    from legacy_ledger_window import Behavior, LedgerWindow, Login

    try:
        root = tk.Tk(className="MeridianLedger")
    except tk.TclError as error:
        raise CannotStart(f"cannot open a window ({error}): set DISPLAY to a running X server") from error
    look = Look(root, options.font_size)
    width, height = look.window_size()
    place = "" if options.position is None else "+{}+{}".format(*options.position)
    root.geometry(f"{width}x{height}{place}")
    behavior = Behavior(
        seed=options.seed,
        slow=options.slow,
        tip_after=options.tip_after,
        session_actions=options.session_actions,
        session_seconds=options.session_seconds,
    )
    login = Login(options.user, password)
    window = LedgerWindow(root, ledger, login, look, behavior, options.state_file)
    window.sign_on_panel = lambda: SignOnScreen(window)
    window.menu_panel = lambda: MenuScreen(window)
    window.search_panel = lambda: SearchScreen(window)
    window.start()
    root.mainloop()


def _password(secret_file: Path | None) -> str:
    if secret_file is None:
        password = os.environ.get("MERIDIAN_PASSWORD", "")
    else:
        try:
            password = secret_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CannotStart(f"cannot read the secret file: {error}") from error
    if not password:
        raise CannotStart("no password: give --secret-file FILE or set MERIDIAN_PASSWORD")
    return password


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="legacy_ledger", description="Meridian Ledger 4.2")
    parser.add_argument("--db", type=Path, required=True, metavar="FILE", help="the ledger's SQLite file")
    parser.add_argument("--user", default="auditor", help="name of the user (default: %(default)s)")
    parser.add_argument(
        "--secret-file",
        type=Path,
        metavar="FILE",
        help="file with the password (default: the variable MERIDIAN_PASSWORD)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of delays and tips (default: %(default)s)")
    parser.add_argument("--font-size", type=_font_size, default=11, metavar="9..18")
    parser.add_argument("--position", type=_position, metavar="X,Y", help="position of the window on the screen")
    parser.add_argument(
        "--slow",
        type=_range,
        default=(0.1, 0.8),
        metavar="LOW,HIGH",
        help="delay of a screen change in seconds; 0,0: no delay",
    )
    parser.add_argument(
        "--tip-after", type=_count, default=9, metavar="N", help="screen changes between two tips; 0: no tips"
    )
    parser.add_argument(
        "--session-actions",
        type=_count,
        default=60,
        metavar="N",
        help="actions before the session expires; 0: no limit",
    )
    parser.add_argument(
        "--session-seconds",
        type=_count,
        default=900,
        metavar="N",
        help="idle seconds before the session expires; 0: no limit",
    )
    parser.add_argument(
        "--state-file",
        type=Path,
        metavar="FILE",
        help="FOR TESTS ONLY: file for the screen and the widget boxes, as JSON",
    )
    return parser


def _font_size(text: str) -> int:
    size = int(text)
    if not 9 <= size <= 18:
        raise argparse.ArgumentTypeError("must be from 9 to 18")
    return size


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return count


def _position(text: str) -> tuple[int, int]:
    x, y = text.split(",")
    return int(x), int(y)


def _range(text: str) -> tuple[float, float]:
    low, high = (float(part) for part in text.split(","))
    if not 0 <= low <= high <= 60:
        raise argparse.ArgumentTypeError("must be LOW,HIGH in seconds with 0 <= LOW <= HIGH <= 60")
    return low, high


if __name__ == "__main__":
    sys.exit(main())

"""The permissions that the operator of the MCP server gives its clients."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.cli.mcp.processes import FOLDER
from holo_tasks.cli.parser import command_line
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.home import holo_home
from holo_tasks.machine.private import private_folder

AT_ONCE = 4
_SERVER_OPTIONS = {
    "--http": 1,
    "--token-file": 1,
    "--at-once": 1,
    "--any-app": 0,
    "--may-approve": 0,
    "--live-links": 0,
}
"""The options of the server itself, and the number of words that follow each."""


@dataclass(frozen=True)
class ClientPermissions:
    """The permissions of all clients. ``words`` are the command-line options of each run."""

    home: Path
    words: tuple[str, ...]
    options: argparse.Namespace

    @property
    def at_once(self) -> int:
        most: int | None = self.options.at_once
        return most if most is not None else AT_ONCE if self.options.app or self.options.any_app else 1


def granted_by(options: argparse.Namespace) -> ClientPermissions:
    """Return the permissions. Raises `InvalidUsage` for options that no run accepts, before a client connects."""
    from holo_tasks.cli.run_command.run import check, rules_of
    from holo_tasks.machine.patience import tells

    tells.set(lambda text: None)
    home = holo_home()
    private_folder(home, FOLDER)
    words = tuple(_without_server_options(options.given[1:]))
    if options.at_once is not None and not 1 <= options.at_once <= 100:
        raise InvalidUsage(f"--at-once must be from 1 to 100, not {options.at_once}.")
    if options.any_app and (options.app is not None or options.display is not None):
        raise InvalidUsage("--any-app lets clients name the program: leave out --app and --display.")
    app = ("--app=true",) if options.any_app else ()
    check(command_line().parse_args(["run", *words, *app, "--json", "--", "Look."]))
    rules_of(options.rules)
    return ClientPermissions(home, words, options)


def _without_server_options(given: list[str]) -> list[str]:
    """Return the words without the options in `_SERVER_OPTIONS` and their values."""
    words, skipped = [], 0
    for word in given:
        name, equals, _ = word.partition("=")
        if skipped:
            skipped -= 1
        elif name in _SERVER_OPTIONS:
            skipped = 0 if equals else _SERVER_OPTIONS[name]
        else:
            words.append(word)
    return words

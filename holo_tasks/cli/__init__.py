"""`holo-tasks`, the command line: `commands` says which command is meant; each has a file named after it."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command that this process was started with, and exit with its code."""
    from holo_tasks.cli.commands import main as run  # a program that imports this may want another part of it

    run()

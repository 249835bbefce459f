"""`holo-tasks`, the command line.

`parser` declares the commands and their options. `commands` dispatches to a module per command, named after it. `run`
starts the goal of one run.

May import `core`, `machine`, `loop`, `models`, `desktop`, `safety`, `audit`, `office`, `vision`, `set_of_mark`,
`contract`, `scripts`, `compiler`, `healing`, `by_hand`, `live_view`, `prefect_server`, `kill`, `run`, `handoff` and
`agent`.
"""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command in `sys.argv` and exit with its code."""
    from holo_tasks.cli.commands import main as run  # imported late: other parts of this package load faster

    run()

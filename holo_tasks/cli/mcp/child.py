"""The process of one run for the MCP server: `holo-tasks run` with its arguments from a file.

All users of a machine can read the arguments of a process, so the goal and the data are not among them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Run the command in the folder of the first argument, which `processes.begin` wrote.

    The second argument is the descriptor of the lock that shows that the run is alive.
    """
    from holo_tasks.machine.process_protection import close_process

    close_process()
    folder, lock = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock, False)  # child processes may live longer than the run
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    sys.argv = ["holo-tasks", *asked["arguments"]]
    from holo_tasks.cli.commands import main as command
    from holo_tasks.cli.mcp.processes import PROGRESS
    from holo_tasks.cli.run_command import run
    from holo_tasks.cli.run_command.progress import FollowedRun

    run.followed = FollowedRun(folder.name, folder / PROGRESS)
    command()


if __name__ == "__main__":
    main()

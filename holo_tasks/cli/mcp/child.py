"""The process of one run that a client of the MCP server has started: `holo-tasks run`, with its words from a file.

Every user of a machine can read the arguments of a process, so goal and data are in none.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Run what `processes.begin` has written into the folder that is named by the one argument."""
    from holo_tasks.machine.closed import close_process

    close_process()
    folder, lock = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock, False)  # whoever this process starts may outlive it
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    sys.argv = ["holo-tasks", *asked["arguments"]]
    from holo_tasks.cli import run
    from holo_tasks.cli.commands import main as command
    from holo_tasks.cli.mcp.processes import PROGRESS
    from holo_tasks.cli.progress import Followed

    run.followed = Followed(folder.name, folder / PROGRESS)
    command()


if __name__ == "__main__":
    main()

"""Fork a process for each run of the expense audit, with everything imported already, because imports take seconds.

Reads jobs as lines of JSON (``env``, ``arguments`` of the flow, ``log``). Answers each with two lines: the process id,
then its exit status.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
BELOW = ("flows", "flows/demo", "tests/apps", "tests/faults/injection", "tests/support/started")
sys.path[:0] = [str(ROOT), *(str(ROOT / below) for below in BELOW)]


def main() -> None:
    import prefect.main  # noqa: F401

    import expense_audit  # noqa: F401
    import holo_tasks.cli.run_command.flow  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(_run(job))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _run(job: dict[str, Any]) -> int:
    os.setsid()
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(job["env"])
    try:
        import kill_points
        import read_before

        from tests.support import warm_process

        warm_process.have_others_forked({})

        from expense_audit import expense_audit
        from holo_tasks.core.errors import HoloError

        if "blocks" in job:
            asyncio.run(fill_in_blocks(job["blocks"]))
            return 0
        read_before.share()
        kill_points.arm_flow()
        try:
            asyncio.run(expense_audit(**job["arguments"]))
        except HoloError as error:
            print(f"{error.status}: {error}", flush=True)
            return error.exit_code
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


async def fill_in_blocks(said: dict[str, Any]) -> None:
    """Save the block values of `Audit.blocks`, which a person would enter once in the Prefect UI."""
    from prefect.types import SecretDict

    from holo_blocks import AuditBucket, HoloDesktop, HoloMailbox, HoloModel

    secrets = SecretDict({"portal_password": said["password"]})
    desktop = HoloDesktop(app=said["app"], width=said["width"], height=said["height"], secrets=secrets)
    model = HoloModel(base_url=said["base_url"], model="holo3-1-35b-a3b")
    mailbox = HoloMailbox(maildir=said["maildir"])
    for block in (mailbox, model, desktop, AuditBucket(**said["audit"])):
        await block.asave(said["name"], overwrite=True)


if __name__ == "__main__":
    main()

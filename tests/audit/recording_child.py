"""Record without end and print the acknowledged records. Forks a process for each line on stdin.

The test kills the forked process at a random moment. Forking avoids the imports of twenty processes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

from holo_tasks.audit import Destination
from holo_tasks.core.events import Corrected
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size


async def work(where: str, home: Path, run_id: str) -> None:
    trace = Destination.parse(where).open(run_id, home=home)

    async def stream(number: int) -> None:
        step = 0
        while True:
            step += 1
            data = os.urandom(20_000)
            digest = hashlib.sha256(data).hexdigest()
            await trace.keep(Shot(data, "image/jpeg", digest, Size(1, 1), Size(1, 1), ""))
            os.write(1, f"frame {digest}\n".encode())
            await trace.record(Corrected(subgoal=number, step=step, reason=digest))
            os.write(1, f"event {number} {step}\n".encode())

    await asyncio.gather(*(stream(number) for number in (1, 2, 3)))


def main(where: str, home: str) -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(work(where, Path(home), line.strip()))
        os.write(1, f"pid {child}\n".encode())
        os.waitpid(child, 0)
        os.write(1, b"gone\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Take pictures, record them and send them to a model without end. Forks a process for each line on stdin.

The test kills the forked process at a random moment, and compares the trace with the pictures that the server received.
With ``careless``, the process sends first and records afterwards, as a naive agent would.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import os
import sys
from pathlib import Path

from holo_tasks.audit import Destination
from holo_tasks.core.events import FrameTaken, RequestSent, RunOpened
from holo_tasks.core.screen.frame import Shot
from holo_tasks.core.screen.geometry import Size

SIDE = Size(1, 1)


def send(port: int, digest: str, data: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/{digest}", data)
    connection.getresponse().read()
    connection.close()


async def work(where: str, home: Path, port: int, careless: bool, run_id: str) -> None:
    trace = Destination.parse(where).open(run_id, home=home)
    await trace.record(RunOpened(run_id=run_id, title="", library=""))

    async def stream(number: int) -> None:
        step = 0
        while True:
            step += 1
            data = os.urandom(20_000)
            shot = Shot(data, "image/jpeg", hashlib.sha256(data).hexdigest(), SIDE, SIDE, "")
            if careless:
                await asyncio.to_thread(send, port, shot.sha256, data)
            await trace.keep(shot)
            await trace.record(
                FrameTaken(
                    subgoal=number, step=step, sha256=shot.sha256, media_type=shot.media_type, size_bytes=len(data),
                    sent_width=1, sent_height=1, screen_width=1, screen_height=1, frame_digest="", masks=[],
                    settled=True, settle_us=0, quiet_us=0, capture_us=0, encode_us=0,
                )
            )  # fmt: skip
            await trace.record(
                RequestSent(
                    subgoal=number, step=step, attempt=1, model="m", endpoint="", shots=[shot.sha256], messages=1,
                    prompt_sha256="",
                )
            )  # fmt: skip
            if not careless:
                await asyncio.to_thread(send, port, shot.sha256, data)

    await asyncio.gather(*(stream(number) for number in (1, 2, 3)))


def main(where: str, home: str, port: str, careless: str = "") -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(work(where, Path(home), int(port), bool(careless), line.strip()))
        os.write(1, f"pid {child}\n".encode())
        os.waitpid(child, 0)
        os.write(1, b"gone\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

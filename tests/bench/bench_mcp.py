"""Time of the MCP server's `start` until the run's id, by the protocol's own client over standard streams.

Each run is its own process, on a real desktop with a model over HTTP that never answers. It is stopped as soon as its
id is there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

from common import headline, scratch_home


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=10)
    options = parser.parse_args()
    headline(__file__, "waiting time of an MCP client")
    with scratch_home() as home:
        took_s = asyncio.run(_starts(home, options.starts))
    print(
        f"`start` to its run id, median of {len(took_s)}   {1000 * statistics.median(took_s):7.0f} ms   (aim ≤ 300 ms)"
    )
    print(f"the slowest                          {1000 * max(took_s):7.0f} ms")


async def _starts(home: Path, starts: int) -> list[float]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    words = ["mcp", "--app", "xterm", "--base-url", "http://127.0.0.1:9/v1"]
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("holo-tasks")),
        args=words,
        env={**os.environ, "HOLO_HOME": str(home / "holo")},
        cwd=str(home),
    )
    took_s = []
    async with Client(stdio_client(server)) as client:
        for _ in range(starts):
            began_s = time.monotonic()
            reply = await client.call_tool("start", {"goal": "Look."})
            took_s.append(time.monotonic() - began_s)
            assert not reply.is_error, reply.content
            await client.call_tool("stop", {"run_id": reply.structured_content["run_id"]})
    return took_s


if __name__ == "__main__":
    main()

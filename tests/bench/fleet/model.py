"""A model that files reports, over HTTP: model.py SECONDS. Each answer takes that time, under any load.

It ignores pictures: the program's buttons do not move, and the request names the report.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.bench.fleet.program import receipt_of

NAMED = re.compile(rb"report named (R-\d+)")
SCREEN = (1280, 800)
UPPER, LOWER, UNDER = (524, 185), (167, 280), (167, 380)
"""Positions on the screen in pixels: the field, the button that files, and the one that goes back."""


def step(number: int, report: str) -> dict[str, Any]:
    """Return the step with this number in an item."""
    said = [
        _click("Next report", UNDER),  # if the previous item has left that page
        _click("Report number", UPPER),
        {"tool_name": "write", "content": report, "overwrite": True},
        _click("File report", LOWER),
        _click("Next report", UNDER),
    ]
    return said[number] if number < len(said) else {"tool_name": "answer", "content": str(receipt_of(report))}


def _click(element: str, at: tuple[int, int]) -> dict[str, Any]:
    x, y = (round(1000 * place / size) for place, size in zip(at, SCREEN, strict=True))
    return {"tool_name": "click", "element": element, "x": x, "y": y}


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
            found = NAMED.search(body)
            report = found[1].decode() if found else ""
            await asyncio.sleep(seconds)
            writer.write(_answer(step(body.count(b'"role":"assistant"'), report)))
            await writer.drain()
    writer.close()


def _answer(call: dict[str, Any]) -> bytes:
    content = json.dumps({"note": None, "thought": "Going on.", "tool_call": call})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    made = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    data = json.dumps(made).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def _main(seconds: float) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: _serve(reader, writer, seconds), "127.0.0.1", 0, limit=2**24, backlog=256
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(float(sys.argv[1])))

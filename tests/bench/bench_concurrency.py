"""The cost of sharing connections: twenty simultaneous conversations on one endpoint, compared with one alone.

The core loop without Prefect, real HTTP, and a server that takes 200 ms for each answer under any load. With a free
client, twenty conversations would take as long as one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from common import headline, ledger, ms, pursue, scratch_home, showing, table, walk_on

if TYPE_CHECKING:
    from holo_tasks.core.screen.frame import Frame

STEPS = 10
CONVERSATIONS = 20
REPEATS = 3
MODEL_S = 0.2


class CountingServer:
    """A model server with its own event loop and thread, which counts connections and requests in flight.

    In each conversation it clicks in the middle of the screen, and answers in the last of its ``steps``.
    """

    def __init__(self, model_s: float, steps: int = STEPS) -> None:
        self._model_s, self._steps = model_s, steps
        self.connections = self.open = self.in_flight = self.most_in_flight = 0
        self.requests: Counter[int] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24, backlog=256)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        while self.open:
            await asyncio.sleep(0.01)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections, self.open = self.connections + 1, self.open + 1
        name = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                self.requests[name] += 1
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                await asyncio.sleep(self._model_s)
                self.in_flight -= 1
                writer.write(_answer(last=body.count(b'"role":"assistant"') >= self._steps - 1))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        finally:
            self.open -= 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model-seconds", type=float, default=MODEL_S, help="latency of the server (%(default)s)")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    headline(__file__, f"{options.conversations} conversations of {STEPS} steps on one endpoint")
    with scratch_home() as home:
        rows = asyncio.run(_bench(home, options.conversations, options.model_seconds, options.repeats))
    columns = (
        "screens",
        "conversations",
        "wall s",
        "ratio",
        "own ms a step",
        "CPU ms a step",
        "connections",
        "most in flight",
    )
    table(
        f"a server of {options.model_seconds * 1000:.0f} ms, medians of {options.repeats}",
        (*columns, "requests each"),
        rows,
    )
    print("  ratio: of wall time to one conversation alone; own: wall time beyond the server's, by all steps taken")
    print("  CPU: of client and server in this process, by all steps; requests each: on a connection, least to most")


async def _bench(home: Any, many: int, model_s: float, repeats: int) -> list[list[str]]:
    from tests.support.painted_desktop import PaintedDesktop

    async with ledger(home, None, "--tip-after", "0") as desktop:
        screens = await _frames(desktop)
    kinds: list[tuple[str, Callable[[], Any]]] = [
        ("painted 320x200", PaintedDesktop),
        (f"ledger {screens[0].size}", lambda: showing(screens)),
    ]
    rows = []
    for name, make in kinds:
        alone = 0.0
        for count in (1, many):
            times, busy, servers = [], [], []
            for _ in range(repeats):
                with CountingServer(model_s) as server:
                    began = time.process_time()
                    times.append(await _together(server.base_url, make, count))
                    busy.append((time.process_time() - began) / (count * STEPS))
                servers.append(server)
            wall = statistics.median(times)
            alone = alone or wall
            last = servers[-1]
            each = f"{min(last.requests.values())} to {max(last.requests.values())}"
            own = (wall - STEPS * model_s) / (count * STEPS)
            figures = [f"{wall:.2f}", f"{wall / alone:.2f}", f"{own * 1000:.1f}", ms(busy)]
            rows.append([name, str(count), *figures, str(last.connections), str(last.most_in_flight), each])
    return rows


async def _frames(desktop: Any) -> Sequence[Frame]:
    """Capture a few screens of the legacy program that differ in the typed text."""
    from holo_tasks.core.input.gestures import Write

    frames = [await desktop.look()]
    for text in "abc":
        await desktop.do(Write(text))
        frames.append(await desktop.look(after_action=True))
    return frames


async def _together(base_url: str, make: Callable[[], Any], count: int) -> float:
    """Return the duration of several conversations on one endpoint that start together."""
    from holo_tasks.models.build_model import model_at
    from holo_tasks.models.client import ModelEndpoint
    from holo_tasks.models.profile import profile_for

    endpoint = ModelEndpoint(base_url, None)
    model = model_at(endpoint, profile_for("holo3-1-35b-a3b"))
    walks = [walk_on(make(), model, f"Conversation {number}.") for number in range(count)]
    started = time.monotonic()
    await asyncio.gather(*map(pursue, walks))
    took = time.monotonic() - started
    await endpoint.close()
    return took


def _answer(*, last: bool) -> bytes:
    call: dict[str, Any] = {"tool_name": "click", "element": "OK button", "x": 500, "y": 500}
    if last:
        call = {"tool_name": "answer", "content": "done"}
    content = json.dumps({"note": None, "thought": "Going on.", "tool_call": call})
    completion = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "counting",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    }
    data = json.dumps(completion).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


if __name__ == "__main__":
    sys.exit(main())

"""A real Chromium, controlled through its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 60.0
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --no-proxy-server --remote-debugging-port=0 --window-size=1000,700 "
    # Without these flags a separate GPU process renders pages in software, and uses more CPU than the rest of the
    # browser.
    "--disable-gpu-compositing --disable-software-rasterizer"
)


class Tab:
    """One page of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    @classmethod
    @asynccontextmanager
    async def opened(cls, profile: Path) -> AsyncIterator[Self]:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        assert program, "Chromium is missing: apt-get install chromium"
        command = [program, *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            told, end = profile / "DevToolsActivePort", time.monotonic() + PATIENCE_S
            while not (told.exists() and told.read_text().count("\n")) and time.monotonic() < end:
                await asyncio.sleep(0.05)
            port, browser = told.read_text().split("\n")[:2]
            options: dict[str, Any] = {"proxy": None, "max_size": None, "ping_interval": None}
            async with connect(f"ws://127.0.0.1:{port}{browser}", **options) as socket:
                targets = await cls(socket).ask("Target.getTargets")
                page = next(each["targetId"] for each in targets["targetInfos"] if each["type"] == "page")
            async with connect(f"ws://127.0.0.1:{port}/devtools/page/{page}", **options) as socket:
                yield cls(socket)
        finally:
            process.terminate()
            process.wait()

    async def ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(await self._socket.recv())).get("id") != number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    async def go(self, url: str) -> None:
        await self.ask("Page.navigate", url=url)

    async def becomes(self, expression: str, wanted: Any) -> None:
        """Wait until a JavaScript expression has a value."""
        end = time.monotonic() + PATIENCE_S
        while (value := await self.value(expression)) != wanted:
            if time.monotonic() > end:
                pytest.fail(f"{expression} is {value!r} and not {wanted!r}")
            await asyncio.sleep(0.05)

    async def value(self, expression: str) -> Any:
        return (await self.ask("Runtime.evaluate", expression=expression))["result"].get("value")

    async def picture(self) -> bytes:
        """Return a screenshot of the page as a PNG."""
        return base64.b64decode((await self.ask("Page.captureScreenshot"))["data"])

    async def click(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            await self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def type(self, text: str) -> None:
        for sign in text:
            for kind in ("keyDown", "keyUp"):
                await self.ask(
                    "Input.dispatchKeyEvent", type=kind, key=sign, **({"text": sign} if kind == "keyDown" else {})
                )

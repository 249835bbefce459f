"""A real Chromium without a window, driven over its own protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --remote-debugging-port=0 --window-size=1280,1000"
)
PATIENCE_S = 60.0


class Browser:
    """One page in a browser with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        program = shutil.which("chromium")
        assert program is not None, "Chromium is missing: apt-get install chromium"
        self._process = subprocess.Popen(
            [program, *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        written = profile / "DevToolsActivePort"
        self.until(lambda: written.exists() and written.read_text().count("\n") >= 1)
        port = written.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=20) as answer:
            (page,) = [one for one in json.loads(answer.read()) if one["type"] == "page"]
        self._socket = connect(page["webSocketDebuggerUrl"], max_size=None)
        self._number = 0

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told: dict[str, Any] = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]  # type: ignore[no-any-return]

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """Return what a script comes to."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def click(self, what: str) -> None:
        """Click, with the mouse, on the middle of what a script names; wait until it is there."""
        script = f"(() => {{ const found = {what}; if (!found) return null; found.scrollIntoView({{block: 'center'}});"
        script += " const box = found.getBoundingClientRect(); if (!box.width) return null;"
        script += " return [box.x + box.width / 2, box.y + box.height / 2] })()"
        x, y = self.until(lambda: self.value(script))
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def choose(self, what: str, value: str) -> None:
        """Choose from a list that the browser itself draws: without a window there is none to click on."""
        self.until(lambda: self.value(f"[...({what}?.options ?? [])].some(one => one.value === {value!r})"))
        change = "dispatchEvent(new Event('change', {bubbles: true}))"
        self.value(f"(() => {{ const list = {what}; list.value = {value!r}; list.{change} }})()")

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.ask("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Save what the page looks like."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def until(self, true: Any) -> Any:
        """Wait for something; return what it came to."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := true()):
            assert time.monotonic() < deadline, "waited for in vain"
            time.sleep(0.1)
        return found

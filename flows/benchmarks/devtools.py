"""A Chromium tab, read over the DevTools protocol. It reads the page's state and performs no user actions."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any, Self

import httpx
from websockets.sync.client import ClientConnection, connect

from holo_tasks import DesktopFailed

PATIENCE_S = 60.0
"""Time limit for a browser to start or to load a page. Machines may be busy."""
TOLD = "DevToolsActivePort"
"""The file in its profile into which Chromium writes its port."""


class Tab:
    """One page of a browser. Only one thread at a time may use it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    @classmethod
    def of(cls, profile: Path) -> Self:
        """Connect to the first page of the browser with this profile. Waits until it is ready."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if address := _address(profile / TOLD):
                return cls(connect(address, max_size=None, ping_interval=None, proxy=None))
            time.sleep(0.05)
        raise DesktopFailed(f"No browser with the profile {profile} has reported its port within {PATIENCE_S:.0f} s.")

    def close(self) -> None:
        """Disconnect. The browser keeps running."""
        self._socket.close()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol. Raises `DesktopFailed` if the browser refuses or is gone."""
        number = next(self._numbers)
        try:
            self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
            while (answer := json.loads(self._socket.recv(timeout=PATIENCE_S))).get("id") != number:
                pass
        except (OSError, TimeoutError) as error:
            raise DesktopFailed(f"The browser does not answer {method}: {error}.") from None
        if "error" in answer:
            raise DesktopFailed(f"The browser refuses {method}: {answer['error'].get('message')}.")
        result: dict[str, Any] = answer["result"]
        return result

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            thrown = result["exceptionDetails"].get("exception", {})
            raise DesktopFailed(f"The page refuses {expression[:60]!r}: {thrown.get('description', '')[:400]}.")
        return result["result"].get("value")

    def go(self, url: str) -> None:
        """Load a page, and wait until it is complete."""
        self.ask("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE_S
        wanted = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        while not self.value(wanted):
            if time.monotonic() > end:
                raise DesktopFailed(f"The browser has not loaded {url} within {PATIENCE_S:.0f} s.")
            time.sleep(0.02)


def _address(told: Path) -> str:
    """Return the address of a browser's first page, or an empty string if it has no page yet."""
    try:
        port = told.read_text(encoding="utf-8").split("\n")[0]
        pages = httpx.get(f"http://127.0.0.1:{port}/json/list", trust_env=False, timeout=PATIENCE_S).json()
    except (OSError, ValueError, httpx.HTTPError):
        return ""
    return next((str(page["webSocketDebuggerUrl"]) for page in pages if page["type"] == "page"), "")

"""Fixtures for desktop tests: real programs, and the logs or requests in which they report their input."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import xcffib
import xcffib.randr
import xcffib.xproto

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import Settle, VirtualDesktop, tk_python
from holo_tasks.desktop.x11 import xauth
from tests.support import warm

APPS = Path(__file__).parent.parent / "apps"
PATIENCE_S = 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "values" not in item.path.name and "settling" not in item.path.name:
            item.add_marker(pytest.mark.desktop)


@pytest.fixture(scope="session")
def tk() -> str:
    """A Python that has tkinter."""
    return tk_python()


@pytest.fixture(scope="session")
def probe(tk: str) -> Callable[..., list[str]]:
    """Returns a function that builds the command line of a test program."""
    return lambda name, *arguments: [tk, str(APPS / f"probe_{name}.py"), *map(str, arguments)]


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., Any]:
    return until


@pytest.fixture(name="color")
def color_fixture() -> Callable[..., Any]:
    return color


async def until(true: Callable[[], Any]) -> Any:
    """Wait until a condition holds or a time limit ends; return its value."""
    end = time.monotonic() + PATIENCE_S
    while not (value := true()) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return value


@pytest.fixture(scope="session")
def x_client() -> Callable[..., str]:
    """Returns a function that runs an X client on a desktop and returns its output."""

    def run(desktop: Any, *command: str) -> str:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=120).stdout

    return run


class Agent(warm.ScriptPopen):
    """Python code that uses a desktop, in its own process with the desktop modules loaded."""

    _named = ("holo_tasks.desktop.session.host",)


@contextmanager
def connected(desktop: Any) -> Iterator[xcffib.Connection]:
    """Connect to the display of a desktop, as a program on it would."""
    with pytest.MonkeyPatch.context() as around:
        around.setenv("XAUTHORITY", str(desktop.authority))
        conn = xcffib.connect(display=desktop.display)
    try:
        yield conn
    finally:
        conn.disconnect()


@pytest.fixture(scope="session")
def pressed() -> Callable[[Any], list[str]]:
    """Returns a function that lists the keys and buttons that the server has as pressed."""

    def held(desktop: Any) -> list[str]:
        with connected(desktop) as conn:
            keys = bytes(conn.core.QueryKeymap().reply().keys)
            mask = conn.core.QueryPointer(conn.get_setup().roots[0].root).reply().mask
        buttons = [f"b{button}" for button in range(1, 6) if mask >> 7 + button & 1]
        return [*(str(key) for key in range(256) if keys[key // 8] >> key % 8 & 1), *buttons]

    return held


@pytest.fixture(scope="session")
def keymap() -> Callable[[Any], list[list[int]]]:
    """Returns a function that reads the keyboard map of a display."""

    def symbols(desktop: Any) -> list[list[int]]:
        with connected(desktop) as conn:
            setup = conn.get_setup()
            asked = conn.core.GetKeyboardMapping(setup.min_keycode, setup.max_keycode - setup.min_keycode + 1)
            reply = asked.reply()
        flat, width = list(reply.keysyms), reply.keysyms_per_keycode
        return [flat[first : first + width] for first in range(0, len(flat), width)]

    return symbols


@pytest.fixture(scope="session")
def resize() -> Callable[..., None]:
    """Returns a function that changes the size of a screen."""

    def change(desktop: Any, width: int, height: int) -> None:
        with connected(desktop) as conn:
            root = conn.get_setup().roots[0].root
            randr = conn(xcffib.randr.key)
            randr.QueryVersion(1, 3).reply()
            now = randr.GetScreenResourcesCurrent(root).reply()
            for crtc in now.crtcs:
                randr.SetCrtcConfig(crtc, 0, now.config_timestamp, 0, 0, 0, 1, 0, []).reply()
            randr.SetScreenSizeChecked(root, width, height, width // 4, height // 4).check()

    return change


@pytest.fixture
def x_server(tmp_path: Path) -> Iterator[Callable[..., tuple[str, Path]]]:
    """Starts X servers that do not belong to the desktop under test."""
    started = []

    def start(program: str, *arguments: str) -> tuple[str, Path]:
        number = next(n for n in range(random.randrange(2000, 8000), 9000) if not Path(f"/tmp/.X11-unix/X{n}").exists())
        authority = tmp_path / f"authority{number}"
        xauth.write(authority, number, xauth.fresh())
        ready, tell = os.pipe()
        command = [program, f":{number}", "-displayfd", str(tell), "-auth", str(authority), *arguments]
        server = subprocess.Popen(command, pass_fds=(tell,), stderr=subprocess.DEVNULL)
        started.append(server)
        os.close(tell)
        with os.fdopen(ready) as said:
            assert said.readline(), f"{program} did not start"
        return f":{number}", authority

    start.processes = started  # type: ignore[attr-defined]
    yield start
    for server in started:
        server.terminate()
        server.wait()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], bool]]:
    """Returns a function that makes a quick check: is any key or button pressed on that display?"""

    def on(display: str, authority: Path) -> Callable[[], bool]:
        monkeypatch.setenv("XAUTHORITY", str(authority))
        conn = xcffib.connect(display=display)
        root = conn.get_setup().roots[0].root

        def anything() -> bool:
            keys = bytes(conn.core.QueryKeymap().reply().keys)
            return any(keys) or bool(conn.core.QueryPointer(root).reply().mask & 0x1F00)

        return anything

    return on


@pytest.fixture(scope="session")
def state() -> type[State]:
    return State


class State:
    """The state file of probe_fields: the contents of its fields."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {"fields": {}}
        return found

    def at(self, field: str) -> Point:
        return Point(*self.read()["at"][field][:2])

    async def becomes(self, field: str, text: str) -> str:
        await until(lambda: self.read()["fields"].get(field) == text)
        held: str = self.read()["fields"][field]
        return held


class Log:
    """The log file of probe_events: its input events."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def clear(self) -> None:
        os.truncate(self.path, 0)

    def all(self, *kinds: str) -> list[list[Any]]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [event for line in lines if (event := json.loads(line))[0] in kinds or not kinds]

    async def has(self, count: int, *kinds: str) -> list[list[Any]]:
        await until(lambda: len(self.all(*kinds)) >= count)
        return self.all(*kinds)


PAGE = """<!doctype html><meta charset=utf-8><title>probe</title><body style="margin:0;height:3000px;width:4000px">
<input id=i style="position:absolute;left:20px;top:20px;width:600px">
<textarea id=t style="position:absolute;left:20px;top:80px;width:600px;height:200px"></textarea>
<div id=source draggable=true style="position:absolute;left:20px;top:320px;width:100px;height:60px">a</div>
<div id=target style="position:absolute;left:420px;top:320px;width:200px;height:160px;background:#eee">b</div>
<div id=shown style="position:absolute;left:700px;top:20px;width:20px;height:20px"></div>
<script>
let n = 0, due = 0, dropped = '', keys = [], presses = [];
function post() {
  fetch('/state', {method: 'POST', body: JSON.stringify({input: i.value, area: t.value, dropped, keys, presses,
        focus: document.activeElement.id, down: scrollY, right: scrollX, n: ++n})});
}
function soon() { clearTimeout(due); due = setTimeout(post, 20); }
i.oninput = t.oninput = document.onfocusin = document.onscroll = soon;
document.addEventListener('keydown', e => { keys.push([e.key, e.ctrlKey, e.shiftKey]); soon(); });
document.addEventListener('input', () => {
  shown.style.background = `rgb(${i.value.length % 256}, ${t.value.length % 256}, 255)`;
});
i.addEventListener('mousedown', e => { presses.push(e.timeStamp); soon(); });
source.onmousedown = () => {
  dropped = '';
  const busy = performance.now() + 600;
  while (performance.now() < busy);
};
source.ondragstart = e => e.dataTransfer.setData('text/plain', 'carried');
target.ondragover = e => e.preventDefault();
target.ondrop = e => { e.preventDefault(); dropped = e.dataTransfer.getData('text/plain'); soon(); };
// Chromium drops input that comes before the first picture of a page.
new PerformanceObserver(post).observe({type: 'paint', buffered: true});
</script>"""
SHOWN_AT = Point(1 + 710, 19 + 30)
"""A point in the area of the page whose color encodes the lengths of the texts in its fields."""


async def shows_texts(browser: Stage, in_input: int, in_area: int) -> None:
    """Wait until the page draws texts of these lengths in its fields. It draws after it has reported them."""
    end = time.monotonic() + PATIENCE_S
    while (found := color(await browser.desktop.look(), SHOWN_AT)) != (in_input, in_area, 255):
        assert time.monotonic() < end, found
        await asyncio.sleep(0.05)


class Page:
    """A web page on this machine, and the latest state that it reported."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = PAGE.encode() if self.path == "/" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if said["n"] > page.state.get("n", 0):
                    page.state = said
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    async def becomes(self, key: str, value: Any) -> Any:
        await until(lambda: self.state.get(key) == value)
        return self.state.get(key)

    def forget(self) -> None:
        """Discard the reported states of its fields and drops."""
        self.state = {**self.state, "input": None, "area": None, "dropped": None}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    served = Page()
    yield served
    served.close()


class Stage:
    """A desktop with one test program, shared by the tests of a module."""

    def __init__(self, desktop: VirtualDesktop, told: Any) -> None:
        self.desktop = desktop
        self.told = told


def stage(command: list[str], told: Any, **options: Any) -> Iterator[Stage]:
    # Each test has its own event loop; a desktop works with any loop.
    desktop = asyncio.run(VirtualDesktop.start(app=command, **options))
    yield Stage(desktop, told)
    asyncio.run(desktop.close())


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory, probe: Callable[..., list[str]]) -> Iterator[Stage]:
    """Three Tk fields and their contents. The desktop has two secrets."""
    path = tmp_path_factory.mktemp("fields") / "state"
    secrets = {"PASSWORD": "hunter2-€-秘密", "BELL": "\a"}
    yield from stage(probe("fields", path), State(path), secrets=secrets, size=Size(840, 540))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory, probe: Callable[..., list[str]]) -> Iterator[Stage]:
    """A Tk window that logs all its events."""
    path = tmp_path_factory.mktemp("events") / "log"
    log = Log(path)
    for ready in stage(probe("events", path), log, settle=Settle(first_change_s=0.05), size=Size(840, 540)):
        asyncio.run(log.has(1, "mapped"))
        yield ready


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, page: Page) -> Iterator[Stage]:
    """Chromium with a page of fields."""
    home = tmp_path_factory.mktemp("home")
    flags = "no-sandbox test-type disable-gpu disable-quic no-first-run disable-background-networking"
    flags += " disable-component-update disable-sync window-position=0,0 window-size=1000,700"
    command = ["chromium", *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={home}", f"--app={page.url}"]
    for ready in stage(command, page, env={"HOME": str(home)}, app_timeout_s=60):
        asyncio.run(until(lambda: page.state))
        yield ready


@pytest.fixture
async def nothing_left() -> AsyncIterator[None]:
    """Checks that a test leaves no folder, socket, lock or process of a desktop."""
    before = traces()
    yield
    assert await until(lambda: traces() <= before), traces() - before


def traces() -> set[str]:
    """List the resources that desktops of this process have on the machine."""
    mine = f"holo-desktop-{os.getpid()}-"
    found = {str(path) for path in Path(tempfile.gettempdir()).glob(f"{mine}*")}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"HOLO_DESKTOP={mine}".encode() in (entry / "environ").read_bytes():
                found.add(f"process {entry.name}: {(entry / 'cmdline').read_bytes()!r}")
        except OSError:
            pass
    return found


def color(frame: Frame, at: Point) -> tuple[int, ...]:
    """Return the color of one pixel."""
    start = (at.y * frame.size.width + at.x) * 3
    return tuple(frame.rgb[start : start + 3])

"""Test that only a person with the link sees the desktop, and that they can use it only while they hold it."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from PIL import Image
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from holo_tasks.core.errors import InvalidUsage, PolicyRefused, ScreenHeld
from holo_tasks.core.input.gestures import Write
from holo_tasks.core.input.remote_input import Key, Pointing
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop, tk_python
from holo_tasks.desktop.processes import descendants
from holo_tasks.live_view import programs
from holo_tasks.live_view.view import open_live_view
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from tests.support import warm
from tests.support.browser import Tab
from tests.support.inputs import APPS
from tests.support.viewer import Person

TEXT = "Grüße 5€ <ok> @µ² ŁĄ 東京"
WHERE = "b = document.querySelector('canvas').getBoundingClientRect(); JSON.stringify([b.left, b.top, b.width / 1280])"
BACKGROUND = (0x46, 0x63, 0x7A)
CONTROL, SHIFT, END, BACKSPACE, PAD_7, CAPS = 0xFFE3, 0xFFE1, 0xFF57, 0xFF08, 0xFFB7, 0xFFE5

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


class Fields:
    """A desktop with three text fields, whose contents can be awaited."""

    def __init__(self, desktop: VirtualDesktop, told: Path) -> None:
        self.desktop, self._told = desktop, told

    def at(self, field: str) -> Point:
        return Point(*json.loads(self._told.read_text())["at"][field][:2])

    async def becomes(self, field: str, text: str) -> None:
        end = time.monotonic() + 20
        while (held := json.loads(self._told.read_text())["fields"][field]) != text:
            if time.monotonic() > end:
                pytest.fail(f"{field} holds {held!r} and not {text!r}")
            await asyncio.sleep(0.02)

    async def empty(self) -> None:
        for field in ("entry", "themed", "text"):
            await self.desktop.do(Write("", overwrite=True, at=self.at(field)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fields]:
    told = tmp_path_factory.mktemp("fields") / "state"
    async with VirtualDesktop(app=[tk_python(), str(APPS / "probe_fields.py"), str(told)]) as desktop:
        yield Fields(desktop, told)


@pytest_asyncio.fixture(loop_scope="module")
async def fields(one: Fields) -> AsyncIterator[Fields]:
    await one.empty()
    yield one
    while one.desktop.held:
        await one.desktop.release()


@pytest_asyncio.fixture(loop_scope="module")
async def held(fields: Fields) -> Fields:
    await fields.desktop.hold()
    return fields


def servers(desktop: VirtualDesktop) -> list[int]:
    """Return the process ids of a desktop's VNC servers."""
    return [pid for pid in descendants(desktop.pid) if b"rfbunixpath" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def shows(picture: bytes, wanted: tuple[int, ...]) -> bool:
    """Return whether a large part of a picture has roughly this color."""
    colours = Image.open(io.BytesIO(picture)).convert("RGB").getcolors(1 << 24) or []
    near = (
        count
        for count, colour in colours
        if all(abs(a - b) < 12 for a, b in zip(colour, wanted, strict=True))  # type: ignore[call-overload]
    )
    return sum(near) > 100_000


async def status(url: str, path: str | None = None, **headers: str) -> int:
    """Return the HTTP status of a path, requested without a browser."""
    parts = urlsplit(url)

    def ask() -> int:
        link = http.client.HTTPConnection(parts.netloc, timeout=20)
        try:
            link.request("GET", parts.path if path is None else path, headers=headers)
            return link.getresponse().status
        finally:
            link.close()

    return await asyncio.to_thread(ask)


async def test_a_persons_text_arrives_exactly_and_the_agent_is_blocked(
    fields: Fields,
) -> None:
    await fields.desktop.do(Write("€ß", at=fields.at("themed")))  # remaps keys that the person's text needs as well
    await fields.desktop.hold()
    async with open_live_view(fields.desktop) as view, Person.at(view.url) as person:
        at = fields.at("entry")
        await person.click(at.x, at.y)
        await person.type(TEXT)
        with pytest.raises(ScreenHeld):
            await fields.desktop.do(Write("the agent's", at=at))
        await fields.becomes("entry", TEXT)
        await person.type(" and more")
        await fields.becomes("entry", f"{TEXT} and more")
    await fields.desktop.release()
    await fields.desktop.do(Write(TEXT, at=fields.at("text")))
    await fields.becomes("text", TEXT)
    await fields.becomes("themed", "€ß")


async def test_special_keys_and_shortcuts_work_as_on_the_persons_keyboard(
    held: Fields,
) -> None:
    async with open_live_view(held.desktop) as view, Person.at(view.url) as person:
        at = held.at("entry")
        await person.click(at.x, at.y)
        await person.type("abcd")
        await person.press(BACKSPACE)
        await person.press(CAPS)
        await person.press(PAD_7)
        await held.becomes("entry", "abc7")
        for key, down in (
            (CONTROL, True),
            (ord("a"), True),
            (ord("a"), False),
            (CONTROL, False),
        ):  # in Tk, Ctrl+A moves to the start
            await person.key(key, down)
        for key, down in ((SHIFT, True), (END, True), (END, False), (SHIFT, False)):
            await person.key(key, down)
        await person.type("X")
        await held.becomes("entry", "X")
        await person.key(SHIFT, True)
        await person.type("Ü/ß")  # "/" needs Shift on a German keyboard, but not on this one
        await held.becomes("entry", "XÜ/ß")


async def test_input_is_ignored_from_watchers_and_while_the_agent_has_the_screen(fields: Fields) -> None:
    at = fields.at("entry")
    async with open_live_view(fields.desktop) as view:
        async with Person.at(view.url) as person:
            await person.click(at.x, at.y)
            await person.type("too early")
            await person.picture()
        await fields.desktop.hold()
        async with Person.at(view.watch_url) as watcher, Person.at(view.url) as person:
            await watcher.click(at.x, at.y)
            await watcher.type("only watching")
            assert len(await watcher.picture()) == 1280 * 800 * 4
            await person.click(at.x, at.y)
            await person.type("mine")
            await fields.becomes("entry", "mine")
            await fields.desktop.release()
            await person.type("too late")
            await person.picture()
        with pytest.raises(PolicyRefused):
            await fields.desktop.by_hand([Key(ord("x"), down=True), Pointing(1, 1, 1)])
    await fields.desktop.do(Write("!", at=fields.at("text")))
    await fields.becomes("text", "!")
    await fields.becomes("entry", "mine")


async def test_a_viewer_that_leaves_releases_keys_and_other_viewers_stay(held: Fields) -> None:
    at = held.at("entry")
    async with open_live_view(held.desktop) as view, Person.at(view.url) as other:
        async with Person.at(view.url) as person:
            await person.click(at.x, at.y)
            await person.key(CONTROL, True)
            await person.picture()
        await other.picture()
        await other.type("still here")
        await held.becomes("entry", "still here")


async def test_a_real_browser_shows_the_desktop_and_types_into_it(held: Fields, tmp_path: Path) -> None:
    async with open_live_view(held.desktop) as view, Tab.opened(tmp_path / "profile") as tab:
        await tab.go(view.url)
        await tab.becomes("document.body?.dataset.state", "connected")
        await tab.becomes("!!document.querySelector('canvas')?.width", True)
        left, top, scale = json.loads(await tab.value(WHERE))
        at = held.at("entry")
        await tab.click(left + at.x * scale, top + at.y * scale)
        await tab.type("Grüße 5€ <ok>")
        await held.becomes("entry", "Grüße 5€ <ok>")
        for _ in range(100):  # the text may arrive before the picture
            if shows(picture := await tab.picture(), BACKGROUND):
                break
            await asyncio.sleep(0.1)
        (tmp_path / "page.png").write_bytes(picture)
        assert shows(picture, BACKGROUND)


async def test_paths_without_a_token_or_outside_the_site_are_not_found(held: Fields) -> None:
    async with open_live_view(held.desktop) as view:
        own = urlsplit(view.url).path
        assert await status(view.url) == 200
        for path in ("page.js", "page.css", "core/rfb.js", "vendor/pako/lib/zlib/inflate.js"):
            assert await status(view.url, own + path) == 200
        for path in (
            "/",
            "/socket",
            f"{own[:-2]}/",
            f"/x{own}",
            own + "vnc.html",
            own + "../view.py",
            own + "page.html",
        ):
            assert await status(view.url, path) == 404
        for path in (
            "core/../vnc.html",
            "core/../../../../etc/passwd",
            "core/%2e%2e/vnc.html",
            "core",
            "core//etc/passwd",
        ):
            assert await status(view.url, own + path) == 404
        with pytest.raises(InvalidStatus) as refused:
            async with Person.at(view.url.replace(own, f"{own[:-2]}/")):
                pass
        assert refused.value.response.status_code == 404


async def test_foreign_hosts_and_origins_are_forbidden(held: Fields) -> None:
    async with open_live_view(held.desktop) as view:
        assert await status(view.url, Host="evil.example") == 403
        parts = urlsplit(view.url)
        for headers in ({"origin": "http://evil.example"}, {"origin": None}):
            with pytest.raises(InvalidStatus) as refused:
                async with connect(f"ws://{parts.netloc}{parts.path}socket", proxy=None, **headers):  # type: ignore[arg-type]
                    pass
            assert refused.value.response.status_code == 403


async def test_the_socket_is_private_and_the_server_listens_on_loopback(held: Fields) -> None:
    async with open_live_view(held.desktop) as view:
        (server,) = servers(held.desktop)
        (path,) = (held.desktop.authority.parent).glob("vnc-*/rfb")
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert urlsplit(view.url).hostname == "127.0.0.1"
        inodes = {str(each.readlink()) for each in Path(f"/proc/{server}/fd").iterdir() if each.is_symlink()}
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                assert f"socket:[{line.split()[9]}]" not in inodes


async def test_closing_ends_connections_servers_and_sockets(held: Fields, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_live_view(held.desktop) as view:
        token = urlsplit(view.url).path.strip("/")
        person = Person.at(view.url)
        viewer = await person.__aenter__()
        assert await status(view.url) == 200
    with pytest.raises(ConnectionClosed):
        await viewer.picture()
    await person.__aexit__(None, None, None)
    with pytest.raises(OSError):
        socket.create_connection((urlsplit(view.url).hostname, urlsplit(view.url).port)).close()
    assert servers(held.desktop) == []
    assert not list(held.desktop.authority.parent.glob("vnc-*/rfb"))
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("websockets.client")]
    assert not [message for message in ours if token in message]
    assert token not in repr(view)


DRIVER = """
import asyncio, sys
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.live_view.view import open_live_view
async def main():
    async with VirtualDesktop() as desktop:
        async with open_live_view(desktop) as view:
            print(desktop.pid, view.url, flush=True)
            await asyncio.sleep(3600)
asyncio.run(main())
"""


async def test_the_live_view_ends_with_its_process(tmp_path: Path) -> None:
    with warm.ScriptPopen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        try:
            line = await asyncio.to_thread(driver.stdout.readline)
            host, url = line.split()
            below = [int(host), *descendants(int(host))]
            assert [pid for pid in below if b"rfbunixpath" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        finally:
            os.kill(driver.pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while any(map(alive, below)) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    assert not [pid for pid in below if alive(pid)]
    with pytest.raises(OSError):
        socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)).close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_a_public_host_is_warned_about_and_refused_in_local_only_mode(
    held: Fields, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_live_view(held.desktop, host="0.0.0.0") as view:
        port = urlsplit(view.url).port
        assert await status(f"http://127.0.0.1:{port}{urlsplit(view.url).path}") == 200
    assert "WITHOUT ENCRYPTION" in caplog.text
    monkeypatch.setenv("HOLO_LOCAL_ONLY", "1")
    with pytest.raises(InvalidUsage, match="Local-only"):
        async with open_live_view(held.desktop, host="0.0.0.0"):
            pass
    async with open_live_view(held.desktop):
        pass
    assert servers(held.desktop) == []


async def test_a_busy_port_is_named_in_the_error(held: Fields) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidUsage, match=f"port {port}"):
            async with open_live_view(held.desktop, port=port):
                pass
    assert servers(held.desktop) == []


async def test_missing_packages_are_named(held: Fields, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(programs, "PAGES", (Path("/nowhere"),))
    with pytest.raises(InvalidUsage, match="install --no-install-recommends tigervnc-scraping-server novnc"):
        async with open_live_view(held.desktop):
            pass


async def test_a_lazily_started_desktop_can_be_shown(held: Fields) -> None:
    async def start() -> Any:
        return held.desktop

    lazy = LazyDesktop(start)
    async with open_live_view(lazy) as view, Person.at(view.url) as person:
        at = held.at("entry")
        await person.click(at.x, at.y)
        await person.type("shown")
        await held.becomes("entry", "shown")

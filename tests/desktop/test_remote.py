"""Remote screens by VNC and RDP on real servers: text typed there is exact, or refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage, ScreenChanged, SecretRefused
from holo_tasks.core.input.gestures import Hotkey, Write
from holo_tasks.core.screen.remote_screen import Rdp, Remote, Vnc
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop
from tests.support.remote_servers import PASSWORD, SIZE, RdpServer, Server, VncServer, await_true, certificate, serving

ASCII = "".join(map(chr, range(0x20, 0x7F)))
UNICODE = "äöüß Zoë – €10 – 東京 – 🙂"
KINDS: dict[str, type[Server]] = {"vnc": VncServer, "rdp": RdpServer}
needed = pytest.mark.skipif(os.geteuid() != 0, reason="an Xorg without a screen is root's to start")
pytestmark = needed


@dataclass
class Far:
    """A server, and a program on it with three fields that reports their contents."""

    kind: str
    server: Server
    told: Any
    command: list[str]

    def remote(self, **more: Any) -> Remote:
        if self.kind == "vnc":
            return Vnc("127.0.0.1", port=self.server.port, password=PASSWORD, answers_within_s=0.3, **more)
        user = {"user": "holo", "password": PASSWORD}
        return Rdp("127.0.0.1", port=self.server.port, answers_within_s=0.3, **user, **more)

    def shown(self, **more: Any) -> VirtualDesktop:
        return VirtualDesktop(size=SIZE, app=self.remote(**more))


@pytest.fixture(scope="module", params=list(KINDS))
def far(request: pytest.FixtureRequest, probe: Callable[..., list[str]], state: Any) -> Iterator[Far]:
    with serving(KINDS[request.param]) as server:
        told = state(server.folder / "state")
        command = probe("fields", told.path)
        server.run(*command)
        await_true(lambda: "at" in told.read(), "the program did not start")
        yield Far(request.param, server, told, command)


def holding(value: str) -> list[str]:
    """Return the command lines and environments, readable for this user, that contain a value."""
    found = []
    for entry in Path("/proc").iterdir():
        for name in ("cmdline", "environ") if entry.name.isdigit() and int(entry.name) != os.getpid() else ():
            try:
                if value.encode() in (entry / name).read_bytes():
                    found.append(f"{entry / name}")
            except OSError:
                continue
    return found


async def test_plain_keyboard_characters_arrive_and_others_are_refused(far: Far) -> None:
    async with far.shown() as desktop:
        frame = await desktop.look()
        assert frame.size == SIZE
        assert len(set(frame.rgb[:: 3 * 997])) > 1
        assert holding(PASSWORD) == []
        at = far.told.at("entry")
        await desktop.do(Write(ASCII, at=at, overwrite=True))
        assert await far.told.becomes("entry", ASCII) == ASCII
        await desktop.do(Hotkey(("Home",)))
        await desktop.do(Write("Q"))
        assert await far.told.becomes("entry", f"Q{ASCII}")
        for text in (UNICODE, "é", "東", "🙂"):
            with pytest.raises(InvalidUsage, match="Nothing was typed"):
                await desktop.do(Write(text, at=at, overwrite=True))
        with pytest.raises(InvalidUsage, match="Nothing was pressed"):
            await desktop.do(Hotkey(("ctrl", "ä")))
        await desktop.do(Write("z"))
        assert await far.told.becomes("entry", f"Qz{ASCII}") == f"Qz{ASCII}"


async def test_with_paste_any_text_arrives(far: Far) -> None:
    if far.kind == "rdp":
        with pytest.raises(InvalidUsage, match="not for RDP"):
            far.shown(paste=True)
        return
    async with far.shown(paste=True) as desktop:
        await desktop.look()
        receipt = await desktop.do(Write(UNICODE, at=far.told.at("text"), overwrite=True))
        assert receipt.left_out == ""
        await desktop.do(Hotkey(("end",)))  # Tk fetches the clipboard in the background; it has it by the next key
        assert await far.told.becomes("text", UNICODE) == UNICODE
        with pytest.raises(InvalidUsage, match="cannot contain Enter or Tab"):
            await desktop.do(Write("ä\tö", at=far.told.at("text")))


async def test_a_pasted_text_that_the_server_does_not_fetch_is_reported() -> None:
    with serving(VncServer, takes_no_text=True) as server:
        app = Vnc("127.0.0.1", port=server.port, password=PASSWORD, answers_within_s=0.1, paste=True)
        async with VirtualDesktop(size=SIZE, app=app) as desktop:
            receipt = await desktop.do(Write("ä", press_enter=True))
    assert "did not fetch it" in receipt.left_out


async def test_an_unexpected_certificate_or_password_ends_the_connection(tmp_path: Path) -> None:
    made, key, fingerprint = certificate(tmp_path)
    told: list[str] = []
    with serving(VncServer, secured=(made, key)) as server:
        right = Vnc("localhost", port=server.port, password=PASSWORD, fingerprint=fingerprint)
        async with VirtualDesktop(size=SIZE, app=right, tell=told.append) as desktop:
            await desktop.look()
        assert len(told) == 1
        with pytest.raises(DesktopFailed, match="is expected"):
            await VirtualDesktop.start(size=SIZE, app=replace(right, fingerprint="ab" * 32))
        with pytest.raises(DesktopFailed, match="client of the remote screen"):
            await VirtualDesktop.start(size=SIZE, app=replace(right, password="wrong"))
        first = replace(right, fingerprint="")
        async with VirtualDesktop(size=SIZE, app=first, tell=told.append):
            assert fingerprint.replace(":", "").lower() in told[1]


async def test_a_secret_needs_a_field_and_plain_characters(far: Far) -> None:
    secrets = {"PLAIN": "hunter2", "TITLED": Secret("TITLED", "hunter2", title="Fields", fields=("Name",))}
    secrets["STRANGE"] = Secret("STRANGE", "hüter2", fields=("Name",))
    async with VirtualDesktop(size=SIZE, app=far.remote(), secrets=secrets) as desktop:
        await desktop.look()
        for name, why in {"PLAIN": "labels", "TITLED": "labels", "STRANGE": "lose on the way"}.items():
            with pytest.raises(SecretRefused, match=why):
                await desktop.do(Write(f"{{{{secret:{name}}}}}", at=far.told.at("entry")))


async def test_a_dropped_connection_is_restored_before_any_action_or_reported(far: Far) -> None:
    told: list[str] = []
    async with VirtualDesktop(size=SIZE, app=far.remote(reconnects=3), tell=told.append) as desktop:
        await dropped(far, desktop)
        with pytest.raises(ScreenChanged, match="dropped"):
            await desktop.do(Write("lost"))
        far.server.open()
        if far.kind == "vnc":  # the VNC server's screen ended with it
            far.server.run(*far.command)
        frame = await desktop.look()
        assert frame.reconnected == 1
        assert "was restored" in told[-1]
        assert (await desktop.look()).reconnected == 1
        assert len([line for line in told if "was restored" in line]) == 1
        await dropped(far, desktop)
        with pytest.raises(DesktopFailed, match="was not restored in 3 attempts"):
            await desktop.look()
    far.server.open()


async def dropped(far: Far, desktop: VirtualDesktop) -> None:
    """Let the server disconnect the client, and wait until the client has noticed."""
    await desktop.look()
    far.server.shut()
    while await desktop.windows():
        await asyncio.sleep(0.02)

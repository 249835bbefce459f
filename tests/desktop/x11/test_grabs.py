"""A program that grabs the keyboard or the pointer gets neither a secret nor input permitted in another program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import xcffib.xproto

from holo_tasks.core.errors import PolicyRefused, SecretRefused
from holo_tasks.core.input.gestures import Click, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.input.input_permit import InputPermit, gesture_digest
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.x11 import grabs
from holo_tasks.desktop.x11.x_connection import XConnection

APPS = Path(__file__).parent.parent.parent / "apps"
VALUE = "Kranich-9"
SMALL = Size(840, 540)


class Grabber:
    """A program of another owner that grabs input."""

    def __init__(self, desktop: VirtualDesktop) -> None:
        env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
        command = [sys.executable, str(APPS / "probe_grab.py")]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.got: list[str] = []
        self._answers: list[str] = []
        self._answered = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._answered:
                (self.got if " " in line else self._answers).append(line.strip())
                self._answered.notify_all()

    def ask(self, what: str) -> str:
        with self._answered:
            before = len(self._answers)
            self.process.stdin.write(f"{what}\n")
            self.process.stdin.flush()
            assert self._answered.wait_for(lambda: len(self._answers) > before, timeout=60)
            return self._answers[-1]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory, probe):
    """A Tk program with fields, secrets for it, and a grabber."""
    from tests.desktop.conftest import State

    told = State(tmp_path_factory.mktemp("grabs") / "state")
    secrets = {"pw": VALUE, "long": Secret("long", VALUE * 300)}
    desktop = asyncio.run(VirtualDesktop.start(size=SMALL, app=probe("fields", told.path), secrets=secrets))
    grabber = Grabber(desktop)
    yield desktop, told, grabber
    grabber.close()
    asyncio.run(desktop.close())


@pytest.fixture
async def ready(stage, until):
    desktop, told, grabber = stage
    await until(told.path.exists)
    await desktop.do(Click(told.at("entry")))
    await desktop.do(Write("", overwrite=True))
    assert await told.becomes("entry", "") == ""
    grabber.got.clear()
    yield stage
    grabber.ask("release")


async def permitted(desktop: VirtualDesktop, gesture: Gesture, owner: str) -> None:
    await desktop.do(gesture, input_permit=InputPermit(gesture_digest(gesture), time.monotonic() + 60, owner))


async def test_a_secret_is_not_typed_during_a_keyboard_grab(ready):
    desktop, told, grabber = ready
    assert grabber.ask("keyboard") == "0"
    for gesture in (Write("{{secret:pw}}"), Write("{{secret:pw}}", at=told.at("entry"))):
        with pytest.raises((SecretRefused, PolicyRefused), match="has grabbed the keyboard") as refused:
            await desktop.do(gesture)
        assert VALUE not in str(refused.value)
    grabber.ask("release")
    assert [got for got in grabber.got if got.startswith("key")] == []
    await desktop.do(Write("{{secret:pw}}"))
    assert await told.becomes("entry", VALUE) == VALUE


async def test_typing_a_secret_stops_when_a_program_grabs_the_keyboard(ready, until):
    desktop, told, grabber = ready
    typing = asyncio.create_task(desktop.do(Write("{{secret:long}}")))
    await until(lambda: told.read()["fields"]["entry"])
    assert await asyncio.to_thread(grabber.ask, "keyboard") == "0"
    with pytest.raises(PolicyRefused, match="Typing was stopped"):
        await typing
    grabber.ask("release")
    assert grabber.got == []
    await desktop.do(Write("", overwrite=True))


KEYS = range(10, 62)
SHIFTED, CTRL_ALT, ANY = 1, 12, 1 << 15


@pytest.mark.parametrize("asked", [f"key 0 {ANY}", "key 0 0", f"key 0 {SHIFTED}", "xinput", "window"])
async def test_a_secret_is_not_typed_while_a_program_has_grabbed_its_keys(ready, asked, monkeypatch):
    desktop, told, grabber = ready
    if asked == "window":
        monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
        link = XConnection(desktop.display)
        asked = f"key {link.conn.core.GetInputFocus().reply().focus} 0"
        link.close()
    if asked == "xinput":
        assert [grabber.ask(f"xinput {code}") for code in KEYS] == ["0"] * len(KEYS)
    else:
        assert grabber.ask(f"{asked} {' '.join(map(str, KEYS))}") == "0"
    for gesture in (Write("{{secret:pw}}"), Write("{{secret:pw}}", at=told.at("entry"))):
        with pytest.raises(SecretRefused, match=r"hot keys.*Nothing was typed") as refused:
            await desktop.do(gesture)
        assert VALUE not in str(refused.value)
    grabber.ask("release")
    assert [got for got in grabber.got if got.startswith("key")] == []
    await desktop.do(Write("{{secret:pw}}"))
    assert await told.becomes("entry", VALUE) == VALUE


async def test_a_window_managers_chords_do_not_block_a_secret(ready):
    desktop, told, grabber = ready
    assert grabber.ask(f"key 0 {CTRL_ALT} {' '.join(map(str, KEYS))}") == "0"
    await desktop.do(Write("{{secret:pw}}"))
    assert await told.becomes("entry", VALUE) == VALUE


async def test_typing_a_secret_stops_when_a_program_grabs_its_keys(ready, until):
    desktop, told, grabber = ready
    typing = asyncio.create_task(desktop.do(Write("{{secret:long}}")))
    await until(lambda: told.read()["fields"]["entry"])
    assert await asyncio.to_thread(grabber.ask, f"key 0 {ANY} {' '.join(map(str, KEYS))}") == "0"
    with pytest.raises(PolicyRefused, match=r"was stopped.*hot keys"):
        await typing
    grabber.ask("release")
    assert grabber.got == []
    await desktop.do(Write("", overwrite=True))


async def test_a_secret_is_not_clicked_for_during_a_pointer_grab(ready):
    desktop, told, grabber = ready
    assert grabber.ask("pointer") == "0"
    with pytest.raises(SecretRefused, match="has grabbed the pointer"):
        await desktop.do(Write("{{secret:pw}}", at=told.at("entry")))
    grabber.ask("release")
    assert grabber.got == []


@pytest.mark.parametrize(
    ("what", "gestures"),
    [
        ("keyboard", [Write("x"), Hotkey(("a",))]),
        ("pointer", [Click(Point(200, 200)), Drag(Point(200, 200), Point(300, 300)), Scroll(Point(200, 200), "up", 1)]),
    ],
)
async def test_input_permitted_in_one_program_does_not_go_to_a_grabbing_one(ready, what, gestures):
    desktop, told, grabber = ready
    mine = (await desktop.owner_at(told.at("entry"))).name
    assert grabber.ask(what) == "0"
    held = await desktop.owner_at(None if what == "keyboard" else Point(200, 200))
    assert (held.name, f"has grabbed the {what}" in held.why) == ("", True)
    for gesture in gestures:
        with pytest.raises(PolicyRefused, match="would go to an unknown program"):
            await permitted(desktop, gesture, mine)
    grabber.ask("release")
    assert grabber.got == []
    for gesture in gestures:
        await permitted(desktop, gesture, mine)


async def test_a_menu_of_the_permitted_program_stays_usable(desktop_with_menu):
    desktop = desktop_with_menu
    at = Point(380, 250)
    mine = (await desktop.owner_at(at)).name
    closed = (await desktop.look()).digest
    for chosen in (Hotkey(("Return",)), Click(Point(400, 270))):
        await permitted(desktop, Click(at, "right"), mine)
        opened = (await desktop.look(after_action=True)).digest
        assert (await desktop.owner_at(None)).name == mine
        with pytest.raises(SecretRefused, match="has grabbed the keyboard"):
            await desktop.do(Write("{{secret:pw}}"))
        await permitted(desktop, Hotkey(("down",)), mine)
        assert (await desktop.look(after_action=True)).digest not in (opened, closed)
        await permitted(desktop, chosen, mine)
        assert (await desktop.look(after_action=True)).digest == closed
    await permitted(desktop, Write("x"), mine)


@pytest.fixture
async def desktop_with_menu(probe):
    app = probe("window", "Menu", "400x300+100+100")
    async with VirtualDesktop(size=SMALL, app=app, secrets={"pw": VALUE}) as desktop:
        yield desktop


async def test_a_window_manager_that_delays_focus_causes_no_long_grab(ready):
    desktop, told, _ = ready
    mine = (await desktop.owner_at(told.at("entry"))).name
    for field in ("entry", "text", "themed") * 4:
        for gesture in (Click(told.at(field), count=3), Write("x"), Scroll(told.at(field), "down", 3)):
            await permitted(desktop, gesture, mine)


async def test_asking_for_the_owner_takes_the_focus_from_no_window(ready, monkeypatch):
    desktop, _, _ = ready
    monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
    watcher, asking = XConnection(desktop.display), XConnection(desktop.display)
    focused = watcher.conn.core.GetInputFocus().reply().focus
    events = xcffib.xproto.EventMask.FocusChange | xcffib.xproto.EventMask.EnterWindow
    for window in (focused, watcher.root):
        watcher.conn.core.ChangeWindowAttributesChecked(window, xcffib.xproto.CW.EventMask, [events]).check()
    for at in (None, Point(1, 1)):
        assert not grabs.held(asking, at)
    asking.sync()
    watcher.sync()
    assert watcher.conn.poll_for_event() is None
    asking.conn.core.GrabKeyboard(False, asking.root, 0, 1, 1).reply()
    watcher.sync()
    assert watcher.conn.poll_for_event() is not None, "a grab would have been noticed"
    for link in (asking, watcher):
        link.close()


async def test_no_wait_happens_while_all_other_clients_are_blocked(ready, monkeypatch):
    desktop, _, grabber = ready
    assert grabber.ask("keyboard") == "0"
    monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
    link = XConnection(desktop.display)
    naps, here, sleep = [], threading.get_ident(), time.sleep
    # Other threads may sleep meanwhile.
    monkeypatch.setattr(grabs.time, "sleep", lambda s: naps.append(s) if threading.get_ident() == here else sleep(s))
    link.alone = True
    assert grabs.held(link, None)
    assert not naps
    link.alone = False
    assert grabs.held(link, None)
    assert naps
    monkeypatch.undo()
    grabber.ask("release")
    link.close()

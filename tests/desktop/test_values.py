"""The value types of a desktop: keys, layouts, messages, secrets, cookies."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from holo_tasks.core import errors
from holo_tasks.core.input.gestures import Click, Drag, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.input.keynames import keysym, of_character, small
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import Settle, VirtualDesktop
from holo_tasks.desktop.secrets.secret_store import SecretStore
from holo_tasks.desktop.session import ipc_messages
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11 import xauth
from holo_tasks.desktop.x11.keyboard_map import Layout, Stroke

GESTURES = [
    Click(Point(1, 2), "right", 2),
    Move(Point(3, 4)),
    Drag(Point(1, 2), Point(3, 4), "middle"),
    Scroll(Point(5, 6), "left", 7),
    Write("Zoë – 🙂\n{{secret:A}}", overwrite=True, press_enter=True),
    Hotkey(("ctrl", "a"), 3),
    HoldAndTap(("shift",), ("a", "b")),
    Pause(0.5),
]


@pytest.mark.parametrize("gesture", GESTURES, ids=lambda gesture: type(gesture).__name__)
def test_a_gesture_is_unchanged_after_serialization(gesture):
    sent = ipc_messages.packed(ipc_messages.from_gesture(gesture))
    assert ipc_messages.to_gesture(ipc_messages.unpacked(sent[ipc_messages.HEADER.size :])) == gesture


@pytest.mark.parametrize(
    "error",
    [
        errors.DesktopFailed("a"),
        errors.InvalidUsage("b"),
        errors.PolicyRefused("c"),
        errors.Killed("d"),
        errors.LimitReached("e", limit="deadline"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_unchanged_after_serialization(error):
    got = ipc_messages.to_error(ipc_messages.from_error(error))
    assert (type(got), str(got), getattr(got, "limit", None)) == (
        type(error),
        str(error),
        getattr(error, "limit", None),
    )


def test_key_names_are_accepted_in_any_spelling():
    assert keysym("PageUp") == keysym("page_up") == keysym("PGUP") == keysym("page-up") == 0xFF55
    assert keysym("Ctrl") == keysym("control") == 0xFFE3
    assert keysym("f24") == 0xFFD5
    assert keysym("a") == 0x61
    assert keysym("A") == 0x41
    assert keysym("€") == 0x010020AC


@pytest.mark.parametrize("name", ["", "frobnicate", "f25", "ctrl+a", "\n", "\a"])
def test_an_unknown_key_is_refused(name):
    with pytest.raises(errors.InvalidUsage):
        keysym(name)


def test_characters_have_the_keysyms_of_the_protocol():
    assert of_character("ë") == 0xEB
    assert of_character("🙂") == 0x0101F642
    assert of_character("\n") == 0xFF0D
    assert small(of_character("Ж")) == of_character("ж")
    assert small(of_character("1")) == of_character("1")


def test_a_layout_finds_keys_with_and_without_shift():
    layout = Layout(8, [[0, 0], [0x61, 0x41], [0x31, 0x21, 0x31, 0x22], [0xFF0D, 0]])
    assert layout.strokes(0) == {
        0x61: Stroke(9),
        0x41: Stroke(9, True),
        0x31: Stroke(10),
        0x21: Stroke(10, True),
        0xFF0D: Stroke(11),
    }
    assert layout.strokes(1)[0x22] == Stroke(10, True)
    assert layout.strokes(1)[0x61] == Stroke(9)
    assert layout.free() == [8]


def test_the_layout_with_ascii_is_chosen():
    latin, cyrillic = [0x61, 0x41], [0x6C6, 0x6E6]
    assert Layout(8, [latin + cyrillic]).best_group() == 0
    assert Layout(8, [cyrillic + latin]).best_group() == 1


def test_a_secret_store_fills_placeholders_and_hides_values():
    vault = SecretStore({"A": "one", "B": "one-two"})
    one, between, two, rest = vault.parts("{{secret:A}}/{{secret:B}}/{{other}}")
    assert (one.value, between, two.value, rest) == ("one", "/", "one-two", "/{{other}}")
    assert vault.hide("said one-two and one") == "said {{secret:B}} and {{secret:A}}"
    assert "one" not in repr(vault)


def test_a_cookie_file_is_private_and_read_back(tmp_path):
    path, cookie = tmp_path / "Xauthority", xauth.fresh()
    xauth.write(path, 7, cookie)
    assert path.stat().st_mode & 0o777 == 0o600
    assert xauth.find(path, 7) == cookie
    assert xauth.find(tmp_path / "none", 7) is None
    torn = tmp_path / "torn"
    torn.write_bytes(path.read_bytes()[:-3])
    assert xauth.find(torn, 7) == cookie  # the first entry is complete


def test_a_stop_that_arrives_before_its_request_counts():
    interrupt = Interrupt()
    interrupt.stop(5)
    interrupt.arm(5, None)
    with pytest.raises(errors.Killed):
        interrupt.check()
    interrupt.arm(6, None)
    interrupt.check()
    interrupt.arm(7, time.monotonic() - 1)
    with pytest.raises(errors.LimitReached):
        interrupt.sleep(3600)


def test_importing_the_package_loads_no_x_modules():
    code = "import sys, holo_tasks.desktop as d; print([m for m in sys.modules if m.split('.')[0] in BAD], d.Settle())"
    code = code.replace("BAD", "('xcffib', 'mss', 'pyautogui', 'PIL', 'Xlib', 'prefect')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"[] {Settle()}"


@pytest.mark.parametrize("app", ["", "  ", [], "unclosed 'quote", [""]])
def test_an_empty_or_broken_command_is_refused(app):
    with pytest.raises(errors.InvalidUsage):
        VirtualDesktop(app=app)


async def test_using_a_desktop_that_was_not_started_is_an_error():
    with pytest.raises(errors.InvalidUsage, match="not started"):
        await VirtualDesktop().look()

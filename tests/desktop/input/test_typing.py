"""Typed text arrives unchanged in Tk and xterm; `test_in_a_browser` tests Chromium."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.input.typing import AHEAD
from holo_tasks.machine.proc import living

ASCII = "".join(map(chr, range(0x20, 0x7F)))
UNICODE = "Zoë – €10 – 東京 – 🙂"
MANY = "".join(map(chr, range(0x4E00, 0x4E00 + 120)))  # more than there are free keys
LONG = "".join(random.Random(7).choices(ASCII, k=3 * AHEAD + 10))  # the typist waits for the program three times
CASES = {"ascii": ASCII, "unicode": UNICODE, "accents": "ËëÀàßçÇøØ¿", "many": MANY, "long": LONG, "empty": ""}
LINES = "one\n\ttwo\n\nthree é\n"


@pytest.mark.parametrize("field", ["entry", "themed", "text"])
@pytest.mark.parametrize("case", list(CASES))
async def test_tk_gets_every_character_in_place_of_the_old_text(fields, field, case):
    await fields.desktop.do(Click(fields.told.at(field)))
    await fields.desktop.do(Write("left over", overwrite=True))
    await fields.desktop.do(Write(CASES[case], overwrite=True))
    assert await fields.told.becomes(field, CASES[case]) == CASES[case]


async def test_lines_and_tabs_arrive_in_a_tk_text_of_many_lines(fields):
    await fields.desktop.do(Click(fields.told.at("text")))
    await fields.desktop.do(Write("first\nsecond\nthird", overwrite=True))
    await fields.desktop.do(Write(LINES, overwrite=True))
    assert await fields.told.becomes("text", LINES) == LINES


async def test_without_overwrite_text_is_added(fields):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("one", overwrite=True))
    await fields.desktop.do(Write(" two"))
    assert await fields.told.becomes("entry", "one two") == "one two"


async def test_enter_is_pressed_at_the_end(fields, until):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("sent off", overwrite=True, press_enter=True))
    assert await until(lambda: fields.told.read()["entered"][-1:] == ["sent off"])


async def test_a_tab_goes_to_the_next_field(fields):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("a\tb"))
    await fields.desktop.do(Write("c", overwrite=True))
    assert await fields.told.becomes("themed", "c") == "c"


async def test_capslock_changes_nothing_and_stays_on(fields):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Hotkey(("capslock",)))
    await fields.desktop.do(Write("abc ABC ë", overwrite=True))
    assert await fields.told.becomes("entry", "abc ABC ë") == "abc ABC ë"
    await fields.desktop.do(Hotkey(("capslock",)))
    await fields.desktop.do(Write("xyz XYZ", overwrite=True))
    assert await fields.told.becomes("entry", "xyz XYZ") == "xyz XYZ"


@pytest.mark.parametrize("layout", [["de"], ["ru"], ["ru,us"], ["us,ru", "-option", "grp:alt_shift_toggle"], ["fr"]])
async def test_the_layout_of_the_keyboard_changes_nothing(fields, x_client, layout):
    x_client(fields.desktop, "setxkbmap", *layout)
    try:
        await fields.desktop.do(Click(fields.told.at("entry")))
        await fields.desktop.do(Write(ASCII + UNICODE, overwrite=True))
        assert await fields.told.becomes("entry", ASCII + UNICODE) == ASCII + UNICODE
    finally:
        x_client(fields.desktop, "setxkbmap", "us", "-option", "")


async def test_a_modifier_that_another_program_left_pressed_is_released_first(fields, x_client):
    await fields.desktop.do(Click(fields.told.at("entry")))
    x_client(fields.desktop, "xdotool", "keydown", "ctrl", "keydown", "shift")
    await fields.desktop.do(Write("plain", overwrite=True))
    assert await fields.told.becomes("entry", "plain") == "plain"


@pytest.mark.parametrize("text", ["bell \a", "null \0", "half \ud83d", "delete \x7f", "c1 \x85"])
async def test_text_that_no_key_can_type_is_refused_before_typing(fields, text):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("before", overwrite=True))
    with pytest.raises(InvalidUsage, match="no key can type"):
        await fields.desktop.do(Write("x" + text, overwrite=True))
    await fields.desktop.do(Write("!"))
    assert await fields.told.becomes("entry", "before!") == "before!"


async def test_a_secret_is_typed_but_never_revealed(fields):
    await fields.desktop.do(Click(fields.told.at("entry")))
    await fields.desktop.do(Write("<{{secret:PASSWORD}}>", overwrite=True))
    assert await fields.told.becomes("entry", "<hunter2-€-秘密>") == "<hunter2-€-秘密>"
    command = Path(f"/proc/{fields.desktop.pid}/cmdline").read_bytes()
    environment = Path(f"/proc/{fields.desktop.pid}/environ").read_bytes()
    assert b"hunter2" not in command + environment + repr(fields.desktop).encode()
    with pytest.raises(InvalidUsage, match="no secret called 'OTHER'") as error:
        await fields.desktop.do(Write("{{secret:OTHER}}"))
    assert "hunter2" not in str(error.value)
    with pytest.raises(InvalidUsage) as error:
        await fields.desktop.do(Write("{{secret:BELL}}"))
    assert "\a" not in str(error.value)
    with pytest.raises(InvalidUsage, match="cut off"):
        await fields.desktop.do(Write("{{secret:PASSWORD"))


async def test_xterm_gets_every_character(tmp_path, until):
    got = tmp_path / "got"
    read = f"stty -echo -icanon; head -c {len((ASCII + UNICODE + MANY).encode())} > {got}"
    async with VirtualDesktop(app=["xterm", "-u8", "-e", "sh", "-c", read]) as desktop:
        await until(got.exists)
        await desktop.do(Write(ASCII + UNICODE + MANY))
        await until(lambda: len(got.read_bytes()) >= len((ASCII + UNICODE + MANY).encode()))
    assert got.read_text() == ASCII + UNICODE + MANY


async def test_a_program_without_pings_that_gets_no_core_for_a_while_gets_every_character(tmp_path, until):
    """xterm is stopped for longer than the wait for its drawing, as happens on a busy machine."""
    got = tmp_path / "got"
    read = f"stty -echo -icanon; head -c {len(MANY.encode())} > {got}"
    async with VirtualDesktop(app=["xterm", "-u8", "-e", "sh", "-c", read]) as desktop:
        await until(got.exists)
        (xterm,) = {pid for pid, fields in living() if fields[1] == str(desktop.pid) and process_name(pid) == "xterm"}
        os.kill(xterm, signal.SIGSTOP)
        typing = asyncio.create_task(desktop.do(Write(MANY)))
        await asyncio.sleep(1.5)
        assert not typing.done()
        os.kill(xterm, signal.SIGCONT)
        await typing
        await until(lambda: len(got.read_bytes()) >= len(MANY.encode()))
    assert got.read_text() == MANY


def process_name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()

"""A secret copied where it may be typed is not pasted where it may not."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.input.gestures import Click, Gesture, HoldAndTap, Hotkey, Write
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import Settle, VirtualDesktop
from tests.desktop.conftest import State

VALUE = "tok-Kranich-9"


@dataclass
class Beside:
    """A form, and the window of another program that the secret is bound to."""

    desktop: VirtualDesktop
    state: State
    field: Point


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory, probe: Callable[..., list[str]], tk: str) -> Iterator[Beside]:
    folder = tmp_path_factory.mktemp("beside")
    state, script = State(folder / "state"), folder / "portal.py"
    script.write_text(
        "import tkinter as tk\nr = tk.Tk(); r.title('Portal'); r.geometry('300x60+20+680')\n"
        "e = tk.Entry(r); e.pack(fill='x'); e.focus_force(); r.mainloop()\n"
    )
    secrets, settle = {"tok": Secret("tok", VALUE, program=str(script))}, Settle(first_change_s=0.1)
    desktop = asyncio.run(VirtualDesktop.start(app=probe("fields", state.path), secrets=secrets, settle=settle))
    env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
    with subprocess.Popen([tk, str(script)], env=env) as portal:
        while not (second := [each for each in asyncio.run(desktop.windows()) if each.title == "Portal"]):
            pass
        yield Beside(desktop, state, Point(second[0].box.left + 100, second[0].box.top + 12))
        portal.kill()
    asyncio.run(desktop.close())


@pytest.mark.parametrize(
    "paste",
    [
        lambda at: Hotkey(("ctrl", "v")),
        lambda at: Hotkey(("shift", "Insert")),
        lambda at: HoldAndTap(("ctrl",), ("v",)),
        lambda at: Click(at, "middle"),
    ],
    ids=["ctrl-v", "shift-insert", "held", "middle"],
)
async def test_a_copied_secret_is_not_pasted_into_another_program(
    beside: Beside, paste: Callable[[Point], Gesture]
) -> None:
    desktop, state, field = beside.desktop, beside.state, beside.field
    entry = state.at("entry")
    await desktop.do(Write("", at=entry, overwrite=True))
    assert await state.becomes("entry", "") == ""
    await desktop.do(Write("", at=field, overwrite=True))
    await desktop.do(Write("{{secret:tok}}", at=field))
    await desktop.do(Hotkey(("shift", "home")))
    await desktop.do(Hotkey(("ctrl", "c")))
    # As between two actions of a run: the copy works only after the program has handled the first.
    await desktop.look(after_action=True)
    if not isinstance(paste(entry), Click):  # which has its own press
        await desktop.do(Click(entry))
    with pytest.raises(SecretRefused, match="Nothing was pasted") as refused:
        await desktop.do(paste(entry))
    assert VALUE not in str(refused.value)
    await desktop.do(Write("x", at=entry))
    assert await state.becomes("entry", "x") == "x"
    await desktop.do(Click(field))
    await desktop.do(paste(field))  # where it may be typed it may also be pasted

"""On a display of another owner, the library asks programs for their elements only on request."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from holo_tasks.desktop import AttachedDesktop, VirtualDesktop
from tests.accessibility.test_programs import until_there
from tests.support.own_bus import own_bus

pytestmark = pytest.mark.desktop


async def test_the_accessibility_bus_of_a_display_is_used_only_on_request(form, tmp_path: Path, monkeypatch) -> None:
    with own_bus(tmp_path) as theirs:
        assert theirs.process is not None, theirs.unavailable_reason
        async with VirtualDesktop() as lent:
            env = {**os.environ, "DISPLAY": lent.display, "XAUTHORITY": str(lent.authority)}
            naming = ["xprop", "-root", "-f", "AT_SPI_BUS", "8s", "-set", "AT_SPI_BUS", theirs.address]
            subprocess.run(naming, env=env, check=True, timeout=60)  # the program looks there for its bus
            program = subprocess.Popen(form("gtk3"), env=env | theirs.environment())
            monkeypatch.setenv("XAUTHORITY", str(lent.authority))
            end = time.monotonic() + 60
            while not await lent.windows() and time.monotonic() < end:
                await lent.look()
            subprocess.run(["xprop", "-root", "-remove", "AT_SPI_BUS"], env=env, check=True, timeout=60)
            async with AttachedDesktop(lent.display, touches=False) as desktop:
                assert "accessibility=True" in (await desktop.elements()).why_not
            async with AttachedDesktop(lent.display, touches=False, accessibility=True) as desktop:
                assert "names no accessibility bus" in (await desktop.elements()).why_not
            subprocess.run(naming, env=env, check=True, timeout=60)
            async with AttachedDesktop(lent.display, touches=False, accessibility=True) as desktop:
                tree = await until_there(desktop, "button", "Save")
                assert tree.complete, tree.why_not
                assert {each.pid for each in tree.elements} == {program.pid}
            program.kill()
            program.wait()

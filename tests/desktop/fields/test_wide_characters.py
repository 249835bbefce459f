"""Characters above U+FFFF reach a Java window through the clipboard, and other texts are not pasted."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holo_tasks.core.errors import SecretRefused
from holo_tasks.core.input.gestures import Hotkey, Write
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop import VirtualDesktop
from tests.accessibility.conftest import APPS

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java with Swing, as openjdk-17-jre has"),
]


async def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


@asynccontextmanager
async def fields(folder: Path) -> AsyncIterator[tuple[VirtualDesktop, Callable[[], str]]]:
    """Swing fields and their contents."""
    log, java = folder / "held", str(Path(shutil.which("java") or "").resolve())
    app, secrets = ["java", str(APPS / "FieldsSwing.java"), str(log)], {"pin": Secret("pin", "a🙂b", program=java)}
    async with VirtualDesktop(app=app, secrets=secrets, app_timeout_s=60) as desktop:
        await until(log.exists)
        await desktop.look()
        yield desktop, lambda: log.read_text().partition("|")[0]


async def test_wide_characters_arrive_in_order_and_enter_comes_last(tmp_path: Path) -> None:
    async with fields(tmp_path) as (desktop, held):
        for text in ("a🙂b", "🙂🙃", "𝔘nd Zoë"):
            await desktop.do(Write(text, overwrite=True, press_enter=True))
            await until(lambda text=text: held() == text)  # type: ignore[misc]


async def test_a_secret_with_wide_characters_is_refused_before_anything_is_typed(tmp_path: Path) -> None:
    async with fields(tmp_path) as (desktop, held):
        await desktop.do(Write("kept"))
        await until(lambda: held() == "kept")
        with pytest.raises(SecretRefused, match=r"above U\+FFFF.*Nothing was typed"):
            await desktop.do(Write("x{{secret:pin}}", overwrite=True))
        await desktop.do(Write("!"))
        await until(lambda: held() == "kept!")


async def test_other_characters_leave_the_clipboard_alone(tmp_path: Path) -> None:
    async with fields(tmp_path) as (desktop, held):
        await desktop.do(Write("copy"))
        for keys in (("ctrl", "a"), ("ctrl", "c")):
            await desktop.do(Hotkey(keys))
        await desktop.do(Write("Zoë ß €", overwrite=True))
        await until(lambda: held() == "Zoë ß €")
        await desktop.do(Hotkey(("ctrl", "v")))
        await until(lambda: held() == "Zoë ß €copy")

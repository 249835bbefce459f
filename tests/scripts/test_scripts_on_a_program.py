"""Scripts drive a real program on a real display, through the whole walk and without a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nasty_clerk import APPS, Clerk, seed_of

from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts.hands import Hands
from holo_tasks.scripts.script import Script, screens_of
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of

pytestmark = pytest.mark.desktop
PLAYBOOK = APPS / "nasty.playbook.yaml"


@pytest.fixture(scope="module")
def desktop() -> Iterator[VirtualDesktop]:
    """One desktop for both tests, each with its own event loop."""
    started = asyncio.run(VirtualDesktop.start())
    started.tells_windows = True
    yield started
    asyncio.run(started.close())


@pytest.fixture
async def clerk(desktop: VirtualDesktop, tmp_path: Path) -> AsyncIterator[Clerk]:
    clerk = Clerk(desktop, tmp_path, "double", seed_of("double", "unguarded"), "", "--delay", "1")
    await clerk.at("menu")
    yield clerk
    clerk.kill()
    while await desktop.windows():
        await asyncio.sleep(0.02)


async def no_sign_on() -> None:
    """Do nothing: no session expires here."""


async def file_it(hands: Hands, reference: str, amount: str, reason: str) -> str:
    """File an entry, clicking Submit once."""
    await hands.click("New entry", safe=True)
    await hands.wait_for("form")
    for field, text in (("Reference", reference), ("Amount", amount), ("Reason", reason)):
        await hands.click(field=field, safe=True)
        await hands.write(text, overwrite=True)
    await hands.click("Submit")
    await hands.wait_for("filed")
    return "filed"


async def files_once(clerk: Clerk, script: Script) -> None:
    screens, recognizer = screens_of(PLAYBOOK, {"sign-on": no_sign_on}), ScreenRecognizer()
    model = MemoryModel([])
    walk = walk_of(as_model(model), desktop=clerk._desktop, recorder=MemoryRecorder())
    assert await done(walk, script.brain(recognizer, screens)) == "filed"
    assert clerk.store.filed_once(clerk.entry)
    assert model.bodies == []
    assert walk.seen is not None
    state = await recognizer.recognize(walk.seen.frame, screens.candidates)
    assert state is screens.state("filed")


async def test_a_playbook_files_an_entry_once_although_a_second_click_would_file_it_twice(clerk: Clerk) -> None:
    entry = clerk.entry
    await files_once(
        clerk, Script(PLAYBOOK, "file", reference=entry.reference, amount=entry.amount, reason=entry.reason)
    )


async def test_a_python_script_files_an_entry_once(clerk: Clerk) -> None:
    entry = clerk.entry
    await files_once(clerk, Script(file_it, reference=entry.reference, amount=entry.amount, reason=entry.reason))

"""Cached trees are refreshed in the background, so a reader waits only for changed parts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holo_tasks.accessibility.reader import Reader
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.elements.element_reader import LATELY
from tests.accessibility.test_lies import address, read, window
from tests.support.liar import Liar, Told

__all__ = ["address"]


async def test_a_new_or_ended_program_updates_the_tree(address: str) -> None:
    reader, liars = Reader(address), []
    for name in ("Save", "Open", "Print"):
        liars.append(Liar(window(save=Told(name))))
        await liars[-1].enter(address)
        tree = await read(address, reader)
        assert tree.find("button", name, hidden=True), tree.why_not
    liars[1].leave()
    async with asyncio.timeout(20):
        while len((await read(address, reader)).find("button", hidden=True)) != 2:
            await asyncio.sleep(0.01)
    for liar in (liars[0], liars[2]):
        liar.leave()


@pytest.mark.desktop
async def test_a_tree_is_refreshed_during_a_look(tmp_path: Path) -> None:
    """Only after recent requests for elements; otherwise programs are not asked."""
    told = tmp_path / "address"
    app = ["sh", "-c", f"printf %s $DBUS_SESSION_BUS_ADDRESS > {told}; exec xterm -e sleep 1000"]
    async with VirtualDesktop(app=app) as desktop:
        liar = Liar(window(save=Told("Save")))
        await liar.enter(told.read_text())

        async def look() -> None:
            liar.asked.clear()
            await liar.signal()  # a signal that does not name the change
            await desktop.look()

        await look()
        await desktop.windows()  # answered after the desktop's background work
        assert liar.asked == []
        assert (await desktop.elements()).find("button", hidden=True)
        for _ in range(LATELY):
            await look()
            async with asyncio.timeout(20):
                while not liar.asked:
                    await asyncio.sleep(0.01)
        for _ in range(2):
            await look()
            await desktop.windows()
        assert liar.asked == []
        liar.leave()

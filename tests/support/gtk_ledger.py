"""The GTK version of the demo's ledger on a real desktop, and a wrapper that changes its accessibility tree."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from legacy_ledger_db import LedgerFile, Transaction, create_database

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.desktop import VirtualDesktop
from tests.accessibility.conftest import APPS, DEBIAN_PYTHON, has_gtk
from tests.support.elements import silent

PLAYBOOK = APPS / "gtk_ledger.playbook.yaml"
PASSWORD = "kingfisher-41"
CAFE = Transaction("TX-10311", "Café Nord", "2026-03-01", 128450, "EUR", "A. Sommer", "Posted")
KESTREL = Transaction("TX-10422", "Kestrel Supplies", "2026-03-04", 1260, "EUR", "B. Winter", "Archived")


@asynccontextmanager
async def gtk_ledger(
    folder: Path, transactions: Sequence[Transaction] = ()
) -> AsyncIterator[tuple[VirtualDesktop, LedgerFile]]:
    """Start the program with two transactions; the desktop may type its password. Skips the test if GTK is missing."""
    if not has_gtk("3.0"):
        pytest.skip("needs the Debian packages python3-gi and gir1.2-gtk-3.0")
    file = folder / "ledger.db"
    create_database(file, transactions or [CAFE, KESTREL])
    app = [DEBIAN_PYTHON, str(APPS / "gtk_ledger.py"), "--db", str(file)]
    secrets = {"portal_password": PASSWORD}
    async with VirtualDesktop(app=app, env={"MERIDIAN_PASSWORD": PASSWORD}, secrets=secrets) as desktop:
        yield desktop, LedgerFile(file)


class Told:
    """A desktop whose tree is replaced by ``change(tree)``, or by an empty tree without ``change``.

    Counts the requests, and keeps the last tree.
    """

    def __init__(self, desktop: Any, change: Callable[[ElementTree], ElementTree] | None = None) -> None:
        self._desktop, self._change = desktop, change
        self.asked, self.last = 0, ElementTree()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desktop, name)

    async def elements(self) -> ElementTree:
        """Return the replaced tree."""
        self.asked += 1
        tree = await self._desktop.elements()
        self.last = silent() if self._change is None else self._change(tree)
        return self.last

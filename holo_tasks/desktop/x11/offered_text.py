"""Offer a text on the clipboard until a program has fetched it.

`ClipboardOffer` is the context manager for that. It also tells the caller whether the text was fetched.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import xcffib.xproto

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.desktop.x11.clipboard import CLIPBOARD
from holo_tasks.desktop.x11.x_connection import XConnection

NOW, ATOM, INTEGER = 0, 4, 19
TEXTS = ("UTF8_STRING", "text/plain;charset=utf-8")
POLL_S = 0.01


class ClipboardOffer:
    """A text on the clipboard, which this process owns over its own X connection while the context is entered.

    ``fetched`` counts the requests that were answered with the whole text.
    """

    def __init__(self, display: str, text: str) -> None:
        self._link = XConnection(display)
        self._text = text.encode()
        self._over = threading.Event()
        self.fetched = 0
        core = self._link.conn.core
        self._window = self._link.conn.generate_id()
        core.CreateWindow(0, self._window, self._link.root, -10, -10, 1, 1, 0, 1, 0, 0, [])
        self._clipboard = self._link.atom(CLIPBOARD)
        self._targets = self._link.atom("TARGETS")
        self._kinds = [self._link.atom(kind) for kind in TEXTS]
        self._thread = threading.Thread(target=self._serve, name="clipboard", daemon=True)

    def __enter__(self) -> Self:
        core = self._link.conn.core
        core.SetSelectionOwner(self._window, self._clipboard, NOW)
        if core.GetSelectionOwner(self._clipboard).reply().owner != self._window:
            self._link.close()
            raise DesktopFailed("The clipboard cannot be used: another program keeps its ownership.")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._link.close()  # the X server then clears the clipboard's owner

    def await_fetched(self, seconds: float, sleep: Callable[[float], None]) -> bool:
        """Wait at most ``seconds`` until a program has fetched the text; return whether one has."""
        until = time.monotonic() + seconds
        while not self.fetched and time.monotonic() < until:
            sleep(POLL_S)
        return self.fetched > 0

    def _serve(self) -> None:
        while not self._over.is_set():
            select.select([self._link.fileno()], [], [], POLL_S)
            while (event := self._link.conn.poll_for_event()) is not None:
                if isinstance(event, xcffib.xproto.SelectionRequestEvent):
                    self._answer(event)
                elif isinstance(event, xcffib.xproto.SelectionClearEvent):
                    return  # another program owns the clipboard now, so a paste would not insert our text

    def _answer(self, request: Any) -> None:
        core, place = self._link.conn.core, request.property or request.target
        if request.target == self._targets:
            known = [self._targets, *self._kinds]
            core.ChangeProperty(0, request.requestor, place, ATOM, 32, len(known), known)
        elif request.target in self._kinds:
            core.ChangeProperty(0, request.requestor, place, request.target, 8, len(self._text), self._text)
            self.fetched += 1
        else:
            place = 0
        reply = xcffib.xproto.SelectionNotifyEvent.synthetic(
            request.time, request.requestor, request.selection, request.target, place
        )
        core.SendEvent(False, request.requestor, 0, reply.pack())
        self._link.conn.flush()

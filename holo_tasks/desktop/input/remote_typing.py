"""Typing into the screen of another machine: what its client passes on reliably, and which texts are refused.

Measured with xfreerdp 2.11 on xrdp, and with TigerVNC's viewer on Xtigervnc. The RDP client passes keys on by their
position, and drops keys that are lent to other characters. The VNC client passes characters on. Its server
accepts some tens of characters that it has no key for, and drops later ones until it is restarted. Neither program
reports the loss.

So only printable ASCII, Enter and Tab are typed by keys (`EXACT` in `core.screen.remote_screen`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage, SecretRefused
from holo_tasks.core.input import keynames
from holo_tasks.core.programs import Owner, is_viewer
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.remote_screen import not_typed, untypable
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.desktop.input.keyboard import Keyboard
from holo_tasks.desktop.stop.interrupt import Interrupt
from holo_tasks.desktop.x11.offered_text import ClipboardOffer

SETTLES_S = 0.3
"""Clipboard and keys travel on different channels in RDP. The other machine must know the one before it gets the
other.
"""
PASTE_S = 3.0
NOT_FETCHED = (
    "The text was pasted, but the other machine did not fetch it, so the contents of the field are unknown. Look at "
    "the field, and remove wrong text."
)


class RemoteTyping:
    """Detects windows that show another machine, and checks what may be typed there.

    ``paste_s`` limits the seconds of a paste; 0 forbids pasting.
    """

    def __init__(
        self, display: str, owner_of: Callable[[Point | None], Owner], interrupt: Interrupt, paste_s: float = 0.0
    ) -> None:
        self._display = display
        self._owner_of = owner_of
        self._interrupt = interrupt
        self._paste_s = paste_s

    def client(self, at: Point | None) -> str:
        """Return the name of the viewer that gets a press at a point or, without a point, the keys.

        Empty for other programs.
        """
        owner = self._owner_of(at)
        return Path(owner.executable).name if is_viewer(owner) else ""

    def check(self, parts: Sequence[str | Secret], client: str) -> None:
        """Raise an error, before anything is typed, if a viewer cannot pass the text on exactly.

        A text with other characters may be pasted if pasting is allowed and it has no line end or tab. A secret is
        never pasted.
        """
        for part in parts:
            if isinstance(part, Secret):
                if untypable(part.value):
                    raise SecretRefused(
                        f"The secret {part.name!r} is not typed: it holds characters that {client} may lose on the way "
                        "to the other machine. Nothing was typed."
                    )
            elif (strange := untypable(part)) and not self._paste_s:
                raise InvalidUsage(not_typed(strange, client=client, can_paste=False))
            elif strange and any(sign in part for sign in "\r\n\t"):
                raise InvalidUsage(
                    "A text pasted into the screen of another machine cannot contain Enter or Tab: press these keys "
                    "separately."
                )

    def check_keys(self, symbols: Iterable[int], keyboard: Keyboard, client: str) -> None:
        """Raise `InvalidUsage` for keys that a plain keyboard lacks, because the client would drop them."""
        for symbol in symbols:
            stroke = keyboard.stroke(symbol)
            if stroke is None or stroke.keycode in keyboard.free:
                raise InvalidUsage(
                    f"{client} passes on only the keys of a plain (US) keyboard, and this combination needs another "
                    "key. Nothing was pressed."
                )

    def paste(self, text: str, press: Callable[[Sequence[int]], None], keyboard: Keyboard) -> str:
        """Send a text by the clipboard.

        Return a warning if the other machine did not fetch it, otherwise an empty string.
        """
        with ClipboardOffer(self._display, text) as offer:
            self._interrupt.sleep(SETTLES_S)
            press([keyboard.keycode(keynames.CONTROL), keyboard.keycode(ord("v"))])
            return "" if offer.await_fetched(self._paste_s, self._interrupt.sleep) else NOT_FETCHED

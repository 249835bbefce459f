"""A window that shows its input: a click turns it green, and each key draws a bar and is added to its title.

Runs as a program on the desktop under test. It needs only the dependencies of this package.
"""

from __future__ import annotations

from typing import Any

import xcffib
import xcffib.xproto as x

WIDTH, HEIGHT = 420, 280
WHITE, GREEN, BLACK = 0xFFFFFF, 0x2E8B57, 0x000000
TITLE = "doctor:"
SHIFT = 1
STRING, ATOM_NAME, UTF8 = "STRING", "_NET_WM_NAME", "UTF8_STRING"


class Window:
    """The window, on the display that DISPLAY names."""

    def __init__(self) -> None:
        self._conn: Any = xcffib.connect()
        setup = self._conn.get_setup()
        screen = setup.roots[self._conn.pref_screen]
        self._first, self._last = setup.min_keycode, setup.max_keycode
        self._typed = ""
        self._window, self._ink = self._conn.generate_id(), self._conn.generate_id()
        events = x.EventMask.ButtonPress | x.EventMask.KeyPress | x.EventMask.Exposure
        place = (screen.root, 200, 150, WIDTH, HEIGHT, 0, x.WindowClass.InputOutput, screen.root_visual)
        core = self._conn.core
        core.CreateWindow(screen.root_depth, self._window, *place, x.CW.BackPixel | x.CW.EventMask, [WHITE, events])
        core.CreateGC(self._ink, self._window, x.GC.Foreground, [BLACK])
        self._name()
        core.MapWindow(self._window)
        self._conn.flush()

    def run(self) -> None:
        """Serve until the X server is gone."""
        while True:
            match self._conn.wait_for_event():
                case x.ButtonPressEvent():
                    self._conn.core.ChangeWindowAttributes(self._window, x.CW.BackPixel, [GREEN])
                    self._conn.core.ClearArea(True, self._window, 0, 0, 0, 0)
                case x.KeyPressEvent() as key:
                    self._type(key)
                case x.ExposeEvent():
                    self._draw()
            self._conn.flush()

    def _type(self, key: Any) -> None:
        # Requested at each key: the sender may map keys to other characters for a while.
        mapping = self._conn.core.GetKeyboardMapping(key.detail, 1).reply()
        symbol = mapping.keysyms[1 if key.state & SHIFT and mapping.keysyms_per_keycode > 1 else 0]
        if 0x20 <= symbol < 0x7F:
            self._typed += chr(symbol)
            self._name()
            self._draw()

    def _draw(self) -> None:
        bars = [x.RECTANGLE.synthetic(20 * place + 10, 20, 10, 60) for place in range(len(self._typed))]
        if bars:
            self._conn.core.PolyFillRectangle(self._window, self._ink, len(bars), bars)

    def _name(self) -> None:
        title = (TITLE + self._typed).encode()
        name, kind = (self._conn.core.InternAtom(False, len(word), word).reply().atom for word in (ATOM_NAME, UTF8))
        self._conn.core.ChangeProperty(x.PropMode.Replace, self._window, name, kind, 8, len(title), title)


if __name__ == "__main__":
    Window().run()

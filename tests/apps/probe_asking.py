"""A program that requests GLX from its X server: at its start ("needs", "takes"), at a click ("later"), or never.

One that "needs" GLX ends without it; all others show a window, white with GLX and black without. Each start is written
to a file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import xcffib
import xcffib.xproto

KIND, STARTS = sys.argv[1], Path(sys.argv[2])

with STARTS.open("a") as starts:
    starts.write(f"{KIND}\n")
conn = xcffib.connect()
screen = conn.get_setup().roots[0]


def has() -> bool:
    return bool(conn.core.QueryExtension(3, "GLX").reply().present)


given = KIND in ("needs", "takes") and has()
if KIND == "needs" and not given:
    sys.exit("there is no visual")
window = conn.generate_id()
mask = xcffib.xproto.CW.BackPixel | xcffib.xproto.CW.EventMask
values = [screen.white_pixel if given else screen.black_pixel, xcffib.xproto.EventMask.ButtonPress]
conn.core.CreateWindow(24, window, screen.root, 0, 0, 600, 400, 0, 1, screen.root_visual, mask, values)
conn.core.MapWindow(window)
conn.flush()
while True:
    if isinstance(conn.wait_for_event(), xcffib.xproto.ButtonPressEvent):
        has()
        with STARTS.open("a") as starts:
            starts.write("clicked\n")

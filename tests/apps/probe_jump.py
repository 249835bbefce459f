"""Map a window under the pointer the moment a button is pressed anywhere: `probe_jump.py LOG`.

It writes `ready`, then `jump` for each mapping, and `press` for each press in its window.
"""

import sys
from pathlib import Path

import xcffib
import xcffib.xinput
import xcffib.xproto as xp

HALF = 60
conn = xcffib.connect()
screen = conn.get_setup().roots[0]
LOG = Path(sys.argv[1])


def say(what):
    with LOG.open("a") as log:
        log.write(what + "\n")


inputs = conn(xcffib.xinput.key)
inputs.XIQueryVersion(2, 2).reply()
window = conn.generate_id()
values = [1, xp.EventMask.ButtonPress]
conn.core.CreateWindow(
    screen.root_depth,
    window,
    screen.root,
    0,
    0,
    2 * HALF,
    2 * HALF,
    0,
    1,
    0,
    xp.CW.OverrideRedirect | xp.CW.EventMask,
    values,
)
RAW_PRESS = 15
mask = xcffib.xinput.EventMask.synthetic(1, 1, [1 << RAW_PRESS])
inputs.XISelectEvents(screen.root, 1, [mask])
conn.core.GetInputFocus().reply()
say("ready")
place = xp.ConfigWindow
while event := conn.wait_for_event():
    if type(event).__name__ == "ButtonPressEvent":
        say("press")
    elif type(event).__name__ == "RawButtonPressEvent":
        at = conn.core.QueryPointer(screen.root).reply()
        conn.core.ConfigureWindow(window, place.X | place.Y | place.StackMode, [at.root_x - HALF, at.root_y - HALF, 0])
        conn.core.MapWindow(window)
        conn.core.GetInputFocus().reply()
        conn.core.UnmapWindow(window)
        conn.flush()
        say("jump")

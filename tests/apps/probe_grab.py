"""Grab the keyboard or the pointer of a display: commands come on stdin, received keys and buttons go to stdout.

`keyboard`, `pointer`, `key …`, `xinput CODE` and `release` are answered with a line. Events are written as `key CODE`
or `button NUMBER`.
"""

import os
import select
import sys

import xcffib
import xcffib.xinput
import xcffib.xproto

conn = xcffib.connect()
inputs = conn(xcffib.xinput.key)
inputs.XIQueryVersion(2, 0).reply()
root = conn.get_setup().roots[0].root
mask = xcffib.xproto.EventMask.ButtonPress | xcffib.xproto.EventMask.ButtonRelease
lines = b""
grabbed = set()


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


while True:
    ready, _, _ = select.select([0, conn.get_file_descriptor()], [], [])
    while event := conn.poll_for_event():
        if isinstance(event, xcffib.xproto.KeyPressEvent):
            say(f"key {event.detail}")
        elif type(event) is xcffib.xproto.ButtonPressEvent:
            say(f"button {event.detail}")
    if 0 in ready:
        some = os.read(0, 100)
        if not some:
            break
        lines += some
    while b"\n" in lines:
        asked, _, lines = lines.partition(b"\n")
        if asked == b"keyboard":
            say(conn.core.GrabKeyboard(False, root, 0, 1, 1).reply().status)
        elif asked == b"pointer":
            say(conn.core.GrabPointer(False, root, mask, 1, 1, 0, 0, 0).reply().status)
        elif asked.startswith(b"key "):  # grabs each code: `key WINDOW MODIFIERS CODE…`, with WINDOW 0 for the root
            window, modifiers, *codes = map(int, asked.split()[1:])
            grabbed.add(window or root)
            for code in codes:
                conn.core.GrabKeyChecked(False, window or root, modifiers, code, 1, 1).check()
            say(0)
        elif asked.startswith(b"xinput "):
            code = int(asked.split()[1])
            one = (1, 1, 1, 1, 1, False, [1 << 2], [1 << 31])
            failed = inputs.XIPassiveGrabDevice(0, root, 0, code, 1, *one).reply().modifiers
            say(len(list(failed)))
        else:
            conn.core.UngrabKeyboard(0)
            conn.core.UngrabPointer(0)
            for window in grabbed:
                conn.core.UngrabKey(0, window, 1 << 15)
            for code in range(8, 256):
                inputs.XIPassiveUngrabDevice(root, code, 1, 1, 1, [1 << 31])
            conn.core.GetInputFocus().reply()
            say("released")

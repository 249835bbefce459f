"""Holds the keyboard or the pointer of a display: a line on stdin says what to do, keys and buttons go to stdout.

`keyboard`, `pointer` and `release` are answered with a line; what is got is written as `key CODE` or `button NUMBER`.
"""

import os
import select
import sys

import xcffib
import xcffib.xproto

conn = xcffib.connect()
root = conn.get_setup().roots[0].root
mask = xcffib.xproto.EventMask.ButtonPress | xcffib.xproto.EventMask.ButtonRelease
lines = b""


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
        else:
            conn.core.UngrabKeyboard(0)
            conn.core.UngrabPointer(0)
            conn.core.GetInputFocus().reply()
            say("released")

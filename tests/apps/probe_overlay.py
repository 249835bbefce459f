"""An invisible window that takes clicks: `probe_overlay.py LEFT TOP WIDTH HEIGHT`."""

import sys

import xcffib
import xcffib.xproto

conn = xcffib.connect()
window = conn.generate_id()
root = conn.get_setup().roots[0].root
InputOnly, OverrideRedirect = 2, xcffib.xproto.CW.OverrideRedirect
conn.core.CreateWindowChecked(0, window, root, *map(int, sys.argv[1:5]), 0, InputOnly, 0, OverrideRedirect, [1]).check()
conn.core.MapWindowChecked(window).check()
sys.stdout.write("mapped\n")
sys.stdout.flush()
sys.stdin.read()

"""A GTK window that draws twice: `probe_later_gtk.py timer|process|once MILLISECONDS`.

A click turns it yellow at once, and green after these milliseconds: by a timer, or by a message of a child process on
the desktop's message bus. With ``once`` each click switches between dark and light green at once.
"""

import subprocess
import sys
from itertools import cycle

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402

NAME = "org.example.Later"
LATER = """
import sys, time
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
while True:
    sys.stdin.readline()
    time.sleep(float(sys.argv[1]) / 1000)
    bus.emit_signal(None, "/", "org.example.Later", "Now", None)
    bus.flush_sync()
"""

mode, given, shades = sys.argv[1], sys.argv[2], cycle((1.0, 0.5))
window = Gtk.Window()
window.set_default_size(600, 400)
window.move(50, 50)
area = Gtk.EventBox()
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def turn(*wanted):
    area.override_background_color(Gtk.StateFlags.NORMAL, Gdk.RGBA(*wanted, 1.0))
    return False


def green(*_):
    return turn(0.0, 1.0, 0.0)


if mode == "process":
    child = subprocess.Popen([sys.executable, "-c", LATER, given], stdin=subprocess.PIPE, text=True)
    bus.signal_subscribe(None, NAME, "Now", None, None, Gio.DBusSignalFlags.NONE, green)


def clicked(*_):
    if mode == "once":
        turn(0.0, next(shades), 0.0)
        return
    turn(1.0, next(shades), 0.0)
    if mode == "timer":
        GLib.timeout_add(int(given), green)
    else:
        print(file=child.stdin, flush=True)


area.connect("button-release-event", clicked)
window.add(area)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()

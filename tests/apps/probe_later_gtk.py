"""A GTK window that draws twice: `probe_later_gtk.py timer|process|once MILLISECONDS`, or `neighbor SOCKET`.

A click turns it yellow at once, and green so much later: by a timer, by a word on the desktop's own message bus from a
process that it has started, or by one on a socket from a process elsewhere. With ``once`` it is green at once. Some
threads of the toolkit sleep all the while, and it is on the message bus.
"""

import socket
import subprocess
import sys

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

mode, given = sys.argv[1], sys.argv[2]
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
elif mode == "neighbor":
    neighbor = socket.socket(socket.AF_UNIX)
    neighbor.connect(given)
    GLib.io_add_watch(neighbor, GLib.PRIORITY_DEFAULT, GLib.IO_IN, lambda *_: (neighbor.recv(1), green())[1])


def clicked(*_):
    turn(1.0, 1.0, 0.0)
    if mode == "timer":
        GLib.timeout_add(int(given), green)
    elif mode == "process":
        print(file=child.stdin, flush=True)
    elif mode == "neighbor":
        neighbor.send(b".")
    else:
        green()


area.connect("button-release-event", clicked)
window.add(area)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()

"""Write, as JSON to a file, the services on this program's message bus, then show a window. For Debian's Python.

/usr/bin/python3 probe_bus.py FILE NAME
"""

import json
import os
import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402


def asked(bus: Gio.DBusConnection, method: str, *arguments: object) -> object:
    given = GLib.Variant("(" + "".join("u" if isinstance(each, int) else "s" for each in arguments) + ")", arguments)
    where = "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", method, given
    return bus.call_sync(*where, None, Gio.DBusCallFlags.NONE, 5000, None).unpack()[0]


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
started = {}
for service in ("org.freedesktop.secrets", "org.freedesktop.portal.Desktop", "org.freedesktop.Notifications"):
    try:
        started[service] = asked(bus, "StartServiceByName", service, 0)
    except GLib.Error as error:
        started[service] = error.message
told = {
    "owned": asked(bus, "NameHasOwner", sys.argv[2]),
    "activatable": asked(bus, "ListActivatableNames"),
    "started": started,
    "address": os.environ["DBUS_SESSION_BUS_ADDRESS"],
}
Path(sys.argv[1]).write_text(json.dumps(told))
window = Gtk.Window(title="Bus")
window.set_default_size(200, 100)
window.show_all()
Gtk.main()

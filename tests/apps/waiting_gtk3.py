"""The form of `waiting_tk` in GTK 3, for Debian's Python with GTK bindings.

/usr/bin/python3 waiting_gtk3.py URL
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402
from waiting_request import ANSWER, FORM, ask_in_thread  # noqa: E402

URL = sys.argv[1]
shown = FORM


def show(color: str) -> None:
    global shown
    shown = color
    style.load_from_data(f"#block {{ background: {color} }}".encode())


def press(_: object) -> None:
    if shown == ANSWER:
        show(FORM)
    else:
        ask_in_thread(URL, lambda _: GLib.idle_add(show, ANSWER))


style = Gtk.CssProvider()
Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
window = Gtk.Window(title="Slow form")
window.set_default_size(520, 320)
button, block, fixed = Gtk.Button(label="Send"), Gtk.EventBox(name="block"), Gtk.Fixed()
button.set_size_request(200, 60)
button.connect("clicked", press)
block.set_size_request(400, 160)
fixed.put(button, 40, 40)
fixed.put(block, 40, 120)
window.add(fixed)
window.connect("destroy", Gtk.main_quit)
show(FORM)
window.show_all()
Gtk.main()

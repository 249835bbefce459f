"""A small GTK 3 form, for Debian's Python with GTK bindings. It writes its events to FILE.

F9 opens a tip.

/usr/bin/python3 form_gtk3.py [FILE] [ROWS]
"""

import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, Gtk  # noqa: E402

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def done(what: str) -> None:
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")


def save(_: object) -> None:
    done(f"saved {name.get_text()}")
    status.set_text("Saved.")


def tip(_: object, event: Gdk.EventKey) -> None:
    if event.keyval == Gdk.KEY_F9:
        shown = Gtk.Dialog(title="Tip", transient_for=window)
        shown.add_button("Got it", 0)
        shown.get_content_area().add(Gtk.Label(label="Names can be sorted."))
        shown.connect("response", lambda *_: shown.destroy())
        shown.show_all()


window = Gtk.Window(title="Supplier form")
window.set_default_size(480, 360)
bar, keys = Gtk.MenuBar(), Gtk.AccelGroup()
window.add_accel_group(keys)
menu, entries = Gtk.MenuItem.new_with_mnemonic("_File"), Gtk.Menu()
menu.set_submenu(entries)
for entry in ("New supplier", "Quit"):
    item = Gtk.MenuItem(label=entry)
    item.connect("activate", lambda item: done(f"menu {item.get_label()}"))
    entries.append(item)
    if entry == "New supplier":
        item.add_accelerator("activate", keys, ord("n"), Gdk.ModifierType.CONTROL_MASK, Gtk.AccelFlags.VISIBLE)
bar.append(menu)
name, password = Gtk.Entry(), Gtk.Entry()
name.set_text("Ada Supplies")
password.set_visibility(False)
password.set_text("tulip-7-secret")
grid = Gtk.Grid(row_spacing=8, column_spacing=8, border_width=12)
for row, (label, field) in enumerate((("_Name", name), ("Pass_word", password))):
    said = Gtk.Label.new_with_mnemonic(label)
    said.set_mnemonic_widget(field)
    grid.attach(said, 0, row, 1, 1)
    grid.attach(field, 1, row, 1, 1)
urgent = Gtk.CheckButton(label="Urgent")
grid.attach(urgent, 1, 2, 1, 1)
buttons = Gtk.Box(spacing=8)
for label, action in (("Save", save), ("Don't save", lambda _: done("not saved")), ("Close", Gtk.main_quit)):
    button = Gtk.Button(label=label)
    button.connect("clicked", action)
    buttons.add(button)
grid.attach(buttons, 0, 3, 2, 1)
status = Gtk.Label(label="Ready.")
grid.attach(status, 0, 4, 2, 1)
rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
for number in range(ROWS):
    rows.add(Gtk.Button(label=f"Row {number}"))
scrolled = Gtk.ScrolledWindow(vexpand=True, hexpand=True)
scrolled.add(rows)
grid.attach(scrolled, 0, 5, 2, 1)
whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
whole.add(bar)
whole.add(grid)
window.add(whole)
window.connect("destroy", Gtk.main_quit)
window.connect("key-press-event", tip)
window.show_all()
Gtk.main()

"""A GTK 3 program with menus, for Debian's Python with GTK bindings: /usr/bin/python3 menus_gtk3.py [FILE]"""

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402
from menus import BUTTON, MENUS, done  # noqa: E402

window, keys, bar = Gtk.Window(title="Month end"), Gtk.AccelGroup(), Gtk.MenuBar()
window.set_default_size(520, 320)
window.add_accel_group(keys)
for menu, commands in MENUS.items():
    item, entries = Gtk.MenuItem(label=menu), Gtk.Menu()
    item.set_submenu(entries)
    bar.append(item)
    for command, shortcut in commands.items():
        entry = Gtk.MenuItem(label=command)
        entry.connect("activate", lambda entry: done(entry.get_label()))
        entries.append(entry)
        if shortcut:
            key, held = Gtk.accelerator_parse(shortcut.replace("Ctrl+", "<Control>"))
            entry.add_accelerator("activate", keys, key, held, Gtk.AccelFlags.VISIBLE)
button = Gtk.Button(label=BUTTON, halign=Gtk.Align.CENTER, margin=60)
button.connect("clicked", lambda _: done(BUTTON))
whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
whole.add(bar)
whole.add(button)
window.add(whole)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()

"""A GTK 3 table and a field of each kind; a file has their contents and positions.

/usr/bin/python3 one_field_gtk3.py STATE
"""

import json
import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

STATE = Path(sys.argv[1])
LINES = "first\n\nthird\nfourth\n"

window = Gtk.Window(title="One field")
whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, border_width=8)
model = Gtk.ListStore(str, str, str)
for row in range(4):
    model.append([f"r{row}c{column}" for column in range(3)])


def edited(_: object, path: str, text: str, column: int) -> None:
    model[path][column] = text


table = Gtk.TreeView(model=model)
for column in range(3):
    cell = Gtk.CellRendererText(editable=True)
    cell.connect("edited", edited, column)
    table.append_column(Gtk.TreeViewColumn(f"c{column}", cell, text=column))
entry, spin, area = Gtk.Entry(text="held before"), Gtk.SpinButton.new_with_range(0, 1000, 1), Gtk.TextView()
empty = Gtk.Entry()
spin.set_value(12)
area.get_buffer().set_text(LINES)
area.set_size_request(-1, 120)
combo, choice = Gtk.ComboBoxText.new_with_entry(), Gtk.ComboBoxText()
for each in (combo, choice):
    for text in ("one", "two", "three"):
        each.append_text(text)
    each.set_active(1)
check, button = Gtk.CheckButton(label="Urgent"), Gtk.Button(label="Save")
fields = {
    "table": table, "entry": entry, "empty": empty, "spin": spin, "area": area, "combo": combo.get_child(),
    "choice": choice, "check": check, "button": button,
}  # fmt: skip
for each in (table, entry, empty, spin, area, combo, choice, check, button):
    whole.add(each)


def place(widget: Gtk.Widget) -> list[int]:
    _, left, top = window.get_window().get_origin()
    right, down = widget.translate_coordinates(window, 30, widget.get_allocated_height() // 2)
    return [left + right, top + down]


def tell() -> bool:
    buffer = area.get_buffer()
    told = {
        "cells": [list(row) for row in model],
        "fields": {
            "entry": entry.get_text(),
            "empty": empty.get_text(),
            "spin": spin.get_text(),
            "area": buffer.get_text(*buffer.get_bounds(), False),
            "combo": combo.get_child().get_text(),
            "choice": choice.get_active_text(),
            "check": str(check.get_active()),
        },
        "at": {name: place(widget) for name, widget in fields.items()},
    }
    STATE.with_suffix(".new").write_text(json.dumps(told))
    STATE.with_suffix(".new").replace(STATE)
    return True


window.add(whole)
window.connect("destroy", Gtk.main_quit)
window.set_default_size(420, -1)
window.show_all()
GLib.timeout_add(100, tell)
Gtk.main()

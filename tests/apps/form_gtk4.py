"""The small form of `form_gtk3` in GTK 4, for Debian's Python with GTK bindings. F9 opens a tip, F8 a question.

/usr/bin/python3 form_gtk4.py [FILE]
"""

import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gdk, Gio, GLib, Gtk  # noqa: E402

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None
loop = GLib.MainLoop()


def done(what: str) -> None:
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")


def save(_: object) -> None:
    done(f"saved {name.get_text()}")
    status.set_text("Saved.")


def tip(_: object, key: int, *__: object) -> None:
    if key == Gdk.KEY_F9:
        shown = Gtk.Window(title="Tip", transient_for=window, default_width=200, default_height=80)
        got = Gtk.Button(label="Got it")
        got.connect("clicked", lambda _: shown.destroy())
        shown.set_child(got)
        shown.present()
    if key == Gdk.KEY_F8:
        question = Gtk.Dialog(title="Question", transient_for=window, default_width=480, default_height=360)
        question.add_button("Remove", Gtk.ResponseType.OK)
        question.connect("response", lambda *_: (done("removed"), question.destroy()))
        question.present()


window = Gtk.Window(title="Supplier form", default_width=480, default_height=360)
name, password = Gtk.Entry(text="Ada Supplies"), Gtk.PasswordEntry(text="tulip-7-secret")
grid = Gtk.Grid(row_spacing=8, column_spacing=8, margin_start=12, margin_top=12, margin_end=12, margin_bottom=12)
for row, (label, field) in enumerate((("Name", name), ("Password", password))):
    said = Gtk.Label(label=label)
    field.update_property([Gtk.AccessibleProperty.LABEL], [label])
    grid.attach(said, 0, row, 1, 1)
    grid.attach(field, 1, row, 1, 1)
grid.attach(Gtk.CheckButton(label="Urgent"), 1, 2, 1, 1)
buttons = Gtk.Box(spacing=8)
for label, action in (("Save", save), ("Don't save", lambda _: done("not saved")), ("Close", lambda _: loop.quit())):
    button = Gtk.Button(label=label)
    button.connect("clicked", action)
    buttons.append(button)
grid.attach(buttons, 0, 3, 2, 1)
status = Gtk.Label(label="Ready.")
grid.attach(status, 0, 4, 2, 1)
entries, actions = Gio.Menu(), Gio.SimpleActionGroup()
for number, label in enumerate(("New supplier", "Remove all")):
    entries.append(label, f"form.entry{number}")
    action = Gio.SimpleAction.new(f"entry{number}")
    action.connect("activate", lambda _, __, label=label: done(f"menu {label}"))
    actions.add_action(action)
window.insert_action_group("form", actions)
grid.attach(Gtk.MenuButton(label="More", menu_model=entries), 0, 5, 1, 1)
terms = Gtk.DropDown.new_from_strings(["Monthly", "Weekly", "Daily"])
terms.connect("notify::selected", lambda *_: done(f"chose {terms.get_selected_item().get_string()}"))
grid.attach(terms, 1, 5, 1, 1)
keys = Gtk.EventControllerKey()
keys.connect("key-pressed", tip)
window.add_controller(keys)
window.set_child(grid)
window.connect("close-request", lambda _: loop.quit())
window.present()
loop.run()

"""A GTK 3 program with file dialogs, for Debian's Python with GTK bindings: it opens and saves a text.

/usr/bin/python3 dialogs_gtk3.py
"""

from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402


def choose(action: Gtk.FileChooserAction, title: str, yes: str) -> "Path | None":
    dialog = Gtk.FileChooserDialog(title=title, transient_for=window, action=action)
    dialog.add_buttons("_Cancel", Gtk.ResponseType.CANCEL, yes, Gtk.ResponseType.ACCEPT)
    dialog.set_default_response(Gtk.ResponseType.ACCEPT)
    dialog.set_do_overwrite_confirmation(True)
    if action == Gtk.FileChooserAction.SAVE:
        dialog.set_current_name("untitled.txt")
    answer, name = dialog.run(), dialog.get_filename()
    dialog.destroy()
    return Path(name) if answer == Gtk.ResponseType.ACCEPT else None


def load(_: object) -> None:
    if (path := choose(Gtk.FileChooserAction.OPEN, "Open a letter", "_Open")) is not None:
        text.set_text(path.read_text())
        status.set_text(f"Read {path.name}")


def save(_: object) -> None:
    if (path := choose(Gtk.FileChooserAction.SAVE, "Save the letter", "_Save")) is not None:
        path.write_text(text.get_text())
        status.set_text(f"Wrote {path.name}")


window = Gtk.Window(title="Letters")
window.set_default_size(420, 160)
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8, margin=12)
text, status = Gtk.Entry(text="Dear customer"), Gtk.Label(label="Ready")
box.add(text)
for word, what in (("Load letter", load), ("Store letter", save)):
    button = Gtk.Button(label=word)
    button.connect("clicked", what)
    box.add(button)
box.add(status)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()

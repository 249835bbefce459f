"""A GTK 4 program with file dialogs, for Debian's Python with GTK bindings: it opens and saves a text.

/usr/bin/python3 dialogs_gtk4.py
"""

from pathlib import Path

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gtk  # noqa: E402


def choose(action: Gtk.FileChooserAction, title: str, yes: str, then: object) -> None:
    dialog = Gtk.FileChooserDialog(title=title, transient_for=window, modal=True, action=action)
    dialog.add_button("_Cancel", Gtk.ResponseType.CANCEL)
    dialog.add_button(yes, Gtk.ResponseType.ACCEPT)
    dialog.set_default_response(Gtk.ResponseType.ACCEPT)
    if action == Gtk.FileChooserAction.SAVE:
        dialog.set_current_name("untitled.txt")

    def answered(_: object, answer: int) -> None:
        file = dialog.get_file() if answer == Gtk.ResponseType.ACCEPT else None
        dialog.destroy()
        if file is not None:
            then(Path(file.get_path()))

    dialog.connect("response", answered)
    dialog.present()


def loaded(path: Path) -> None:
    text.set_text(path.read_text())
    status.set_text(f"Read {path.name}")


def stored(path: Path) -> None:
    path.write_text(text.get_text())
    status.set_text(f"Wrote {path.name}")


def started(app: Gtk.Application) -> None:
    global window, text, status
    window = Gtk.ApplicationWindow(application=app, title="Letters", default_width=420, default_height=160)
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=8)
    text, status = Gtk.Entry(text="Dear customer"), Gtk.Label(label="Ready")
    box.append(text)
    for word, what in (
        ("Load letter", lambda _: choose(Gtk.FileChooserAction.OPEN, "Open a letter", "_Open", loaded)),
        ("Store letter", lambda _: choose(Gtk.FileChooserAction.SAVE, "Save the letter", "_Save", stored)),
    ):
        button = Gtk.Button(label=word)
        button.connect("clicked", what)
        box.append(button)
    box.append(status)
    window.set_child(box)
    window.present()


application = Gtk.Application()
application.connect("activate", started)
application.run()

"""A single-instance GTK program: a second start passes its file to the first over the session bus and ends."""

import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gio, Gtk  # noqa: E402


def opened(program: Gtk.Application, files: list[Gio.File], *_: object) -> None:
    window = Gtk.ApplicationWindow(application=program, title=f"{files[0].get_basename()} - Unique")
    window.set_default_size(300, 200)
    window.show_all()


program = Gtk.Application(application_id="org.example.Unique", flags=Gio.ApplicationFlags.HANDLES_OPEN)
program.connect("open", opened)
sys.exit(program.run(sys.argv))

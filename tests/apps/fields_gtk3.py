"""GTK 3 entries with labels that keep a typed text unchanged, complete it, or truncate it.

/usr/bin/python3 fields_gtk3.py
"""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

window, rows = Gtk.Window(title="Fields"), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
words, completion = Gtk.ListStore(str), Gtk.EntryCompletion(inline_completion=True, popup_completion=False)
words.append(["Apple"])
completion.set_model(words)
completion.set_text_column(0)
combo = Gtk.ComboBoxText.new_with_entry()
combo.append_text("Austria")
chat = Gtk.Entry()
chat.connect("activate", lambda entry: entry.set_text(""))
shouted = Gtk.Entry()
shouted.connect("activate", lambda entry: entry.set_text(entry.get_text().upper()))


def as_amount(entry: Gtk.Entry, _: object) -> None:
    amount = entry.get_text().replace(",", ".").removesuffix(" €")
    entry.set_text(f"{float(amount):.2f} €" if amount else "")


def without_letters(entry: Gtk.Entry, _: object) -> None:
    if not entry.get_text().isdigit():
        entry.set_text("")


wiped = Gtk.Entry()
wiped.connect("focus-out-event", without_letters)
price = Gtk.Entry()
price.connect("focus-out-event", as_amount)
town = Gtk.Entry()
town.connect("activate", lambda entry: entry.set_text("Berlin" if entry.get_text() == "Bern" else entry.get_text()))
number, twice = Gtk.SpinButton.new_with_range(0, 100, 1), Gtk.Entry(editable=False)
number.connect("changed", lambda spin: twice.set_text(str(2 * int(spin.get_text() or 0))))
fields = {
    "Plain": Gtk.Entry(),
    "Holder": Gtk.Entry(placeholder_text="Your name"),
    "Completed": Gtk.Entry(completion=completion),
    "Short": Gtk.Entry(max_length=4),
    "Number": number,
    "Country": combo,
    "Chat": chat,
    "Shouted": shouted,
    "Password": Gtk.Entry(visibility=False),
    "Notes": Gtk.TextView(),
    "Price": price,
    "Town": town,
    "Twice": twice,
    "Wiped": wiped,
}
for name, field in fields.items():
    label = Gtk.Label.new_with_mnemonic(f"_{name}")
    label.set_mnemonic_widget(field.get_child() if isinstance(field, Gtk.ComboBox) else field)
    rows.add(label)
    rows.add(field)
window.add(rows)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()

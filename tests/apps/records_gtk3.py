"""The program of orders in GTK 3, for Debian's Python with GTK bindings: records_gtk3.py STATE [--drift NAME]."""

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402
from records import SHIFT_MS, Buttons, Field, Row, Text, Value, started  # noqa: E402

desk = started()
look = desk.drift.look
PAD = round(look.pad * look.scale)
STYLE = f"""
* {{ font-family: "{look.font}"; font-size: {round(look.points * look.scale * 4 / 3)}px;
    font-weight: {"bold" if look.bold else "normal"}; color: {look.fore}; }}
window {{ background: {look.back}; }}
button {{ background: {look.back}; }}
button:disabled label {{ color: #a0a0a0; }}
entry {{ background: {look.field_back}; }}
"""
provider = Gtk.CssProvider()
provider.load_from_data(STYLE.encode())
Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), provider, Gtk.STYLE_PROVIDER_PRIORITY_USER)
window = Gtk.Window(title=look.title)
window.set_default_size(round(look.width * look.scale), round(look.height * look.scale))
window.move(*look.place)
fields: dict[str, Gtk.Entry] = {}


def draw() -> bool:
    """Draw the page again."""
    if window.get_child() is not None:
        window.remove(window.get_child())
    fields.clear()
    page = Gtk.Grid(row_spacing=PAD, column_spacing=2 * PAD, border_width=2 * PAD)
    for number, row in enumerate(desk.rows()):
        put(page, row, 2 * number)
    window.add(page)
    window.show_all()
    if desk.shifts:
        GLib.timeout_add(SHIFT_MS, shift)
    return False


def put(page: Gtk.Grid, row: Row, at: int) -> None:
    """Put one row of the page into its grid."""
    match row:
        case Text():
            page.attach(Gtk.Label(label=row.text, xalign=0), 0, at, 2, 1)
        case Value():
            page.attach(Gtk.Label(label=row.label, xalign=0, width_request=round(150 * look.scale)), 0, at, 1, 1)
            page.attach(Gtk.Label(label=row.text, xalign=0), 1, at, 1, 1)
        case Field():
            entry, said = Gtk.Entry(text=row.text, width_chars=24), Gtk.Label(label=row.label, xalign=0)
            said.set_mnemonic_widget(entry)
            page.attach(said, 0, at, 1, 1)
            page.attach(entry, *((0, at + 1) if look.above else (1, at)), 1, 1)
            fields[row.name] = entry
        case Buttons():
            box = Gtk.Box(spacing=PAD)
            for button in row.row:
                made = Gtk.Button(label=button.label, sensitive=button.enabled)
                made.connect("clicked", lambda _, what: press(what), button.press)
                box.add(made)
            page.attach(box, 0, at, 2, 1)


def press(what: str) -> None:
    """Perform a button's action, and show the result."""
    wait_ms = desk.press(what, {name: entry.get_text() for name, entry in fields.items()})
    if wait_ms:
        GLib.timeout_add(wait_ms, draw)
    else:
        draw()


def shift() -> bool:
    """Let the buttons change places."""
    desk.shifted = True
    typed = {name: entry.get_text() for name, entry in fields.items()}
    draw()
    for name, text in typed.items():
        fields[name].set_text(text)
    return False


window.connect("destroy", Gtk.main_quit)
draw()
Gtk.main()

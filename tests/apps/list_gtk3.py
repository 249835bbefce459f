"""A GTK 3 list like that of a file manager: an icon and a name in one column, a size in the next."""

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

window = Gtk.Window(title="Files")
window.set_default_size(500, 300)
window.connect("destroy", Gtk.main_quit)
rows = Gtk.ListStore(str, str, str)
for number in range(1, 100):
    rows.append(["text-x-generic", f"invoice-{number:02d}.txt", f"{number} bytes"])
tree = Gtk.TreeView(model=rows)
named, picture, name = Gtk.TreeViewColumn("Name"), Gtk.CellRendererPixbuf(), Gtk.CellRendererText()
named.pack_start(picture, False)
named.pack_start(name, True)
named.add_attribute(picture, "icon-name", 0)
named.add_attribute(name, "text", 1)
tree.append_column(named)
tree.append_column(Gtk.TreeViewColumn("Size", Gtk.CellRendererText(), text=2))
said = Gtk.Label(label="Nothing is chosen.")


def chosen(selection: Gtk.TreeSelection) -> None:
    """Show which row is selected."""
    model, row = selection.get_selected()
    if row is not None:
        said.set_text(f"{model[row][1]} is chosen.")


tree.get_selection().unselect_all()
tree.get_selection().connect("changed", chosen)
around = Gtk.ScrolledWindow()
around.add(tree)
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
box.pack_start(around, True, True, 0)
box.pack_start(said, False, False, 0)
window.add(box)
window.show_all()
Gtk.main()

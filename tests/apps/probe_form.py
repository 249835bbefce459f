"""A Tk form that keeps its widgets' boxes and the clicked names in a file: `probe_form.py STATE LOOK`.

LOOK is "classic" (bevels), "flat" (thin lines, filled buttons) or "dark".
"""

import json
import sys
import tkinter as tk
from pathlib import Path

LOOKS = {
    "classic": {"ground": "#d9d9d9", "ink": "#000000", "field": "#ffffff", "face": "#d9d9d9", "go": "#d9d9d9"},
    "flat": {"ground": "#f7f7f8", "ink": "#20242a", "field": "#ffffff", "face": "#e9eaec", "go": "#1a66d6"},
    "dark": {"ground": "#1f2228", "ink": "#e4e6ea", "field": "#2b2f37", "face": "#3a404b", "go": "#2f6fd0"},
}
state, look = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "classic"
style = LOOKS[look]
classic = look == "classic"
root = tk.Tk()
root.title("Order entry")
root.geometry("900x640+120+60")
root.tk.call("tk", "scaling", 96 / 72)
font, small = ("DejaVu Sans", 11), ("DejaVu Sans", 10)
root.configure(background=style["ground"])
root.option_add("*Font", font)
root.option_add("*Background", style["ground"])
root.option_add("*Foreground", style["ink"])
root.option_add("*activeBackground", style["face"])
root.option_add("*activeForeground", style["ink"])
root.option_add("*selectColor", style["field"])
root.option_add("*highlightBackground", style["ground"])
parts = {}
clicked = []


def known(name, widget):
    """Register a widget by name; clicks on it are recorded."""
    parts[name] = widget
    widget.bind("<Button-1>", lambda event: hit(name))
    return widget


def hit(name):
    clicked.append(name)
    save()
    return "break"


def entry(parent, text=""):
    made = tk.Entry(parent, width=26, background=style["field"], insertbackground=style["ink"])
    if not classic:
        made.configure(relief="flat", highlightthickness=1, highlightbackground="#8b919c", borderwidth=4)
    made.insert(0, text)
    return made


def button(parent, text, main=False, **options):
    made = tk.Button(parent, text=text, background=style["go" if main else "face"], **options)
    if classic:
        made.configure(borderwidth=2, relief="raised")
    else:
        made.configure(borderwidth=0, relief="flat", highlightthickness=0, padx=14, pady=7)
        if main:
            made.configure(foreground="#ffffff")
    return made


def icon(kind):
    """Return a drawing of 20 x 20 pixels, like an icon of a tool bar."""
    image = tk.PhotoImage(width=20, height=20)
    ink = style["ink"]
    for y in range(20):
        for x in range(20):
            drawn = {
                "plus": (8 <= x <= 11 and 2 <= y <= 17) or (8 <= y <= 11 and 2 <= x <= 17),
                "ring": 36 <= (x - 9.5) ** 2 + (y - 9.5) ** 2 <= 81,
                "arrow": abs(y - 9.5) <= (x - 3) * 0.6 and 3 <= x <= 16,
                "bars": y % 6 in (2, 3) and 2 <= x <= 17,
                "cross": abs(x - y) <= 2 or abs(x + y - 19) <= 2,
            }[kind]
            if drawn:
                image.put(ink, (x, y))
    return image


tools = tk.Frame(root, relief="raised" if classic else "flat", borderwidth=1)
tools.pack(fill="x")
images = {kind: icon(kind) for kind in ("plus", "ring", "arrow", "bars", "cross")}
for kind, image in images.items():
    known(f"tool:{kind}", button(tools, "", image=image, width=26, height=26)).pack(side="left", padx=4, pady=4)
    if not classic:
        parts[f"tool:{kind}"].configure(padx=2, pady=2, background=style["ground"])

form = tk.Frame(root)
form.pack(anchor="nw", padx=24, pady=16, fill="x")
for row, (name, text) in enumerate([("Customer", ""), ("Order number", "PO-2291"), ("Amount", "1,284.50")]):
    tk.Label(form, text=name).grid(row=row, column=0, sticky="w", padx=(0, 20), pady=5)
    known(f"field:{name}", entry(form, text)).grid(row=row, column=1, sticky="w")
tk.Label(form, text="Remarks").grid(row=3, column=0, sticky="nw", pady=5)
remarks = tk.Text(form, width=26, height=3, background=style["field"], insertbackground=style["ink"])
if not classic:
    remarks.configure(relief="flat", highlightthickness=1, highlightbackground="#8b919c", borderwidth=4)
known("field:Remarks", remarks).grid(row=3, column=1, sticky="w", pady=5)

choices = tk.Frame(form)
choices.grid(row=0, column=2, rowspan=4, sticky="nw", padx=50)
ticks = [tk.BooleanVar(value=n == 1) for n in range(3)]
for name, tick in zip(["Express delivery", "Gift wrapping", "Send a copy"], ticks, strict=True):
    known(f"check:{name}", tk.Checkbutton(choices, text=name, variable=tick)).pack(anchor="w", pady=2)
paid = tk.StringVar(value="Card")
for name in ("Cash", "Card", "Bank transfer"):
    known(f"radio:{name}", tk.Radiobutton(choices, text=name, value=name, variable=paid)).pack(anchor="w", pady=2)

table = tk.Frame(root, background="#8b919c", borderwidth=1)
table.pack(anchor="nw", padx=24, pady=8)
rows = [
    ("Item", "Quantity", "Price"),
    ("Paper A4", "12", "4.20"),
    ("Toner black", "2", "61.00"),
    ("Envelopes", "100", "7.95"),
]
for y, cells in enumerate(rows):
    for x, text in enumerate(cells):
        ground = style["face"] if y == 0 else style["field"]
        cell = tk.Label(table, text=text, width=(24, 10, 10)[x], anchor="w", background=ground, padx=6, pady=3)
        known(f"cell:{text}", cell).grid(row=y, column=x, padx=(0, 1), pady=(0, 1))

foot = tk.Frame(root)
foot.pack(side="bottom", fill="x", padx=24, pady=16)
for name in ("Save", "Save and close", "Cancel", "Help"):
    known(f"button:{name}", button(foot, name, main=name == "Save")).pack(side="left", padx=(0, 10))
off = button(foot, "Print", state="disabled")
off.pack(side="right")


def save(*_):
    root.update_idletasks()
    found = {
        "clicked": clicked,
        "at": {
            name: [part.winfo_rootx(), part.winfo_rooty(), part.winfo_width(), part.winfo_height()]
            for name, part in parts.items()
        },
    }
    state.with_suffix(".new").write_text(json.dumps(found))
    state.with_suffix(".new").replace(state)


root.bind("<Configure>", lambda event: root.after_idle(save))
root.mainloop()

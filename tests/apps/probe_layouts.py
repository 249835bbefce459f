"""Tk forms that keep their fields' contents in a file: `probe_layouts.py STATE`.

The file STATE.order has the name of the form to show.
"""

import json
import sys
import tkinter as tk
from pathlib import Path

state = Path(sys.argv[1])
root = tk.Tk()
root.title("Layouts")
root.geometry("860x420+50+50")
FONT = ("DejaVu Sans", 12)
fields, shown = {}, ""


def field(name, x, y, width=26, **options):
    fields[name] = tk.Entry(root, bg="white", width=width, font=FONT, **options)
    fields[name].place(x=x, y=y)
    return fields[name]


def label(text, x, y, **options):
    found = tk.Label(root, text=text, font=FONT, **options)
    found.place(x=x, y=y)
    return found


def beside():
    label("Password", 40, 40)
    field("password", 160, 38)
    label("Comment", 40, 80)
    field("comment", 160, 78)
    tk.Button(root, text="Log in", font=FONT).place(x=40, y=120)


def above():
    label("Log in to the portal", 160, 10)
    label("User", 160, 40)
    field("user", 160, 64)
    label("Password", 160, 100)
    field("password", 160, 124, show="*")
    tk.Button(root, text="Show", font=FONT).place(x=420, y=98)


def narrow():
    """A password field that looks the same with one character more once it is full, and a changing hint."""
    label("Password", 40, 40)
    password = field("password", 160, 38, 8, show="*")
    hint = label("empty", 400, 40)
    password.bind("<KeyRelease>", lambda event: hint.configure(text=f"strength {len(password.get())}"))


def note():
    label("Password", 40, 40)
    field("password", 160, 38)
    field("comment", 40, 76, 60)


def written():
    label("User", 40, 40)
    field("user", 160, 38)
    label("Comment", 40, 80)
    field("comment", 160, 78)


def same_row():
    label("Password", 40, 40)
    field("password", 160, 38, 14)
    field("comment", 340, 38, 20)


def below():
    label("Password", 160, 20)
    field("password", 160, 46)
    field("comment", 160, 84)


def disabled():
    label("Comment", 40, 40)
    field("comment", 160, 38)
    label("Password", 40, 160)
    field("password", 160, 158).configure(state="disabled", disabledbackground="white")


def moves_on():
    beside()
    password = fields["password"]
    password.bind("<KeyRelease>", lambda event: len(password.get()) >= 8 and fields["comment"].focus_set())


def save():
    global shown
    order = state.with_suffix(".order")
    name = order.read_text() if order.exists() else ""
    if name and name != shown:
        for widget in root.winfo_children():
            widget.destroy()
        fields.clear()
        globals()[name]()
        root.update()
        shown = name
    found = {
        "layout": shown,
        "fields": {each: entry.get() for each, entry in fields.items()},
        "at": {each: [e.winfo_rootx() + 60, e.winfo_rooty() + 12] for each, e in fields.items()},
    }
    state.with_suffix(".new").write_text(json.dumps(found))
    state.with_suffix(".new").replace(state)
    root.after(20, save)


save()
root.mainloop()

"""Three Tk fields that keep their contents in a file: `probe_fields.py STATE [LATE_MS]`.

With a number of milliseconds the first field shows typed text only after that delay.
"""

import json
import sys
import tkinter as tk
from pathlib import Path
from tkinter import ttk

state = Path(sys.argv[1])
root = tk.Tk()
root.title("Fields")
root.geometry("700x400+100+100")

entry, themed, text = tk.Entry(root, width=80), ttk.Entry(root, width=80), tk.Text(root, width=80, height=12)
fields = {"entry": entry, "themed": themed, "text": text}
button = tk.Button(root, text="Nothing", takefocus=True)
for widget in (*fields.values(), button):
    widget.pack(padx=10, pady=8)
entered = []
waiting = False


def content(field):
    return field.get("1.0", "end-1c") if isinstance(field, tk.Text) else field.get()


def save(*_):
    global waiting
    waiting = False
    focus = root.focus_get()
    found = {
        "fields": {name: content(field) for name, field in fields.items()},
        "focus": next((name for name, field in fields.items() if field is focus), str(focus)),
        "entered": entered,
        "at": {
            name: [f.winfo_rootx() + 20, f.winfo_rooty() + 8, f.winfo_rootx(), f.winfo_rooty()]
            for name, f in fields.items()
        },
    }
    state.with_suffix(".new").write_text(json.dumps(found))
    state.with_suffix(".new").replace(state)


def soon(*_):
    global waiting
    if not waiting:
        waiting = True
        root.after_idle(save)


def insert_late(event):
    if not event.char.isprintable() or not event.char:
        return None
    root.after(int(sys.argv[2]), entry.insert, "end", event.char)
    root.after(int(sys.argv[2]), soon)
    return "break"


if len(sys.argv) > 2:
    entry.bind("<Key>", insert_late)
entry.bind("<Return>", lambda event: entered.append(entry.get()))
for field in fields.values():
    for happening in ("<Key>", "<KeyRelease>", "<FocusIn>", "<<Paste>>"):
        field.bind(happening, soon, add=True)
root.bind("<Configure>", soon)
root.mainloop()

"""A Tk form that shows the typed text in red, and no other text so: `probe_secret.py STATE widget|drawn [SHOW]`.

The first field is a widget, or is drawn on the program's only window, as browsers do. Keys change its display: F2
scrolls, F3 zooms, F4 changes the colors, F5 opens another window with the same value, F6 greets with the value, F7
reveals the text behind SHOW, F8 clears the field, Ctrl+Z restores it, F9 shows another page, F11 a hint over it.
"""

import json
import sys
import tkinter as tk
from pathlib import Path

state, kind, show = Path(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:])
LIGHT, DARK = ("white", "black", "#c00000"), ("#202020", "#e0e0e0", "#ff7070")
root = tk.Tk()
root.title("Secret")
root.geometry("520x340+60+60")
value = tk.StringVar()
look = {"down": 0, "size": 11, "colours": LIGHT, "show": show, "page": 1, "greets": False, "hint": False}
before = [""]
page = tk.Canvas(root, highlightthickness=0)
page.pack(fill="both", expand=True)
entry = tk.Entry(page, textvariable=value, width=34, show=show)
notes = tk.Entry(page, width=34)
others = []


def font(more=0):
    return ("DejaVu Sans", look["size"] + more)


def draw():
    paper, ink, red = look["colours"]
    page.delete("all")
    page.configure(background=paper)
    top, unit = 60 - look["down"], look["size"] * 2 + 8
    if look["page"] == 2:
        for line in range(9):
            page.create_text(
                40, 30 + 36 * line, text=f"Ledger entry {line} was posted", anchor="nw", fill=ink, font=font()
            )
        return
    page.create_text(30, top, text="Access token", anchor="nw", fill=ink, font=font())
    if kind == "widget":
        entry.configure(font=font(), foreground=red, background=paper, show=look["show"])
        page.create_window(30, top + unit, window=entry, anchor="nw")
    else:
        page.create_rectangle(30, top + unit, 420, top + 2 * unit - 4, outline=ink, fill=paper, tags="field")
        shown = look["show"] * len(value.get()) if look["show"] else value.get()
        text = page.create_text(38, top + unit + 5, text=shown, anchor="nw", fill=red, font=font())
        if drawn_has_keys():
            right = page.bbox(text)[2] + 1 if shown else 39
            page.create_rectangle(right, top + unit + 4, right + 1, top + 2 * unit - 9, fill=ink, outline=ink)
    page.create_text(30, top + 2 * unit + 10, text="Notes", anchor="nw", fill=ink, font=font())
    notes.configure(font=font(), foreground=ink, background=paper)
    page.create_window(30, top + 3 * unit, window=notes, anchor="nw")
    page.create_text(30, top + 4 * unit + 20, text="The token is in your welcome letter.", anchor="nw", fill=ink)
    if look["greets"]:
        hello = page.create_text(30, top + 6 * unit, text="Hello ", anchor="nw", fill=ink, font=font(4))
        left = page.bbox(hello)[2]
        page.create_text(left, top + 6 * unit, text=value.get(), anchor="nw", fill=red, font=font(4))
    if look["hint"]:
        page.create_rectangle(120, top + unit - 30, 500, top + 3 * unit, fill="#ffffa0", outline=ink)
        if kind == "widget":
            page.delete("all")
            page.create_text(40, 40, text="A hint", anchor="nw")


def drawn_has_keys():
    return kind == "drawn" and root.focus_get() is page


def change(**how):
    look.update(how)
    draw()


def window():
    other = tk.Toplevel(root)
    other.geometry("380x120+620+420")
    tk.Entry(other, textvariable=value, width=30, font=font(), foreground=look["colours"][2]).pack(pady=30)
    others.append(other)


def clear():
    before[0] = value.get()
    value.set("")
    draw()


def undo(event=None):
    value.set(before[0])
    draw()
    return "break"


def key(event):
    if event.char and event.char.isprintable():
        value.set(value.get() + event.char)
        draw()


def save(*_):
    root.update_idletasks()
    top = root.winfo_rooty() + 60 - look["down"] + look["size"] * 2 + 8
    found = {
        "value": value.get(),
        "field": [root.winfo_rootx() + 150, top + 12],
        "notes": [notes.winfo_rootx() + 20, notes.winfo_rooty() + 8],
    }
    state.with_suffix(".new").write_text(json.dumps(found))
    state.with_suffix(".new").replace(state)
    root.after(30, save)


page.bind("<Button-1>", lambda event: (page.focus_set(), draw()) if kind == "drawn" else None)
page.bind("<Key>", key)
for event in ("<FocusIn>", "<FocusOut>"):
    page.bind(event, lambda event: draw())
keys = {
    "<F2>": lambda e: change(down=look["down"] + 30),
    "<F3>": lambda e: change(size=13),
    "<F4>": lambda e: change(colours=DARK),
    "<F5>": lambda e: window(),
    "<F6>": lambda e: change(greets=True),
    "<F7>": lambda e: change(show=""),
    "<F8>": lambda e: clear(),
    "<F9>": lambda e: change(page=2),
    "<F11>": lambda e: change(hint=True),
    "<F12>": lambda e: (
        change(down=0, size=11, colours=LIGHT, page=1, greets=False, hint=False),
        [o.destroy() for o in others],
    ),
    "<Control-z>": undo,
}
for sequence, does in keys.items():
    root.bind_all(sequence, does)
draw()
save()
root.mainloop()

"""A small form with a password: saved values go to FILE, positions of widgets to PLACES, as JSON.

supplier_tk.py FILE PLACES
"""

import json
import sys
import tkinter as tk
from pathlib import Path

FILE, PLACES = Path(sys.argv[1]), Path(sys.argv[2])
FONT = ("DejaVu Sans", 12)

root = tk.Tk()
root.title("Suppliers")
root.geometry("420x220")
form, saved = tk.Frame(root), tk.Frame(root)


def field(label: str, row: int, **how: str) -> tk.Entry:
    tk.Label(form, text=label, font=FONT).grid(row=row, column=0, padx=16, pady=6, sticky="w")
    entry = tk.Entry(form, font=FONT, bg="white", **how)
    entry.grid(row=row, column=1)
    return entry


def save() -> None:
    FILE.write_text(f"{name.get()}|{password.get()}", encoding="utf-8")
    form.pack_forget()
    saved.pack()


def tell() -> None:
    held = {"Name": name, "Password": password, "Save": button} if form.winfo_ismapped() else {}
    places = {
        label: (each.winfo_rootx() + each.winfo_width() // 2, each.winfo_rooty() + each.winfo_height() // 2)
        for label, each in held.items()
    }
    draft = PLACES.with_suffix(".draft")
    draft.write_text(json.dumps(places))
    draft.replace(PLACES)
    root.after(100, tell)


tk.Label(form, text="NEW SUPPLIER", font=("DejaVu Sans", 14, "bold")).grid(row=0, column=0, columnspan=2, pady=8)
name, password = field("Name", 1), field("Password", 2, show="•")
button = tk.Button(form, text="Save", font=FONT, command=save)
button.grid(row=3, column=1, pady=8)
tk.Label(saved, text="SUPPLIER SAVED", font=("DejaVu Sans", 14, "bold")).pack(pady=30)
tk.Label(saved, text="It has number 4711", font=FONT).pack()
form.pack()
root.after(100, tell)
root.mainloop()

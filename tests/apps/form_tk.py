"""The small form of `form_gtk3` in Tk, which has no accessibility tree. It writes its events to FILE.

F9 opens a tip.

python form_tk.py [FILE]
"""

import sys
import tkinter
from pathlib import Path

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def done(what: str) -> None:
    if FILE is not None:
        with FILE.open("a") as file:
            file.write(what + "\n")


def save() -> None:
    done(f"saved {name.get()}")
    status.config(text="Stored it")


def tip(_: object) -> None:
    shown = tkinter.Toplevel(window)
    shown.title("Tip")
    tkinter.Label(shown, text="Names can be sorted.").pack(padx=16, pady=8)
    tkinter.Button(shown, text="Got it", command=shown.destroy, padx=16, pady=6).pack(pady=8)


window = tkinter.Tk()
window.title("Supplier form")
window.geometry("480x300")
window.option_add("*font", "Helvetica 14")
name, password = tkinter.Entry(window), tkinter.Entry(window, show="*")
name.insert(0, "Ada Supplies")
password.insert(0, "tulip-7-secret")
for row, (label, field) in enumerate((("Name", name), ("Password", password))):
    tkinter.Label(window, text=label).grid(row=row, column=0, padx=8, pady=8)
    field.grid(row=row, column=1)
tkinter.Checkbutton(window, text="Urgent").grid(row=2, column=1)
buttons = tkinter.Frame(window)
for label, action in (("Save", save), ("Don't save", lambda: done("not saved")), ("Close", window.destroy)):
    tkinter.Button(buttons, text=label, command=action, padx=16, pady=6).pack(side="left", padx=8)
buttons.grid(row=3, column=0, columnspan=2, pady=8)
status = tkinter.Label(window, text="Ready.")
status.grid(row=4, column=0, columnspan=2)
window.bind("<F9>", tip)
window.mainloop()

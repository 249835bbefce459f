"""A program with an action on close: `saves` writes FILE, `asks` opens a dialog, `deaf` does nothing."""

import pathlib
import sys
import tkinter

kind, file = sys.argv[1], pathlib.Path(sys.argv[2])
window = tkinter.Tk()
window.title("Closing")
window.geometry("300x200+20+20")


def save() -> None:
    file.write_text("saved")
    window.destroy()


def ask() -> None:
    dialog = tkinter.Toplevel(window)
    dialog.title("Save changes?")
    dialog.transient(window)
    tkinter.Button(dialog, text="Yes", command=save).pack()
    dialog.grab_set()


if kind != "plain":
    window.protocol("WM_DELETE_WINDOW", {"saves": save, "asks": ask, "deaf": lambda: None}[kind])
window.mainloop()

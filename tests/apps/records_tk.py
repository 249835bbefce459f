"""The program of orders in Tk: records_tk.py STATE [--drift NAME]."""

import tkinter as tk

from records import SHIFT_MS, Buttons, Field, Row, Text, Value, started

desk = started()
look = desk.drift.look
window = tk.Tk()
window.title(look.title)
window.geometry(f"{round(look.width * look.scale)}x{round(look.height * look.scale)}+{look.place[0]}+{look.place[1]}")
window.configure(bg=look.back)
# Sizes in pixels, because Tk's size of a point depends on the screen.
FONT = (look.font, -round(look.points * look.scale * 4 / 3), "bold" if look.bold else "normal")
PAD = round(look.pad * look.scale)
COLORS = {"bg": look.back, "fg": look.fore, "font": FONT}
fields: dict[str, tk.Entry] = {}


def draw() -> None:
    """Draw the page again."""
    for child in window.winfo_children():
        child.destroy()
    fields.clear()
    page = tk.Frame(window, bg=look.back)
    page.pack(anchor="nw", padx=2 * PAD, pady=2 * PAD)
    page.grid_columnconfigure(0, minsize=round(150 * look.scale))
    for number, row in enumerate(desk.rows()):
        put(page, row, 2 * number)
    if desk.shifts:
        window.after(SHIFT_MS, shift)


def put(page: tk.Frame, row: Row, at: int) -> None:
    """Put one row of the page into its grid."""
    beside = {"padx": PAD, "pady": PAD, "sticky": "w"}
    match row:
        case Text():
            tk.Label(page, text=row.text, **COLORS).grid(row=at, column=0, columnspan=2, **beside)
        case Value():
            tk.Label(page, text=row.label, **COLORS).grid(row=at, column=0, **beside)
            tk.Label(page, text=row.text, **COLORS).grid(row=at, column=1, **beside)
        case Field():
            tk.Label(page, text=row.label, **COLORS).grid(row=at, column=0, **beside)
            entry = tk.Entry(page, font=FONT, bg=look.field_back, fg=look.fore, insertbackground=look.fore, width=24)
            entry.insert(0, row.text)
            under = (at + 1, 0) if look.above else (at, 1)
            entry.grid(row=under[0], column=under[1], **beside)
            fields[row.name] = entry
        case Buttons():
            box = tk.Frame(page, bg=look.back)
            box.grid(row=at, column=0, columnspan=2, sticky="w")
            for button in row.row:
                state = "normal" if button.enabled else "disabled"
                made = tk.Button(box, text=button.label, state=state, **COLORS)
                made.configure(command=lambda what=button.press: press(what))
                made.pack(side="left", padx=PAD, pady=PAD)


def press(what: str) -> None:
    """Perform a button's action, and show the result."""
    window.after(desk.press(what, {name: entry.get() for name, entry in fields.items()}), draw)


def shift() -> None:
    """Let the buttons change places."""
    desk.shifted = True
    typed = {name: entry.get() for name, entry in fields.items()}
    draw()
    for name, text in typed.items():
        fields[name].insert(0, text)


draw()
window.mainloop()

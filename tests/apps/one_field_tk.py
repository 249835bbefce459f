"""A Tk table and a field of each kind; a file has their contents and positions.

The table is drawn on a canvas, like other Tk tables. Arrow keys move its cursor, with Shift they select, Delete empties
all selected cells, and a character replaces the cell's text. With ``--spinner`` a mark rotates above it all the time.

one_field_tk.py STATE [--spinner]
"""

import json
import sys
import tkinter as tk
from pathlib import Path
from tkinter import ttk

STATE = Path(sys.argv[1])
LINES = "first\n\nthird\nfourth\n"
ROWS, COLUMNS, WIDE, HIGH = 4, 3, 110, 24

root = tk.Tk()
root.title("One field")
cells = [[f"r{row}c{column}" for column in range(COLUMNS)] for row in range(ROWS)]
cursor, anchor = [1, 1], [1, 1]
turning = tk.Canvas(root, width=40, height=40)
if "--spinner" in sys.argv:
    turning.pack()
table = tk.Canvas(root, width=COLUMNS * WIDE, height=ROWS * HIGH, background="white", takefocus=True)


def selected():
    rows, columns = zip(cursor, anchor, strict=True)
    return [
        (row, column) for row in range(min(rows), max(rows) + 1) for column in range(min(columns), max(columns) + 1)
    ]


def draw():
    table.delete("all")
    chosen = selected()
    for row in range(ROWS):
        for column in range(COLUMNS):
            left, top = column * WIDE, row * HIGH
            fill = "#aaccff" if (row, column) in chosen else "white"
            table.create_rectangle(left, top, left + WIDE, top + HIGH, outline="grey", fill=fill)
            table.create_text(left + 6, top + HIGH // 2, text=cells[row][column], anchor="w")


def key(event):
    shift, control = event.state & 1, event.state & 4
    moves = {"Left": (0, -1), "Right": (0, 1), "Up": (-1, 0), "Down": (1, 0)}
    row, column = cursor
    if event.keysym.startswith(("Shift", "Control")):
        return None
    if event.keysym in moves:
        down, right = moves[event.keysym]
        row, column = row + down, column + right
    elif event.keysym == "Home":
        row, column = 0 if control else row, 0
    elif event.keysym == "End":
        row, column = ROWS - 1 if control else row, COLUMNS - 1
    elif event.keysym == "Delete":
        for each_row, each_column in selected():
            cells[each_row][each_column] = ""
        return draw()
    elif event.char and event.char.isprintable():
        cells[row][column] = event.char
        return draw()
    cursor[:] = [min(max(row, 0), ROWS - 1), min(max(column, 0), COLUMNS - 1)]
    if not shift:
        anchor[:] = cursor
    return draw()


def press(event):
    table.focus_set()
    cursor[:] = [event.y // HIGH, event.x // WIDE]
    anchor[:] = cursor
    draw()


def turn(angle=0):
    turning.delete("all")
    turning.create_arc(4, 4, 36, 36, start=angle, extent=90, fill="#cc0066")
    root.after(70, turn, (angle + 31) % 360)


table.bind("<Key>", key)
table.bind("<Button-1>", press)
draw()
entry, empty, area = tk.Entry(root, width=40), ttk.Entry(root, width=40), tk.Text(root, width=50, height=6)
entry.insert(0, "held before")
area.insert("1.0", LINES)
spin = tk.Spinbox(root, from_=0, to=1000)
spin.delete(0, "end")
spin.insert(0, "12")
combo = ttk.Combobox(root, values=["one", "two", "three"])
combo.set("two")
fields = {"table": table, "entry": entry, "empty": empty, "area": area, "spin": spin, "combo": combo}
for widget in fields.values():
    widget.pack(padx=8, pady=6)


def place(widget):
    return [widget.winfo_rootx() + 30, widget.winfo_rooty() + widget.winfo_height() // 2 - 4]


def tell():
    told = {
        "cells": cells,
        "fields": {
            name: area.get("1.0", "end-1c") if widget is area else widget.get()
            for name, widget in fields.items()
            if widget is not table
        },
        "at": {
            name: [each.winfo_rootx() + 30, each.winfo_rooty() + each.winfo_height() // 2 - 4]
            for name, each in fields.items()
        },
    }
    told["at"]["table"] = [table.winfo_rootx() + WIDE + 30, table.winfo_rooty() + HIGH + 12]
    STATE.with_suffix(".new").write_text(json.dumps(told))
    STATE.with_suffix(".new").replace(STATE)
    root.after(100, tell)


turn()
tell()
root.mainloop()

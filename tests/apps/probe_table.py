"""A window full of numbers, as dense as a spreadsheet, for the benchmark of picture quality.

Run as a program of its own, it fills the screen. `cell` gives each number's position, the same in every run.
"""

from __future__ import annotations

import random

CELL_WIDTH, CELL_HEIGHT = 96, 18
FONT_PIXELS = 12


def number(column: int, row: int) -> str:
    """Return the text of a cell: seven digits as money."""
    value = random.Random(column * 10_000 + row).randrange(1_000_000, 10_000_000)
    return f"{value // 100:,}.{value % 100:02d}"


def cell(column: int, row: int) -> tuple[int, int, int, int]:
    """Return a cell's left, top, width and height on the screen."""
    return column * CELL_WIDTH, row * CELL_HEIGHT, CELL_WIDTH, CELL_HEIGHT


def main() -> None:
    import tkinter as tk

    window = tk.Tk()
    window.title("Table")
    window.attributes("-fullscreen", True)
    canvas = tk.Canvas(window, background="white", highlightthickness=0)
    canvas.pack(fill="both", expand=True)
    wide, high = window.winfo_screenwidth(), window.winfo_screenheight()
    for row in range(high // CELL_HEIGHT):
        left, top, _, _ = cell(0, row)
        shade = "#eef2f7" if row % 2 else "white"
        canvas.create_rectangle(left, top, wide, top + CELL_HEIGHT, fill=shade, outline="")
        for column in range(wide // CELL_WIDTH):
            left, top, width, _ = cell(column, row)
            canvas.create_text(
                left + width - 8,
                top + CELL_HEIGHT // 2,
                text=number(column, row),
                anchor="e",
                font=("DejaVu Sans Mono", -FONT_PIXELS),
            )
    for column in range(wide // CELL_WIDTH):
        canvas.create_line(column * CELL_WIDTH, 0, column * CELL_WIDTH, high, fill="#c8ccd4")
    window.mainloop()


if __name__ == "__main__":
    main()

"""A window with one big button that counts its clicks at once, for benchmarks and loop tests.

Run it as a program of its own. With a file name as argument it writes the count there after every click.
"""

from __future__ import annotations

import sys
import tkinter as tk
from pathlib import Path


def main() -> None:
    window = tk.Tk()
    window.title("Counter")
    window.geometry("500x300+200+150")
    count = tk.IntVar(value=0)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else None

    def click() -> None:
        count.set(count.get() + 1)
        if target is not None:
            target.write_text(str(count.get()))

    tk.Label(window, textvariable=count, font=("DejaVu Sans", 40)).pack()
    tk.Button(window, text="Count", font=("DejaVu Sans", 20), command=click).pack(fill="both", expand=True)
    window.mainloop()


if __name__ == "__main__":
    main()

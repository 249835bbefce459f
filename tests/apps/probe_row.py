"""A Tk row with a key and a button: `probe_row.py arrive|tooltip|color FILE`. The button writes the key to the file.

When the pointer enters the button, the key changes (arrive), gets another color, or a window covers it (tooltip).
"""

import sys
import tkinter as tk
from pathlib import Path

mode, told = sys.argv[1:]
root = tk.Tk()
root.geometry("400x200+40+40")
key = tk.Label(root, text="AB-1207", font=("sans", 16), background="white")
key.place(x=20, y=60, width=140, height=40)


def pay():
    with Path(told).open("a") as out:
        print(key["text"], file=out)


def change(*_):
    if mode == "color":
        key.configure(background="#cde")
    elif mode == "tooltip":
        tip = tk.Toplevel(root)
        tip.overrideredirect(True)
        tip.geometry("160x60+50+90")
        tk.Label(tip, text="Pays this order").pack()
    else:
        key.configure(text="CD-3391")


button = tk.Button(root, text="Pay", command=pay)
button.place(x=200, y=60, width=120, height=40)
button.bind("<Enter>", change, add=True)
root.mainloop()

"""A Tk window with different kinds of repaints: `probe_repaints.py slow|busy|spinner|caret|digit|late`.

A click finally turns the left half green. The modes differ in the delay and in the repaints meanwhile. The right part
contains the moving parts.
"""

import sys
import time
import tkinter as tk

mode = sys.argv[1]
root = tk.Tk()
root.title("Repaints")
root.geometry("600x400+50+50")
canvas = tk.Canvas(root, background="white", highlightthickness=0)
canvas.pack(fill="both", expand=True)
half = canvas.create_rectangle(0, 0, 300, 400, fill="white", outline="")
label = canvas.create_text(150, 200, text="0", font=("Monospace", 14))
moving = canvas.create_rectangle(0, 0, 0, 0, fill="black", outline="")


def green(_=None):
    canvas.itemconfigure(half, fill="#00ff00", outline="")


def clicked(_):
    if mode == "slow":  # in four pieces, 30 ms apart
        for piece in range(4):
            root.after(
                30 * piece,
                lambda p=piece: canvas.create_rectangle(0, p * 100, 300, p * 100 + 100, fill="#00ff00", outline=""),
            )
    elif mode == "busy":  # draws the press at once, then works before its reaction
        canvas.itemconfigure(half, fill="yellow")
        root.update_idletasks()
        time.sleep(0.7)
        green()
    elif mode == "digit":
        root.after(60, lambda: canvas.itemconfigure(label, text="1", fill="#00ff00"))
    elif mode == "late":  # like a page that arrives over the network
        root.after(150, green)
    elif mode == "close":
        root.destroy()
    else:
        green()


def spin(step=0):
    size = 300 if mode == "spinner" else 6
    shift = step % 2 if mode == "caret" else step % 50
    canvas.coords(moving, 310 + shift, 10, 310 + shift + size, 10 + size)
    root.after(20, spin, step + 1)


canvas.bind("<ButtonRelease>", clicked)
if mode in ("spinner", "caret"):
    spin()
root.mainloop()

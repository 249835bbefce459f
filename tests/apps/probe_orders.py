"""A window with a field and a button; the button opens another window whose title is the field's text."""

from __future__ import annotations

import tkinter as tk

FONT = ("DejaVu Sans", 14)


def main() -> None:
    root = tk.Tk()
    root.title("Order Desk")
    root.geometry("470x220+20+40")
    tk.Label(root, text="FIND AN ORDER", font=FONT).place(x=20, y=20)
    tk.Label(root, text="Order number", font=FONT).place(x=20, y=80)
    entry = tk.Entry(root, font=FONT, width=14, insertofftime=0)
    entry.place(x=230, y=80)

    def show() -> None:
        window = tk.Toplevel(root)
        window.title(f"Order {entry.get()}")
        window.geometry("420x220+40+300")
        tk.Label(window, text="ORDER RECORD", font=FONT).place(x=20, y=20)
        tk.Label(window, text="Customer", font=FONT).place(x=20, y=80)
        tk.Label(window, text="Kite Supplies", font=FONT).place(x=230, y=80)

    tk.Button(root, text="Open order", font=FONT, command=show).place(x=230, y=140)
    root.mainloop()


if __name__ == "__main__":
    main()

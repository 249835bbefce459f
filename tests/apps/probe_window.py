"""A Tk window with a title and position: `probe_window.py TITLE GEOMETRY`. The right button opens a menu."""

import sys
import tkinter as tk

root = tk.Tk()
root.title(sys.argv[1])
root.geometry(sys.argv[2])
tk.Entry(root).pack(padx=20, pady=20)
menu = tk.Menu(root, tearoff=False)
for number in range(12):
    menu.add_command(label=f"a long entry of a menu, number {number}")
root.bind("<Button-3>", lambda event: menu.tk_popup(event.x_root, event.y_root))
root.mainloop()

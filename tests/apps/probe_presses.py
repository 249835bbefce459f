"""Controls that change on a press, each in its own way: `probe_presses.py LOG`. LOG begins with their positions."""

import json
import sys
import tkinter as tk
from pathlib import Path
from tkinter import ttk

LOG = sys.argv[1]
root = tk.Tk()
root.geometry("900x640+20+30")


def say(*what):
    with Path(LOG).open("a") as log:
        log.write(json.dumps(what) + "\n")


def put(name, widget, x, y, width, height, at=None):
    widget.place(x=x, y=y, width=width, height=height)
    places[name] = (widget, at or (width // 2, height // 2))


places = {}
becoming = tk.Button(root, text="Next")


def become():
    say("next")
    becoming.configure(text="Delete all", command=lambda: say("delete all"))


becoming.configure(command=become)
put("next", becoming, 20, 20, 160, 40)
slow = tk.Button(root, text="Proceed")


def become_late():
    say("proceed")
    root.after(600)
    slow.configure(text="Erase it", command=lambda: say("erase"))


slow.configure(command=become_late)
put("slow", slow, 200, 20, 160, 40)
wide = tk.Button(root, text="Next")
wide.configure(command=lambda: (say("wide"), wide.configure(text="Delete", command=lambda: say("wide delete"))))
put("wide", wide, 380, 20, 500, 40, at=(20, 20))

put("button", tk.Button(root, text="One more", command=lambda: say("more")), 20, 80, 160, 40)
toggle = tk.Checkbutton(root, text="Stays down", indicatoron=False, command=lambda: say("toggled"))
put("toggle", toggle, 200, 80, 160, 40)
themed = ttk.Button(root, text="One more", command=lambda: say("themed"))
put("themed", themed, 380, 80, 160, 40)

rows = tk.Listbox(root, bg="white")
rows.insert("end", *(f"Invoice {n} of January" for n in range(1, 9)))
rows.selection_set(1)
rows.bind("<Double-Button-1>", lambda event: say("row", rows.get("active")))
put("row", rows, 20, 140, 260, 140, at=(60, 45))
places["blank of row"] = (rows, (240, 45))

tree = ttk.Treeview(root, columns=("sum",), height=5)
for n in range(5):
    tree.insert("", "end", text=f"TX-{n}", values=(f"{n}7.00",))
tree.bind("<Double-Button-1>", lambda event: say("tree", tree.item(tree.focus(), "text")))
put("tree", tree, 300, 140, 400, 140, at=(60, 55))

text = tk.Text(root, font=("DejaVu Sans", 12))
text.insert("1.0", "first second third\nfourth fifth sixth\n")
text.bind(
    "<ButtonRelease-1>",
    lambda event: say("selected", "".join(text.get(*text.tag_ranges("sel"))) if text.tag_ranges("sel") else ""),
)
put("word", text, 20, 300, 300, 100, at=(70, 14))
places["word end"] = (text, (160, 14))
entry = tk.Entry(root, font=("DejaVu Sans", 12))
entry.insert(0, "alpha beta gamma")
entry.bind(
    "<ButtonRelease-1>", lambda event: say("entered", entry.selection_get() if entry.selection_present() else "")
)
put("entry", entry, 340, 300, 300, 30, at=(20, 15))

scale = tk.Scale(root, from_=0, to=100, orient="horizontal", showvalue=False)
scale.bind("<ButtonRelease-1>", lambda event: say("scaled", scale.get()))
put("scale", scale, 340, 350, 300, 30, at=(15, 15))
places["scale end"] = (scale, (200, 15))

canvas = tk.Canvas(root, bg="white")
canvas.create_rectangle(20, 20, 80, 60, fill="orange", tags="item")
canvas.create_text(50, 40, text="Piece", tags="item")
canvas.create_text(210, 40, text="Tray")
last = [0, 0]
canvas.bind("<Button-1>", lambda event: (last.__setitem__(0, event.x), last.__setitem__(1, event.y)))


def drawn(event):
    canvas.move("item", event.x - last[0], event.y - last[1])
    last[:] = event.x, event.y


canvas.bind("<B1-Motion>", drawn)
canvas.bind("<ButtonRelease-1>", lambda event: say("dropped", event.x))
put("item", canvas, 20, 420, 300, 100, at=(50, 40))
places["tray"] = (canvas, (210, 40))

source, ghost = tk.Label(root, text="Take me", relief="raised"), []


def carry(event):
    if not ghost:
        ghost.append(tk.Toplevel(root))
        ghost[0].overrideredirect(True)
        tk.Label(ghost[0], text="Take me", bg="yellow").pack()
    ghost[0].geometry(f"+{event.x_root - 20}+{event.y_root - 8}")


def drop(event):
    ghost.pop().destroy() if ghost else None
    say("carried", event.x_root - root.winfo_rootx())


source.bind("<B1-Motion>", carry)
source.bind("<ButtonRelease-1>", drop)
put("source", source, 340, 420, 100, 30)
put("target", tk.Label(root, text="Here", relief="sunken"), 560, 420, 100, 30)

actions = tk.Menubutton(root, text="Actions", relief="raised")
menu = actions["menu"] = tk.Menu(actions, tearoff=0)
for label in ("Open", "Delete record"):
    menu.add_command(label=label, command=lambda label=label: say("chosen", label))
put("actions", actions, 20, 540, 120, 30)
places["menu end"] = (actions, (40, 50))
drawer = tk.Label(root, text="More", relief="raised")
inside = tk.Label(root, text="Delete record", bg="white")
drawer.bind("<Button-1>", lambda event: inside.place(x=200, y=580, width=160, height=30))
drawer.bind("<ButtonRelease-1>", lambda event: say("released", 200 <= event.x + 200 < 360 and 40 <= event.y < 70))
put("drawer", drawer, 200, 540, 120, 30)
places["drawer end"] = (drawer, (60, 55))


def ready():
    say("at", {name: [w.winfo_rootx() + x, w.winfo_rooty() + y] for name, (w, (x, y)) in places.items()})


root.update()
root.after(50, ready)
root.mainloop()

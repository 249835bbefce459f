"""A Tk window that changes on a line of standard input: `probe_moving.py LOG`.

It has a list with the same button in every row, a field with a caret, and a button that ignores its first click. On
request it shows a title that names a record, and a spinner. All events, and each finished order, go to LOG.
"""

import json
import sys
import tkinter as tk

PITCH, TOP = 24, 60
log = open(sys.argv[1], "a", buffering=1)  # noqa: PTH123, SIM115


def note(*what):
    log.write(json.dumps(what) + "\n")


root = tk.Tk()
root.title("Moving")
root.geometry("620x400+100+80")
root.option_add("*Font", ("DejaVu Sans", 11))
canvas = tk.Canvas(root, background="white", highlightthickness=0)
canvas.place(x=0, y=0, relwidth=1, relheight=1)
names = [f"TX-{1040 + n}" for n in range(7)]
popups = []
ignored = []


def draw():
    canvas.delete("row")
    for n, name in enumerate(names):
        y = TOP + n * PITCH
        canvas.create_text(60, y, text=name, tags="row")
        canvas.create_rectangle(260, y - 9, 330, y + 9, fill="#dddddd", tags="row")
        canvas.create_text(295, y, text="Open", tags="row")


def title(name):
    canvas.delete("title")
    canvas.create_text(400, 240, text=f"Record {name}", tags="title")


def pressed(event):
    row = round((event.y - TOP) / PITCH)
    if 0 <= row < len(names) and 260 <= event.x <= 330:
        note("open", names[row])


def submit():
    note("ignored" if not ignored else "submitted")
    ignored.append(1)
    if len(ignored) > 1:
        canvas.create_text(420, 360, text="Filed.")


def pop_up(focus):
    window = tk.Toplevel(root)
    window.overrideredirect(not focus)
    # Over the buttons of the first rows, or far from them.
    window.geometry("300x90+330+150" if not focus else "200x80+800+600")
    tk.Button(window, text="Discard", command=lambda: note("discarded")).pack(fill="both", expand=True)
    window.bind("<Key>", lambda event: note("popup key", event.keysym))
    if focus:
        window.bind("<Map>", lambda _: window.after(50, window.focus_force))
        window.bind("<FocusIn>", lambda _: note("focused"))
    popups.append(window)


def spin(turn=0):
    canvas.delete("spin")
    canvas.create_arc(480, TOP - 12, 504, TOP + 12, start=turn * 40, extent=120, fill="navy", tags="spin")
    root.after(30, spin, turn + 1)


def told(*_):
    order = sys.stdin.readline().strip()
    match order:
        case "shift":
            names.insert(0, "TX-1039")
            draw()
        case "title" | "next":
            title(names[order == "next"])
        case "popup":
            pop_up(focus=False)
        case "focus":
            pop_up(focus=True)
        case "spin":
            spin()
        case "":
            sys.exit()
    root.update()
    note("told", order)


field = tk.Entry(root, width=30)
field.place(x=60, y=280)
button = tk.Button(root, text="Submit", command=submit, activebackground="#d9d9d9", background="#d9d9d9")
button.configure(takefocus=False)
button.place(x=60, y=340, width=120, height=36)
field.bind("<KeyRelease>", lambda _: note("field", field.get()))
canvas.bind("<Button-1>", pressed)
draw()
root.createfilehandler(sys.stdin, tk.READABLE, told)
root.bind("<Map>", lambda _: root.after(100, note, "mapped", root.winfo_rootx(), root.winfo_rooty()))
root.mainloop()

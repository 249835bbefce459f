"""A Tk window that writes each of its events to a file, one JSON list per line: `probe_events.py LOG [GEOMETRY]`."""

import json
import sys
import tkinter as tk

log = open(sys.argv[1], "a", buffering=1)  # noqa: PTH123, SIM115


def note(*what):
    log.write(json.dumps(what) + "\n")


root = tk.Tk()
root.title("Events")
root.geometry(sys.argv[2] if len(sys.argv) > 2 else "600x400+50+50")
canvas = tk.Canvas(root, background="white", takefocus=True)
canvas.pack(fill="both", expand=True)
spots = []


def draw(event):
    canvas.delete("all")
    canvas.create_rectangle(event.x - 40, event.y - 40, event.x + 40, event.y + 40, fill="red")


def pressed(event):
    canvas.focus_set()
    if event.num > 3:
        # Tk 8.6 reports the horizontal wheel (6, 7) as 4, 5 with Shift
        note("wheel", event.num + 2 * (event.state & 1), event.x_root, event.y_root)
    else:
        note("press", event.num, event.x_root, event.y_root)
    draw(event)


canvas.bind("<Button>", pressed)
canvas.bind("<ButtonRelease>", lambda event: note("release", event.num, event.x_root, event.y_root))
canvas.bind("<Double-Button-1>", lambda event: (pressed(event), note("double", event.num)))
canvas.bind("<Motion>", lambda event: note("motion", event.state, event.x_root, event.y_root))
canvas.bind("<KeyPress>", lambda event: note("key", event.keysym, event.state))
canvas.bind("<KeyRelease>", lambda event: note("keyup", event.keysym, event.state))
root.bind("<Map>", lambda event: root.after_idle(lambda: (canvas.focus_force(), note("mapped"))))
root.mainloop()

"""A Tk window with a list, two buttons and a field, beside things that move by themselves: `probe_parts.py LOG KIND`.

KIND is one of KINDS below, or "nothing". Each stands in a row of the list, right under one button and at the height of
the field. The window changes when it is told to on its input; what is clicked goes to LOG.
"""

import json
import random
import sys
import time
import tkinter as tk

KINDS = ("clock", "ticker", "spinner", "caret", "banner", "video")
PITCH, TOP = 30, 60
LISTED = [f"TX-{1040 + n}" for n in range(6)]
ROW_Y, BUTTON, BELOW, FIELD = TOP + 2 * PITCH, (60, 340, 120, 36), 388, (60, 290)
PLACES = ((560, ROW_Y), (120, BELOW), (560, 300))


def note(*what):
    log.write(json.dumps(what) + "\n")


def draw():
    canvas.delete("row")
    for n, name in enumerate(names):
        y = TOP + n * PITCH
        canvas.create_text(40, y, text=name, anchor="w", tags="row")
        canvas.create_rectangle(260, y - 11, 330, y + 11, fill="#dddddd", tags="row")
        canvas.create_text(295, y, text="Open", tags="row")


def pressed(event):
    row = round((event.y - TOP) / PITCH)
    if 0 <= row < len(names) and 260 <= event.x <= 330:
        done("open", names[row])


def done(*what):
    note(*what)
    canvas.itemconfigure(status, text=f"Done: {' '.join(what)} at {time.monotonic():.3f}")


def clock(at, turn):
    canvas.create_text(*at, text=time.strftime("%H:%M:%S"), tags="moving")
    return 1000


def ticker(at, turn):
    x, y = at
    words = "Rain is expected in the north, and wind. " * 3
    canvas.create_text(x, y, text=words[turn % 41 : turn % 41 + 24], tags="moving", font="TkFixedFont")
    return 150


def spinner(at, turn):
    x, y = at
    canvas.create_arc(x - 9, y - 9, x + 9, y + 9, start=turn * 40, extent=120, fill="navy", tags="moving")
    return 60


def caret(at, turn):
    x, y = at
    if turn % 2:
        canvas.create_rectangle(x, y - 8, x + 1, y + 8, fill="black", tags="moving")
    return 500


def banner(at, turn):
    x, y = at
    words = ("Buy now", "Today only", "Half the price")[turn % 3]
    canvas.create_rectangle(x - 60, y - 10, x + 60, y + 10, fill=("gold", "tomato", "khaki")[turn % 3], tags="moving")
    canvas.create_text(x, y, text=words, tags="moving")
    return 700


def video(at, turn):
    x, y = at
    tall = 10 if y == BELOW else 70
    for dx in range(-80, 80, 16):
        for dy in range(-tall, tall, 10):
            left, top = x + dx, y + dy
            colour = f"#{random.randrange(1 << 24):06x}"
            canvas.create_rectangle(left, top, left + 16, top + 10, fill=colour, width=0, tags="moving")
    return 80


def move(turn=0):
    canvas.delete("moving")
    for at in PLACES:
        wait = globals()[kind](at, turn)
    root.after(wait, move, turn + 1)


def count(part, number=0):
    """Have the names of some rows tick as a clock does."""
    for n in part:
        names[n] = f"TX-{2000 + 17 * n + number}"
    draw()
    note("ticked", number)
    root.after(1000, count, part, number + 1)


def reword(turn=0):
    save.configure(text=f"Pay {turn}")
    note("ticked", turn)
    root.after(1000, reword, turn + 1)


def push():
    """Put a row on top of the list every second."""
    names.insert(0, f"TX-{3000 + len(names)}")
    draw()
    note("ticked", len(names))
    root.after(1000, push)


def told(*_):
    order = sys.stdin.readline().strip()
    match order:
        case "insert":
            names.insert(0, "TX-1039")
            draw()
        case "label ticks":
            count([2])
        case "all labels tick":
            count(range(len(names)))
        case "only row ticks":
            del names[1:]
            count([0])
        case "list grows":
            push()
        case "word":
            save.configure(text="Delete")
        case "word ticks":
            reword()
        case "":
            sys.exit()
    root.update()
    note("told", order)


if __name__ == "__main__":
    log = open(sys.argv[1], "a", buffering=1)  # noqa: PTH123, SIM115
    kind = sys.argv[2]
    root = tk.Tk()
    root.title("Parts")
    root.geometry("760x460+100+80")
    root.option_add("*Font", ("DejaVu Sans", 11))
    canvas = tk.Canvas(root, background="white", highlightthickness=0)
    canvas.place(x=0, y=0, relwidth=1, relheight=1)
    names = list(LISTED)
    status = canvas.create_text(400, 440, text="")
    looks = {"activebackground": "#d9d9d9", "background": "#d9d9d9", "takefocus": False}
    save = tk.Button(root, text="Save", command=lambda: done("save"), **looks)
    save.place(x=BUTTON[0], y=BUTTON[1], width=BUTTON[2], height=BUTTON[3])
    tk.Button(root, text="Next", command=lambda: done("next"), **looks).place(x=200, y=340, width=120, height=36)
    field = tk.Entry(root, width=30)
    field.place(x=FIELD[0], y=FIELD[1])
    field.bind("<KeyRelease>", lambda _: note("field", field.get()))
    canvas.bind("<Button-1>", pressed)
    draw()
    if kind in KINDS:
        move()
    root.createfilehandler(sys.stdin, tk.READABLE, told)
    root.bind("<Map>", lambda _: root.after(100, note, "mapped", root.winfo_rootx(), root.winfo_rooty()))
    root.mainloop()

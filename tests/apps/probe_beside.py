"""A Tk window with a list next to a clock, whose list changes on request: `probe_beside.py LOG SCENE`.

One sheet has a list with the same button in every row; another sheet on the right has a clock. SCENE selects the kind
of list and the ticking part. A line on standard input triggers the change. Input events go to LOG.
"""

import json
import random
import sys
import time
import tkinter as tk
from tkinter import ttk

PITCH, TOP, ROW = 40, 60, 2
NAME_X, BUTTON_X, BUTTON_WIDE, FAR_X = 60, 200, 70, 330
SHEET, OTHER = (0, 0, 440, 380), (448, 0, 700, 380)
AWAY = 100  # the clock's distance from the left side of the second sheet


def note(*what):
    log.write(json.dumps(what) + "\n")


def text(x, y, words, **look):
    return canvas.create_text(x, y, text=words, **{"font": FONT, "anchor": "w", "tags": "row"} | look)


def rows():
    return [TOP + n * PITCH for n in range(len(names))]


def buttons(words="Open"):
    for y in rows():
        canvas.create_rectangle(BUTTON_X, y - 12, BUTTON_X + BUTTON_WIDE, y + 12, fill="#ddd", tags="row")
        text(BUTTON_X + BUTTON_WIDE // 2, y, words, anchor="center")


def write_names():
    for name, y in zip(names, rows(), strict=True):
        text(name_x, y, name, anchor="e" if name_x > OTHER[2] - 20 else "w")


def draw():
    canvas.delete("row")
    write_names()
    for x, y, words in fixed:
        text(x, y, words)
    buttons()


def rename(*places):
    """Give some rows random names."""
    for n in places or range(len(names)):
        names[n] = f"TX-{random.randrange(2000, 9999)}"
    draw()


def every(wait, change, *arguments):
    change(*arguments)
    root.after(wait, every, wait, change, *arguments)


def tick_clock():
    canvas.delete("clock")
    text(OTHER[0] + AWAY, TOP + ROW * PITCH, time.strftime("%H:%M:%S"), tags="clock")


def shimmer(turn=0):
    for item in canvas.find_withtag("row"):
        if canvas.type(item) == "text":
            canvas.itemconfigure(item, fill=("#000000", "#0a0a0a")[turn % 2])
    root.after(100, shimmer, turn + 1)


def blink(on=True):
    for item in canvas.find_withtag("row"):
        if canvas.type(item) == "text" and canvas.coords(item)[0] == name_x:
            canvas.itemconfigure(item, fill="black" if on else "#999999")
    root.after(100, blink, not on)


def photo():
    image = tk.PhotoImage(width=SHEET[2], height=SHEET[3])
    chance = random.Random(1)
    grey = [[f"#{v:02x}{v:02x}{v:02x}" for v in (chance.randrange(140, 250) for _ in range(110))] for _ in range(95)]
    image.put(" ".join("{" + " ".join(c for c in row for _ in range(4)) + "}" for row in grey for _ in range(4)))
    canvas.photo = image
    canvas.create_image(0, 0, image=image, anchor="nw")


def bigger():
    """Show one button with its name in large letters."""
    global large
    names.clear()
    canvas.create_rectangle(40, TOP + ROW * PITCH - 30, 340, TOP + ROW * PITCH + 30, fill="#ddd")
    large = text(60, TOP + ROW * PITCH, "Kill job 14", font=("DejaVu Sans", 24), tags="large")


def grow():
    names.insert(0, f"TX-{random.randrange(2000, 9999)}")
    names.pop()
    draw()


def insert():
    names.insert(0, "TX-1039")
    draw()


def scrolled():
    """Remove the clock, and put a row of another list in its place."""
    global ticking
    ticking = False
    canvas.delete("clock")
    text(OTHER[0] + AWAY, TOP + ROW * PITCH, "Lisbon", tags="clock")


def asked():
    """Show a question in a window that flickers all over."""
    canvas.delete("all")
    root.geometry("480x400")  # larger regions are never learned
    flickering()
    text(40, 200, "Delete Alice?\nNothing of it\nis kept.", font=("DejaVu Sans", 36), tags="question")
    root.focus_force()


def flickering(turn=0):
    canvas.configure(background=("#ffffff", "#f0a0a0", "#a0f0a0")[turn % 3])
    root.after(100, flickering, turn + 1)


def other_question():
    canvas.itemconfigure("question", text="Pay 4,000 EUR?\nThis is for\ngood, too.")


def line(width):
    canvas.create_line(150, 10, 150, SHEET[3] - 10, width=width)


def at_right():
    global name_x
    name_x = FAR_X


def words_between():
    fixed.extend((130, y, "Account:") for y in rows())


def rails():
    """Draw lines like those of a table without rows: thick ones, on both sides of an empty column."""
    at_right()
    canvas.create_line(300, 0, 300, 380, width=6, fill="#888")


def next_sheet(x=20):
    """Put the names on the second sheet, next to the buttons, without a clock."""
    global name_x, ticking
    name_x, ticking = OTHER[0] + x, False


def far_edge():
    next_sheet(OTHER[2] - OTHER[0] - 7)


def two_lines():
    next_sheet()
    fixed.extend((BUTTON_X, y + 20, "since 2 d") for y in rows())


def third_sheet():
    next_sheet(92)
    canvas.create_rectangle(OTHER[0] + 72, 0, OTHER[0] + 80, 380, fill="#555", width=0)


def few(*places):
    next_sheet()
    for n in range(len(names)):
        if n not in places:
            names[n] = ""


def queue():
    """Show the amount of the target's row behind the name that all rows share."""
    next_sheet()
    names[:] = ["Bob"] * len(names)

    def owe():
        names[ROW] = f"Bob, {random.randrange(100, 999)} EUR"
        draw()

    every(1000, owe)


def trees():
    """Show two tables: one with the buttons, one with the names."""
    next_sheet()
    ttk.Style().configure("Treeview", rowheight=PITCH, font=FONT)
    canvas.delete("all")
    tables = [ttk.Treeview(root, show="tree") for _ in range(2)]
    for table, (left, top, right, bottom) in zip(tables, (SHEET, OTHER), strict=True):
        table.place(x=left, y=top, width=right - left, height=bottom - top)
        for n in range(8):
            table.insert("", "end", iid=n, text="Open this one" if table is tables[0] else f"TX-{1040 + n}")

    def others():
        for n in range(8):
            tables[1].item(n, text=f"TX-{random.randrange(2000, 9999)}")

    every(1000, others)


def nothing():
    pass


def tick(*places):
    return lambda: every(1000, rename, *places)


def named(*setups):
    def run():
        for setup in setups:
            setup()
        draw()

    return run


def word():
    canvas.delete("row")
    write_names()
    buttons("Drop")


def later(*setups):
    """Tick three times, then stop."""

    def run():
        named(*setups)()
        for after in (500, 1500, 2500):
            root.after(after, rename)

    return run


def stages(*changes):
    """Return a function that makes the next of these changes at each call."""
    left = iter(changes)
    return lambda: next(left)()


def one_name():
    """Show the name of a row alone on its sheet, in the clock's place."""
    global ticking
    ticking = False
    canvas.delete("clock")
    text(OTHER[0] + AWAY, TOP + ROW * PITCH, f"TX-{random.randrange(2000, 9999)}", tags="clock")


def twice():
    """Change the name, and draw it again a moment later."""
    one_name()
    root.after(120, one_name)


def list_of_names():
    canvas.delete("clock")
    next_sheet(AWAY)
    draw()


def stop():
    global ticking
    ticking = False


def tick_again():
    global ticking
    ticking = True
    clock_ticks()


SCENES = {  # the initial picture, and the change on request
    "insert": (named(), insert),
    "list": (lambda: every(1000, grow), nothing),
    "label": (tick(ROW), nothing),
    "labels": (tick(), nothing),
    "right": (named(at_right, tick(ROW)), nothing),
    "thick": (named(rails, tick()), nothing),
    "grid": (named(lambda: line(1), tick(ROW)), nothing),
    "words": (named(words_between, tick(ROW)), nothing),
    "photo": (named(photo, tick(ROW)), nothing),
    "shimmer": (named(shimmer), rename),
    "blink": (named(blink), rename),
    "swift": (lambda: every(100, rename), nothing),
    "silence": (later(), rename),
    "slow": (lambda: every(3000, rename), nothing),
    "word": (named(), word),
    "large": (
        named(
            bigger, lambda: every(1000, lambda: canvas.itemconfigure(large, text=f"Kill job {random.randrange(99)}"))
        ),
        nothing,
    ),
    "beside": (named(next_sheet, tick()), nothing),
    "own": (named(next_sheet, tick(ROW)), nothing),
    "edge": (named(far_edge, tick(ROW)), nothing),
    "lines": (named(two_lines, tick()), nothing),
    "third": (named(third_sheet, tick()), nothing),
    "few": (named(lambda: few(0, ROW, 5), tick(0, ROW, 5)), nothing),
    "queue": (named(queue), nothing),
    "grows": (named(next_sheet, lambda: every(1000, grow)), nothing),
    "trees": (trees, nothing),
    "scrolled": (named(), scrolled),
    "handed": (named(), stages(list_of_names, rename)),
    "one": (named(), stages(one_name, one_name)),
    "parts": (named(), stages(one_name, twice)),
    "stopped": (named(), stages(stop, one_name)),
    "halts": (named(), stages(nothing, one_name)),
    "begins": (named(one_name), stages(nothing, lambda: every(1000, one_name))),
    "resumes": (named(), stages(one_name, lambda: every(1000, one_name))),
    "returns": (named(), stages(one_name, tick_again)),
    "question": (asked, other_question),
}


def told(*_):
    order = sys.stdin.readline().strip()
    if not order:
        sys.exit()
    SCENES[scene][1]()
    root.update()
    note("told")


def pressed(event):
    row = round((event.y - TOP) / PITCH)
    if 0 <= row < len(names) and BUTTON_X <= event.x <= BUTTON_X + BUTTON_WIDE:
        note("open", names[row])


def clock_ticks():
    if ticking:
        tick_clock()
        root.after(1000, clock_ticks)


if __name__ == "__main__":
    log = open(sys.argv[1], "a", buffering=1)  # noqa: PTH123, SIM115
    scene = sys.argv[2]
    root = tk.Tk()
    root.title("Beside")
    root.geometry("760x460+100+80")
    FONT = ("DejaVu Sans", 11)
    canvas = tk.Canvas(root, background="#555", highlightthickness=0)
    canvas.place(x=0, y=0, relwidth=1, relheight=1)
    for sheet in (SHEET, OTHER):
        canvas.create_rectangle(*sheet, fill="white", width=0)
    names, fixed, name_x, ticking, large = [f"TX-{1040 + n}" for n in range(7)], [], NAME_X, True, 0
    SCENES[scene][0]()
    if scene != "question":
        clock_ticks()
    canvas.bind("<Button-1>", pressed)
    root.bind("<Return>", lambda _: note("confirmed"))
    root.createfilehandler(sys.stdin, tk.READABLE, told)
    root.bind("<Map>", lambda _: root.after(100, note, "mapped", root.winfo_rootx(), root.winfo_rooty()))
    root.mainloop()

"""A form on one page of Tk, whose labels stay: search, record, status, remark, Store. Tk tells nothing of its elements.

It writes stored records as JSON lines to FILE, and the places of its widgets to FILE.places.

python one_page_tk.py FILE
"""

import json
import sys
import tkinter
from pathlib import Path

FILE = Path(sys.argv[1])
RECORDS = {
    "AB-1207": "Fischer and Sons",
    "CD-3391": "Harvest Market",
    "EF-5050": "Kite Supplies",
    "GH-7713": "Lakeside Printing",
}
stored = 0


def find() -> None:
    number = search.get().strip()
    record.config(text=f"Record {number}" if number in RECORDS else "No record has this number")
    owner.config(text=RECORDS.get(number, ""))
    said.config(text="")
    remark.delete(0, "end")


def store() -> None:
    global stored
    number = record.cget("text").removeprefix("Record ")
    if number not in RECORDS:
        said.config(text="Nothing to store")
        return
    told = {"number": number, "status": status.get(), "remark": remark.get()}
    with FILE.open("a") as file:
        file.write(json.dumps(told) + "\n")
    stored += 1
    said.config(text=f"Stored as S-{4100 + 37 * stored}")


window = tkinter.Tk()
window.title("Records")
window.geometry("560x400+20+20")
window.option_add("*font", "Helvetica 14")
search, remark = tkinter.Entry(window, width=24), tkinter.Entry(window, width=24)
record, owner, said = (tkinter.Label(window, text=text) for text in ("No record yet", "", ""))
status = tkinter.StringVar(value="Open")
choices = tkinter.Frame(window)
radio = {
    text: tkinter.Radiobutton(choices, text=text, variable=status, value=text, padx=10)
    for text in ("Open", "Paid", "Disputed")
}
for one in radio.values():
    one.pack(side="left")
buttons = {
    "Find": tkinter.Button(window, text="Find", command=find, padx=14),
    "Store": tkinter.Button(window, text="Store", command=store, padx=14),
}
rows = (("Record number", search), ("", buttons["Find"]), ("", record), ("Owner", owner), ("Status", choices))
for row, (label, widget) in enumerate((*rows, ("Remark", remark), ("", buttons["Store"]), ("", said))):
    tkinter.Label(window, text=label).grid(row=row, column=0, padx=8, pady=5, sticky="w")
    widget.grid(row=row, column=1, sticky="w", pady=5)
window.update()
places = {
    name: [one.winfo_rootx() + one.winfo_width() // 2, one.winfo_rooty() + one.winfo_height() // 2]
    for name, one in {"Record number": search, "Remark": remark, **buttons, **radio}.items()
}
Path(f"{FILE}.places").write_text(json.dumps(places))
window.mainloop()

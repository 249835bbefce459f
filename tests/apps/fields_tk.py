"""Tk entries without an accessibility tree: any text, at most four digits, a completed town, a password.

python fields_tk.py
"""

import tkinter

window = tkinter.Tk()
window.title("Fields")
digits = window.register(lambda text: text == "" or (text.isdigit() and len(text) <= 4))
plain = tkinter.Entry(window)
number = tkinter.Entry(window, validate="key", validatecommand=(digits, "%P"))
town = tkinter.Entry(window)
town.bind("<Return>", lambda _: town.insert("end", "lin Mitte") if town.get() == "Ber" else None)
password = tkinter.Entry(window, show="*")
for field in (plain, number, town, password):
    field.pack(padx=20, pady=20)
plain.focus_set()
window.mainloop()

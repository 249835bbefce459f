"""Two Tk entries, without an accessibility tree: one takes any text, the other at most four digits.

python fields_tk.py
"""

import tkinter

window = tkinter.Tk()
window.title("Fields")
digits = window.register(lambda text: text == "" or (text.isdigit() and len(text) <= 4))
plain = tkinter.Entry(window)
number = tkinter.Entry(window, validate="key", validatecommand=(digits, "%P"))
for field in (plain, number):
    field.pack(padx=20, pady=20)
plain.focus_set()
window.mainloop()

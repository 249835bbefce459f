"""Two entries of Tk, which tells nothing of its elements: one takes any text, the other four digits at most.

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

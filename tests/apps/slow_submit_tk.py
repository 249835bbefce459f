"""A window with one button that asks a slow server in a thread, without any progress display; then it turns green.

python slow_submit_tk.py URL
"""

import sys
import threading
import tkinter
import urllib.request


def submit() -> None:
    threading.Thread(target=asked, daemon=True).start()


def asked() -> None:
    with urllib.request.urlopen(sys.argv[1], data=b"order=1") as answer:
        answer.read()
    window.after(0, done)


def done() -> None:
    button.destroy()
    window.config(background="#00c000")


window = tkinter.Tk()
window.title("Order")
window.geometry("600x400+20+20")
window.config(background="white")
button = tkinter.Button(window, text="Submit", command=submit, font=("Sans", 20), padx=40, pady=10)
button.place(relx=0.5, rely=0.5, anchor="center")
window.mainloop()

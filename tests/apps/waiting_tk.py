"""A Tk form that asks a server in a thread, without any progress display. Its color and text then change.

python waiting_tk.py URL
"""

import queue
import sys
import tkinter

from waiting_request import ANSWER, FORM, ask_in_thread

URL = sys.argv[1]
answers: "queue.Queue[str]" = queue.Queue()


def press() -> None:
    if block["bg"] == ANSWER:
        block["bg"] = FORM
        state["text"] = ""
    else:
        ask_in_thread(URL, lambda answer: (answers.put(answer), window.event_generate("<<Answered>>", when="tail")))


def answered(_: object) -> None:
    answers.get()
    block["bg"] = ANSWER
    state["text"] = "Stored"


window = tkinter.Tk()
window.title("Slow form")
window.geometry("520x320")
tkinter.Button(window, text="Send", command=press, font="Helvetica 14").place(x=40, y=40, width=200, height=60)
block = tkinter.Frame(window, bg=FORM)
block.place(x=40, y=120, width=400, height=160)
state = tkinter.Label(window, font="Helvetica 14")
state.place(x=280, y=55)
window.bind("<<Answered>>", answered)
window.mainloop()

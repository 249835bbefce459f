"""A Tk window that changes its block's color at each click, at once, while a thread talks to a server.

python talkative_tk.py mailbox PORT: a thread checks for mail every second, as a mail client does
python talkative_tk.py database SOCKET: a thread queries a server on a Unix socket all the time
python talkative_tk.py nothing: a thread that only sleeps
"""

import socket
import sys
import threading
import time
import tkinter

COLORS = "#0055cc", "#dd8800"
KIND = sys.argv[1]
EVERY_S = {"mailbox": 1.0, "database": 0.3, "nothing": 0.3}


def talk() -> None:
    connection = None
    if KIND == "mailbox":
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    elif KIND == "database":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(sys.argv[2])
    while True:
        if connection is not None:
            connection.sendall(b"a1 NOOP\r\n")
            connection.recv(4096)
        time.sleep(EVERY_S[KIND])


def press() -> None:
    block["bg"] = COLORS[block["bg"] == COLORS[0]]


window = tkinter.Tk()
window.title("Talkative")
window.geometry("520x320")
tkinter.Button(window, text="Count", command=press, font="Helvetica 14").place(x=40, y=40, width=200, height=60)
block = tkinter.Frame(window, bg=COLORS[0])
block.place(x=40, y=120, width=400, height=160)
threading.Thread(target=talk, daemon=True).start()
window.mainloop()

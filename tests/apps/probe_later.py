"""A Tk window that draws twice: `probe_later.py after|thread|child|alarm|timer|once|nothing SECONDS`, or `server PORT`.

A click turns it yellow at once, and green after these seconds. The mode is the source of the delay: a Tk timer, a
sleeping thread, a child process, the signal of an alarm or of a POSIX timer, or a server's answer. With ``once`` it is
green at once; with ``nothing`` a click changes nothing.
"""

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tkinter as tk

mode, later_s = sys.argv[1], float(sys.argv[2])
root = tk.Tk()
root.geometry("600x400+50+50")
canvas = tk.Canvas(root, background="white", highlightthickness=0)
canvas.pack(fill="both", expand=True)


def green(*_):
    canvas.configure(background="#00ff00")


def heard(pipe):
    """Turn green when data arrives."""
    root.tk.createfilehandler(pipe, tk.READABLE, lambda *_: (root.tk.deletefilehandler(pipe), green()))


if mode == "server":
    server = socket.create_connection(("127.0.0.1", int(later_s)))
elif mode in ("alarm", "timer"):
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    signal.signal(signal.SIGALRM if mode == "alarm" else signal.SIGUSR1, lambda *_: None)
    signal.set_wakeup_fd(writes)


def set_timer():
    """Set a POSIX timer that sends SIGUSR1 to this process."""
    c, timer = ctypes.CDLL(None), ctypes.c_void_p()
    c.timer_create(time.CLOCK_MONOTONIC, struct.pack("Pii48x", 0, signal.SIGUSR1, 0), ctypes.byref(timer))
    c.timer_settime(timer, 0, struct.pack("4l", 0, 0, 0, round(later_s * 1e9)), None)


def clicked(_):
    if mode == "nothing":
        return
    canvas.configure(background="yellow")
    if mode == "after":
        root.after(round(1000 * later_s), green)
    elif mode == "thread":
        threading.Thread(target=lambda: (time.sleep(later_s), root.after_idle(green)), daemon=True).start()
    elif mode == "child":
        heard(subprocess.Popen(["sh", "-c", f"sleep {later_s}; echo"], stdout=subprocess.PIPE).stdout.fileno())
    elif mode == "server":
        server.sendall(b".")
        heard(server.fileno())
    elif mode == "alarm":
        heard(reads)
        signal.setitimer(signal.ITIMER_REAL, later_s)
    elif mode == "timer":
        heard(reads)
        set_timer()
    else:
        green()


canvas.bind("<ButtonRelease>", clicked)
root.mainloop()

"""A desk for filing reports: program.py LOG. Filed reports go to LOG, one JSON object per line, permanently.

A report that comes twice is filed twice: the program prevents no duplicates. This file judges a fleet, never the
screen. Every button has a fixed position on all pages.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tkinter as tk
from pathlib import Path

FIRST_RECEIPT = 50_000
FONT, SMALL = ("DejaVu Sans", -28), ("DejaVu Sans", -20)
LEFT, TOP = 40, 40
AT = {"heading": (LEFT, TOP), "upper": (LEFT, 110), "beside": (330, 110), "lower": (LEFT, 200), "under": (LEFT, 300)}
WIDTH, HEIGHT = 760, 420


def receipt_of(report: str) -> int:
    """Return the receipt number of a report."""
    digits = "".join(filter(str.isdigit, report))
    return FIRST_RECEIPT + int(digits or 0)


def filed(log: Path) -> list[dict[str, object]]:
    """Return the filed reports in order."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


class Desk:
    """The window, with one page at a time."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._window = tk.Tk()
        self._window.title("Report Desk")
        self._window.geometry(f"{WIDTH}x{HEIGHT}+60+40")
        self._ask()
        self._window.mainloop()

    def _page(self, heading: str) -> None:
        for child in self._window.winfo_children():
            child.destroy()
        tk.Label(self._window, text=heading, font=FONT).place(x=AT["heading"][0], y=AT["heading"][1])

    def _ask(self) -> None:
        self._page("FILE A REPORT")
        self._text("upper", "Report number")
        field = tk.Entry(self._window, font=SMALL, width=20)
        field.place(x=AT["beside"][0], y=AT["beside"][1])
        self._button("lower", "File report", lambda: self._file(field.get().strip()))

    def _file(self, report: str) -> None:
        if not report:
            return
        line = {"report": report, "receipt": receipt_of(report), "at": time.time(), "pid": os.getpid()}
        with self._log.open("ab", buffering=0) as log:
            log.write(json.dumps(line).encode() + b"\n")
            os.fsync(log.fileno())
        self._page("REPORT FILED")
        self._text("upper", "Report")
        self._text("beside", report)
        self._text("lower", "Receipt")
        tk.Label(self._window, text=str(line["receipt"]), font=SMALL).place(x=AT["beside"][0], y=AT["lower"][1])
        self._button("under", "Next report", self._ask)

    def _text(self, where: str, text: str) -> None:
        tk.Label(self._window, text=text, font=SMALL).place(x=AT[where][0], y=AT[where][1])

    def _button(self, where: str, text: str, do: object) -> None:
        tk.Button(self._window, text=text, font=SMALL, command=do).place(x=AT[where][0], y=AT[where][1])  # type: ignore[call-overload]


if __name__ == "__main__":
    Desk(Path(sys.argv[1]))

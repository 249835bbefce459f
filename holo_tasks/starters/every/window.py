"""A window that shows one page at a time: headings, fields, lines and buttons."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable


class Window(tk.Tk):
    """The window of a small sample program. It has no API, so an agent works with its screen."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title(title)
        self.geometry("760x500+130+50")
        self.option_add("*Font", "{DejaVu Sans} 15")
        self._page = tk.Frame(self)

    def show(self, heading: str) -> None:
        """Replace the page by a new one with a heading."""
        self._page.destroy()
        self._page = tk.Frame(self, padx=32, pady=24)
        self._page.pack(fill="both", expand=True)
        self._page.columnconfigure(1, weight=1)
        label = tk.Label(self._page, text=heading, font="{DejaVu Sans} 18 bold")
        label.grid(columnspan=2, sticky="w", pady=(0, 14))

    def line(self, label: str, value: str) -> None:
        """Add a label with a value next to it."""
        tk.Label(self._page, text=label).grid(column=0, sticky="w", pady=6)
        row = self._page.grid_size()[1] - 1
        tk.Label(self._page, text=value).grid(column=1, row=row, sticky="w", padx=24)

    def field(self, label: str) -> tk.Entry:
        """Add a label with an input field next to it."""
        tk.Label(self._page, text=label).grid(column=0, sticky="w", pady=6)
        entry = tk.Entry(self._page, width=26)
        entry.grid(column=1, row=self._page.grid_size()[1] - 1, sticky="w", padx=24)
        return entry

    def button(self, label: str, command: Callable[[], object]) -> None:
        """Add a button in a row of its own."""
        tk.Button(self._page, text=label, command=command, padx=14).grid(columnspan=2, sticky="w", pady=(12, 0))

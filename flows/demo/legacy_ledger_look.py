"""The appearance of the legacy program: gray bevels, fonts that scale, and a navy heading band."""

from __future__ import annotations

import math
import tkinter as tk
from collections.abc import Callable
from tkinter import font as tkfont

GREY = "#c3c3c3"
INK = "#000000"
FIELD = "#ffffff"
READ_ONLY = "#dedede"
NAVY = "#000070"
ERROR_INK = "#7a0000"
FAINT_PINK = "#e6b9b9"  # hardly differs from the gray border, so that a reader may miss it

_WIDTH_AT_11, _HEIGHT_AT_11 = 760, 520
_WIDEST, _HIGHEST = 1200, 760


class Look:
    """Fonts and measures for one font size, in points at 96 dpi. The dpi of the screen is ignored."""

    def __init__(self, root: tk.Tk, points: int) -> None:
        self.points = points
        # The dpi of Xvfb depends on its options. The same font size must give the same pixels.
        root.tk.call("tk", "scaling", 96 / 72)
        self.font = tkfont.Font(root, family="DejaVu Sans", size=points)
        self.bold = tkfont.Font(root, family="DejaVu Sans", size=points, weight="bold")
        self.heading = tkfont.Font(root, family="DejaVu Sans", size=points + 2, weight="bold")
        self.small = tkfont.Font(root, family="DejaVu Sans", size=max(9, points - 2))
        for option, value in {
            "*Font": self.font,
            "*Background": GREY,
            "*Foreground": INK,
            "*activeBackground": GREY,
            "*activeForeground": INK,
            "*highlightBackground": GREY,
            "*highlightColor": INK,
            "*Entry.Background": FIELD,
            "*Text.Background": FIELD,
            "*selectBackground": NAVY,
            "*selectForeground": FIELD,
            "*Menu.activeBackground": NAVY,
            "*Menu.activeForeground": FIELD,
            "*Menu.tearOff": 0,
        }.items():
            root.option_add(option, value)
        root.configure(background=GREY)
        # Tk's own radio indicator stays 13 pixels wide whatever the font.
        across = self.px(15)
        self._off, self._on = _dial(root, across, on=False), _dial(root, across, on=True)

    def px(self, at_11: int) -> int:
        """Return a distance for font size 11, scaled to this size, in pixels."""
        return max(1, round(at_11 * self.points / 11))

    def window_size(self) -> tuple[int, int]:
        return min(_WIDEST, self.px(_WIDTH_AT_11)), min(_HIGHEST, self.px(_HEIGHT_AT_11))

    def button(self, parent: tk.Misc, text: str, command: Callable[[], object], width: int = 14) -> tk.Button:
        button = tk.Button(parent, text=text, command=command, width=width, relief="raised", borderwidth=3)
        button.configure(padx=self.px(6), pady=self.px(3), highlightthickness=2)
        return button

    def label(self, parent: tk.Misc, text: str, **options: object) -> tk.Label:
        return tk.Label(parent, text=text, anchor="w", **options)  # type: ignore[arg-type]

    def entry(self, parent: tk.Misc, variable: tk.StringVar, width: int, show: str = "") -> tk.Entry:
        entry = tk.Entry(parent, textvariable=variable, width=width, show=show)
        entry.configure(relief="sunken", borderwidth=2, highlightthickness=2)
        return entry

    def value(self, parent: tk.Misc, text: str, width: int) -> tk.Label:
        """Return a sunken field that cannot be edited."""
        label = tk.Label(parent, text=text, anchor="w", width=width, background=READ_ONLY)
        label.configure(relief="sunken", borderwidth=2, padx=self.px(5), pady=self.px(2))
        return label

    def choice(self, parent: tk.Misc, text: str, variable: tk.StringVar) -> tk.Radiobutton:
        choice = tk.Radiobutton(parent, text=f" {text}", value=text, variable=variable, anchor="w")
        choice.configure(indicatoron=False, image=self._off, selectimage=self._on, compound="left")
        choice.configure(relief="flat", offrelief="flat", overrelief="flat", borderwidth=0, pady=0)
        # Otherwise the empty start value counts as "neither on nor off".
        choice.configure(selectcolor=GREY, tristatevalue="-", highlightthickness=1)
        return choice

    def mark_error(self, field: tk.Entry | tk.Text) -> None:
        field.configure(highlightbackground=FAINT_PINK, highlightcolor=FAINT_PINK)

    def clear_error(self, field: tk.Entry | tk.Text) -> None:
        field.configure(highlightbackground=GREY, highlightcolor=INK)


def _dial(root: tk.Tk, across: int, *, on: bool) -> tk.PhotoImage:
    """Return the picture of a round, bevelled radio button, with a dot if it is on."""
    image = tk.PhotoImage(master=root, width=across, height=across)
    middle = (across - 1) / 2
    for y in range(across):
        for x in range(across):
            distance = math.hypot(x - middle, y - middle) / (across / 2)
            lit = x + y > across - 1
            if distance <= 0.45 and on:
                image.put(INK, (x, y))
            elif distance <= 0.80:
                image.put(FIELD, (x, y))
            elif distance <= 1.0:
                image.put("#f0f0f0" if lit else "#606060", (x, y))
    return image


def bind_enter(field: tk.Entry, command: Callable[[], object]) -> None:
    def pressed(_event: object) -> str:
        command()
        return "break"

    # Some typing tools send a newline as Linefeed. Tk would insert it into the field as a character.
    for key in ("<Return>", "<KP_Enter>", "<Linefeed>"):
        field.bind(key, pressed)

"""A picture in which a person and OCR read different words: bent letters, and decoys between the letters.

The word's letters are in circles, the decoys in squares. Bent letters alone do not stop current OCR.
"""

from __future__ import annotations

import math
import random
import tkinter as tk
from itertools import pairwise

_WIDTH, _HEIGHT = 500, 120  # at font size 11
_DECOYS = 3
_INKS = ("#2c3a66", "#3d3d3d", "#5a2f2f", "#2f5a3a")

# Strokes of each letter on a grid of 4 by 6, x before y.
_LETTERS = {
    "A": ("06 20 46", "14 34"),
    "C": ("41 30 10 01 05 16 36 45",),
    "E": ("40 00 06 46", "03 33"),
    "F": ("40 00 06", "03 33"),
    "H": ("00 06", "40 46", "03 43"),
    "K": ("00 06", "40 03 46"),
    "L": ("00 06 46",),
    "M": ("06 00 23 40 46",),
    "N": ("06 00 46 40",),
    "O": ("10 01 05 16 36 45 41 30 10",),
    "P": ("06 00 30 41 42 33 03",),
    "R": ("06 00 30 41 42 33 03", "23 46"),
    "S": ("41 30 10 01 02 13 33 44 45 36 16 05",),
    "T": ("00 40", "20 26"),
    "U": ("00 05 16 36 45 40",),
    "W": ("00 16 23 36 40",),
}


def picture(parent: tk.Misc, word: str, seed: str, scale: float) -> tk.Canvas:
    """Return a canvas with the picture. The same word and seed give the same picture."""
    draw = random.Random(seed)
    width, height = round(_WIDTH * scale), round(_HEIGHT * scale)
    canvas = tk.Canvas(parent, width=width, height=height, background="#f4f1e4", highlightthickness=1)
    canvas.configure(highlightbackground="#606060")
    letters = [(letter, True) for letter in word]
    for _ in range(_DECOYS):
        letters.insert(draw.randrange(len(letters) + 1), (draw.choice(sorted(_LETTERS)), False))
    step = (_WIDTH - 20) / len(letters)
    for number, (letter, wanted) in enumerate(letters):
        x, y = 10 + step * (number + 0.5), _HEIGHT / 2 + draw.uniform(-18, 18)
        corners = [each * scale for each in (x - 24, y - 24, x + 24, y + 24)]
        frame = canvas.create_oval if wanted else canvas.create_rectangle
        frame(corners, outline=draw.choice(_INKS), width=2 * scale)
        _letter(canvas, letter, (x, y), draw, scale)
    for _ in range(90):
        x, y = draw.uniform(0, width), draw.uniform(0, height)
        canvas.create_oval(x, y, x + 2, y + 2, outline="#808080")
    return canvas


def _letter(canvas: tk.Canvas, letter: str, middle: tuple[float, float], draw: random.Random, scale: float) -> None:
    tilt, size = draw.uniform(-0.3, 0.3), draw.uniform(4.6, 5.4)
    phase, bend, thickness, ink = draw.uniform(0, 6.3), draw.uniform(1.5, 2.5), draw.uniform(3, 4), draw.choice(_INKS)
    for stroke in _LETTERS[letter]:
        points = []
        for column, row in _finely([(int(corner[0]), int(corner[1])) for corner in stroke.split()]):
            across, down = (column - 2) * size, (row - 3) * size
            x = across * math.cos(tilt) - down * math.sin(tilt) + bend * math.sin(down / 7 + phase)
            y = across * math.sin(tilt) + down * math.cos(tilt) + bend * math.sin(across / 7 + phase)
            points += [(middle[0] + x) * scale, (middle[1] + y) * scale]
        canvas.create_line(points, width=thickness * scale, fill=ink, capstyle="round")


def _finely(corners: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return the corners with additional points between them, because a line of two points cannot be bent."""
    points = [
        (x + (to_x - x) * part / 6, y + (to_y - y) * part / 6)
        for (x, y), (to_x, to_y) in pairwise(corners)
        for part in range(6)
    ]
    return [*points, corners[-1]]

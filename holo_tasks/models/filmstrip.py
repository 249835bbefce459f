"""Draw the last actions as one picture of numbered, captioned thumbnails."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

COLUMNS = 5
"""Thumbnails per row."""
CELL = 248
"""Largest width and height of a thumbnail, in pixels."""
CAPTION = 40
"""Height of a caption, in pixels."""
GAP = 8
FONT = 14


def filmstrip(screens: Sequence[tuple[bytes, str]]) -> Image.Image:
    """Return the strip for encoded screens with captions, oldest first, five to a row."""
    cells = [_cell(number, data, caption) for number, (data, caption) in enumerate(screens, start=1)]
    columns = min(COLUMNS, max(1, len(cells)))
    rows = -(-len(cells) // columns)
    high = max((cell.height for cell in cells), default=CAPTION)
    strip = Image.new("RGB", (columns * (CELL + GAP) + GAP, rows * (high + GAP) + GAP), "white")
    for place, cell in enumerate(cells):
        row, column = divmod(place, columns)
        strip.paste(cell, (GAP + column * (CELL + GAP), GAP + row * (high + GAP)))
    return strip


def _cell(number: int, data: bytes, caption: str) -> Image.Image:
    with Image.open(io.BytesIO(data)) as screen:
        small = screen.convert("RGB")
        small.thumbnail((CELL, CELL), Image.Resampling.LANCZOS)
    cell = Image.new("RGB", (CELL, small.height + CAPTION), "white")
    cell.paste(small, ((CELL - small.width) // 2, CAPTION))
    draw = ImageDraw.Draw(cell)
    draw.rectangle((0, CAPTION, CELL - 1, cell.height - 1), outline="#888888")
    font = ImageFont.load_default(size=FONT)
    lines = _caption_lines(f"{number}. {caption}", font)
    for line, text in enumerate(lines):
        draw.text((0, line * (FONT + 4)), text, fill="black", font=font)
    return cell


def _caption_lines(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> list[str]:
    """Split a caption into at most two lines that fit the cell."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= CELL or not lines[-1]:
            lines[-1] = longer
        elif len(lines) == 2:
            lines[-1] += " …"
            break
        else:
            lines.append(word)
    return [_cut_to_fit(line, font) for line in lines]


def _cut_to_fit(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    while font.getlength(text) > CELL:
        text = text[:-2] + "…"
    return text

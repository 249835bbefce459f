"""Generated screens with known private texts and look-alikes, in various fonts, sizes, contrasts and layouts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size

SIZE = Size(800, 480)
MOST = 14
"""Number of texts on a screen, limited because OCR takes time for each."""
NAMES = ("Erika Mustermann", "Jean-Luc Dupont", "María Fernández", "Oliver Whitcombe")
FONTS = tuple(
    path
    for folder, names in (
        ("dejavu", ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSerif")),
        ("liberation", ("LiberationSans-Regular", "LiberationSerif-Regular", "LiberationMono-Regular")),
    )
    for name in names
    if (path := Path(f"/usr/share/fonts/truetype/{folder}/{name}.ttf")).exists()
)
CONTRASTS = {
    "black on white": ((0, 0, 0), (255, 255, 255)),
    "dark on grey": ((40, 40, 40), (217, 217, 217)),
    "light on dark": ((230, 230, 230), (30, 32, 38)),
    "white on blue": ((255, 255, 255), (32, 74, 135)),
    "grey on white": ((120, 120, 120), (255, 255, 255)),
    "light grey on white": ((178, 178, 178), (255, 255, 255)),
    "dim on dark": ((110, 110, 115), (30, 32, 38)),
}
FAINT = ("light grey on white", "dim on dark")
SIZES = (9, 10, 11, 12, 13, 14, 16, 18, 20, 24)


@dataclass(frozen=True)
class Written:
    """A text on a screen: private with a ``kind``, or a look-alike (``kind`` is empty, ``like`` names the kind it
    resembles).
    """

    text: str
    box: Box
    kind: str = ""
    like: str = ""


@dataclass(frozen=True)
class PrivateScreen:
    """A picture, and the positions of its texts."""

    picture: Image.Image
    written: tuple[Written, ...]
    font: str
    size: int
    contrast: str
    layout: str

    @property
    def frame(self) -> Frame:
        return frame_of(self.picture)

    @property
    def faint(self) -> bool:
        return self.contrast in FAINT


def frame_of(picture: Image.Image) -> Frame:
    """Return a picture as a frame."""
    return Frame(picture.convert("RGB").tobytes(), Size(*picture.size), ":generated")


def screens(count: int, seed: int = 1) -> Iterator[PrivateScreen]:
    """Generate screens that cycle through all fonts, sizes, contrasts and layouts. The same seed gives the same
    screens.
    """
    for number in range(count):
        rng = random.Random(seed * 100_003 + number)
        path = FONTS[number % len(FONTS)]
        size = SIZES[(number * 3) % len(SIZES)]
        contrast = list(CONTRASTS)[(number * 5 + number // 7) % len(CONTRASTS)]
        layout = ("form", "table", "paragraph")[number % 3]
        yield _screen(rng, path, size, contrast, layout)


def _screen(rng: random.Random, path: Path, size: int, contrast: str, layout: str) -> PrivateScreen:
    ink, ground = CONTRASTS[contrast]
    picture = Image.new("RGB", (SIZE.width, SIZE.height), ground)
    draw, font = ImageDraw.Draw(picture), _font(path, size)
    written: list[Written] = []

    def put(x: int, y: int, text: str, kind: str = "", like: str = "") -> int:
        draw.text((x, y), text, fill=ink, font=font)
        left, top, right, bottom = (int(edge) for edge in draw.textbbox((x, y), text, font=font))
        written.append(Written(text, Box(left, top, right - left, bottom - top), kind, like))
        return right

    if rng.random() < 0.5:
        draw.rectangle((0, 0, SIZE.width, 22), fill=(90, 100, 120))
        draw.text((8, 4), "Customer details", fill="white", font=_font(FONTS[0], 12))
    {"form": _form, "table": _table, "paragraph": _paragraph}[layout](rng, draw, put, size, ink)
    return PrivateScreen(picture, tuple(written), path.stem, size, contrast, layout)


Put = Callable[..., int]


def _form(rng: random.Random, draw: ImageDraw.ImageDraw, put: Put, size: int, ink: tuple[int, int, int]) -> None:
    y, step = 40, size * 2 + 10
    while y + step < min(SIZE.height, 40 + 10 * step):
        label, text, kind, like = _entry(rng)
        put(20, y, label)
        draw.rectangle((190, y - 6, 190 + 560, y + size + 8), outline=ink)
        put(198, y, text, kind, like)
        y += step


def _table(rng: random.Random, draw: ImageDraw.ImageDraw, put: Put, size: int, ink: tuple[int, int, int]) -> None:
    y, step = 34, int(size * 1.6) + 4
    cells = 0
    while y + step < SIZE.height and cells < MOST:
        draw.line((10, y - 3, 790, y - 3), fill=ink)
        x = 16
        for _ in range(2 if size > 13 else 3):
            _, text, kind, like = _entry(rng)
            if x + len(text) * size * 0.65 > SIZE.width:
                continue
            x = put(x, y, text, kind, like) + 3 * size
            cells += 1
        y += step


def _paragraph(rng: random.Random, draw: ImageDraw.ImageDraw, put: Put, size: int, ink: tuple[int, int, int]) -> None:
    y, step = 34, int(size * 1.5)
    while y + step < min(SIZE.height, 34 + 8 * step):
        before = rng.choice(("Please write to", "The account", "We called", "See also", "Booked on", "It says"))
        after = rng.choice(("by Friday.", "as agreed.", "before noon.", "if needed."))
        _, text, kind, like = _entry(rng)
        x = put(16, y, before) + _width(size)
        if x + len(text) * size * 0.65 < SIZE.width:
            x = put(x, y, text, kind, like) + _width(size)
            if x + len(after) * size * 0.65 < SIZE.width:
                put(x, y, after)
        y += step


def _width(size: int) -> int:
    return max(3, round(size * 0.33))


def _entry(rng: random.Random) -> tuple[str, str, str, str]:
    """Return a label, a text, its kind, and the kind that it resembles."""
    make = rng.choice((*PRIVATE, *ALIKE))
    return make(rng)


def luhn_digit(digits: str) -> str:
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return str(-total % 10)


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def card(rng: random.Random) -> str:
    start = rng.choice(("4", "51", "55", "2221"))
    body = start + _digits(rng, 15 - len(start))
    number = body + luhn_digit(body)
    return rng.choice((" ", "-", "", " ")).join(number[n : n + 4] for n in range(0, 16, 4))


def iban(rng: random.Random) -> str:
    country, bban = rng.choice(
        (
            ("DE", _digits(rng, 18)),
            ("FR", _digits(rng, 23)),
            ("ES", _digits(rng, 20)),
            ("NL", "INGB" + _digits(rng, 10)),
            ("GB", "NWBK" + _digits(rng, 14)),
        )
    )
    number = int("".join(str(int(c, 36)) for c in bban + country + "00"))
    whole = f"{country}{98 - number % 97:02d}{bban}"
    return rng.choice((" ", " ", "")).join(whole[n : n + 4] for n in range(0, len(whole), 4))


def tax_id(rng: random.Random) -> str:
    while True:
        ten = [rng.randrange(10) for _ in range(10)]
        if ten[0] == 0 or max(ten.count(d) for d in ten) not in (2, 3) or len(set(ten)) not in (8, 9):
            continue
        product = 10
        for digit in ten:
            total = (digit + product) % 10 or 10
            product = total * 2 % 11
        text = "".join(map(str, ten)) + str((11 - product) % 10)
        return f"{text[:2]} {text[2:5]} {text[5:8]} {text[8:]}"


def nir(rng: random.Random) -> str:
    body = f"{rng.choice('12')}{rng.randrange(40, 99)}{rng.randrange(1, 13):02d}{rng.randrange(1, 95):02d}"
    body += f"{rng.randrange(1, 990):03d}{rng.randrange(1, 999):03d}"
    key = 97 - int(body) % 97
    return f"{body[0]} {body[1:3]} {body[3:5]} {body[5:7]} {body[7:10]} {body[10:]} {key:02d}"


def dni(rng: random.Random) -> str:
    number = rng.randrange(1_000_000, 99_999_999)
    return f"{number:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _email(rng: random.Random) -> str:
    who = rng.choice(("erika.mustermann", "j.dupont", "sales", "info-desk", "m_fernandez", "ow1984"))
    return f"{who}@{rng.choice(('example.com', 'mail.example.org', 'firma-beispiel.de', 'bank.co.uk'))}"


def _phone(rng: random.Random) -> str:
    return rng.choice(
        (
            f"+49 30 {_digits(rng, 4)} {_digits(rng, 4)}",
            f"+1 {rng.randrange(201, 990)}-{rng.randrange(200, 999)}-{_digits(rng, 4)}",
            f"({rng.randrange(201, 990)}) {rng.randrange(200, 999)}-{_digits(rng, 4)}",
            f"0{rng.randrange(30, 99)}1 {_digits(rng, 3)} {_digits(rng, 4)}",
        )
    )


def _ssn(rng: random.Random) -> str:
    return f"{rng.randrange(1, 665):03d}-{rng.randrange(1, 99):02d}-{rng.randrange(1, 9999):04d}"


def _nino(rng: random.Random) -> str:
    pairs = " ".join(_digits(rng, 2) for _ in range(3))
    return f"{rng.choice(('AB', 'CE', 'JG', 'SR'))} {pairs} {rng.choice('ABCD')}"


def _bad_card(rng: random.Random) -> str:
    digits = "".join(c for c in card(rng) if c.isdigit())
    wrong = digits[:-1] + str((int(digits[-1]) + rng.randrange(1, 10)) % 10)
    return " ".join(wrong[n : n + 4] for n in range(0, 16, 4))


def _bad_iban(rng: random.Random) -> str:
    good = iban(rng)
    return good[:-1] + str((int(good[-1]) + rng.randrange(1, 9)) % 10)


def _bad_tax_id(rng: random.Random) -> str:
    good = tax_id(rng)
    return good[:-1] + str((int(good[-1]) + rng.randrange(1, 9)) % 10)


PRIVATE: tuple[Callable[[random.Random], tuple[str, str, str, str]], ...] = (
    lambda rng: ("E-mail", _email(rng), "email", ""),
    lambda rng: ("Card", card(rng), "card", ""),
    lambda rng: ("IBAN", iban(rng), "iban", ""),
    lambda rng: ("Phone", _phone(rng), "phone", ""),
    lambda rng: ("SSN", _ssn(rng), "us_ssn", ""),
    lambda rng: ("Steuer-ID", tax_id(rng), "de_tax_id", ""),
    lambda rng: ("NIR", nir(rng), "fr_nir", ""),
    lambda rng: ("DNI", dni(rng), "es_dni", ""),
    lambda rng: ("NI number", _nino(rng), "uk_nino", ""),
    lambda rng: ("Name", rng.choice(NAMES), "name", ""),
)
ALIKE: tuple[Callable[[random.Random], tuple[str, str, str, str]], ...] = (
    lambda rng: ("Order", _bad_card(rng), "", "card"),
    lambda rng: ("Reference", _bad_iban(rng), "", "iban"),
    lambda rng: ("Version", f"{rng.randrange(1, 9)}.{rng.randrange(20)}.{rng.randrange(999)}", "", "phone"),
    lambda rng: (
        "Date",
        f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
        "",
        "us_ssn",
    ),
    lambda rng: (
        "Due",
        f"{rng.randrange(1, 29):02d}.{rng.randrange(1, 13):02d}.20{rng.randrange(10, 30)}",
        "",
        "phone",
    ),
    lambda rng: ("Amount", f"{rng.randrange(1, 99)},{_digits(rng, 3)}.{_digits(rng, 2)} EUR", "", "phone"),
    lambda rng: ("Batch", _bad_tax_id(rng), "", "de_tax_id"),
    lambda rng: ("Address", f"192.168.{rng.randrange(255)}.{rng.randrange(255)}", "", "phone"),
    lambda rng: ("Contact", rng.choice(("Maria Hernandes Ltd", "Erik Musterhaus", "Olive Branch")), "", "name"),
    lambda rng: ("Invoice", f"TX-{_digits(rng, 5)}", "", "card"),
)


@cache
def _font(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size)

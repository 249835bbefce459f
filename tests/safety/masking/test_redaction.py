"""Masked pixels never leave the machine, and a frame is not sent if a mask cannot be found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import pytest
from PIL import Image

from holo_tasks.cli.run_command.run import redaction_of
from holo_tasks.core.errors import DesktopFailed, HoloError, InvalidUsage, RedactionFailed
from holo_tasks.core.ports import Masker, Redactor
from holo_tasks.core.programs import Owner, runs
from holo_tasks.core.screen.frame import Frame, Mask, OnScreen
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from holo_tasks.run.rules.redactors import redactor_for
from holo_tasks.safety.masking import user_patterns
from holo_tasks.safety.masking.places import FixedRegions, WindowRule, WindowRules, visible
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.masking.texts import TextMasker
from holo_tasks.safety.masking.wireframe import Wireframe
from holo_tasks.safety.redaction import Painter, cover_for_detectors
from tests.support.painted_desktop import PaintedDesktop

FRAME = Frame(bytes(range(256)) * 75, Size(80, 80), ":1")
VAULT, EDITOR = Owner("/usr/bin/vault", pid=1, title="Private"), Owner("/usr/bin/editor", pid=2, title="Notes")


class Broken:
    """A detector that fails, with an error that quotes the screen."""

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        raise ValueError("cannot parse 'hunter2'")


class Endless:
    async def masks(self, frame: Frame) -> Sequence[Mask]:
        await asyncio.Event().wait()
        return ()


@pytest.mark.parametrize("masker", [Broken(), Endless()])
async def test_a_failed_detector_blocks_the_frame(masker: Masker) -> None:
    painter = Painter([FixedRegions([Mask("region", Box(0, 0, 9, 9))]), masker], patience_s=0.05)
    with pytest.raises(RedactionFailed) as caught:
        await painter.redact(FRAME)
    error: BaseException | None = caught.value
    assert "nothing of the screen was sent" in str(error)
    assert "hunter2" not in str(error)
    assert caught.value.__suppress_context__


async def test_exactly_the_pixels_of_a_mask_are_painted() -> None:
    box = Box(70, 3, 30, 5)
    redacted = await Painter([FixedRegions([Mask("region", box)])]).redact(FRAME)
    for y in range(80):
        for x in range(80):
            start = 3 * (80 * y + x)
            pixel = redacted.frame.rgb[start : start + 3]
            inside = x >= 70 and 3 <= y < 8
            assert pixel == (b"\0\0\0" if inside else FRAME.rgb[start : start + 3])
    assert redacted.masks == (Mask("region", Box(70, 3, 10, 5)),)


def shown(*windows: tuple[Owner, Box, bool]) -> Frame:
    return replace(FRAME, windows=tuple(OnScreen(box, (owner,), solid) for owner, box, solid in windows))


async def masks(frame: Frame, *rules: WindowRule) -> set[Box]:
    return {mask.box for mask in await WindowRules(rules or (WindowRule(("vault",)),)).masks(frame)}


async def test_a_window_is_masked_by_its_program_and_not_its_title() -> None:
    liar = replace(EDITOR, title="vault")
    frame = shown((VAULT, Box(0, 0, 10, 10), True), (liar, Box(20, 0, 10, 10), True))
    assert await masks(frame) == {Box(0, 0, 10, 10)}
    assert await masks(frame, WindowRule(("/usr/*/vau?t",))) == {Box(0, 0, 10, 10)}
    assert await masks(frame, WindowRule(("/usr/bin/vault",), title="^priv")) == {Box(0, 0, 10, 10)}
    assert await masks(frame, WindowRule(("/usr/bin/vault",), title="public")) == set()


@pytest.mark.parametrize(
    ("program", "masked"), [("/srv/app.py", True), ("*/a*.py", True), ("app.py", True), ("b.py", False)]
)
def test_a_window_of_a_possible_program_is_masked(program: str, masked: bool) -> None:
    owner = Owner("/usr/bin/python3", said=("app.py", "file"))
    assert WindowRule((program,)).takes(owner) is masked
    assert not runs(owner, (program,))


ENDLESS = "(a|aa)+$"


async def test_an_endless_pattern_blocks_only_its_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(user_patterns, "PATIENCE_S", 0.1)
    vault = replace(VAULT, title="a" * 90 + "b")
    frame = shown((vault, Box(0, 0, 10, 10), True))
    reader = CellReader()
    reader.shades = {80: "a" * 90 + "b"}
    for painter, seen in (
        (Painter([WindowRules([WindowRule(("vault",), title=ENDLESS)])]), frame),
        (Painter([], [TextMasker(reader, kinds=(), patterns={"endless": ENDLESS})]), cells(80)),
    ):
        redacting = asyncio.create_task(painter.redact(seen))
        turns = 0
        while not redacting.done():
            await asyncio.sleep(0.01)
            turns += 1
        with pytest.raises(RedactionFailed, match="took more than"):
            await redacting
        assert turns > 1


async def test_only_the_beginning_of_a_long_title_is_matched() -> None:
    long = replace(VAULT, title="Private" + " x" * 5_000_000)
    assert await masks(shown((long, Box(0, 0, 10, 10), True)), WindowRule(("vault",), title="^private")) == {
        Box(0, 0, 10, 10)
    }


async def test_a_window_without_a_known_program_is_masked() -> None:
    unknown = Owner(why="another machine")
    assert await masks(shown((unknown, Box(1, 1, 5, 5), True))) == {Box(1, 1, 5, 5)}
    assert await masks(replace(FRAME, windows=(OnScreen(Box(1, 1, 5, 5), (), True),))) == {Box(1, 1, 5, 5)}


async def test_covered_parts_are_masked_unless_the_cover_is_solid() -> None:
    vault, editor = Box(0, 0, 40, 40), Box(10, 10, 10, 10)
    covered = await masks(shown((VAULT, vault, True), (EDITOR, editor, True)))
    painted = {(x, y) for box in covered for x in range(box.left, box.right) for y in range(box.top, box.bottom)}
    everything = {(x, y) for x in range(40) for y in range(40)}
    assert painted == everything - {(x, y) for x in range(10, 20) for y in range(10, 20)}
    assert await masks(shown((VAULT, vault, True), (EDITOR, editor, False))) == {vault}
    assert await masks(shown((EDITOR, editor, True), (VAULT, vault, True))) == {vault}


def test_the_pieces_of_a_covered_window_do_not_overlap() -> None:
    pieces = visible(Box(0, 0, 10, 10), [Box(2, 2, 3, 3), Box(4, 4, 20, 2)])
    pixels = [(x, y) for box in pieces for x in range(box.left, box.right) for y in range(box.top, box.bottom)]
    assert len(pixels) == len(set(pixels)) == 100 - 9 - 12 + 1


async def test_frames_of_a_lazy_desktop_list_windows_after_its_start() -> None:
    class Told(PaintedDesktop):
        tells_windows = False

    made = Told()

    async def start() -> Told:
        return made

    await LazyDesktop(start, tells_windows=True).look()
    assert made.tells_windows


async def test_a_desktop_without_window_owners_blocks_the_frame() -> None:
    with pytest.raises(DesktopFailed, match="cannot list the windows"):
        await masks(FRAME)


@pytest.mark.parametrize(
    "values",
    [
        {"regions": [[0, 0, 0, 5]]},
        {"regions": [{"box": [0, 0, 5, 5], "kind": "Bank balance"}]},
        {"windows": [{"title": "Private"}]},
        {"windows": [{"programs": []}]},
        {"texts": ["e-mail"]},
        {"patterns": {"customer": "("}},
        {"patterns": {"customer": "x*"}},
        {"names": ["-"]},
        {"mode": "blur"},
        {"padding": -1},
        {"timeout_seconds": 0},
        {"regionz": []},
    ],
)
def test_meaningless_settings_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(InvalidUsage, match="The redaction cannot be used: "):
        Redaction.read(values)


def test_settings_are_read_from_a_file(tmp_path) -> None:
    path = tmp_path / "redaction.toml"
    path.write_text(
        'regions = [[0, 0, 10, 10], {box = [5, 5, 9, 9], kind = "balance"}]\ntexts = ["iban"]\nnames = ["Eva Post"]\n'
        '[[windows]]\nprograms = ["vault"]\n[patterns]\ncustomer = "K-[0-9]{6}"\n'
    )
    redaction = Redaction.load(path)
    assert [region.kind for region in redaction.regions] == ["region", "balance"]
    assert redaction.windows[0].programs == ("vault",)
    path.write_text("regions = 1 2")
    with pytest.raises(InvalidUsage, match="cannot be read"):
        Redaction.load(path)


def test_missing_ocr_is_reported_before_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    real = __import__("importlib.util").util.find_spec
    monkeypatch.setattr(
        "holo_tasks.run.rules.redactors.find_spec", lambda name: None if name == "rapidocr" else real(name)
    )
    with pytest.raises(HoloError, match=r"pip install 'prefect-holo\[redaction\]'"):
        redactor_for(Redaction())
    with pytest.raises(HoloError, match="rapidocr"):
        redactor_for(Redaction(texts=()), {"password": "hunter2"})
    path = tmp_path / "redaction.toml"
    path.write_text("texts = []")
    assert redaction_of(path, {}) == Redaction(texts=())
    with pytest.raises(InvalidUsage, match="rapidocr"):
        redaction_of(path, {"password": Secret("password", "hunter2")})
    path.write_text("texts = []\nsecrets = false")
    assert redaction_of(path, {"password": Secret("password", "hunter2")}) is not None
    redactor_for(Redaction(texts=(), regions=Redaction.read({"regions": [[0, 0, 1, 1]]}).regions))


@dataclass(frozen=True)
class Cell:
    text: str
    box: Box
    score: float = 1.0


class CellReader:
    """A fake OCR reader for blocks of one shade each, which shows whether OCR sees hidden pixels.

    It cannot read a block with less than a quarter of the contrast of the whole frame, like OCR without contrast
    stretching.
    """

    shades: ClassVar = {40: "4111 1111", 60: "4999 9999", 80: "1111 1111", 225: "4012 8888 8888 1881"}

    def lines(self, frame: Frame) -> list[Cell]:
        rows = [frame.rgb[3 * 80 * y : 3 * 80 * (y + 1)] for y in range(80)]
        low, high = min(frame.rgb), max(frame.rgb)
        found = []
        for left, top in product(range(0, 80, 16), (0, 16, 32)):
            piece = {rows[y][3 * x] for y in range(top + 4, top + 12) for x in range(left, left + 16)}
            shade = next(iter(piece))
            if len(piece) == 1 and shade in self.shades and (255 - shade) * 4 >= high - low:
                found.append(Cell(self.shades[shade], Box(left, top + 4, 16, 8)))
        return found

    def again(self, frame: Frame, box: Box) -> list[str]:
        return []

    def outlines(self, frame: Frame) -> list[Box]:
        return [Box(line.box.left, line.box.top - 4, 48, 24) for line in self.lines(frame)]


def cells(*shades: int) -> Frame:
    """Return a white screen with adjacent blocks, each 16 pixels wide."""
    image = Image.new("RGB", (80, 80), "white")
    for place, shade in enumerate(shades):
        image.paste((shade,) * 3, (16 * place, 4, 16 * place + 16, 12))
    return Frame(image.tobytes(), Size(80, 80), ":1")


def reading_redactor(mode: str, hidden: Box) -> Redactor:
    reader, placed = CellReader(), [FixedRegions([Mask("region", hidden)])]
    texts = [TextMasker(reader, kinds=("card",))]
    if mode == "paint":
        return Painter(placed, texts)
    return Wireframe(reader, reader, words=("1111 1111",), maskers=placed, reading=texts, patience_s=60.0)


@pytest.mark.parametrize("mode", ["paint", "wireframe"])
async def test_pixels_under_a_region_do_not_influence_other_masks(mode: str) -> None:
    redactor = reading_redactor(mode, Box(0, 0, 16, 16))
    # Together with the first hidden block, the block next to it is a card number.
    seen = [await redactor.redact(cells(hidden, 80)) for hidden in (40, 60, 255, 80)]
    assert all(each.frame.rgb == seen[0].frame.rgb and each.masks == seen[0].masks for each in seen)
    whole = await Painter([], [TextMasker(CellReader(), kinds=("card",))]).redact(cells(40, 80))
    assert [mask.kind for mask in whole.masks] == ["card"] * 2, "both together are one"


@pytest.mark.parametrize(
    ("secret", "text", "found"),
    [
        ("1", "page 1 of 10: 1.000,00 EUR, 21 items, l I |", ["1"]),
        ("42", "PIN 42, 4 2, 142 and 42.", ["42", "42"]),
        ("a-b", "ab a-b", ["a-b"]),
        ("4711", "471l", ["471l"]),
        ("--", "a--b", ["--"]),
    ],
)
def test_a_very_short_secret_must_be_a_whole_word(secret: str, text: str, found: list[str]) -> None:
    masker = TextMasker(CellReader(), kinds=(), secrets={"pin": secret})
    assert [text[one.start : one.end] for one in masker._secrets_in(text)] == found


@pytest.mark.parametrize(
    ("secret", "text", "seen"),
    [
        ("password123", "Password: Cancel", False),
        ("password1", "Your password", False),
        ("password123", "Hello passw0rd123", True),
        ("password-zebra", "password-zeb", True),
        ("Password", "Password", True),
    ],
)
def test_labels_of_fields_do_not_match_a_secret(secret: str, text: str, seen: bool) -> None:
    masker = TextMasker(CellReader(), kinds=(), secrets={"pw": secret})
    assert bool(list(masker._secrets_in(text))) is seen


KEY = "S3cr&t/P@ss+w0rd#9!"


@pytest.mark.parametrize(
    ("secret", "text", "seen"),
    [
        (KEY, "localhost:8080/next?token=S3cr%26t%2FP%40ss%2Bw0rd%239%21&go=1", True),
        (KEY, "next?token=S3cr%26t%2FP%40ss%2Bw0rd%239!", True),
        (KEY, "next?token=S3cr%26t/P@ss+w0rd%239!", True),
        (KEY, "…%2FP%40ss%2Bw0rd%239%21", True),
        (KEY, "S3cr&amp;t/P@ss+w0rd#9!", True),
        (KEY, "Basic bWU6UzNjciZ0L1BAc3MrdzByZCM5IQ==", True),
        (KEY, KEY.encode().hex(), True),
        ("tok_9f3A-7Kq2", "746f6b5f396633412d374b7132", True),
        ("password&123", "password", False),
        ("4711", "Transactions of 2026: 34,373,131.00 EUR; NDcx", False),
        (KEY, "The invoice TX-10482 of Paper & Pine: 84.20 EUR, 100 % paid", False),
    ],
)
def test_encoded_secrets_are_found(secret: str, text: str, seen: bool) -> None:
    masker = TextMasker(CellReader(), kinds=(), secrets={"pw": secret})
    assert bool(list(masker._secrets_in(text))) is seen


async def test_a_wireframe_hides_outlines_of_unread_letters() -> None:
    class Blind(CellReader):
        """Finds edges and reads no text."""

        def __init__(self, *boxes: Box) -> None:
            self._boxes = boxes

        def outlines(self, frame: Frame) -> list[Box]:
            return list(self._boxes)

    async def drawn(*boxes: Box) -> bytes:
        blind = Blind(*boxes)
        return (await Wireframe(blind, blind, words=(), patience_s=60.0).redact(cells())).frame.rgb

    assert await drawn(Box(10, 10, 20, 40), Box(40, 10, 30, 40)) == await drawn()
    assert await drawn(Box(10, 10, 60, 20)) != await drawn()


async def test_pale_text_next_to_a_mask_is_read() -> None:
    redacted = await reading_redactor("paint", Box(0, 0, 16, 16)).redact(cells(0, 225))
    assert "card" in {mask.kind for mask in redacted.masks}


def test_detectors_see_the_surrounding_color_of_masks() -> None:
    frame = cells(40, 60, 80)
    masks = [Mask("region", Box(0, 0, 16, 16)), Mask("region", Box(16, 0, 16, 16))]
    assert cover_for_detectors(frame, masks).rgb == cells(255, 255, 80).rgb
    assert cover_for_detectors(frame, [Mask("region", Box(0, 0, 80, 80))]).rgb == bytes(len(frame.rgb))

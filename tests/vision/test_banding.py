"""Reading the changed bands of a screen gives the same lines as reading the whole screen."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.models.encoding import JpegEncoder
from holo_tasks.safety.masking.texts import TextMasker
from holo_tasks.safety.masking.wireframe import Wireframe
from holo_tasks.safety.redaction import Painter
from holo_tasks.vision import ocr
from holo_tasks.vision.band_reader import CORE, BandReader, KnownBands
from holo_tasks.vision.ocr import Ocr
from holo_tasks.vision.outline_boxes import Outlines
from tests.support.long import few
from tests.support.painted_desktop import PaintedDesktop
from tests.support.private_screens import NAMES, frame_of, screens
from tests.support.redaction_scores import Scores
from tests.support.scripted_model import ScriptedModel, step
from tests.support.shots import as_model, walk_of, work

OCR = Ocr()
"""One engine for all tests, because loading it takes longer than reading."""
WIDTH, HEIGHT = 256, 192
ROWS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")
WORDS = ("Total 12.50", "erika@example.com", "4111 1111 1111 1111", "Save", "due 2024-03-15", "K-104822")


def changed(picture: Image.Image, rng: random.Random) -> Image.Image:
    """Return a picture with one text added or erased at any height, so that it may cross the border of bands."""
    after = picture.copy()
    draw = ImageDraw.Draw(after)
    x, y = rng.randrange(0, 120), rng.randrange(0, HEIGHT - 24)
    if rng.random() < 0.3:
        draw.rectangle((x, y, x + rng.randrange(8, 160), y + rng.randrange(4, 40)), fill="white")
    else:
        draw.text((x, y), rng.choice(WORDS), fill="black", font=ImageFont.load_default(size=rng.choice((11, 14, 20))))
    return after


@pytest.mark.parametrize("seed", few(range(8), 1))
def test_reading_changed_bands_equals_reading_the_whole_screen(seed: int) -> None:
    rng, kept = random.Random(seed), BandReader(OCR)
    picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
    for _ in range(2):
        picture = changed(picture, rng)
        frame = frame_of(picture)
        assert kept.lines(frame) == BandReader(OCR).lines(frame)


def test_only_changed_bands_are_read() -> None:
    reader = BandReader(OCR)
    picture = Image.new("RGB", (WIDTH, 8 * CORE), "white")
    draw = ImageDraw.Draw(picture)
    for band in range(8):
        draw.text((10, band * CORE + 24), ROWS[band], fill="black", font=ImageFont.load_default(size=14))
    reader.lines(frame_of(picture))
    assert reader.read == 8
    draw.text((150, 3 * CORE + 24), "new", fill="black", font=ImageFont.load_default(size=14))
    lines = reader.lines(frame_of(picture))
    assert reader.read <= 8 + 3
    assert {"new", *ROWS} <= {line.text for line in lines}
    reader.lines(frame_of(picture))
    assert reader.read <= 8 + 3


async def test_masks_cover_private_texts_and_little_else() -> None:
    scores, masker = Scores(), TextMasker(BandReader(OCR), names=NAMES)
    normal = [screen for screen in screens(8) if not screen.faint]
    for screen in normal[:2]:
        scores.add(screen, await masker.masks(screen.frame))
    assert sum(scores.there.values()) > 4
    assert scores.recall() == 1.0, scores.missed
    assert scores.precision() >= 0.85, scores.wrong


class Letter(PaintedDesktop):
    """A screen with a line of private text and a button."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    async def look(self, *, after_action: bool = False) -> Frame:
        image = Image.new("RGB", (400, 120), "white")
        draw = ImageDraw.Draw(image)
        draw.text((10, 20), f"Pay to: {self._text}", fill="black", font=ImageFont.load_default(size=16))
        draw.rectangle((20, 70, 100, 100), outline="black")
        draw.text((40, 76), "Save", fill="black", font=ImageFont.load_default(size=16))
        return Frame(image.tobytes(), Size(400, 120), self.display)


SECRETS = {"portal": "hunter2-Zebra"}


@pytest.mark.parametrize("mode", ["paint", "wireframe"])
async def test_requests_do_not_depend_on_private_texts(mode: str) -> None:
    from holo_tasks.models.client import ModelEndpoint

    reader, sent = BandReader(OCR), []
    for text in ("4111 1111 1111 1111", "4012 8888 8888 1881"):
        masker = TextMasker(reader, secrets=SECRETS)
        redactor = (
            Painter([masker])
            if mode == "paint"
            else Wireframe(reader, Outlines(), words=("Save",), maskers=[masker], patience_s=60.0)
        )
        with ScriptedModel([step("click", element="Save", x=150, y=700), step("answer", content="ok")]) as model:
            endpoint = ModelEndpoint(model.base_url, None)
            await work(walk_of(as_model(endpoint), desktop=Letter(text), redactor=redactor))
            await endpoint.close()
            sent.append(model.requests)
    assert sent[0] == sent[1]


async def test_a_wireframe_shows_allowed_words_only() -> None:
    reader = BandReader(OCR)
    wireframe = Wireframe(reader, Outlines(), words=("Save",), maskers=[], patience_s=60.0)
    redacted = await wireframe.redact(await Letter("Doctor Livingstone").look())
    told = " ".join(line.text for line in BandReader(OCR).lines(redacted.frame))
    assert "Save" in told
    assert "text" in told
    assert "Pay" not in told
    assert "Livingstone" not in told
    assert redacted.masks[0].kind == "wireframe"
    assert JpegEncoder().encode(redacted).frame_digest == redacted.frame.digest


@pytest.mark.parametrize("shown", ["hunter2-Zebra", "hunter2 - Zebra"])
async def test_a_secret_on_the_screen_is_painted_over(shown: str) -> None:
    frame = await Letter(shown).look()
    found = await TextMasker(BandReader(OCR), kinds=(), secrets=SECRETS).masks(frame)
    assert any(mask.kind == "secret" for mask in found)
    image = Image.frombytes(
        "RGB",
        (400, 120),
        (await Painter([TextMasker(BandReader(OCR), kinds=(), secrets=SECRETS)]).redact(frame)).frame.rgb,
    )
    told = " ".join(line.text for line in BandReader(OCR).lines(frame_of(image)))
    assert "unter" not in told
    assert "ebra" not in told


def test_readers_of_one_process_share_bands_and_engines() -> None:
    picture = Image.new("RGB", (WIDTH, 4 * CORE), "white")
    ImageDraw.Draw(picture).text((10, 24), "Sign on", fill="black", font=ImageFont.load_default(size=14))
    frame, bands = frame_of(picture), KnownBands()
    first, second, apart = BandReader(bands=bands), BandReader(bands=bands), BandReader()
    assert first.lines(frame) == second.lines(frame) == apart.lines(frame) != ()
    assert first.read == apart.read > 0 == second.read


def test_threads_never_share_an_engine_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_IDLE", defaultdict(list))
    loaded: list[object] = []
    monkeypatch.setattr(ocr, "_loaded", lambda threads: loaded.append(object()) or loaded[-1])
    one, other = Ocr(), Ocr()
    with one._engine() as mine, other._engine() as its:
        assert mine is not its
    with other._engine() as again, one._engine() as third:
        assert {again, third} == {mine, its}
    assert len(loaded) == 2

"""Build the redactor of a run from its redaction settings, secrets and one-time codes.

`redactor_for` masks frames, and `text_filter` removes private text from the accessibility tree. `agent` and
`cli.record_command.record` use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from holo_tasks.core.elements.known_elements import TextFilter
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.ports import Masker, Redactor
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.secrets.codes import NO_CODES, Codes
from holo_tasks.safety.masking.places import FixedRegions, WindowRule, WindowRules
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.redaction import NothingToRedact, Painter
from holo_tasks.safety.scrubbing import scrub_text
from holo_tasks.safety.typed_secrets.typed_field_ocr import TypedTexts
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields

if TYPE_CHECKING:
    from holo_tasks.safety.masking.lines import LineReader, ReadLine
    from holo_tasks.safety.masking.texts import TextMasker

OCR = ("rapidocr", "onnxruntime", "cv2", "numpy")
"""Packages that OCR needs."""


def redactor_for(
    redaction: Redaction | None,
    secrets: Mapping[str, str] | None = None,
    typed: TypedFields | None = None,
    codes: Codes = NO_CODES,
) -> Redactor:
    """Return the redactor for every frame of a run.

    ``secrets`` are values by name. They are searched wherever OCR runs, unless the settings exclude them. Without
    redaction settings, OCR searches for them from the first typed secret on, if it is installed. One-time ``codes`` are
    treated in the same way, and codes from mail are searched once the first has arrived. ``typed`` masks the fields
    that secrets were typed into.

    Raises `InvalidUsage` if a package that the settings need is not installed.
    """
    maskers: list[Masker] = [typed] if typed is not None else []
    if redaction is None:
        seen = (
            [_typed_secrets_masker(typed, secrets, codes)]
            if typed is not None and secrets and can_read()
            else _mailed_code_maskers(codes)
        )
        return Painter(maskers, seen) if maskers or seen else NothingToRedact()
    check(redaction, secrets)
    secrets, codes = (secrets, codes) if redaction.secrets else (None, NO_CODES)
    if redaction.regions:
        maskers.append(FixedRegions([Mask(region.kind, region.box) for region in redaction.regions]))
    if redaction.windows:
        maskers.append(WindowRules([WindowRule(rule.programs, rule.title, rule.kind) for rule in redaction.windows]))
    patience_s = redaction.timeout_seconds
    if not (redaction.reads or secrets):
        return Painter(maskers, _mailed_code_maskers(codes), patience_s=patience_s)
    reader = _screen_reader()
    texts = _texts(redaction, secrets, reader, codes)
    reading: list[Masker] = [TypedTexts(typed, texts, asked_for=True) if typed is not None and secrets else texts]
    if redaction.mode == "paint":
        return Painter(maskers, reading, patience_s=patience_s)
    from holo_tasks.safety.masking.wireframe import Wireframe
    from holo_tasks.vision.outline_boxes import Outlines

    return Wireframe(reader, Outlines(), words=redaction.words, maskers=maskers, reading=reading, patience_s=patience_s)


def _texts(
    redaction: Redaction, secrets: Mapping[str, str] | None, reader: LineReader, codes: Codes = NO_CODES
) -> TextMasker:
    """Return the masker for private texts."""
    from holo_tasks.safety.masking.texts import TextDetector, TextMasker

    detectors: list[TextDetector] = []
    if redaction.detector == "presidio":
        from holo_tasks.safety.masking.presidio import PresidioDetector

        detectors.append(PresidioDetector())
    return TextMasker(
        reader,
        kinds=redaction.texts,
        names=redaction.names,
        patterns=redaction.patterns,
        secrets=secrets,
        detectors=detectors,
        padding=redaction.padding,
        codes=codes,
    )


def text_filter(
    redaction: Redaction | None, secrets: Mapping[str, str] | None = None, codes: Codes = NO_CODES
) -> TextFilter:
    """Return the function that removes private text from the words of programs before they leave this machine.

    It applies the text rules, secrets' values and one-time codes. A text with private content becomes an empty string.
    """
    if redaction is None or not (redaction.reads or (secrets and redaction.secrets)):
        return scrub_text
    secrets, codes = (secrets, codes) if redaction.secrets else (None, NO_CODES)
    made: list[TextMasker] = []

    @lru_cache(maxsize=4096)
    def private(text: str, now: frozenset[str]) -> bool:  # ``now`` is a part of the cache key
        if not made:  # the name detector is slow to load
            made.append(_texts(redaction, secrets, _NoReader(), codes))
        return made[0].holds(text)

    def tell(text: str) -> str:
        return "" if text and private(text, frozenset(codes.known())) else scrub_text(text)

    return tell


class _NoReader:
    """Null object for the reader of a text masker that never reads a screen."""

    def lines(self, frame: Frame) -> Sequence[ReadLine]:
        return ()

    def again(self, frame: Frame, box: Box) -> Sequence[str]:
        return ()


def _screen_reader() -> LineReader:
    """Return a reader of screens that shares its cache with the other runs of this process."""
    from holo_tasks.vision.band_reader import BandReader, shared_bands

    return BandReader(bands=shared_bands())


def can_read() -> bool:
    """Return whether OCR is installed."""
    return all(find_spec(name) is not None for name in OCR)


def _typed_secrets_masker(typed: TypedFields, secrets: Mapping[str, str], codes: Codes) -> Masker:
    """Return a masker that reads the screen for secrets, once a secret was typed or a code came by mail."""
    from holo_tasks.safety.masking.texts import TextMasker

    texts = TextMasker(_screen_reader(), kinds=(), secrets=secrets, codes=codes)
    return TypedTexts(typed, texts, asked_for=False, codes=codes)


class _MailedCodesMasker:
    """Masks one-time codes on the screen, from the first mailed code on."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self._texts: TextMasker | None = None

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        if not self._codes.came:
            return ()
        if self._texts is None:
            from holo_tasks.safety.masking.texts import TextMasker

            self._texts = TextMasker(_screen_reader(), kinds=(), codes=self._codes)
        return await self._texts.masks(frame)


def _mailed_code_maskers(codes: Codes) -> list[Masker]:
    """Return the masker for codes from mail; none if no code can arrive or OCR is not installed."""
    return [_MailedCodesMasker(codes)] if codes is not NO_CODES and can_read() else []


def check(redaction: Redaction | None, secrets: Mapping[str, str] | None = None) -> None:
    """Raise `InvalidUsage` if a package that the redaction needs is not installed.

    It is cheap: call it before anything is started. ``secrets`` are the values that the redaction would search for.
    """
    if redaction is not None and (redaction.reads or (secrets and redaction.secrets)):
        missing = [name for name in OCR if find_spec(name) is None]
        if missing:
            raise InvalidUsage(
                f"This redaction reads the screen, and {missing[0]} is not installed: "
                "pip install 'prefect-holo[redaction]', or read nothing with texts = [] and secrets = false."
            )
    if redaction is not None and redaction.detector and find_spec("presidio_analyzer") is None:
        raise InvalidUsage("This redaction asks for Presidio: pip install 'prefect-holo[presidio]'.")

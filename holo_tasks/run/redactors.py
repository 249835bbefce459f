"""From what a person wrote about redaction to the redactor of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from holo_tasks.core.codes import NO_CODES, Codes
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.frame import Frame, Mask
from holo_tasks.core.geometry import Box
from holo_tasks.core.known_elements import Tell
from holo_tasks.core.ports import Masker, Redactor
from holo_tasks.safety.masking.places import FixedRegions, Owned, OwnedWindows
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.redaction import NothingToRedact, Painter
from holo_tasks.safety.scrubbing import hushed
from holo_tasks.safety.typed_fields import TypedFields
from holo_tasks.safety.typed_texts import TypedTexts

if TYPE_CHECKING:
    from holo_tasks.safety.masking.lines import LineReader, ReadLine
    from holo_tasks.safety.masking.texts import TextMasker

OCR = ("rapidocr", "onnxruntime", "cv2", "numpy")


def redactor_for(
    redaction: Redaction | None,
    secrets: Mapping[str, str] | None = None,
    typed: TypedFields | None = None,
    codes: Codes = NO_CODES,
) -> Redactor:
    """Return what redacts every frame of a run: by its settings, and where secrets were ``typed``.

    ``secrets`` are values by name that are looked for wherever OCR is used and, where it is installed, once the first
    of them was typed, unless the settings say otherwise; so are the one-time ``codes`` of those that are seeds, and
    those that come by mail, from then on. Raises `InvalidUsage` if something that the settings take is not installed.
    """
    maskers: list[Masker] = [typed] if typed is not None else []
    if redaction is None:
        seen = [_once_typed(typed, secrets, codes)] if typed is not None and secrets and can_read() else _by_mail(codes)
        return Painter(maskers, seen) if maskers or seen else NothingToRedact()
    check(redaction, secrets)
    secrets, codes = (secrets, codes) if redaction.secrets else (None, NO_CODES)
    if redaction.regions:
        maskers.append(FixedRegions([Mask(region.kind, region.box) for region in redaction.regions]))
    if redaction.windows:
        maskers.append(OwnedWindows([Owned(rule.programs, rule.title, rule.kind) for rule in redaction.windows]))
    patience_s = redaction.timeout_seconds
    if not (redaction.reads or secrets):
        return Painter(maskers, _by_mail(codes), patience_s=patience_s)
    from holo_tasks.vision.band_reader import BandReader

    reader = BandReader()
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
    """Return what finds private texts by the rules of a redaction."""
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


def tell_for(redaction: Redaction | None, secrets: Mapping[str, str] | None = None, codes: Codes = NO_CODES) -> Tell:
    """Return what programs' own words go through before they may be known: the rules for what is read, the values of
    secrets, and one-time codes. A text that holds something private is told as an empty one.
    """
    if redaction is None or not (redaction.reads or (secrets and redaction.secrets)):
        return hushed
    secrets, codes = (secrets, codes) if redaction.secrets else (None, NO_CODES)
    made: list[TextMasker] = []

    @lru_cache(maxsize=4096)
    def private(text: str, now: frozenset[str]) -> bool:  # of each set of codes anew
        if not made:  # finding names may take a while to load
            made.append(_texts(redaction, secrets, _Unread(), codes))
        return made[0].holds(text)

    def tell(text: str) -> str:
        return "" if text and private(text, frozenset(codes.known())) else hushed(text)

    return tell


class _Unread:
    """Stands for the reader of a screen where there is none."""

    def lines(self, frame: Frame) -> Sequence[ReadLine]:
        return ()

    def again(self, frame: Frame, box: Box) -> Sequence[str]:
        return ()


def can_read() -> bool:
    """Say whether OCR is installed."""
    return all(find_spec(name) is not None for name in OCR)


def _once_typed(typed: TypedFields, secrets: Mapping[str, str], codes: Codes) -> Masker:
    """Return what reads the screen for the values of secrets, from when one was typed or a code came by mail on."""
    from holo_tasks.safety.masking.texts import TextMasker
    from holo_tasks.vision.band_reader import BandReader

    texts = TextMasker(BandReader(), kinds=(), secrets=secrets, codes=codes)
    return TypedTexts(typed, texts, asked_for=False, codes=codes)


class _OnceMailed:
    """Reads the screen for one-time codes, from when the first of them came by mail on."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes
        self._texts: TextMasker | None = None

    async def masks(self, frame: Frame) -> Sequence[Mask]:
        if not self._codes.came:
            return ()
        if self._texts is None:
            from holo_tasks.safety.masking.texts import TextMasker
            from holo_tasks.vision.band_reader import BandReader

            self._texts = TextMasker(BandReader(), kinds=(), codes=self._codes)
        return await self._texts.masks(frame)


def _by_mail(codes: Codes) -> list[Masker]:
    """Return what masks codes that come by mail where no secret is known; nothing if no code can come, or be read."""
    return [_OnceMailed(codes)] if codes is not NO_CODES and can_read() else []


def check(redaction: Redaction | None, secrets: Mapping[str, str] | None = None) -> None:
    """Raise `InvalidUsage` if what this takes is not installed; cheap enough to be asked before anything is started.

    ``secrets`` are what would be looked for, if the redaction looks for any.
    """
    if redaction is not None and (redaction.reads or (secrets and redaction.secrets)):
        missing = [name for name in OCR if find_spec(name) is None]
        if missing:
            raise InvalidUsage(
                f"This redaction reads the screen, and {missing[0]} is not installed: "
                "pip install 'prefect-holo[redaction]', or leave out what is read with texts = [] and secrets = false."
            )
    if redaction is not None and redaction.detector and find_spec("presidio_analyzer") is None:
        raise InvalidUsage("This redaction asks for Presidio: pip install 'prefect-holo[presidio]'.")

"""From what a person wrote about redaction to the redactor of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.frame import Mask
from holo_tasks.core.ports import Masker, Redactor
from holo_tasks.safety.masking.places import FixedRegions, Owned, OwnedWindows
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.redaction import NothingToRedact, Painter

OCR = ("rapidocr", "onnxruntime", "cv2", "numpy")


def redactor_for(
    redaction: Redaction | None, secrets: Mapping[str, str] | None = None, others: Sequence[Masker] = ()
) -> Redactor:
    """Return what redacts every frame of a run: by its settings, and with what ``others`` find by place.

    ``secrets`` are values by name that are looked for wherever OCR is used. Raises `InvalidUsage` if something that
    this takes is not installed.
    """
    maskers: list[Masker] = list(others)
    if redaction is None:
        return Painter(maskers) if maskers else NothingToRedact()
    check(redaction, secrets)
    secrets = secrets if redaction.secrets else None
    if redaction.regions:
        maskers.append(FixedRegions([Mask(region.kind, region.box) for region in redaction.regions]))
    if redaction.windows:
        maskers.append(OwnedWindows([Owned(rule.programs, rule.title, rule.kind) for rule in redaction.windows]))
    patience_s = redaction.timeout_seconds
    if not (redaction.reads or secrets):
        return Painter(maskers, patience_s=patience_s)
    from holo_tasks.playbooks.banding import BandReader
    from holo_tasks.safety.masking.texts import TextDetector, TextMasker

    reader = BandReader()
    detectors: list[TextDetector] = []
    if redaction.detector == "presidio":
        from holo_tasks.safety.masking.presidio import PresidioDetector

        detectors.append(PresidioDetector())
    texts = TextMasker(
        reader,
        kinds=redaction.texts,
        names=redaction.names,
        patterns=redaction.patterns,
        secrets=secrets,
        detectors=detectors,
        padding=redaction.padding,
    )
    if redaction.mode == "paint":
        return Painter(maskers, [texts], patience_s=patience_s)
    from holo_tasks.playbooks.outlining import Outlines
    from holo_tasks.safety.masking.wireframe import Wireframe

    return Wireframe(reader, Outlines(), words=redaction.words, maskers=maskers, reading=[texts], patience_s=patience_s)


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

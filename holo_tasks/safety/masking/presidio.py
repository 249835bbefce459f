"""Detect private text with Microsoft Presidio. It needs the extra ``presidio`` and a spaCy language model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.extras import require_extra
from holo_tasks.safety.masking.kinds import PrivatePart


class Analyzer(Protocol):
    """The part of ``presidio_analyzer.AnalyzerEngine`` that is used here."""

    def analyze(self, text: str, language: str) -> Sequence[Any]: ...


class PresidioDetector:
    """Detector whose kinds are Presidio's entity types in lowercase."""

    def __init__(self, analyzer: Analyzer | None = None, *, language: str = "en", threshold: float = 0.4) -> None:
        self._analyzer = analyzer or _default_analyzer()
        self._language = language
        self._threshold = threshold

    def find(self, text: str) -> list[PrivatePart]:
        results = self._analyzer.analyze(text=text, language=self._language)
        return [
            PrivatePart(str(result.entity_type).lower(), int(result.start), int(result.end))
            for result in results
            if result.score >= self._threshold and result.start < result.end
        ]


def _default_analyzer() -> Analyzer:
    require_extra("presidio", "presidio-analyzer", "This redaction", "presidio_analyzer")
    analyzers: Any = import_module("presidio_analyzer")

    try:
        engine: Analyzer = analyzers.AnalyzerEngine()
    except (Exception, SystemExit) as error:  # spaCy ends the process over a model that it cannot fetch
        raise InvalidUsage(
            f"Presidio did not start ({type(error).__name__}): it needs a spaCy model, for example "
            "`python -m spacy download en_core_web_lg`."
        ) from None
    return engine

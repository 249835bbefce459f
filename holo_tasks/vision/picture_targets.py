"""Add the search for small pictures, and for the pieces of a line, to a `Sight`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.vision.joined_words import pieces_of
from holo_tasks.vision.screen_text import Line, Sight
from holo_tasks.vision.template_match import FoundPicture, places_of, reference

if TYPE_CHECKING:
    from PIL import Image


def with_pictures(sight: Sight, screen: Image.Image) -> Sight:
    """Return a sight that can find smaller pictures on ``screen``, by their files, and the pieces of its lines."""

    @cache
    def pictures(file: Path) -> Sequence[FoundPicture]:
        import numpy as np

        return places_of(np.asarray(screen.convert("RGB")), reference(file))

    @cache
    def pieces(line: Line) -> Sequence[Line]:
        import numpy as np

        return pieces_of(np.asarray(screen.convert("RGB")), line)

    return replace(sight, pictures=pictures, pieces=pieces)

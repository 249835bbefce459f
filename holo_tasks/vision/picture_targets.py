"""Add the search for small pictures to a `Sight`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from holo_tasks.vision.screen_text import Sight
from holo_tasks.vision.template_match import FoundPicture, places_of, reference

if TYPE_CHECKING:
    from PIL import Image


def with_pictures(sight: Sight, screen: Image.Image) -> Sight:
    """Return a sight that can find smaller pictures on ``screen``, by their files."""

    @cache
    def pictures(file: Path) -> Sequence[FoundPicture]:
        import numpy as np

        return places_of(np.asarray(screen.convert("RGB")), reference(file))

    return replace(sight, pictures=pictures)

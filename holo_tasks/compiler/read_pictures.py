"""Read the pictures of recorded runs, each once, and group them by the program's screens."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from PIL import Image

from holo_tasks.audit.reader import Trace
from holo_tasks.compiler.recording import Picture, Recording
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.picture_targets import with_pictures
from holo_tasks.vision.screen_text import Line, Sight, plain

ALIKE = 0.5
"""Pictures show the same screen if they share this part of their texts, from 0 to 1.

Texts on all pictures do not count.
"""


@dataclass(frozen=True)
class ReadPicture:
    """A read picture of a recording. ``screen`` is the number of the program's screen that it shows."""

    picture: Picture
    sight: Sight
    screen: int = 0

    @property
    def words(self) -> frozenset[str]:
        """The texts on the picture as `screen_text.plain` returns them, without digits, which belong to the item."""
        return frozenset(word for line in self.sight.lines if len(word := _without_digits(line)) > 2)


def read(trace: Trace, recordings: Iterable[Recording], reader: Reader) -> dict[str, Sight]:
    """Return the read pictures of some recordings of a trace, by their names."""
    names = dict.fromkeys(picture.sha256 for recording in recordings for picture in recording.pictures)
    return {name: _with_pictures(reader.read(opened(trace, name)).sight, trace, name) for name in names}


def _with_pictures(sight: Sight, trace: Trace, name: str) -> Sight:
    """Return a sight that finds small pictures and pieces of lines. It opens the picture again for each new search."""
    pictures = cache(lambda file: with_pictures(sight, opened(trace, name)).pictures(file))
    return replace(
        sight, pictures=pictures, pieces=cache(lambda line: with_pictures(sight, opened(trace, name)).pieces(line))
    )


def opened(trace: Trace, name: str) -> Image.Image:
    """Return the pixels of a picture in a trace."""
    with Image.open(io.BytesIO(trace.frame(name))) as picture:
        return picture.convert("RGB")


def grouped_by_screen(pictures: Sequence[tuple[Picture, Sight]]) -> dict[str, ReadPicture]:
    """Return each picture with the number of its screen. Pictures that share most texts have the same number."""
    every = [ReadPicture(picture, sight) for picture, sight in pictures]
    common = frozenset.intersection(*(seen.words for seen in every)) if len(every) > 1 else frozenset[str]()
    screens: list[list[frozenset[str]]] = []
    found = {}
    for seen in every:
        words = seen.words - common
        likely = [max((_similarity(words, other) for other in screen), default=0.0) for screen in screens]
        best = max(range(len(screens)), key=likely.__getitem__, default=-1)
        if best < 0 or likely[best] < ALIKE:
            best = len(screens)
            screens.append([])
        screens[best].append(words)
        found[seen.picture.sha256] = ReadPicture(seen.picture, seen.sight, best)
    return found


def split_by_targets(seen: Mapping[str, ReadPicture], pressed: Iterable[tuple[str, str]]) -> dict[str, ReadPicture]:
    """Split screens by the presence of the pressed controls, and return the pictures with their new screen numbers.

    A message covers little of a screen, so both pictures share most texts. The pressed button is on the message
    only. ``pressed`` are pairs of a picture name and the label that was pressed there.
    """
    found = dict(seen)
    for name, text in pressed:
        of_screen = [one for one in found.values() if one.screen == found[name].screen]
        showing = [one for one in of_screen if one.sight.has(text)]
        if 0 < len(showing) < len(of_screen):
            new = max(one.screen for one in found.values()) + 1
            found |= {one.picture.sha256: replace(one, screen=new) for one in showing}
    return found


def grouped_by_text(seen: Mapping[str, ReadPicture]) -> dict[str, ReadPicture]:
    """Group the pictures by all their texts, and return them with their new screen numbers.

    Texts on all pictures count here. A form that never leaves the screen hardly has other texts.
    """
    screens: list[list[frozenset[str]]] = []
    found = {}
    for name, one in seen.items():
        likely = [max(_similarity(one.words, other) for other in screen) for screen in screens]
        best = max(range(len(screens)), key=likely.__getitem__, default=-1)
        if best < 0 or likely[best] < ALIKE:
            best = len(screens)
            screens.append([])
        screens[best].append(one.words)
        found[name] = replace(one, screen=best)
    return found


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _without_digits(line: Line) -> str:
    return "".join(character for character in plain(line.text) if not character.isdigit())

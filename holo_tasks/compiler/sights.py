"""What the pictures of recorded runs say: each is read once, and told apart by the screens of the program."""

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
"""Two pictures show the same screen of a program if they share this much of the texts that not every picture shows."""


@dataclass(frozen=True)
class Seen:
    """A picture of a recording, read; ``screen`` is the number of the program's screen that it shows."""

    picture: Picture
    sight: Sight
    screen: int = 0

    @property
    def words(self) -> frozenset[str]:
        """The texts on it, as `screen_text.plain` has them, numbers left out: those are of the item."""
        return frozenset(word for line in self.sight.lines if len(word := _without_digits(line)) > 2)


def read(trace: Trace, recordings: Iterable[Recording], reader: Reader) -> dict[str, Sight]:
    """Return what is on the pictures of some recordings of a trace, by their names."""
    names = dict.fromkeys(picture.sha256 for recording in recordings for picture in recording.pictures)
    return {name: _with_pictures(reader.read(opened(trace, name)).sight, trace, name) for name in names}


def _with_pictures(sight: Sight, trace: Trace, name: str) -> Sight:
    """Return what is on a picture, which is opened once more where it is asked where a smaller one is."""
    return replace(sight, pictures=cache(lambda file: with_pictures(sight, opened(trace, name)).pictures(file)))


def opened(trace: Trace, name: str) -> Image.Image:
    """Return a picture of a trace."""
    with Image.open(io.BytesIO(trace.frame(name))) as picture:
        return picture.convert("RGB")


def told_apart(pictures: Sequence[tuple[Picture, Sight]]) -> dict[str, Seen]:
    """Return each picture with the number of its screen: pictures that show mostly the same texts share one."""
    every = [Seen(picture, sight) for picture, sight in pictures]
    common = frozenset.intersection(*(seen.words for seen in every)) if len(every) > 1 else frozenset[str]()
    screens: list[list[frozenset[str]]] = []
    found = {}
    for seen in every:
        words = seen.words - common
        likely = [max((_shared(words, other) for other in screen), default=0.0) for screen in screens]
        best = max(range(len(screens)), key=likely.__getitem__, default=-1)
        if best < 0 or likely[best] < ALIKE:
            best = len(screens)
            screens.append([])
        screens[best].append(words)
        found[seen.picture.sha256] = Seen(seen.picture, seen.sight, best)
    return found


def told_apart_by_targets(seen: Mapping[str, Seen], pressed: Iterable[tuple[str, str]]) -> dict[str, Seen]:
    """Return pictures with the numbers of their screens, where what was pressed on some of them is not on the others.

    A message over a screen covers little of it: they show mostly the same, and what is pressed is on the message.
    ``pressed`` are names of pictures and what was pressed there.
    """
    found = dict(seen)
    for name, text in pressed:
        of_screen = [one for one in found.values() if one.screen == found[name].screen]
        showing = [one for one in of_screen if one.sight.has(text)]
        if 0 < len(showing) < len(of_screen):
            new = max(one.screen for one in found.values()) + 1
            found |= {one.picture.sha256: replace(one, screen=new) for one in showing}
    return found


def told_apart_roughly(seen: Mapping[str, Seen]) -> dict[str, Seen]:
    """Return pictures with the numbers of their screens where what all of them show counts, too.

    Of a form that stays there all the time, hardly anything else is written on any of them.
    """
    screens: list[list[frozenset[str]]] = []
    found = {}
    for name, one in seen.items():
        likely = [max(_shared(one.words, other) for other in screen) for screen in screens]
        best = max(range(len(screens)), key=likely.__getitem__, default=-1)
        if best < 0 or likely[best] < ALIKE:
            best = len(screens)
            screens.append([])
        screens[best].append(one.words)
        found[name] = replace(one, screen=best)
    return found


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def _without_digits(line: Line) -> str:
    return "".join(character for character in plain(line.text) if not character.isdigit())

"""Measure how well redaction finds private texts on generated screens: recall and precision by kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from PIL import Image, ImageDraw

from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box
from tests.support.private_screens import PrivateScreen, Written

COVERED = 0.99


@dataclass
class Scores:
    """Counts by kind. ``missed`` and ``wrong`` describe the errors for later inspection."""

    there: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, screen: PrivateScreen, masks: Sequence[Mask]) -> None:
        """Count one screen."""
        about = f"{screen.font} {screen.size} {screen.contrast} {screen.layout}"
        painted = Image.new("1", screen.picture.size)
        for mask in masks:
            ImageDraw.Draw(painted).rectangle((mask.box.left, mask.box.top, mask.box.right - 1, mask.box.bottom - 1), 1)
        for one in screen.written:
            if one.kind:
                self.there[one.kind] += 1
                if _share(painted, one.box) >= COVERED:
                    self.found[one.kind] += 1
                else:
                    self.missed.append(f"{one.kind} {one.text!r} ({about})")
        for mask in masks:
            on = [one for one in screen.written if _touches(mask.box, one)]
            if any(one.kind == mask.kind for one in on):
                self.right[mask.kind] += 1
            elif not any(one.kind for one in on):
                self.false[mask.kind] += 1
                self.wrong.append(f"{mask.kind} on {[one.text for one in on]} ({about})")

    def recall(self, *kinds: str) -> float:
        """Return the share of private texts that are completely painted over."""
        wanted = kinds or tuple(self.there)
        return sum(self.found[kind] for kind in wanted) / max(1, sum(self.there[kind] for kind in wanted))

    def precision(self, *kinds: str) -> float:
        """Return the share of masks of these kinds that cover a text of the same kind. Masks on other private texts do
        not count.
        """
        wanted = kinds or tuple({*self.right, *self.false})
        right, false = sum(self.right[kind] for kind in wanted), sum(self.false[kind] for kind in wanted)
        return right / max(1, right + false)

    def table(self) -> str:
        """Return a line for each kind."""
        lines = [f"{'kind':<12}{'there':>7}{'recall':>9}{'masks':>8}{'precision':>11}"]
        for kind in sorted({*self.there, *self.false}):
            masks = self.right[kind] + self.false[kind]
            lines.append(
                f"{kind:<12}{self.there[kind]:>7}{self.recall(kind):>9.3f}{masks:>8}{self.precision(kind):>11.3f}"
            )
        lines.append(f"{'all':<12}{sum(self.there.values()):>7}{self.recall():>9.3f}{'':>8}{self.precision():>11.3f}")
        return "\n".join(lines)


def by_contrast() -> defaultdict[str, Scores]:
    return defaultdict(Scores)


def _share(painted: Image.Image, box: Box) -> float:
    part = painted.crop((box.left, box.top, box.right, box.bottom)).convert("L")
    return sum(part.histogram()[1:]) / (box.width * box.height)


def _touches(mask: Box, one: Written) -> bool:
    """Return whether a mask covers the text itself, rather than only reaching into its box with its padding."""
    inner = Box(one.box.left, one.box.center.y - 1, one.box.width, 3)
    return mask.intersects(inner)

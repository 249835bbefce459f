"""Private texts on generated screens: shares of masked and of wrongly masked texts, and the time per screen.

`python tests/bench/bench_redaction.py [COUNT]`: 210 screens by default, some 15 minutes on two cores.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path

from PIL import Image, ImageDraw

sys.path.insert(0, str(Path(__file__).parents[2]))

from holo_tasks.core.screen.geometry import Size
from holo_tasks.safety.masking.texts import TextMasker
from holo_tasks.vision.band_reader import BandReader
from tests.support.private_screens import FAINT, NAMES, frame_of, screens
from tests.support.redaction_scores import Scores

CHECKED = ("card", "iban", "de_tax_id", "fr_nir", "es_dni")


async def main(count: int) -> None:
    normal, faint = Scores(), Scores()
    full_s, after_change_s, unchanged_s = [], [], []
    for number, screen in enumerate(screens(count), start=1):
        masker = TextMasker(BandReader(), names=NAMES)
        if number == 1:
            await masker.masks(screen.frame)  # loads the engine
            masker = TextMasker(BandReader(), names=NAMES)
            await masker.masks(frame_of(Image.new("RGB", (64, 64), "white")))
        frame = screen.frame
        started = time.process_time()
        masks = await masker.masks(frame)
        full_s.append(time.process_time() - started)
        (faint if screen.contrast in FAINT else normal).add(screen, masks)
        if number % 10 == 1:
            changed = screen.picture.copy()
            ImageDraw.Draw(changed).text((700, 460), "saved", fill="black")
            for picture, times in ((changed, after_change_s), (changed.copy(), unchanged_s)):
                shown = frame_of(picture)
                started = time.process_time()
                await masker.masks(shown)
                times.append(time.process_time() - started)
        if number % 30 == 0 or number == count:
            _report(number, normal, faint)
    size = Size(*screen.picture.size)
    for name, times in (("full", full_s), ("after a small change", after_change_s), ("unchanged", unchanged_s)):
        print(f"{name}, {size}: median {statistics.median(times):.3f} s, worst {max(times):.3f} s of CPU")


def _report(number: int, normal: Scores, faint: Scores) -> None:
    print(f"\n{number} screens")
    for name, scores in (("normal contrast", normal), (f"faint: {', '.join(FAINT)}", faint)):
        print(f"\n{name}\n{scores.table()}")
        print(f"with check digits: recall {scores.recall(*CHECKED):.4f}, precision {scores.precision(*CHECKED):.4f}")
        for title, lines in (("missed", scores.missed), ("wrong", scores.wrong)):
            print(f"{title}:", *lines, sep="\n  ", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 210))

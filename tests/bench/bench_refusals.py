"""How often a click is refused for a thing that moves by itself beside it, and whether what should be refused is.

`python tests/bench/bench_refusals.py [--clicks 500] [--tree FOLDER]`: clicks beside each kind of thing on a real
screen, then traps; it fails if one was refused that should not be, or a trap was missed. --tree tries the
package of another folder, an older one, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from common import APPS, headline, ms, table
from probe_parts import BUTTON, FIELD, KINDS, ROW_Y, TOP

THINK_S = (0.2, 1.2)
LEARN_S = 4.0
"""A trap is sprung beside a clock that has been watched for this long."""
TRAPS = {  # what the program is told, where it is clicked, and whether by itself it goes on
    "a row put on top of the list": ("insert", "row", False),
    "a list that grows every second": ("list grows", "row", True),
    "a label that ticks": ("label ticks", "row", True),
    "labels that all tick": ("all labels tick", "row", True),
    "the label of the only row ticks": ("only row ticks", "first", True),
    "a button with another word": ("word", "save", False),
    "a button whose words tick": ("word ticks", "save", True),
}


class Trial:
    """The program on a desktop, and what it says."""

    def __init__(self, desktop: Any, program: subprocess.Popen[str], log: Path) -> None:
        self.desktop, self._program, self._log = desktop, program, log
        self.refused: Counter[str] = Counter()
        self.took_s: list[float] = []

    def said(self, kind: str) -> list[Any]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [said for line in lines if (said := json.loads(line))[0] == kind]

    async def until(self, kind: str, number: int = 1) -> Any:
        end = time.monotonic() + 60
        while len(found := self.said(kind)) < number:
            if time.monotonic() > end:
                raise SystemExit(f"The program did not say {kind!r} {number} times.")
            await asyncio.sleep(0.02)
        return found[-1]

    async def tell(self, order: str) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(order + "\n")
        self._program.stdin.flush()
        await self.until("told")

    async def act(self, gesture: Any, number: int) -> bool:
        """Do what was decided on by a frame; false if it was refused."""
        from holo_tasks.core.errors import ScreenChanged
        from holo_tasks.core.slip import Slip, gesture_digest

        slip = Slip(gesture_digest(gesture), time.monotonic() + 60, frame=number)
        started = time.monotonic()
        try:
            await self.desktop.do(gesture, slip=slip)
        except ScreenChanged as error:
            self.refused[str(error).partition(": ")[2].removesuffix(". Nothing was done.")] += 1
            return False
        finally:
            self.took_s.append(time.monotonic() - started)
        return True


@asynccontextmanager
async def trial(kind: str) -> AsyncIterator[Trial]:
    """Show the program beside things of a kind."""
    from tk_python import tk_python

    from holo_tasks.desktop import VirtualDesktop

    with tempfile.TemporaryDirectory(prefix="holo-bench-") as folder:
        log = Path(folder) / "log"
        async with VirtualDesktop() as desktop:
            env = {**os.environ, "DISPLAY": desktop.display, "XAUTHORITY": str(desktop.authority)}
            command = [tk_python(), str(APPS / "probe_parts.py"), str(log), kind]
            with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, text=True) as program:
                found = Trial(desktop, program, log)
                await found.until("mapped")
                yield found
                program.kill()


def places(trial: Trial) -> dict[str, Any]:
    """Return where to click: at the height of things that move, and right over one."""
    from holo_tasks.core.geometry import Point

    (_, left, top), (x, y, width, height) = trial.said("mapped")[-1], BUTTON
    return {
        "row": Point(left + 295, top + ROW_Y),
        "first": Point(left + 295, top + TOP),
        "save": Point(left + x + width // 2, top + y + height // 2),
        "field": Point(left + FIELD[0] + 90, top + FIELD[1] + 12),
    }


async def beside(kind: str, clicks: int, think_s: tuple[float, float] = THINK_S) -> Trial:
    """Look, think for a while, and click or type, over and over."""
    from holo_tasks.core.gestures import Click, Write

    chance = random.Random(kind)
    async with trial(kind) as found:
        at = places(found)
        turns = [Click(at["row"]), Click(at["save"]), Click(at["field"]), Write("a")]
        frame = await found.desktop.look()
        for turn in range(clicks):
            await asyncio.sleep(chance.uniform(*think_s))
            done = await found.act(turns[turn % len(turns)], frame.number)
            frame = await found.desktop.look(after_action=done)
        return found


async def trapped(order: str, place: str, *, goes_on: bool) -> bool:
    """Say whether a click was refused on what became another thing while it was thought about."""
    from holo_tasks.core.gestures import Click

    async with trial("clock") as found:
        at = places(found)
        if goes_on:
            await found.tell(order)
        await found.desktop.look()
        await asyncio.sleep(LEARN_S)
        frame = await found.desktop.look()
        if goes_on:
            await found.until("ticked", len(found.said("ticked")) + 1)
        else:
            await found.tell(order)
        await asyncio.sleep(0.3)
        return not await found.act(Click(at[place]), frame.number)


async def main(clicks: int, kinds: list[str], traps: list[str]) -> bool:
    """Try what is asked for, and print what came of it; say whether all of it was as it should be."""
    rows, each = [], -(-clicks // max(1, len(kinds)))
    for kind in kinds:
        found = await beside(kind, each)
        why = ", ".join(f"{count} {reason}" for reason, count in found.refused.items())
        rows.append((kind, why, each, found.refused.total(), ms(found.took_s)))
        print(f"{kind}: {found.refused.total()} of {each} refused", flush=True)
    columns = ["beside", "because", "done", "refused", "ms each"]
    table("clicks, and texts typed, beside what moves by itself", columns, rows, words=2)
    caught = {}
    for what in traps:
        order, place, goes_on = TRAPS[what]
        caught[what] = await trapped(order, place, goes_on=goes_on)
    table("traps beside a clock", ["trap", ""], [(what, "caught" if yes else "MISSED") for what, yes in caught.items()])
    return all(caught.values()) and not any(row[3] for row in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=500)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--traps", nargs="*", choices=TRAPS, default=list(TRAPS))
    options = parser.parse_args()
    if options.tree is not None:
        sys.path.insert(0, str(options.tree.resolve()))
    headline(__file__, "clicks refused beside what moves by itself, and traps")
    sys.exit(not asyncio.run(main(options.clicks, options.kinds, options.traps)))

"""`make bench-look`: time to recognize the state of a screen, by its elements and by its text.

The GTK version of the demo's ledger is driven from search to record and back, with another transaction each time. Each
new picture is matched with the same seven states twice: by elements, and by the texts on them. Both cache their
results, as in a run; OCR reads only changed regions. The time for reading the tree counts, the time for the picture
does not. The desktop begins to read the tree with the picture, so that time is printed separately. CPU milliseconds are
those of this process, the desktop and its programs, including the X server and the bus.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from common import headline

from holo_tasks.core.input.gestures import Click, Write
from holo_tasks.core.screen.states import State, Text, Widget, marks_in
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.processes import descendants
from holo_tasks.scripts.script import screens_of
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.support.gtk_ledger import CAFE, PASSWORD, PLAYBOOK, gtk_ledger

STATES = screens_of(PLAYBOOK).states


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    headline(__file__, "recognizing the state of a screen: by the program's elements, and by text")
    with tempfile.TemporaryDirectory(prefix="holo-bench-") as folder:
        asyncio.run(_compared(Path(folder), options.rounds))


async def _compared(folder: Path, rounds: int) -> None:
    transactions = [
        replace(CAFE, reference=f"TX-{20000 + 137 * n}", amount_cents=1250 + 977 * n) for n in range(rounds)
    ]
    texts = [State(state.name, *(Text(one.name or "") for one in _widgets(state))) for state in STATES]
    meter: dict[str, list[tuple[float, float]]] = {"picture": [], "elements": [], "text": []}
    together = []
    async with gtk_ledger(folder, transactions) as (desktop, _):
        by_tree = ScreenRecognizer(Reader(), elements=desktop.elements)
        by_text = ScreenRecognizer(Reader())
        for recognizer in (by_tree, by_text):  # load the engines
            await recognizer.recognize(await desktop.look(), texts)
        await _sign_on(desktop)
        processes = [os.getpid(), desktop.pid, *descendants(desktop.pid)]
        for transaction in transactions:
            for press in ((transaction.reference, "Search"), ("", "Back")):
                await _go(desktop, *press)
                with _measured(meter["picture"], processes):
                    frame = await desktop.look(after_action=True)
                _ = frame.digest  # computed once, by its first user
                told = []
                for how, recognizer, states in (("elements", by_tree, STATES), ("text", by_text, tuple(texts))):
                    with _measured(meter[how], processes):
                        state = await recognizer.recognize(frame, states)
                    told.append(state and state.name)
                assert len(set(told)) == 1, told
    for (first, first_cpu), (then, then_cpu) in zip(meter["picture"], meter["elements"], strict=True):
        together.append((first + then, first_cpu + then_cpu))
    meter["both"] = together
    print(f"{'':>10} {'screens':>8} {'median ms':>10} {'a quarter within':>17} {'longest':>8} {'CPU ms':>8}")
    for how, seen in meter.items():
        wall, cpu = (sorted(each[kind] for each in seen) for kind in (0, 1))
        quarter = wall[len(wall) // 4]
        print(
            f"{how:>10} {len(seen):>8} {statistics.median(wall):>10.1f} {quarter:>17.1f} {wall[-1]:>8.1f} "
            f"{statistics.median(cpu):>8.1f}"
        )


@contextmanager
def _measured(seen: list[tuple[float, float]], processes: Sequence[int]) -> Iterator[None]:
    busy, began = _busy_ms(processes), time.perf_counter()
    yield
    took = 1000 * (time.perf_counter() - began)
    seen.append((took, _busy_ms(processes) - busy))


def _busy_ms(processes: Sequence[int]) -> float:
    """Return the CPU time of some processes in milliseconds."""
    total = 0
    for pid in processes:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(thread.read_text().split()[0])
    return total / 1e6


def _widgets(state: State) -> list[Widget]:
    return [mark for mark in marks_in(state.marks) if isinstance(mark, Widget)]


async def _sign_on(desktop: VirtualDesktop) -> None:
    for role, name, text in (("text field", "User", "auditor"), ("password field", "Password", PASSWORD)):
        await _press(desktop, role, name)
        await desktop.do(Write(text))
    for name in ("Log in", "Transaction search"):
        await _press(desktop, "button", name)
        await desktop.look(after_action=True)


async def _go(desktop: VirtualDesktop, reference: str, button: str) -> None:
    if reference:
        await _press(desktop, "text field", "Reference")
        await desktop.do(Write(reference))
    await _press(desktop, "button", button)


async def _press(desktop: VirtualDesktop, role: str, name: str) -> None:
    end = time.monotonic() + 20
    while not (found := (await desktop.elements()).find(role, name)):
        assert time.monotonic() < end, f"no {role} {name}"
    await desktop.do(Click(found[0].box.center))


if __name__ == "__main__":
    main()

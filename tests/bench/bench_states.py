"""`make bench-look`: how long it takes to tell the state of a screen, by what its program tells and by its text.

The GTK twin of the demo's ledger is driven from search to record and back, a new transaction each time. Each new
picture is told among the same seven states twice, in turns: by elements, and by the texts on them. Both remember what
they have seen, as in a run; the reader reads only what has changed. Reading the tree is counted, taking the picture is
not.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from common import headline

from holo_tasks.core.frame import Frame
from holo_tasks.core.gestures import Click, Write
from holo_tasks.core.states import State, Text, Widget, marks_in
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.scripts.script import screens_of
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.state_recognizer import ScreenRecognizer
from tests.support.gtk_ledger import CAFE, PASSWORD, PLAYBOOK, gtk_ledger

STATES = screens_of(PLAYBOOK).states


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    headline(__file__, "telling the state of a screen: by the program's elements, and by text")
    with tempfile.TemporaryDirectory(prefix="holo-bench-") as folder:
        asyncio.run(_compared(Path(folder), options.rounds))


async def _compared(folder: Path, rounds: int) -> None:
    transactions = [
        replace(CAFE, reference=f"TX-{20000 + 137 * n}", amount_cents=1250 + 977 * n) for n in range(rounds)
    ]
    texts = [State(state.name, *(Text(one.name or "") for one in _widgets(state))) for state in STATES]
    took: dict[str, list[float]] = {"elements": [], "text": []}
    async with gtk_ledger(folder, transactions) as (desktop, _):
        by_tree = ScreenRecognizer(Reader(), elements=desktop.elements)
        by_text = ScreenRecognizer(Reader())
        for recognizer in (by_tree, by_text):  # the engines are loaded
            await recognizer.recognize(await desktop.look(), texts)
        await _sign_on(desktop)
        for number, transaction in enumerate(transactions):
            for press in ((transaction.reference, "Search"), ("", "Back")):
                await _go(desktop, *press)
                frame = await desktop.look(after_action=True)
                ways = [("elements", by_tree, STATES), ("text", by_text, tuple(texts))]
                told = [await _told(took[how], *way, frame) for how, *way in (ways if number % 2 else ways[::-1])]
                assert len(set(told)) == 1, told
    print(f"{'by':>10} {'screens':>8} {'median ms':>10} {'longest ms':>11}")
    for how, times in took.items():
        print(f"{how:>10} {len(times):>8} {statistics.median(times):>10.1f} {max(times):>11.1f}")


def _widgets(state: State) -> list[Widget]:
    return [mark for mark in marks_in(state.marks) if isinstance(mark, Widget)]


async def _told(took: list[float], recognizer: ScreenRecognizer, states: tuple[State, ...], frame: Frame) -> str:
    # The digest of a picture is made once, for whoever needs it first.
    _, began = frame.digest, time.perf_counter()
    state = await recognizer.recognize(frame, states)
    took.append(1000 * (time.perf_counter() - began))
    return state.name if state else ""


async def _sign_on(desktop: VirtualDesktop) -> None:
    for role, name, text in (("text field", "User", "auditor"), ("password field", "Password", PASSWORD)):
        await _press(desktop, role, name)
        await desktop.do(Write(text))
    await _press(desktop, "button", "Log in")
    await _press(desktop, "button", "Transaction search")


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
    await desktop.look(after_action=True)


if __name__ == "__main__":
    main()

"""Compiled playbooks after a change of the program, or under faults: passed, stopped or wrong.

`python tests/bench/bench_replay.py`: the rehearsal model records runs of the program of orders (tests/apps/records.py)
in Tk, GTK 3 and Qt; they are compiled once per toolkit. The playbook alone then handles another order, while the
program looks or behaves differently: in 20 cosmetic drifts, which it should pass, and 13 harmful ones, in which a stop
is also right. The judge is the program's own file, never the screen. The benchmark fails if any replay is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from common import headline, table
from records import COSMETIC, DRIFTS, HARMFUL, ORDERS
from replay_audit import audits
from replay_faults import faults
from replaying import RECORDED, TOOLKITS, Replayed, compiled, desk, record, rehearsal_model, replay

if TYPE_CHECKING:
    from holo_tasks.scripts.playbook import Playbook

DRIFTING = ("none", "larger font", "buttons the other way round", "dark theme", "a field inserted above")
"""Drifts during the repeated replays of one playbook."""
MODEL_S = 1.5
"""Latency of the model in the comparison of costs."""
VERDICTS = ("passed", "stopped", "WRONG")


def main() -> int:
    options = _options()
    headline(__file__, "compiled playbooks, replayed without a model")
    with tempfile.TemporaryDirectory(prefix="holo-bench-", ignore_cleanup_errors=True) as scratch:
        return asyncio.run(_bench(Path(scratch), options))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toolkits", nargs="+", choices=TOOLKITS, default=list(TOOLKITS))
    parser.add_argument(
        "--drifts", default="all", help="names, with commas between them; ‘none’ means the unchanged program"
    )
    parser.add_argument("--recorded", type=int, default=len(RECORDED), help="how many runs are compiled")
    parser.add_argument("--faults", action="store_true", help="try seven faults during a replay instead")
    parser.add_argument(
        "--rounds", type=int, default=0, help="number of replays instead, with another drift after each fifth"
    )
    parser.add_argument("--audit", action="store_true", help="do the expense audit by model and playbook instead")
    parser.add_argument("--quick", action="store_true", help="audit one letter of each kind instead of all")
    parser.add_argument("--keep", type=Path, help="where the audits' files stay: a finished audit is not repeated")
    parser.add_argument("--items", type=int, default=0, help="compare time and cost of this number of items instead")
    return parser.parse_args()


async def _bench(scratch: Path, options: argparse.Namespace) -> int:
    if options.audit:
        return await asyncio.to_thread(audits, options.keep or scratch, MODEL_S, quick=options.quick)
    if options.items:
        return await _costs(scratch, options.toolkits, options.items)
    playbooks = await _playbooks(scratch, options)
    if options.faults:
        wrong = [await faults(scratch, kit, scratch / f"{kit}.playbook.yaml") for kit in playbooks]
        return 1 if any(wrong) else 0
    if options.rounds:
        return await _rounds(scratch, playbooks, options.rounds)
    return await _sweep(scratch, options, playbooks)


async def _playbooks(scratch: Path, options: argparse.Namespace) -> dict[str, Playbook]:
    """Return the playbook of each toolkit, compiled from runs of the model."""
    found = {}
    with rehearsal_model() as base_url:
        for toolkit in options.toolkits:
            began = time.monotonic()
            found[toolkit] = await compiled(toolkit, scratch, base_url, options.recorded)
            print(
                f"{toolkit:6} {options.recorded} runs recorded and compiled in {time.monotonic() - began:.0f} s",
                flush=True,
            )
    return found


async def _sweep(scratch: Path, options: argparse.Namespace, playbooks: dict[str, Playbook]) -> int:
    """Replay under each drift, in each toolkit; return the exit code."""
    names = [*COSMETIC, *HARMFUL] if options.drifts == "all" else [*filter(None, options.drifts.split(","))]
    if unknown := set(names) - DRIFTS.keys():
        sys.exit(f"bench_replay: unknown drift {min(unknown)!r}; known ones: {', '.join(DRIFTS)}")
    found: dict[tuple[str, str], Replayed] = {}
    for name in names:
        for toolkit, playbook in playbooks.items():
            state = Path(tempfile.mkdtemp(dir=scratch)) / "state.jsonl"
            async with desk(toolkit, state, name) as desktop:
                found[toolkit, name] = await replay(playbook, desktop, state)
    _tell(found, names, list(playbooks), COSMETIC.keys(), "cosmetic drifts (aim: 18 of 20 passed)")
    _tell(found, names, list(playbooks), HARMFUL.keys(), "harmful drifts (aim: none wrong)")
    _tell_steps(found, list(playbooks))
    return 1 if any(one.verdict == "WRONG" for one in found.values()) else 0


async def _costs(scratch: Path, toolkits: Sequence[str], items: int) -> int:
    """Compare items by a slow model, by its compiled playbook, and by that under drift; return the exit code."""
    from holo_tasks.core.limits.money import usd

    rows, wrong = [], 0
    every = [(order, f"note {number} for the gate") for number, order in zip(range(items), cycle(ORDERS), strict=False)]
    for kit in toolkits:
        with rehearsal_model(MODEL_S) as base_url:
            done = [await record(kit, scratch / str(n), base_url, *item) for n, item in enumerate(every)]
            playbook = await compiled(kit, scratch, base_url)
        calls, micro = (sum(each) / items for each in zip(*((one.calls, one.micro_usd) for one in done), strict=True))
        with_model_s = statistics.mean(one.seconds for one in done)
        rows.append(
            [kit, f"model, {MODEL_S} s a call", f"{calls:.1f}", usd(round(micro)), *_pace(with_model_s, with_model_s)]
        )
        for how, drift in (("compiled", "none"), *(("compiled, " + drift, drift) for drift in DRIFTING[1:4])):
            found = []
            for item in every:
                state = Path(tempfile.mkdtemp(dir=scratch)) / "state.jsonl"
                async with desk(kit, state, drift) as desktop:
                    found.append((item, await replay(playbook, desktop, state, item)))
            wrong += sum(one.judged(*item) != "passed" for item, one in found)
            rows.append([kit, how, "0", usd(0), *_pace(statistics.mean(one.seconds for _, one in found), with_model_s)])
    columns = ["", "how", "calls", "money", "seconds", "an hour", "as fast"]
    table(f"an item, mean of {items}, from the first look to the answer (aim: 8 times as fast)", columns, rows, words=2)
    print(f"  {wrong} not right")
    return 1 if wrong else 0


def _pace(seconds: float, before: float) -> list[str]:
    return [f"{seconds:.1f}", f"{3600 / seconds:.0f}", f"{before / seconds:.1f}"]


async def _rounds(scratch: Path, playbooks: Mapping[str, Playbook], rounds: int) -> int:
    """Replay repeatedly, with another order each time, while the program changes; return the exit code."""
    rows, wrong, right = [], 0, 0
    for kit, playbook in playbooks.items():
        for number, drift in enumerate(DRIFTING):
            times = len(range(number, rounds, len(DRIFTING)))
            found = Counter([await _round(scratch, kit, playbook, drift, each) for each in range(times)])
            wrong, right = wrong + found["WRONG"], right + found["passed"]
            rows.append([kit, drift, *(found[verdict] for verdict in VERDICTS)])
    table(
        f"{rounds} rounds, the program changes every {rounds // len(DRIFTING)}", ["", "drift", *VERDICTS], rows, words=2
    )
    print(f"  {100 * right / (rounds * len(playbooks)):.1f} % right (aim: 95), {wrong} wrong")
    return 1 if wrong else 0


async def _round(scratch: Path, kit: str, playbook: Playbook, drift: str, number: int) -> str:
    item = [*ORDERS][number % len(ORDERS)], f"note of round {number} for the gate"
    state = Path(tempfile.mkdtemp(dir=scratch)) / "state.jsonl"
    async with desk(kit, state, drift) as desktop:
        found = await replay(playbook, desktop, state, item)
    if found.judged(*item) != "passed":
        print(f"  {kit}, {drift}, round {number}: {found.why or found.answer} {found.done}")
    return found.judged(*item)


def _tell(
    found: Mapping[tuple[str, str], Replayed],
    names: Sequence[str],
    toolkits: Sequence[str],
    known: Collection[str],
    title: str,
) -> None:
    """Print the results of some drifts, and their number."""
    rows = [[name, *(found[kit, name].verdict for kit in toolkits)] for name in names if name in known]
    if not rows:
        return
    table(title, ["drift", *toolkits], rows, words=1 + len(toolkits))
    for kit in toolkits:
        counts = Counter(found[kit, name].verdict for name in names if name in known)
        print(f"  {kit}: {', '.join(f'{counts[verdict]} {verdict}' for verdict in VERDICTS)} of {len(rows)}")
    for (kit, name), one in found.items():
        if name in known and (one.verdict == "WRONG" or (known == COSMETIC.keys() and one.verdict != "passed")):
            print(f"  {kit}, {name}: {one.why or one.answer} {one.done}")


def _tell_steps(found: Mapping[tuple[str, str], Replayed], toolkits: Sequence[str]) -> None:
    """Print the duration of a step without waiting."""
    print()
    for kit in toolkits:
        replays = [one for (which, name), one in found.items() if which == kit and name not in HARMFUL]
        steps = [seconds for one in replays if one.verdict == "passed" for seconds in one.steps]
        if steps:
            first = statistics.median(one.steps[0] for one in replays if one.steps)
            print(f"{kit:6} a step {statistics.median(steps):.2f} s (median); the first one {first:.2f} s")


if __name__ == "__main__":
    sys.exit(main())

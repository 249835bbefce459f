"""Cost of a list whose items are nearly all done already: 10,000 items with 10 new ones.

All parts except the desktop and the model are real: the ledger, the trace, a Prefect server. The done items are in the
ledger, as an earlier run leaves them. Then a flow calls a sub-goal for each item of the list, in a plain loop.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from common import headline, prefect_server, scratch_home


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--new", type=int, default=10)
    options = parser.parse_args()
    headline(__file__, "a list with nearly all items done before")
    with scratch_home() as home, prefect_server():
        seconds, runs = asyncio.run(_audit(home, options.items, options.new))
    done = options.items - options.new
    print(f"{options.items:,} items, {options.new} of them new     {seconds:7.1f} s   (aim for 10,000: ≤ 30 s)")
    print(f"flow runs in Prefect            {runs:7}")
    print(f"a done one, with its share      {1000 * seconds / max(done, 1):7.2f} ms")


async def _audit(home: Path, items: int, new: int) -> tuple[float, int]:
    """Work on a list; return its duration, and the number of its flow runs."""
    from prefect import flow
    from prefect.client.orchestration import get_client

    from holo_tasks import progress, pursue, subgoal
    from holo_tasks.core.input_digest import digest_of
    from holo_tasks.safety.database.store import add, store_at
    from holo_tasks.safety.records.ledger import FINISHED
    from tests.support.agents import agent
    from tests.support.painted_desktop import PaintedDesktop
    from tests.support.scripted_model import ScriptedModel, step

    @subgoal(title="Read {item}", key="{item}")
    async def read(item: str) -> str:
        return str(await pursue(f"Read {item}."))

    names = [f"R-{number}" for number in range(items)]
    fresh = set(names[:: max(1, items // new)][:new]) if new else set()
    with store_at(home / "holo").transaction() as db:
        for name in names:
            if name not in fresh:
                values = {
                    "inputs": digest_of({"item": name}),
                    "result": '"the amount is 7"',
                    "trace": str(home / "runs"),
                }
                add(db, FINISHED, token=name, goal="read", **values)

    @flow(name="audit", persist_result=False)
    async def audit() -> list[str]:
        with ScriptedModel([step("answer", content="the amount is 7")] * new) as model:
            async with agent(model, PaintedDesktop(), home):
                with progress(len(names)):
                    return [await read(name) for name in names]

    began = time.monotonic()
    answers = await audit()
    seconds = time.monotonic() - began
    assert answers == ["the amount is 7"] * items
    async with get_client() as client:
        return seconds, await client.count_flow_runs()


if __name__ == "__main__":
    main()

"""Cost of a run of 10,000 steps for its recorder and its verifier: time per event on both sides, memory, verdict.

bench_trace.py [STEPS]
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import statistics
import sys
import time
from pathlib import Path

from common import scratch_home

SIZE_BYTES = 20_000


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def record(home: Path, steps: int) -> tuple[Path, list[float], list[float]]:
    from holo_tasks.audit import Destination
    from holo_tasks.core import events as e
    from holo_tasks.core.screen.frame import Shot
    from holo_tasks.core.screen.geometry import Size

    side = Size(1280, 800)
    times: list[float] = []
    memory: list[float] = []
    noise = os.urandom(SIZE_BYTES)
    async with Destination.parse(str(home / "runs")).open("bench", home=home) as trace:
        await trace.record(e.RunOpened(run_id="bench", title="bench", library="bench"))
        for step in range(1, steps + 1):
            data = step.to_bytes(8, "big") + noise
            shot = Shot(data, "image/jpeg", hashlib.sha256(data).hexdigest(), side, side, f"{step}")
            place = {"subgoal": 1, "step": step}
            told = [
                e.FrameTaken(
                    **place, sha256=shot.sha256, media_type=shot.media_type, size_bytes=len(data), sent_width=1280,
                    sent_height=800, screen_width=1280, screen_height=800, frame_digest=shot.sha256, masks=[],
                    settled=True, settle_us=1, quiet_us=1, capture_us=1, encode_us=1,
                ),
                e.RequestSent(
                    **place, attempt=1, model="m", endpoint="http://x", shots=[shot.sha256], messages=9,
                    prompt_sha256=shot.sha256,
                ),
                e.ReplyReceived(
                    **place, attempt=1, latency_us=1, prompt_tokens=1, cached_tokens=0, completion_tokens=1,
                    cost_micro_usd=1, estimated=False, finish_reason="stop", content="x" * 400,
                ),
                e.Decided(**place, note=None, thought="x" * 300, tool_name="wait", arguments={"seconds": 1}, label="w"),
                e.Permitted(**place, allowed=True, rule="act"),
                e.ActionIntended(**place, gesture_kind="wait", gesture={}, label="w", before=shot.sha256),
                e.ActionDone(**place, took_us=1, input_events=1),
                e.Judged(**place, outcome="changed", before=shot.sha256, after=shot.sha256, changed_box=[]),
                e.StepTimed(**place, perceive_us=1, decide_us=1, act_us=1, total_us=1),
            ]  # fmt: skip
            await trace.keep(shot)
            begun = time.perf_counter()
            for event in told:
                await trace.record(event)
            times.append((time.perf_counter() - begun) / len(told) * 1e6)
            if step in (1000, steps):
                memory.append(resident_mb())
        await trace.record(e.RunClosed(status="answered", answer="", steps=steps, cost_micro_usd=0))
    return trace.folder, times, memory


def main(steps: int) -> None:
    with scratch_home() as home:
        folder, times, memory = asyncio.run(record(home / "holo", steps))
        end = min(1000, steps)
        print(f"{steps} steps of 9 events and one picture of {SIZE_BYTES // 1000} kB, in {folder.parent}")
        print(
            f"one event, durable: median {statistics.median(times[:end]):.0f} µs in the first {end} steps,"
            f" {statistics.median(times[-end:]):.0f} µs in the last"
        )
        print(f"memory: {memory[0]:.1f} MB after 1,000 steps, {memory[-1]:.1f} MB after all")
        from holo_tasks.cli.verify import public_pem, verify_trace

        public = home / "public.pem"
        public.write_text(public_pem(home / "holo"))
        before = resident_mb()
        begun, used = time.perf_counter(), time.process_time()
        found = verify_trace(str(folder), public, None, home / "holo")
        seconds, cpu = time.perf_counter() - begun, time.process_time() - used
        print(
            f"verify: {found.verdict}, {found.records} records and {found.frames} pictures in {seconds:.1f} s"
            f" ({cpu:.1f} s of CPU, {cpu / found.records * 1e6:.0f} µs a record);"
            f" memory {before:.1f} → {resident_mb():.1f} MB"
        )
        sizes = (folder / "events.jsonl").stat().st_size / found.records
        print(f"{sizes:.0f} bytes a record; anchors.jsonl {(home / 'holo' / 'anchors.jsonl').stat().st_size} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)

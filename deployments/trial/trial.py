"""Try the image in a container: print the user, take a first picture, and let an agent do a goal.

Every part is the image's own: `holo-tasks`, the virtual desktop, and the rehearsal model, which is asked over HTTP.
Usage: trial.py FOLDER [--closed] [--starts N]; STARTED_AT says when the container was started, in seconds since 1970.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

MOST_FIRST_FRAME_S = 5.0
GOAL = "Find out how many are on hand of the article that the data names."
MODEL = "rehearsal"


def main() -> None:
    """Do the trial; ends with status 1, and a sentence, at the first thing that is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the program and its playbook are")
    parser.add_argument("--closed", action="store_true", help="expect a read-only root and no network")
    parser.add_argument("--starts", type=int, default=1, help="how many desktops are started, one after the other")
    options = parser.parse_args()
    app = f"/usr/bin/python3 {options.folder / 'stock.py'}"
    # Before anything else is looked at: it counts from the start of the container.
    asyncio.run(first_frame(app, float(os.environ["STARTED_AT"])))
    who_it_is(closed=options.closed)
    fonts()
    asyncio.run(starts(app, options.starts))
    with model(options.folder / "stock.playbook.yaml") as address:
        doctor(address)
        agent(app, address)


async def first_frame(app: str, started: float) -> None:
    from holo_tasks.desktop import VirtualDesktop

    began = time.time()
    async with VirtualDesktop(app=app, inherits="plain") as desktop:
        frame = await desktop.look()
        took = time.time() - started
    size = f"{frame.size.width}x{frame.size.height}"
    tell(f"first frame ({size}) {took:.1f} s after the start, {took - (began - started):.1f} s after the desktop's")
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if took > MOST_FIRST_FRAME_S and load > 2 * cores:
        tell(f"that is not held against it: the load is {load:.0f} on {cores} cores")
    else:
        expect(took <= MOST_FIRST_FRAME_S, f"that is more than {MOST_FIRST_FRAME_S:.0f} s")


async def starts(app: str, times: int) -> None:
    """Start desktops one after the other; each shows the program's window, or its error ends the trial."""
    from holo_tasks.desktop import VirtualDesktop

    took = []
    for _ in range(times):
        began = time.monotonic()
        async with VirtualDesktop(app=app, inherits="plain") as desktop:
            titles = [window.title for window in await desktop.windows()]
            took.append(time.monotonic() - began)
        expect(titles == ["Stock"], f"desktop {len(took)} shows {titles}")
    tell(f"{times} desktops one after the other: each shows the program, {statistics.median(took):.1f} s in the middle")


def who_it_is(*, closed: bool) -> None:
    expect(os.getuid() == 1000, f"it runs as user {os.getuid()}")
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    tell(f"user {os.getuid()}, group {os.getgid()}, capabilities {status['CapEff']}")
    expect(int(status["CapEff"], 16) == 0, "it has capabilities")
    for place in ("/usr/bin", "/opt/venv", "/etc", "/opt/holo", "/"):
        expect(not writable(Path(place)), f"{place} can be written")
    for place in (os.environ["HOME"], "/tmp", "/dev/shm"):
        expect(writable(Path(place)), f"{place} cannot be written")
    if closed:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        expect("ro" in next(each for each in mounts if each[1] == "/")[3].split(","), "the root can be written")
        names = sorted(name for _, name in socket.if_nameindex())
        expect(names == ["lo"], f"it has networks: {names}")
        tell("the root is mounted read-only; the only network is its own loopback")


def writable(folder: Path) -> bool:
    probe = folder / f"trial-{os.getpid()}"
    try:
        probe.write_text("x")
    except OSError:
        return False
    probe.unlink()
    return True


def fonts() -> None:
    """Check that the image has fonts, and that programs can list them without a cache of their own."""
    ran = subprocess.run(["fc-list"], capture_output=True, text=True, env={**os.environ, "HOME": "/nonexistent"})
    expect("DejaVu" in ran.stdout, "there are no fonts")
    expect(not ran.stderr, f"programs read all fonts as they start: {ran.stderr}")


@contextlib.contextmanager
def model(playbook: Path) -> Iterator[str]:
    """Serve the rehearsal model; gives its address."""
    command = [sys.executable, "-m", "holo_tasks.rehearsal", "--playbook", str(playbook), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["base_url"]
        finally:
            server.terminate()


def doctor(address: str) -> None:
    ran = subprocess.run(
        ["holo-tasks", "doctor", "--base-url", address, "--model", MODEL, "--local-only"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    for line in (ran.stdout + ran.stderr).splitlines():
        tell(f"  {line}")
    expect(ran.returncode == 0, f"doctor ended with {ran.returncode}")


def agent(app: str, address: str) -> None:
    """Have an agent look something up, over HTTP, and find its first picture in the evidence."""
    evidence = Path(os.environ["HOME"]) / "trial-evidence"
    command = ["holo-tasks", "run", GOAL, "--data", "article=A-100", "--app", app, "--base-url", address]
    command += ["--model", MODEL, "--allow", "act", "--audit", str(evidence), "--json"]
    began = time.time()
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    took = time.time() - began
    expect(ran.returncode == 0, f"the run ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
    outcome = json.loads(ran.stdout.splitlines()[-1])
    expect("12" in json.dumps(outcome["answer"]), f"the answer is {outcome['answer']!r}, not 12")
    events = [json.loads(line) for file in evidence.rglob("events.jsonl") for line in file.read_text().splitlines()]
    frame = next(each for each in events if each["event"]["kind"] == "frame")
    at = datetime.fromisoformat(frame["at"]).timestamp() - began
    tell(f"an agent answers {outcome['answer']} in {outcome['steps']} steps, {took:.1f} s after its start")
    tell(f"its first picture: {at:.1f} s after its start, a Prefect server of its own included")


def tell(line: str) -> None:
    print(line, flush=True)


def expect(held: bool, otherwise: str) -> None:
    if not held:
        sys.exit(f"trial: {otherwise}")


if __name__ == "__main__":
    main()

"""Every input event that reached a display, and programs that receive input."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.desktop import tk_python

WITNESS = Path(__file__).with_name("witness.py")
APPS = Path(__file__).parent.parent / "apps"


@dataclass(frozen=True)
class Input:
    """An event as the X server recorded it, with its time on the `time.monotonic` clock in seconds."""

    kind: str
    detail: int
    at_s: float

    @property
    def counts(self) -> bool:
        """Return whether this is new input. A release only ends earlier input."""
        return self.kind in ("key", "press", "motion")


class Inputs:
    """The log of a witness."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> list[Input]:
        lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []
        found = [line.split() for line in lines]
        return [Input(kind, int(detail), int(ms) / 1000) for kind, detail, ms in found if kind != "ready"]

    @property
    def ready(self) -> bool:
        return self.path.exists() and self.path.read_text().startswith("ready")

    def sent(self, since_s: float = 0.0) -> list[Input]:
        """Return the presses and motions after a time. The server counts whole elapsed milliseconds."""
        return [event for event in self.all() if event.counts and event.at_s > since_s]

    def held(self) -> set[tuple[str, int]]:
        """Return the keys and buttons still pressed: without a release, and not reported as up by the server."""
        down: set[tuple[str, int]] = set()
        for event in self.all():
            match event.kind:
                case "key" | "press":
                    down.add((event.kind[:3], event.detail))
                case "keyup" | "release":
                    down.discard(("key" if event.kind == "keyup" else "pre", event.detail))
        by_server = Path(f"{self.path}.down")
        if not down or not by_server.exists():
            return down
        return down & {(kind, int(code)) for kind, code in map(str.split, by_server.read_text().splitlines())}

    def last_s(self) -> float:
        """Return the time of the last press or motion."""
        return max((event.at_s for event in self.sent()), default=0.0)

    def at_rest_since(self, quiet_s: float) -> bool:
        return time.monotonic() - self.last_s() > quiet_s


def window(log: Path) -> list[str]:
    """Return the command of a window that logs all its events."""
    return [tk_python(), str(APPS / "probe_events.py"), f"{log}.window"]


def witness(log: Path) -> list[str]:
    """Return the command of a witness of a display."""
    return [sys.executable, str(WITNESS), str(log)]


def witnessed(log: Path, *program: str) -> list[str]:
    """Return the command of a program (default: `window`) together with a witness of its display."""
    return ["sh", "-c", f"{shlex.join(witness(log))} & exec {shlex.join(program or window(log))}"]

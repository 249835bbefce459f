"""Every input event that reached a display, and programs to send them to."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tk_python import tk_python

WITNESS = Path(__file__).with_name("witness.py")
APPS = Path(__file__).parent.parent / "apps"


@dataclass(frozen=True)
class Input:
    """An event as the X server counted it, at a time of `time.monotonic` in seconds."""

    kind: str
    detail: int
    at_s: float

    @property
    def counts(self) -> bool:
        """Whether it is input; a release only ends some."""
        return self.kind in ("key", "press", "motion")


class Inputs:
    """What a witness wrote down."""

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
        """Return presses and motions after a time. The server counts whole milliseconds that have passed."""
        return [event for event in self.all() if event.counts and event.at_s > since_s]

    def held(self) -> set[tuple[str, int]]:
        """Return what was pressed and never released: neither recorded as released, nor up by the server's word."""
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
        """Return when the last press or motion was."""
        return max((event.at_s for event in self.sent()), default=0.0)

    def at_rest_since(self, quiet_s: float) -> bool:
        return time.monotonic() - self.last_s() > quiet_s


def window(log: Path) -> list[str]:
    """Return the command of a window that logs all it gets."""
    return [tk_python(), str(APPS / "probe_events.py"), f"{log}.window"]


def witness(log: Path) -> list[str]:
    """Return the command of a witness of a display."""
    return [sys.executable, str(WITNESS), str(log)]


def witnessed(log: Path, *program: str) -> list[str]:
    """Return the command of a program, by default `window`, with a witness of its display."""
    return ["sh", "-c", f"{shlex.join(witness(log))} & exec {shlex.join(program or window(log))}"]

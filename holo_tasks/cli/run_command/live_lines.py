"""Progress of `holo-tasks run` on stderr: the present step, and questions to a person as soon as they open.

On a terminal a step has one line that changes. Elsewhere each event has a line. No line has typed text, since that may
be private.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from holo_tasks.audit.pages.formatting import count, duration, until
from holo_tasks.core import events
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input import keynames
from holo_tasks.core.limits.money import usd
from holo_tasks.core.texts.visible_text import shell_word
from holo_tasks.handoff.page import command
from holo_tasks.machine.output import to_say
from holo_tasks.machine.stderr_writer import StderrWriter
from holo_tasks.safety.records.handoffs import Handoff, words

CLEAR = "\r\x1b[2K"
SECONDS_SHOWN_AFTER = 2.0
"""Age from which a step's line shows the elapsed time."""
_VERDICTS = {
    "changed": "the screen changed",
    "elsewhere": "something else changed",
    "unchanged": "nothing changed",
    "unsettled": "the screen is still changing",
    "wrong_state": "the screen is not the expected one",
}
_TYPING = {"write": "type text", "write_at": "type text into", "hold_and_tap_key": "press keys", "hotkey": "press keys"}
_COMMANDING = frozenset(keynames.MODIFIERS[name] for name in ("ctrl", "alt", "super"))
_NO_LETTERS = 0xFE00, 0xFFFF
"""Range of the keysyms of keys without a character."""


class LiveLines:
    """Prints the progress of one run. ``live`` is for a terminal.

    ``limit_micro`` is the cost limit in millionths of a dollar, or ``None``.
    """

    def __init__(self, max_steps: int, limit_micro: int | None, *, live: bool) -> None:
        self._most, self._limit, self._live = max_steps, limit_micro, live
        self._spent: int | None = 0
        self._step = 0
        self._what = self._done = ""
        self._timed = True
        self._since_s = time.monotonic()
        self._speaker = StderrWriter()

    def on_start(self, model: str, trace: str) -> None:
        """Print that a run begins, with its limits and the place of its trace."""
        limit = "" if self._limit is None else f" and {usd(self._limit)}"
        with self._above_line():
            self._say(f"{model} is at work, for at most {count(self._most, 'step')}{limit}; trace:", f" {trace}")

    def on_event(self, event: events.Event) -> None:
        """Print a line for an event, if it has one."""
        match event:
            case events.RequestSent(purpose="step"):
                self._begin(event.step, "asking the model")
            case events.ReplyReceived():
                known = self._spent is not None and event.cost_micro_usd is not None
                self._spent = (self._spent or 0) + (event.cost_micro_usd or 0) if known else None
            case events.Decided():
                # After an answer the run ends, so its line needs no timer.
                self._begin(event.step, doing(event), timed=event.tool_name != "answer")
                self._say_without_terminal(f"{self._place}: {self._what}; {self._cost}")
            case events.Judged():
                self._done = _VERDICTS[event.outcome]
                self._show()
            case events.CallFailed():
                self._note(f"{self._place}: the model did not answer ({event.reason[:200].rstrip('.')})")
            case events.HandedOver() if event.handoff:
                self._begin(event.step or self._step, "waiting for a person")
            case events.TakenBack():
                self._note(f"hand-off {event.handoff}: {event.by} answered ‘{event.choice}’; the run goes on")
                self._begin(self._step, "going on")

    def on_handoff(self, handoff: Handoff) -> None:
        """Print a question to a person, its deadline and the command that answers it."""
        with self._above_line():
            self._say(f"a person is needed: {handoff.question}")
            self._say(f"it waits {until(handoff.expires_at)}; answer with:", f" {_command(handoff)}")
            self._say(f"the choices are {words(handoff.choices)}")
            if handoff.live:
                self._say("the desktop in a browser, for everyone with this link:", f" {handoff.live}")

    async def tick(self) -> None:
        """Update the line on a terminal every second until this is cancelled."""
        while self._live:
            await asyncio.sleep(1.0)
            self._show()

    def close(self) -> None:
        """End the line on the terminal, and print nothing more."""
        self._keep()
        self._live = False
        self._speaker.close()

    @property
    def _place(self) -> str:
        return f"step {self._step} of {self._most}"

    @property
    def _cost(self) -> str:
        spent = "cost unknown" if self._spent is None else usd(self._spent)
        return spent if self._limit is None else f"{spent} of {usd(self._limit)}"

    def _begin(self, step: int, what: str, *, timed: bool = True) -> None:
        if step != self._step:
            self._keep()
            self._step = step
        self._what, self._done, self._timed, self._since_s = what, "", timed, time.monotonic()
        self._show()

    def _show(self) -> None:
        if not self._live or not self._what:
            return
        took_s = time.monotonic() - self._since_s
        shown = self._timed and not self._done and took_s >= SECONDS_SHOWN_AFTER
        took = duration(round(took_s)) if shown else ""
        line = " · ".join(filter(None, (self._line, self._done, took, self._cost)))
        self._speaker.put(CLEAR + _fitting(to_say(line)))

    @property
    def _line(self) -> str:
        return f"{self._place}: {self._what}" if self._step else self._what

    def _keep(self) -> None:
        """Leave the present line on the terminal and begin a new one."""
        if self._live and self._what:
            self._show()
            self._speaker.put("\n")
        self._what = ""

    def _note(self, text: str) -> None:
        with self._above_line():
            self._say(text)

    def _say(self, text: str, place: str = "") -> None:
        self._speaker.put(f"{to_say(text, place)}\n")

    def _say_without_terminal(self, text: str) -> None:
        if not self._live:
            self._say(text)

    @contextmanager
    def _above_line(self) -> Iterator[None]:
        """Print lines above the line that changes."""
        if self._live:
            self._speaker.put(CLEAR)
        yield
        self._show()


@asynccontextmanager
async def open_live_lines(max_steps: int, limit_micro: int | None) -> AsyncIterator[LiveLines]:
    """Open an `LiveLines` for one run, with a timer for its line."""
    lines = LiveLines(max_steps, limit_micro, live=on_terminal())
    ticking = asyncio.create_task(lines.tick())
    try:
        yield lines
    finally:
        ticking.cancel()
        lines.close()


def on_terminal() -> bool:
    """Return whether stderr is a terminal that can rewrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def doing(event: events.Decided) -> str:
    """Return a phrase for a decision, without typed text."""
    if event.tool_name == "macro":
        return f"macro {event.arguments.get('name')}"
    if event.tool_name not in _TYPING or (event.tool_name == "hotkey" and not _types(event.arguments.get("keys"))):
        return event.label
    element = " ".join(str(event.arguments.get("element", "")).split())
    place = f" ‘{element[:48]}’" if element and event.tool_name == "write_at" else ""
    return _TYPING[event.tool_name] + place


def _types(keys: object) -> bool:
    """Return whether this chord may type a character. With Ctrl, Alt or Super it does not."""
    try:
        pressed = {keynames.keysym(str(key)) for key in keys} if isinstance(keys, list | tuple) else set()
    except InvalidUsage:
        return True
    letters = {key for key in pressed if 0x20 < key < _NO_LETTERS[0] or key > _NO_LETTERS[1]}
    return bool(letters) and not pressed & _COMMANDING


def _command(handoff: Handoff) -> str:
    """Return the command that answers a hand-off, for another shell, with HOLO_HOME if it is set here."""
    home = os.environ.get("HOLO_HOME")
    where = f"HOLO_HOME={shell_word(str(Path(home).absolute()))} " if home else ""
    return f"{where}{command(handoff)}"


def _fitting(text: str) -> str:
    """Cut a line to the width of the terminal, because a wrapped line could not be rewritten."""
    from rich.cells import cell_len, set_cell_size

    width = 80
    with contextlib.suppress(OSError, ValueError):
        width = os.get_terminal_size(sys.stderr.fileno()).columns or width
    return text if cell_len(text) < width else f"{set_cell_size(text, width - 2)}…"

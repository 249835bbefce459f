"""`holo-tasks look`: describe a screen for the author of a script: windows, elements, texts. It sends no input."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holo_tasks.cli.run_command.run import display_of, profiles_of, settle_of, size_of
from holo_tasks.cli.signals import cancel_at_signals
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import Asked, State, marks_in
from holo_tasks.core.texts.printable import printable
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.desktop import AttachedDesktop, Desktop, VirtualDesktop
from holo_tasks.desktop.x11.windows import Window
from holo_tasks.machine.output import say
from holo_tasks.vision.control_text import can_read

NO_OCR = "Texts are read by OCR, which is not installed: pip install 'prefect-holo[redaction]'."
PATIENCE_S, QUIET_S, PAUSE_S = 3.0, 0.6, 0.15
"""Longest wait for a steady tree, longest wait for the first element, and pause between two reads, in seconds."""
TITLE_CHARACTERS = 200


@dataclass(frozen=True)
class ScreenDescription:
    """A screen with its windows, elements and texts.

    ``took_ms`` has the time of each part in milliseconds, ``None`` for a part that was not read. ``why_not`` has a
    sentence for each missing part. ``states`` are the names of the states that hold, ``None`` without ``--screens``.
    """

    frame: Frame
    tree: ElementTree
    windows: Sequence[Window]
    texts: Sequence[tuple[str, Box]]
    took_ms: dict[str, float | None]
    why_not: dict[str, str]
    states: Sequence[str] | None = None
    programs: dict[int, str] = field(default_factory=dict)

    @property
    def elements(self) -> list[dict[str, Any]]:
        """Possible targets: the elements on the screen, then the texts that are no element's name or value."""
        reported = [each for each in self.tree.elements if each.on_screen]
        found = [_described(each) for each in reported]
        for text, box in self.texts:
            here = (each for each in reported if each.box.contains(box.center))
            if not any(_is_text_of(each, text) for each in here):
                found.append({"role": "text", "name": text, "box": _sides(box), "states": [], "source": "text"})
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the command's JSON object."""
        reported: dict[str, Any] = {
            "windows": [
                {
                    "title": one_line(window.title, TITLE_CHARACTERS),
                    "program": self.programs.get(window.id, ""),
                    "box": _sides(window.box),
                    "active": window.active,
                }
                for window in self.windows
            ],
            "elements": self.elements,
            "texts": [{"text": text, "box": _sides(box)} for text, box in self.texts],
            "took_ms": self.took_ms,
            "why_not": self.why_not,
        }
        return reported if self.states is None else reported | {"states": list(self.states)}


def look(options: argparse.Namespace, put: Callable[[str, int], int]) -> int:
    """Look at a screen and print its contents, or write a page. Return the exit code."""
    _check(options)
    states = _states(options.screens)
    seen = asyncio.run(_look(options, states))
    for sentence in seen.why_not.values():
        say(sentence)
    if options.out is not None:
        from holo_tasks.audit.pages.look import write_look

        write_look(options.out, seen.frame, seen.as_json(), [e.box for e in seen.tree.elements if e.protected])
    if options.json:
        return put(json.dumps(seen.as_json(), ensure_ascii=False), 0)
    return put(str(options.out) if options.out is not None else in_words(seen.as_json()), 0)


def in_words(description: dict[str, Any]) -> str:
    """Return a text for people: a line for each window, each element with a name, and each state."""
    lines = [
        f"window {_geometry_text(each['box'])}  {each['title']}  ({each['program']})" for each in description["windows"]
    ]
    lines += [
        f"{each['role']} {_geometry_text(each['box'])}  {each['name']}"
        for each in description["elements"]
        if each["name"]
    ]
    lines += [f"state {name}" for name in description.get("states", ())]
    return "\n".join(map(printable, lines)) or "nothing was found on the screen"


def _check(options: argparse.Namespace) -> None:
    """Raise `InvalidUsage` for wrong options."""
    if options.app is not None and not options.app.strip():
        raise InvalidUsage("--app is empty; give the command that starts the program.")
    if options.app is not None and options.accessibility:
        raise InvalidUsage("--accessibility is for --display only; the elements of a program of --app are read anyway.")
    if options.out is not None and not options.out.name:
        raise InvalidUsage(f"--out must name a file, not {str(options.out)!r}.")
    _desktop(options)  # its constructor checks the other options


def _desktop(options: argparse.Namespace) -> Desktop:
    size, settle, profiles = size_of(options.size), settle_of(options), profiles_of(options)
    if options.app is not None:
        return VirtualDesktop(size=size, app=options.app, settle=settle, inherits="plain", profiles=profiles, tell=say)
    return AttachedDesktop(display_of(options), settle=settle, touches=False, accessibility=options.accessibility)


def _states(path: Path | None) -> list[State] | None:
    """Return the states of a playbook that can be recognized without a model, or ``None`` without a playbook."""
    if path is None:
        return None
    from holo_tasks.scripts.script import states_of

    return [state for state in states_of(path) if not any(isinstance(mark, Asked) for mark in marks_in(state.marks))]


async def _look(options: argparse.Namespace, states: list[State] | None) -> ScreenDescription:
    cancel_at_signals(asyncio.current_task())
    async with _desktop(options) as desktop:
        desktop.tells_windows = True
        tree = await _settled(desktop)
        began = time.perf_counter()
        frame = await desktop.look()
        capture_ms = _ms(began)
        windows = await desktop.windows()
        programs = {each.id: _program(each, frame) for each in windows}
    took: dict[str, float | None] = {"tree": round(tree.took_ms, 1), "text": None, "capture": capture_ms}
    why_not = {"tree": tree.why_not} if tree.why_not else {}
    texts: list[tuple[str, Box]] = []
    if can_read():
        began = time.perf_counter()
        texts = [(text, box) for text, box in _read(frame) if not _is_protected(box, tree)]
        took["text"] = _ms(began)
    else:
        why_not["text"] = NO_OCR
    fit = None if states is None else await _fitting(frame, states, tree)
    return ScreenDescription(frame, tree, windows, texts, took, why_not, fit, programs)


async def _settled(desktop: Desktop) -> ElementTree:
    """Return the tree once two reads are equal. A program may publish its elements later than it shows them."""
    began = time.monotonic()
    tree = await desktop.elements()
    while (waited := time.monotonic() - began) < (PATIENCE_S if tree.elements else QUIET_S):
        await asyncio.sleep(PAUSE_S)
        before, tree = tree, await desktop.elements()
        if tree.elements and tree.elements == before.elements and waited > PAUSE_S:
            break
    return tree


def _read(frame: Frame) -> list[tuple[str, Box]]:
    from PIL import Image

    from holo_tasks.vision.ocr_reader import shared_reader

    picture = Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)
    return [(one_line(line.text, TITLE_CHARACTERS), line.box) for line in shared_reader().read(picture).sight.lines]


async def _fitting(frame: Frame, states: Sequence[State], tree: ElementTree) -> list[str]:
    from holo_tasks.vision.state_recognizer import ScreenRecognizer

    async def told() -> ElementTree:
        return tree

    recognizer = ScreenRecognizer(elements=told)
    return [state.name for state in states if await recognizer.holds(frame, state)]


def _program(window: Window, frame: Frame) -> str:
    """Return the name of a window's program, from its executable. Empty if it is unknown."""
    for seen in reversed(frame.windows or ()):
        for owner in seen.owners:
            if owner.title == window.title and seen.box.encloses(window.box, slack=2):
                return owner.name
    return ""


def _is_text_of(element: Element, text: str) -> bool:
    """Return whether a text is like the name or the value of an element, or a part of one."""
    from holo_tasks.vision.screen_text import LIKENESS, likeness

    return any(
        text.casefold() in said.casefold() or likeness(said, text) >= LIKENESS
        for said in (element.name, element.value)
        if said
    )


def _is_protected(box: Box, tree: ElementTree) -> bool:
    return any(each.protected and each.box.contains(box.center) for each in tree.elements)


def _described(element: Element) -> dict[str, Any]:
    return {
        "role": element.role,
        "name": element.name,
        "box": _sides(element.box),
        "states": sorted(element.states),
        "source": "accessibility",
    }


def _sides(box: Box) -> list[int]:
    return [box.left, box.top, box.width, box.height]


def _geometry_text(sides: Sequence[int]) -> str:
    left, top, width, height = sides
    return f"{width}x{height}+{left}+{top}"


def _ms(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 1)

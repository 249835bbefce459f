"""`make bench-look`: steps and calls of twenty tasks, with and without the inventory and the tree of elements.

Three programs (GTK, Qt, a page in Chromium) get commands by name; most are in menus, or below the end of the page. A
stand-in for a model works on them over HTTP. It knows only its prompt, reads the picture by OCR, and takes the simplest
step. It presses a named button on the screen; else it uses the keys or opens the menu from the inventory; else it opens
one menu after the other, or scrolls. It overlooks no text and never doubts, so the figures are numbers of steps, not
success rates of a model.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import APPS, headline, prefect_server, scratch_home, table

FLAGS = "--no-sandbox --test-type --disable-gpu --disable-quic --no-first-run --disable-background-networking "
FLAGS += "--disable-component-update --disable-sync --window-size=900,600"
MENU_TASKS = ("New report", "Archive year", "Reverse booking", "Split amount", "Close month", "Send reminder")
MENU_TASKS += ("Refresh all",)
PAGE_TASKS = ("Open order", "Show totals", "Hide notes", "Mail supplier", "Print labels", "Close order")
PAGE = """<!doctype html><meta charset=utf-8><title>Orders</title>
<style>button { font: 18px sans-serif; margin: 60px }</style><script>for (const name of %s)
document.write(`<p><button onclick="fetch('/' + encodeURIComponent('${name}'))">${name}</button>`);</script>"""
GOAL = "Give the command ‘{}’ once."
ARMS = ("neither", "inventory", "tree", "inventory and tree")
TASKS = {"GTK 3": MENU_TASKS, "Qt": MENU_TASKS, "Chromium": PAGE_TASKS}
KEYS = {"F9": "f9"}
Took = tuple[int, int, int, int]
"""Steps, calls, tasks done exactly once, and all tasks."""


class StandIn:
    """Answers a request from its content alone."""

    def __call__(self, number: int, body: dict[str, Any]) -> dict[str, Any]:
        from tests.support.scripted_model import step

        text, said, picture = _shown(body)
        name = re.findall(r"Give the command ‘(.+?)’", text)[-1]
        if (said and said[-1].get("element") == name) or (said and said[-1]["tool_name"] == "hotkey"):
            return step("answer", content="done")
        lines = _lines(picture)
        told = re.search(rf'"[^"]*?([^":>]+) > {re.escape(name)}(?: \(([^)"]+)\))?"', text.replace("\\u003e", ">"))
        if told and told[2]:
            return step("hotkey", keys=[KEYS.get(key, key.lower()) for key in told[2].split("+")])
        if at := next((lines[text] for text in lines if text == name or text.startswith(f"{name} ")), None):
            return step("click", element=name, **at)
        opened = [each["element"] for each in said if each["tool_name"] == "click"]
        menus = [told[1].strip()] if told else [each for each in _bar(lines) if each not in opened]
        if menus and menus[0] in lines:
            return step("click", element=menus[0], **lines[menus[0]])
        return step("scroll", element="the page", x=500, y=500, direction="down", scroll_size=5)


def _shown(body: dict[str, Any]) -> tuple[str, list[dict[str, Any]], bytes]:
    """Return the text of a request, its earlier steps, and the newest picture."""
    texts, said, pictures = [], [], [b""]
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            if part["type"] == "image_url":
                pictures.append(base64.b64decode(part["image_url"]["url"].split(",", 1)[1]))
            elif message["role"] == "assistant":
                said.append(json.loads(part["text"])["tool_call"])
            else:
                texts.append(part["text"])
    return "\n".join(texts), said, pictures[-1]


def _lines(picture: bytes) -> dict[str, dict[str, int]]:
    """Return the texts of a picture with their positions in a model's coordinates."""
    from PIL import Image

    from holo_tasks.vision.ocr_reader import shared_reader

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    found = {}
    for line in reversed(shared_reader().read(image).sight.lines):
        at = line.box.center
        text, box = re.sub(r"\s+(Ctrl\+\w|F\d+)$", "", line.text.strip()), line.box
        for word in re.finditer(r"\S+", text):  # OCR may read the menus of a bar as one line
            middle = box.left + box.width * (word.start() + word.end()) / 2 / len(text)
            found.setdefault(word[0], {"x": round(1000 * middle / image.width), "y": round(1000 * at.y / image.height)})
        found[text] = {"x": round(1000 * at.x / image.width), "y": round(1000 * at.y / image.height)}
    return found


def _bar(lines: dict[str, dict[str, int]]) -> list[str]:
    """Return the menus of a bar: all texts on a line with its first menu."""
    if "File" not in lines:
        return []
    level = lines["File"]["y"]
    beside = (text for text, at in lines.items() if abs(at["y"] - level) < 12 and " " not in text)
    return sorted(beside, key=lambda text: lines[text]["x"])


async def by_name(hands: Any, name: str) -> str:
    """Press the button of the task, if the accessibility tree has it, without a model."""
    from holo_tasks.core.screen.states import Widget

    if not await hands.shows(Widget("button", name)):
        raise hands.give_up("No button has this name.")
    await hands.click(role="button", name=name)
    return "done"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=0, help="limit of tasks per program")
    parser.add_argument("--programs", nargs="+", default=list(TASKS))
    parser.add_argument("--arms", nargs="+", default=list(ARMS))
    options = parser.parse_args()
    headline(__file__, "twenty tasks by a stand-in for a model: with and without inventory and tree")
    found: dict[tuple[str, str], Took] = {}
    with scratch_home() as home, prefect_server():
        os.environ["PREFECT_LOGGING_LEVEL"] = "CRITICAL"  # a layer that gives up is logged
        for program in options.programs:
            some = TASKS[program][: options.tasks or None]
            for arm, told in asyncio.run(_worked(home, program, some, options.arms)).items():
                found[program, arm] = told
    programs = list(dict.fromkeys(program for program, _ in found))
    rows = []
    for arm in options.arms:
        steps, calls, done, tasks = map(sum, zip(*(found[program, arm] for program in programs), strict=True))
        by = [f"{found[program, arm][0]} / {found[program, arm][1]}" for program in programs]
        rows.append((arm, f"{done} of {tasks}", steps, calls, *by))
    heads = ["given", "done", "steps", "calls", *(f"{program}: steps / calls" for program in programs)]
    table("steps and calls of a task; a stand-in knows only its prompt", heads, rows)


async def _worked(home: Path, program: str, tasks: Sequence[str], arms: Sequence[str]) -> dict[str, Took]:
    """Return the measurements of a program's tasks for each arm."""
    from holo_tasks.desktop import VirtualDesktop

    folder = home / program.replace(" ", "")
    folder.mkdir()
    log = folder / "done"
    log.touch()
    with _page(folder, log) as address:
        match program:
            case "GTK 3":
                app = ["/usr/bin/python3", str(APPS / "menus_gtk3.py"), str(log)]
            case "Qt":
                app = [sys.executable, str(APPS / "menus_qt.py"), str(log)]
            case _:
                app = shlex.split(f"chromium {FLAGS} --user-data-dir={folder}/profile --app={address}")
        found = {}
        for arm in arms:  # a new desktop for each arm, because a page keeps its state
            async with VirtualDesktop(app=app, env={"HOME": str(folder)}, app_timeout_s=60) as desktop:
                while not (await desktop.elements()).find("button"):
                    await asyncio.sleep(0.05)
                found[arm] = await _arm(folder / arm.replace(" ", "-"), desktop, arm, tasks, log)
        return found


async def _arm(folder: Path, desktop: Any, arm: str, tasks: Sequence[str], log: Path) -> Took:
    from prefect import flow

    from holo_tasks import Script, SubgoalOptions, pursue
    from holo_tasks.core.errors import HoloError
    from tests.support.agents import agent, events
    from tests.support.scripted_model import ScriptedModel

    folder.mkdir()
    done: list[bool] = []
    calls = 0

    @flow(name="bench", persist_result=False)
    async def working() -> str:
        nonlocal calls
        with ScriptedModel(StandIn()) as model:
            async with agent(model, desktop, folder, discover="inventory" in arm) as run:
                for task in tasks:
                    before, layers = len(log.read_text().splitlines()), [Script(by_name, name=task)] * ("tree" in arm)
                    options = SubgoalOptions(layers=[*layers, "model"])
                    try:
                        await pursue(GOAL.format(task), max_steps=12, options=options)
                    except HoloError as error:
                        print(f"  {task}: {error}")
                    await desktop.look(after_action=True)
                    done.append(log.read_text().splitlines()[before:] == [task])
                calls = len(model.requests)
        return run.trace

    trace = await working()
    steps = sum(event.kind == "action" and event.gesture_kind != "Pause" for event in events(trace))
    return steps, calls, sum(done), len(tasks)


class _page:
    """Serves the page, and logs its performed commands."""

    def __init__(self, folder: Path, log: Path) -> None:
        import threading
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from urllib.parse import unquote

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = unquote(self.path[1:])
                if name in PAGE_TASKS:
                    with log.open("a") as file:
                        file.write(name + "\n")
                data = (PAGE % json.dumps(PAGE_TASKS)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "WARNING")
    main()

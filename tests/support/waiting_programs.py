"""Programs that wait for a slow server, each on its own desktop, and a model that trusts its screenshot."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import shutil
import ssl
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

from holo_tasks.core.errors import HoloError
from holo_tasks.core.events import Event
from holo_tasks.core.input.gestures import Click, Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.limits.budget import Guard, Limits
from holo_tasks.core.prompts.transcript import Transcript
from holo_tasks.core.screen.frame import Frame, Shot
from holo_tasks.core.screen.geometry import Point, Size
from holo_tasks.desktop import Desktop, VirtualDesktop, tk_python
from holo_tasks.loop import loop
from holo_tasks.loop.element_tree import Elements
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.services import Services
from holo_tasks.loop.walk import Walk
from holo_tasks.models.build_model import model_at
from holo_tasks.models.client import ModelEndpoint
from holo_tasks.models.encoding import ENCODERS
from holo_tasks.models.profile import profile_for
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.redaction import NothingToRedact
from tests.support.scripted_model import Answer, ScriptedModel, step
from tests.support.slow_pages import ANSWER, BLOCK, FORM
from tests.support.slow_server import SlowServer

APPS = Path(__file__).parent.parent / "apps"
NATIVE = ("GTK 3", "Qt", "Swing", "Tk")
BARE = "Chromium app"
"""Chromium without tabs and toolbar. Those are animated for 0.3 s after a page has loaded."""
BROWSERS = ("Chromium", BARE, "Firefox")
FIREFOX = "firefox-esr"
SHOWN_WITHIN_S = 60.0
BUTTON = (60, -50)
"""Offset of a button from the upper left corner of its block."""
NEAR, SQUARE = 40, 16
"""Tolerance of colours in a lossy picture, and the size in pixels of the squares that identify a block."""
FLAGS = (
    "no-sandbox test-type disable-gpu disable-quic no-first-run no-default-browser-check no-proxy-server disable-sync "
    "disable-background-networking disable-component-update ignore-certificate-errors window-position=0,0 "
    "window-size=1280,800"
)
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.tabs.warnOnClose": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 0,
    "services.settings.server": "http://127.0.0.1:9/",
    "termsofuse.bypassNotification": True,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


def installed(program: str) -> bool:
    """Return whether a program of the table is installed."""
    needed = {"Firefox": FIREFOX, "Chromium": "chromium", BARE: "chromium", "Swing": "java"}.get(program)
    return needed is None or shutil.which(needed) is not None


def command(program: str, url: str, home: Path, server: SlowServer) -> list[str]:
    """Return the command that starts a program on a page, or with a server to query."""
    match program:
        case "Chromium" | "Chromium app":
            flags = [*(f"--{flag}" for flag in FLAGS.split()), f"--user-data-dir={home}/profile"]
            return ["chromium", *flags, f"--app={url}" if program == BARE else url]
        case "Firefox":
            return [FIREFOX, "--no-remote", "--profile", str(_firefox_profile(home, server)), url]
        case "GTK 3":
            return ["/usr/bin/python3", str(APPS / "waiting_gtk3.py"), url]
        case "Qt":
            return [sys.executable, str(APPS / "waiting_qt.py"), url]
        case "Swing":
            return ["java", str(APPS / "WaitingSwing.java"), url]
        case _:
            return [tk_python(), str(APPS / "waiting_tk.py"), url]


def _firefox_profile(home: Path, server: SlowServer) -> Path:
    """Make a profile that asks no questions and trusts the server's certificate."""
    profile = home / "profile"
    profile.mkdir()
    lines = (f"user_pref({_js(name)}, {_js(value)});\n" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines))
    if server.pem is not None:
        pem = server.pem.read_text()
        begin = pem.index("-----BEGIN CERTIFICATE-----")
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem[begin:])).hexdigest().upper()
        print_of = ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))
        line = f"127.0.0.1:{server.port}:\tOID.2.16.840.1.101.3.4.2.1\t{print_of}\t\n"
        (profile / "cert_override.txt").write_text(line)
    return profile


def _js(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value).replace("'", '"')


class TimedDesktop(VirtualDesktop):
    """A desktop that notes the time from each gesture to the next picture, in seconds.

    ``quiet_s`` holds the part of each of those times since the last repaint.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps_s: list[float] = []
        self.quiet_s: list[float] = []
        self._done_at_ns: int | None = None

    def forget_times(self) -> None:
        """Clear the noted times."""
        self.steps_s.clear()
        self.quiet_s.clear()

    async def do(
        self, gesture: Gesture, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        receipt = await super().do(gesture, deadline, input_permit)
        self._done_at_ns = receipt.done_at_ns
        return receipt

    async def look(self, after_action: bool = False) -> Frame:
        frame = await super().look(after_action)
        if self._done_at_ns is not None and after_action:
            self.steps_s.append((frame.taken_at_ns - self._done_at_ns) / 1e9)
            self.quiet_s.append(frame.quiet_ns / 1e9)
            self._done_at_ns = None
        return frame


@asynccontextmanager
async def started(app: list[str], home: Path, **options: Any) -> AsyncIterator[TimedDesktop]:
    """Start a program on its own desktop. Options go to the desktop."""
    env, size = {"HOME": str(home)}, Size(1280, 800)
    desktop = TimedDesktop(size=size, app=app, env=env, app_timeout_s=SHOWN_WITHIN_S, **options)
    async with desktop:
        yield desktop


def blocks(image: Image.Image, colors: Sequence[tuple[int, int, int]]) -> dict[tuple[int, int, int], Point]:
    """Return the upper left corner of the block of each colour that a picture shows."""
    bands, found = image.convert("RGB").split(), {}
    for color in colors:
        near = [
            band.point([255 * (abs(value - level) < NEAR) for value in range(256)])
            for band, level in zip(bands, color, strict=True)
        ]
        all_near = ImageChops.darker(ImageChops.darker(near[0], near[1]), near[2])
        solid = all_near.reduce(SQUARE).point([0] * 255 + [255])  # icons of this colour are smaller
        box = solid.getbbox()
        if box is not None and SQUARE**2 * solid.histogram()[255] > BLOCK[0] * BLOCK[1] // 2:
            found[color] = Point(SQUARE * box[0], SQUARE * box[1])
    return found


async def until_shown(desktop: Desktop, *colors: tuple[int, int, int]) -> Point:
    """Wait until a block of one of the colours is shown; return the position of its button."""
    end = time.monotonic() + SHOWN_WITHIN_S
    while True:
        frame = await desktop.look()
        found = blocks(image_of(frame), colors)
        if found:
            corner = next(iter(found.values()))
            return Point(corner.x + BUTTON[0], corner.y + BUTTON[1])
        if time.monotonic() > end:
            raise TimeoutError("The program did not show its block of colour.")
        await asyncio.sleep(0.05)


def image_of(frame: Frame) -> Image.Image:
    """Return a frame as a picture."""
    return Image.frombytes("RGB", (frame.size.width, frame.size.height), frame.rgb)


async def show_form(desktop: VirtualDesktop, server: SlowServer) -> None:
    """Show the form again after all submitted forms are answered: from an answer, its button leads there."""
    end = time.monotonic() + SHOWN_WITHIN_S
    while server.in_work and time.monotonic() < end:
        await asyncio.sleep(0.05)
    while time.monotonic() < end:
        at = await until_shown(desktop, FORM, ANSWER)
        frame = await desktop.look()
        if FORM in blocks(image_of(frame), [FORM]):
            return
        await desktop.do(Click(at))
        await asyncio.sleep(0.5)
    raise TimeoutError("The form did not come back.")


class Believer:
    """A model that trusts its screenshot: it presses the button of a form, and answers on the answer's page.

    It waits if it sees neither.
    """

    def __init__(self, call_s: float) -> None:
        self.call_s = call_s
        self.calls = 0

    def __call__(self, number: int, body: dict[str, Any]) -> Answer:
        began = time.monotonic()
        self.calls += 1
        said = self._step(_newest_picture(body))
        took_s = time.monotonic() - began
        return Answer(json.dumps(said), delay_s=max(0.0, self.call_s - took_s))

    def _step(self, image: Image.Image) -> dict[str, Any]:
        found = blocks(image, [FORM, ANSWER])
        if ANSWER in found:
            return step("answer", content="stored")
        if FORM not in found:
            return step("wait", seconds=0.5)
        x, y = found[FORM].x + BUTTON[0], found[FORM].y + BUTTON[1]
        return step("click", element="Send button", x=round(1000 * x / image.width), y=round(1000 * y / image.height))


def _newest_picture(body: dict[str, Any]) -> Image.Image:
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    url = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"][-1]
    return Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))


class Unrecorded:
    """A recorder that keeps events in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def keep(self, shot: Shot) -> None:
        pass

    async def record(self, event: Event) -> None:
        self.events.append(event)


@dataclass(frozen=True)
class Came:
    """Result of one form: how often it was sent, the number of model calls, and how it ended.

    ``step_s`` is the time from the first press to the picture after it. ``quiet_s`` is the part since the last repaint.
    """

    sent: int
    calls: int
    step_s: float
    quiet_s: float
    error: str = ""


async def send_form(desktop: TimedDesktop, server: SlowServer, call_s: float, *, max_steps: int = 8) -> Came:
    """Let the model send the visible form, through the agent's loop and its guards, without Prefect."""
    believer, before = Believer(call_s), server.sent
    desktop.forget_times()
    error = ""
    with ScriptedModel(believer) as served:
        endpoint = ModelEndpoint(served.base_url, None)
        services = Services(
            desktop=desktop,
            redactor=NothingToRedact(),
            encoder=ENCODERS["default"],
            model=model_at(endpoint, profile_for("holo3-1-35b-a3b")),
            policy=Rules(trust="act"),
            recorder=Unrecorded(),
            elements=Elements(desktop),
            now_s=time.monotonic,
        )
        guard = Guard("A form", Limits(), started_s=time.monotonic())
        walk = Walk(services, guard, 1, Transcript("Send the form once, and answer when it is stored."))
        try:
            await loop.pursue(
                Executor(walk, lambda walk, step: walk.act(step)),
                read=str,
                decide=lambda walk, answer_only: walk.decide(answer_only=answer_only),
                max_steps=max_steps,
            )
        except HoloError as failed:
            error = str(failed)
        finally:
            await endpoint.close()
    step_s, quiet_s = (desktop.steps_s[0], desktop.quiet_s[0]) if desktop.steps_s else (0.0, 0.0)
    return Came(server.sent - before, believer.calls, step_s, quiet_s, error)

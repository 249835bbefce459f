"""`calibrate`: measure the errors of clicks, toolkits and the model on a desktop, and keep them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from PIL import Image, ImageDraw, ImageFont
from prefect.cache_policies import CachePolicy
from pydantic import TypeAdapter

from holo_tasks.agent.agent_step import agent_step
from holo_tasks.core import events
from holo_tasks.core.elements.elements import Element, ElementTree
from holo_tasks.core.errors import InvalidUsage, ModelFailed, NeedsPerson, PolicyRefused
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.prompts.tool_calls import ClickCall
from holo_tasks.core.prompts.toolbox import point_schema, read_point
from holo_tasks.core.screen.calibration import (
    Calibration,
    ModelBias,
    PathError,
    ReceivedPresses,
    Setting,
    model_bias,
    path_error,
    toolkit_factor,
)
from holo_tasks.core.screen.frame import Frame, RedactedFrame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.desktop.x11.windows import Window
from holo_tasks.loop.ask_model.ask import Question, ask
from holo_tasks.loop.walk import Walk
from holo_tasks.models.questions import locate
from holo_tasks.run.desktops.calibrations import store
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from holo_tasks.run.items.journal import journalled
from holo_tasks.run.run import Run, current_run
from holo_tasks.run.subgoal_context import chances, side_walk
from holo_tasks.scripts.script_view import exactly

VERSION = 1
"""Part of the cache key. Raise it when the measurement changes."""
PLACES = ((0.5, 0.5), (0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9))
"""Points to click, as fractions of the visible area."""
GRID = (0.12, 0.5, 0.88)
COLORS = ("red", "green", "blue")
ABOVE = "another window covers the point."
_CALIBRATION: TypeAdapter[Calibration] = TypeAdapter(Calibration)


@runtime_checkable
class Calibrated(Protocol):
    """A desktop that can describe its setting and show a target window for clicks."""

    async def setting(self) -> Setting: ...

    async def open_target(self, points: Sequence[Point]) -> None: ...

    async def target(self) -> ReceivedPresses: ...

    async def close_target(self) -> None: ...


@dataclass
class _SameSetting(CachePolicy):
    """Cache policy that uses only the setting and the rules, so that all runs share a calibration."""

    def compute_key(
        self, task_ctx: Any, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str | None:
        return f"holo-calibration-{VERSION}-{_digest(sorted(inputs['setting'].items()))}-{inputs['rules']}"


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]


SAME_SETTING = _SameSetting()


@dataclass
class _Measuring:
    """The desktop under calibration. ``done`` is false if the result came from the cache."""

    desktop: Calibrated
    done: bool = False


_measuring: ContextVar[_Measuring] = ContextVar("holo_calibrated")


async def calibrate(*, model: bool = False, refresh: bool = False) -> Calibration:
    """Measure the errors of clicks and toolkits on this desktop and, with ``model``, of the model. Use the result.

    A target window covers the area that the agent may touch, and is clicked at five places. This takes some seconds and
    counts as five actions; the program gets no input. The rules apply: if they do not allow the clicks, that part is
    left out, and a note says so. If programs publish their elements, their window boxes are compared with those of the
    X server.

    With ``model`` the model locates nine drawn marks, one call each. Its coordinates are corrected for the rest of this
    run if its bias exceeds its spread, and if the correction also holds for marks that it was not computed from. The
    trace has the correction with each picture.

    The result is cached for a display, geometry, scaling, window manager and rules, and with ``model`` for the model
    and the picture quality. It is measured again with ``refresh``, or if a window covered a place to click. The windows
    of programs are compared each time. Raises `TransientModelFault` if the model is away. Needs an open agent.
    """
    run = current_run()
    desktop = await run.desktop.started() if isinstance(run.desktop, LazyDesktop) else run.desktop
    if not isinstance(desktop, Calibrated):
        raise InvalidUsage("This desktop cannot be calibrated: it has no window to click on.")
    async with run.exclusive_screen():
        setting = await desktop.setting()
        if model:
            setting = replace(setting, model=run.outside.model.name, quality=repr(run.outside.encoder))
        measuring = _Measuring(desktop)
        token = _measuring.set(measuring)
        try:
            # Plain values: Prefect searches parameters, and stores the result as JSON.
            measured_clicks = TypeAdapter(Setting).dump_python(setting, mode="json")
            task: Any = measure
            anew, rules = task.with_options(refresh_cache=True), _digest(run.outside.policy)
            found = _CALIBRATION.validate_python(await (anew if refresh else task)(measured_clicks, rules))
            if not measuring.done and any(note.endswith(ABOVE) for note in found.notes):
                found = _CALIBRATION.validate_python(await anew(measured_clicks, rules))
            found = await _with_toolkits(found)
        finally:
            _measuring.reset(token)
    if model:
        run.outside = replace(run.outside, correction=found.correction)
    await asyncio.to_thread(store, run.home, found)
    return found


@agent_step(acts=False, retries=0, title="calibrate {setting[display]}", cache_policy=SAME_SETTING)
async def measure(setting: dict[str, Any], rules: str) -> dict[str, Any]:
    """Measure clicks and, if the setting names one, the model. ``rules`` is their digest, for the cache key."""
    run, held = current_run(), TypeAdapter(Setting).validate_python(setting)
    notes: list[str] = []
    _measuring.get().done = True
    path = await _measure_clicks(run, held, notes)
    bias = await _measure_model(run, held, notes) if held.model else None
    measured = Calibration(held, path, (), bias, tuple(notes))
    measured_clicks: dict[str, Any] = _CALIBRATION.dump_python(measured, mode="json")
    return measured_clicks


async def _measure_clicks(run: Run, setting: Setting, notes: list[str]) -> PathError | None:
    """Click the target window at `PLACES` and return the error, or ``None`` if the rules do not allow the clicks."""
    desktop, area = _measuring.get().desktop, Box(*setting.area)
    points = [Point(area.left + int(area.width * x), area.top + int(area.height * y)) for x, y in PLACES]
    sent: list[tuple[int, int]] = []
    landed: list[tuple[int, int]] = []
    read: list[tuple[int, int]] = []
    with journalled(None):  # not part of the work on a business item
        walk = side_walk("Click a target of our own, to see where clicks land.")
        walk.services = replace(walk.services, approver=None, correction=None)
        await desktop.open_target(points)
        try:
            for point in points:
                measured_clicks = await _click_target(walk, area, point)
                if not measured_clicks.presses:
                    notes.append(f"A click at ({point.x}, {point.y}) did not arrive: {ABOVE}")
                    continue
                sent.append((point.x, point.y))
                landed.append((measured_clicks.presses[0].x, measured_clicks.presses[0].y))
                read.append((measured_clicks.pointer.x, measured_clicks.pointer.y))
        except (PolicyRefused, NeedsPerson) as error:
            notes.append(f"Clicks were not measured, because the rules do not allow them: {error}")
            return None
        finally:
            await desktop.close_target()
    return path_error(sent, landed, read)


async def _click_target(walk: Walk, area: Box, point: Point) -> ReceivedPresses:
    """Click a point through all stages of a step. Return the presses that the target window got."""
    await walk.look()
    x, y = exactly(Point(point.x - area.left, point.y - area.top), Size(area.width, area.height))
    call = ClickCall(tool_name="click", element="a target of our own", x=x, y=y)
    walk.step += 1
    step = Step(thought="A calibration: to see where a click lands.", tool_call=call)
    await walk.record_decision(step, scripted=True)
    await walk.act(step)
    return await _measuring.get().desktop.target()


async def _with_toolkits(calibration: Calibration) -> Calibration:
    """Return the calibration with the scaling factor of each program on the screen.

    The factor compares the window boxes in the accessibility tree with those of the X server.
    """
    desktop: Any = _measuring.get().desktop
    if not (hasattr(desktop, "elements") and hasattr(desktop, "windows")):
        return calibration
    notes = list(calibration.notes)
    tree: ElementTree = await desktop.elements()
    windows = await desktop.windows()
    found = []
    for application in tree.applications:
        measured_clicks = [
            one for one in tree.elements if one.pid == application.pid and one.role in ("window", "dialog")
        ]
        pairs = [
            (_in_own_pixels(_content_box(tree, one, window.box), application.scale), window.box)
            for one in measured_clicks
            for window in _windows_of(windows, one)
        ]
        factor = toolkit_factor(application.name, pairs)
        if factor is not None:
            found.append(factor)
        elif pairs:
            notes.append(f"The windows that {application.name} reports do not fit those of the X server.")
    return replace(calibration, toolkits=tuple(found), notes=tuple(notes))


def _windows_of(windows: Sequence[Window], one: Element) -> list[Window]:
    """Return the window of an element as a list of one, or an empty list if none or several windows match."""
    found = [window for window in windows if window.pid == one.pid and window.title == one.name and one.box.area]
    return found if len(found) == 1 else []


def _in_own_pixels(box: Box, scale: float) -> Box:
    """Return a screen box in the unscaled pixels of its program."""
    return Box(*(round(side / scale) for side in (box.left, box.top, box.width, box.height)))


def _content_box(tree: ElementTree, window: Element, real: Box) -> Box:
    """Return the box of a window's content.

    Some programs report the window with its frame. The element or child with the size closest to ``real`` counts.
    """
    boxes = [one.box for one in (window, *tree.children(window))]
    return min(boxes, key=lambda box: abs(box.width - real.width) + abs(box.height - real.height))


async def _measure_model(run: Run, setting: Setting, notes: list[str]) -> ModelBias | None:
    """Ask the model for the places of the drawn marks. Return its bias, or ``None`` if it found too few."""
    area = Box(*setting.area)
    size = Size(area.width, area.height)
    across: list[tuple[float, float]] = []
    down: list[tuple[float, float]] = []
    walk = side_walk("Where are drawn marks?")
    for row, y in enumerate(GRID):
        for column, x in enumerate(GRID):
            at = Point(round(size.width * x), round(size.height * y))
            name = f"{COLORS[column]} cross number {3 * row + column + 1}"
            try:
                said = await _located(run, walk, size, f"the middle of the {name}")
            except ModelFailed as error:
                if error.transient:
                    raise
                notes.append(f"The model did not find the {name}: {error}")
                continue
            across.append(((at.x + 0.5) * 1000 / size.width, said[0]))
            down.append(((at.y + 0.5) * 1000 / size.height, said[1]))
    found = model_bias(across, down, (size.width, size.height))
    if found is None:
        notes.append(f"The model found {len(across)} marks, which is too few to tell how far it is off.")
    return found


async def _located(run: Run, walk: Walk, size: Size, what: str) -> tuple[float, float]:
    """Return the model's point for a drawn mark, in thousandths of the picture."""
    model = run.outside.model
    frame = Frame(rgb=(await asyncio.to_thread(draw_marks, size)).tobytes(), size=size, display="drawn")
    shot = run.outside.encoder.encode(RedactedFrame(frame))
    await run.outside.recorder.keep(shot)
    question = Question("locate", locate(what), (shot,), point_schema(model.space))

    def read(value: dict[str, Any]) -> tuple[float, float]:
        x, y = read_point(value, model.space)
        to_pixel(x, y, shot)  # raises for a point outside the picture
        return x, y

    said = await ask(model, question, walk.call_account, read, chances())
    place = to_pixel(*said, shot)
    await walk.record(events.Located(description=what, point=[place.x, place.y]))
    return said


def draw_marks(size: Size) -> Image.Image:
    """Draw nine numbered crosses on a white picture."""
    picture = Image.new("RGB", (size.width, size.height), "white")
    draw = ImageDraw.Draw(picture)
    arm = max(8, min(size.width, size.height) // 60)
    font = ImageFont.load_default(size=2 * arm)
    for row, y in enumerate(GRID):
        for column, x in enumerate(GRID):
            left, top, color = round(size.width * x), round(size.height * y), COLORS[column]
            draw.line((left - arm, top, left + arm, top), fill=color, width=3)
            draw.line((left, top - arm, left, top + arm), fill=color, width=3)
            draw.text((left + arm, top + arm // 2), str(3 * row + column + 1), fill=color, font=font)
    return picture

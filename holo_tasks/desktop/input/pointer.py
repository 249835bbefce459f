"""Move and press the mouse of one X server through pyautogui.

`Pointer` is the main class. `desktop.input.gesture_player` uses it, in the process that owns the desktop.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.input.gestures import Button, Direction
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.likeness import may_be_same_target
from holo_tasks.desktop.input.direct_press import DirectPress
from holo_tasks.desktop.input.double_click import DoubleClick
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.input.gesture_looks import EarlierPoint, PointChecker

# Toolkits start a drag after a few pixels and follow the pointer from one turn of the event loop to the next. Without
# pauses they merge all moves into one and see a click. HTML5 and Xdnd ask the target about the drop before the button
# may be released. On a busy machine a browser takes far longer for either than the moves do. So a drag waits for a
# repaint after the first moves and again at its end.
DRAG_STEPS = 16
DRAG_BEGINS = 4
DRAG_STEP_S = 0.008
DRAG_REST_S = 0.05

LONGEST_S = 5.0
"""Longest wait that keeps two clicks apart. A desktop's setting for the double click may be longer."""
TOGETHER_S = 0.35
"""Two presses within this time are a double click in every toolkit. The default of GTK and Qt is 0.4 s."""
PRESS, RELEASE, MOTION = 4, 5, 6  # events of the X protocol
MOST_BUTTON = 3  # higher buttons are wheels, which raise no window

PRESSES_LEFT_OUT = (
    "Only press {} of {} was made, because another control was there by then. Look again before you press it."
)
BUSY = "Only press {} of {} was made: the program is still busy with it."
CALLED_OFF = (
    "The drag was stopped, because something new appeared at its end point after the press. The button was released "
    "where it was pressed. Look again."
)


class Pointer:
    """The pointer of one display: it moves, clicks, drags and scrolls.

    pyautogui is imported at first use, because that takes a third of a second.
    """

    def __init__(
        self,
        display: str,
        authority: Path,
        gate: Gate,
        glance: PointChecker,
        direct: DirectPress,
        double: Callable[[], DoubleClick] = DoubleClick,
        note_thread_runs: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare without connecting.

        ``glance`` looks at points during a gesture, and ``direct`` presses at one program. ``double`` returns the
        longest time and distance of a double click. Presses of two gestures are kept further apart in time, so that
        they never form one. ``note_thread_runs`` records which threads of the programs have already run.
        """
        self._display = display
        self._authority = authority
        self._gate = gate
        self._glance = glance
        self._direct = direct
        self._double = double
        self._note_thread_runs = note_thread_runs
        self._mouse: Any = None
        self._fake: Any = None
        self._at = Point(0, 0)
        self._held: list[int] = []
        self._last: tuple[float, Point, str] | None = None
        self.events = 0
        self.last_event_ns = 0

    def load(self) -> Any:
        """Import pyautogui for this display, and return the module. Raises `DesktopFailed` if it cannot connect."""
        if self._mouse is not None:
            return self._mouse
        # pyautogui connects at import, and python3-xlib requires an Xauthority file.
        os.environ["DISPLAY"] = self._display
        os.environ["XAUTHORITY"] = str(self._authority)
        # pyautogui uses these for message boxes, screenshots and a teaching aid; the last ends the process if tkinter
        # is missing. All three are optional.
        for unneeded in ("mouseinfo", "pymsgbox", "pyscreeze"):
            sys.modules.setdefault(unneeded, None)  # type: ignore[arg-type]
        try:
            import pyautogui
        except Exception as error:  # python3-xlib raises its own errors, KeyError and OSError
            raise DesktopFailed(f"The mouse of display {self._display} cannot be reached: {error}.") from error
        pyautogui.PAUSE = 0
        pyautogui.FAILSAFE = False  # a click in the corner is as good as any other
        self._mouse = pyautogui
        self._fake, pyautogui.platformModule.fake_input = pyautogui.platformModule.fake_input, self._send
        return pyautogui

    def _send(self, display: Any, kind: int, detail: int = 0, **where: int) -> None:
        """Send one event through the gate. It replaces `fake_input`, which pyautogui calls for every event."""
        if kind == MOTION:
            self._gate.motion()
            self._at = Point(where["x"], where["y"])
        elif kind == PRESS and detail <= MOST_BUTTON and self._gate.is_one_program:
            self._direct.press(detail, self._at, display.sync)
            self._held.append(detail)
            return
        elif kind == PRESS:
            self._gate.press(self._at)
            self._held.append(detail)
        self._fake(display, kind, detail, **where)
        if kind == RELEASE and detail in self._held:
            self._held.remove(detail)

    def move(self, to: Point) -> None:
        mouse = self.load()
        self._gate.check()
        self._count()
        mouse.moveTo(to.x, to.y, _pause=False)

    def click(self, at: Point, button: Button, count: int) -> str:
        """Press and release a button ``count`` times; return a note about omitted presses, or an empty string.

        If a press brings up something else at the point, the remaining presses are omitted: the caller has not
        decided to press that. If the answer to the first press of a double click comes too late for the second one,
        that press was a single click which changed nothing there. Then both presses follow without a look between them.
        Raises `ScreenChanged` if the arrival of the pointer changed the text that names the item.
        """
        self._keep_apart(at, button)
        self._gate.compare()  # before the pointer moves: a control may look different under the pointer
        before = self._glance.at(at) if count > 1 else None
        arrives = self._at != at
        self.move(at)
        if self._gate.names_item:
            if arrives:
                self._glance.await_hover(self.last_event_ns)
            self._gate.compare_item()
        for number in range(count):
            if number and before is not None:
                if not self._glance.await_answer(self.last_event_ns):
                    return BUSY.format(number, count)
                if self._glance.changed(before):
                    return PRESSES_LEFT_OUT.format(number, count)
                if number == 1 and self._is_late():
                    self._keep_apart(at, button)
                    self._press_and_release(at, button)
            self._press_and_release(at, button)
        return ""

    def drag(self, start: Point, end: Point, button: Button) -> str:
        """Press at one point and release at another; return a note if the drag was called off, or an empty string.

        A drag is called off if the press opens a menu at its end, because a release there would choose an unseen entry.
        """
        self._keep_apart(start, button)
        self._gate.compare()
        before = self._glance.at(end)
        blank = self._glance.around(_point_between(start, end, DRAG_BEGINS / DRAG_STEPS))
        self.move(start)
        self._press(start, button)
        now = start
        try:
            if before is not None:
                self._glance.await_answer(self.last_event_ns)
                is_near = may_be_same_target(start, end)  # the pressed control may look different
                if self._glance.another_window(before) or (not is_near and self._glance.changed(before, near=True)):
                    return CALLED_OFF
            for step in range(1, DRAG_STEPS + 1):
                self._gate.sleep(DRAG_STEP_S)
                now = _point_between(start, end, step / DRAG_STEPS)
                self.move(now)
                if step == DRAG_BEGINS:
                    self._glance.await_answer(self.last_event_ns, other_than=blank)
            self._glance.await_answer(self.last_event_ns)
            if before is not None and self._appeared_at_end(before, _point_between(start, end, 1 - 1 / DRAG_STEPS)):
                now = start
                self.move(start)
                return CALLED_OFF
        finally:
            self._release(now, button)
        return ""

    def _appeared_at_end(self, before: EarlierPoint, short: Point) -> bool:
        """Return whether another window appeared at the end of a drag.

        A window that follows the pointer, such as a drag icon, does not count. To find out, the pointer moves to
        ``short``, a point shortly before the end, and back.
        """
        glance, at = self._glance, before.at
        if not glance.another_window(before):
            return False
        there = glance.place(at)
        self.move(short)
        self._gate.sleep(DRAG_REST_S)
        stays = glance.place(at) == there
        self.move(at)
        self._gate.sleep(DRAG_REST_S)
        return stays

    def scroll(self, at: Point, direction: Direction, notches: int) -> None:
        self._gate.compare()
        self.move(at)
        mouse = self.load()
        for _ in range(notches):
            self._gate.turn()
            self._count(2)
            if direction in ("up", "down"):
                mouse.scroll(1 if direction == "up" else -1, _pause=False)
            else:
                mouse.hscroll(1 if direction == "right" else -1, _pause=False)

    def release_all(self) -> None:
        """Release the buttons that an interrupted gesture left down, at the pointer's place.

        The events are sent directly, because pyautogui would move the pointer first.
        """
        if self._held:
            display = self._mouse.platformModule._display
            for button in self._held:
                self._fake(display, RELEASE, button)
            display.sync()
            self._held.clear()

    def _is_late(self) -> bool:
        """Return whether the last press is old enough that some program takes another one for a new click."""
        return self._last is not None and time.monotonic() - self._last[0] > TOGETHER_S

    def _press_and_release(self, at: Point, button: Button) -> None:
        self._press(at, button)
        self._release(at, button)

    def _press(self, at: Point, button: Button) -> None:
        self._gate.check()
        self._count()
        self._mouse.mouseDown(at.x, at.y, button=button, _pause=False)
        # While the window manager holds the press back, the X server queues later events. It may lose a release and a
        # press that are both in that queue.
        self._glance.await_manager()

    def _release(self, at: Point, button: Button) -> None:
        self._count()
        self._mouse.mouseUp(at.x, at.y, button=button, _pause=False)
        self._last = (time.monotonic(), at, button)

    def _count(self, events: int = 1) -> None:
        # Counted before the event is sent: a quick program repaints before the call returns.
        self.last_event_ns = time.monotonic_ns()
        self.events += events

    def _keep_apart(self, at: Point, button: Button) -> None:
        """Wait until this press can no longer form a double click with the press before it."""
        if self._last is None:
            return
        when, where, which = self._last
        if which != button or time.monotonic() - when > LONGEST_S:
            return
        double = self._double()
        near = abs(where.x - at.x) <= double.px and abs(where.y - at.y) <= double.px
        if near and (left := when + min(double.seconds, LONGEST_S) - time.monotonic()) > 0:
            self._gate.sleep(left)
            # The sleep of a thread that runs after the press is counted from this look at the earliest. Counted from a
            # look before the wait, its timer would seem to have ended already.
            self._note_thread_runs()


def _point_between(start: Point, end: Point, part: float) -> Point:
    return Point(round(start.x + (end.x - start.x) * part), round(start.y + (end.y - start.y) * part))

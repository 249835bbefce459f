"""Put together the parts of one desktop, in the process that owns it.

`XSession` is the main class. `host` creates it and passes it the requests of the process that uses the desktop.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holo_tasks.accessibility import bus
from holo_tasks.core.errors import DesktopFailed, HoloError, InvalidUsage, Killed, ScreenChanged
from holo_tasks.core.input.gestures import Drag, Gesture, Move, Pause, Scroll, Typed
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop import processes
from holo_tasks.desktop.capture.settle import Settle
from holo_tasks.desktop.elements.bus_reader import BusReader
from holo_tasks.desktop.input.gate import Gate
from holo_tasks.desktop.programs.shared_folder import make_shared, to_message
from holo_tasks.desktop.remote import vnc
from holo_tasks.desktop.secrets.secret_store import SecretStore
from holo_tasks.desktop.session.ipc_messages import Message
from holo_tasks.desktop.session.restore_keymap import DONE, LENDS
from holo_tasks.desktop.x11 import x_server as xserver
from holo_tasks.desktop.x11 import xauth
from holo_tasks.desktop.x11.opengl import GlxMissing, likely

if TYPE_CHECKING:
    from holo_tasks.core.programs import Owner
    from holo_tasks.desktop.calibration.click_window import ClickWindows
    from holo_tasks.desktop.elements.element_reader import Elements
    from holo_tasks.desktop.input.foreign_windows import ForeignWindows
    from holo_tasks.desktop.input.remote_typing import RemoteTyping
    from holo_tasks.desktop.programs.launching import Launch
    from holo_tasks.desktop.programs.program import Program
    from holo_tasks.desktop.readiness.work_in_flight import WorkInFlight
    from holo_tasks.desktop.remote.remote_session import RemoteSession
    from holo_tasks.desktop.sandbox.start import Sandbox
    from holo_tasks.desktop.secrets.secret_windows import WindowBoxes


PAINTS_S, PAINT_NAP_S = 3.0, 0.05
"""Longest wait in seconds for the first drawing of a remote screen's client, and seconds between two looks."""
REMOTE_NOTE = "work in flight: the programs run on another machine"
HALF_WAY = (
    "The connection to the remote screen dropped during this action, so it may have been done only in part. Look at "
    "the screen first."
)
"""Note for the model after a gesture during which the connection to the remote screen dropped."""


class XSession:
    """One desktop in the process that owns it: its X server or a borrowed display, its program, and its input.

    ``pixels_fd`` is the descriptor of the shared memory for pictures, and ``gate`` lets input pass.
    """

    def __init__(self, order: Message, pixels_fd: int, gate: Gate) -> None:
        self._order = order
        self._folder = Path(order["folder"])
        self._pixels_fd = pixels_fd
        self._gate = gate
        self._server: xserver.XServer | None = None
        self._helpers: list[subprocess.Popen[bytes]] = []
        self._manager: subprocess.Popen[bytes] | None = None
        self._vnc: dict[Path, vnc.VncServer] = {}
        self._bus: bus.Bus | None = None
        self._bus_reader: BusReader | None = None
        self._elements: Elements | None = None
        self._sandbox: Sandbox | None = None
        self._shared: SharedFolder | None = None
        self._launched: Launch | None = None
        self._remote: RemoteSession | None = None
        self._notices: list[str] = []
        self._display: str = order["display"] or ""
        self._times: dict[str, float] = {}
        self._is_up = False
        self._clock = time.monotonic()
        self._link: Any = None
        self._glx_requests: Any = None
        self._keyboard: Any = None
        self._gesture_player: Any = None
        self._foreign: ForeignWindows | None = None
        self.vault = SecretStore({name: Secret(**fields) for name, fields in order["secrets"].items()})

    def start(self, *, then: Callable[[], None]) -> Message:
        """Start all parts of the desktop, and return its description.

        Calls ``then`` after the last process was started. Raises `GlxMissing` if the program asks for OpenGL, which
        this X server lacks, and `DesktopFailed` if a part does not start.
        """
        order = self._order
        if self._display:
            os.environ["XAUTHORITY"] = str(
                xauth.borrow(self._display, order["xauthority"], self._folder / "Xauthority")
            )
            self._import_slow_modules()
        else:
            size = Size(**order["size"])
            starting = xserver.launch(self._folder, size, opengl=self._opengl, shares_memory=not order["closed"])
            launched = self._launch_bus()
            self._import_slow_modules()
            self._server = xserver.await_server(starting, self._folder, size)
            self._helpers.append(self._server.process)
            self._bus = bus.await_bus(launched)
            self._bus_reader = BusReader(self._bus)
            self._bus_reader.announce()
            if self._bus.process is not None:
                self._helpers.append(self._bus.process)
            self._display = self._server.display
            os.environ["XAUTHORITY"] = str(self._server.authority)
            self._record_time("x_server")
        os.environ["DISPLAY"] = self._display
        self._connect()
        program = self._launch()
        self._create_parts()
        then()
        if self._manager is None:
            self._prepare_borrowed()
        else:  # it started while the program did
            from holo_tasks.desktop.x11 import window_manager as wm

            wm.awake(self._link, self._manager, self._folder, self._gate)
        self._record_time("connections")
        if program is not None:
            self._await_program(program)
            self._record_time("program")
        self._is_up = True
        return {
            "display": self._display,
            "size": {"width": self._screen.size.width, "height": self._screen.size.height},
            "scale": self._scale(),
            "server_pid": self._server.process.pid if self._server else 0,
            "times": self._times,
            "notices": self._notices,
            "shares": to_message(self._shared),
        }

    @cached_property
    def _opengl(self) -> bool:
        """Whether the X server gets GLX: if the options or the program ask for it.

        Without a program it gets GLX too, because any program may be started on this server later.
        """
        order = self._order
        if order["opengl"] is not None or not order["app"]:
            return order["opengl"] is not False
        return likely(order["app"], order["app_env"].get("PATH"))

    def _launch_bus(self) -> bus.Bus:
        """Start the desktop's own D-Bus, which also accepts the program's user; `bus.await_server` waits for it."""
        from holo_tasks.desktop.programs.other_user import OtherUser, bus_for

        order, start = self._order, partial(processes.start_tied, signal.SIGTERM)
        other_user = bus_for(OtherUser(**order["run_as"]), self._folder) if order["run_as"] else None
        return bus.launch(
            self._runtime_folder, order["env"], start, sandboxed=order["closed"] is not None, other_user=other_user
        )

    @property
    def _bus_pid(self) -> int:
        return self._bus.process.pid if self._bus is not None and self._bus.process is not None else 0

    def _await_program(self, program: Program) -> None:
        """Wait until the program shows a window and the screen has settled. Raises `GlxMissing` if it queried GLX."""
        from holo_tasks.desktop.x11 import window_manager as wm

        heeds = self._glx_requests is not None and self._order["opengl"] is None

        def heed(*, until_now: bool = False) -> None:
            if self._server is None:
                wm.nudge(self._link)
            if heeds and (self._glx_requests.deaf or self._glx_requests.asked(until_now=until_now) is not None):
                raise GlxMissing

        self._settled_screen.starts()
        try:
            if self._remote is not None:
                self._remote.await_picture(self._order["app_timeout_s"])
                self._await_paint()
            else:
                program.await_window(self._order["app_timeout_s"], self._gate, self._own_pids, heed)
            self._settled_screen.program_started()
            self._settled_screen.look(after_action=False)
        except DesktopFailed:
            heed(until_now=True)
            raise
        heed(until_now=True)

    def _await_paint(self) -> None:
        """Wait at most `PAINTS_S` until the client has drawn something. A remote screen may really have one color."""
        until = time.monotonic() + PAINTS_S
        while self._screen.take().is_one_color and time.monotonic() < until:
            self._gate.sleep(PAINT_NAP_S)

    def _record_time(self, name: str) -> None:
        now = time.monotonic()
        self._times[name], self._clock = now - self._clock, now

    def _import_slow_modules(self) -> None:
        """Import slow modules while the X server starts."""
        import mss
        from PIL import Image

        from holo_tasks.desktop.capture import settled_screen as eyes
        from holo_tasks.desktop.input import gesture_player as hands
        from holo_tasks.desktop.programs import program
        from holo_tasks.desktop.x11 import glx_requests as ear
        from holo_tasks.desktop.x11 import window_manager as wm

        _ = mss, Image, ear, eyes, hands, program, wm
        self._record_time("imports")

    def _connect(self) -> None:
        from holo_tasks.desktop.elements.element_reader import name_bus
        from holo_tasks.desktop.session.borrowed import check_display
        from holo_tasks.desktop.x11 import window_manager as wm
        from holo_tasks.desktop.x11.glx_requests import GlxRequestRecorder
        from holo_tasks.desktop.x11.x_connection import XConnection

        env = {**self._order["env"], "DISPLAY": self._display, "XAUTHORITY": os.environ["XAUTHORITY"]}
        self._env = env
        self._link = XConnection(self._display)
        if self._server is None:
            check_display(self._link)
        else:
            self._manager = manager = wm.launch(self._folder, env)
            self._helpers.append(manager)
            wm.await_manager(self._link, manager, self._folder)
            wm.paint_background(self._link)
            if self._bus is not None:
                name_bus(self._link, self._bus)
            if not self._opengl:
                self._glx_requests = GlxRequestRecorder(self._link)
            self._record_time("window_manager")

    def _launch(self) -> Program | None:
        from holo_tasks.desktop.programs.launching import Launch

        order = self._order
        if not (order["run_as"] or order["remote"]):
            self._shared = make_shared(self._folder)
        if not order["app"]:
            return None
        ours = {name: self._env[name] for name in ("DISPLAY", "XAUTHORITY", processes.MARK)}
        launch = Launch(order, self._folder, self._runtime_folder, self._display, self._bus, ours, self._shared)
        if order["remote"]:
            return self._start_remote_client(launch.environment())
        if self._bus_reader is not None:
            self._bus_reader.await_announcement()
        try:
            return launch.start(self._link)
        finally:
            self._launched, self._sandbox, self._shared = launch, launch.sandbox, launch.shared
            self._helpers += launch.sandbox.helpers if launch.sandbox else []

    def _start_remote_client(self, env: Mapping[str, str]) -> Program:
        """Start the client of a remote screen with an empty home folder, so that it finds no settings of this user."""
        from holo_tasks.core.screen.remote_screen import from_message
        from holo_tasks.desktop.remote.remote_session import RemoteSession, starter

        home = self._folder / "client"
        home.mkdir(mode=0o700)
        remote = from_message(self._order["remote"])
        begin = starter(remote, self._link, self._folder, {**env, "HOME": str(home)}, self._notices.append)
        self._remote = RemoteSession(remote, self._link, self._gate, begin)
        return self._remote.begin()

    @cached_property
    def _runtime_folder(self) -> Path:
        """The folder for the sockets of this desktop's programs; it is deleted with the desktop."""
        folder = self._folder / "runtime"
        folder.mkdir(mode=0o700)
        return folder

    def _create_parts(self) -> None:
        from holo_tasks.desktop.capture.recent_frames import RecentFrames
        from holo_tasks.desktop.capture.repaint_memory import begin_watch
        from holo_tasks.desktop.programs.window_owners import owner_at, owner_of
        from holo_tasks.desktop.secrets.secret_binding import Binding
        from holo_tasks.desktop.x11.grabs import held

        link, gate = self._link, self._gate
        note_runs = self._create_screen()
        self._create_input(note_runs)
        gate.owner_at = lambda at: owner_at(link, at)
        lasts = self._server is None and self._order["touches"]
        self._repaint_watch = begin_watch(link, self._repaints, lambda: gate.held, lasts=lasts)
        self._recent_frames = RecentFrames(link, self._screen, gate, self._repaint_watch)
        frames = self._recent_frames
        gate.compared, gate.item_compared, gate.same_window = frames.compare, frames.compare_item, frames.same_window
        gate.binding = Binding(lambda at: owner_of(link, at), self._is_program, lambda at: held(link, at)).refusal

    def _create_screen(self) -> Callable[[], None]:
        """Create the parts that perceive; return the function that records which threads have run before an input."""
        from holo_tasks.desktop.capture.liveness_ping import Pinger
        from holo_tasks.desktop.capture.repaints import Repaints
        from holo_tasks.desktop.capture.screen import Screen
        from holo_tasks.desktop.capture.settled_screen import SettledScreen
        from holo_tasks.desktop.elements.element_reader import Elements, named_by
        from holo_tasks.desktop.programs.sleeping_clients import SleepDetector
        from holo_tasks.desktop.x11.monitors import BoundMonitor
        from holo_tasks.desktop.x11.stacking import stacked

        link, gate = self._link, self._gate
        self._screen, self._bound = Screen(link, self._pixels_fd), BoundMonitor(link, self._order["monitor"])
        self._bound.begin()
        repaints = self._repaints = Repaints(self._display, self._screen.fingerprint)
        self._limit_to_monitor()
        self._pinger = Pinger(link, repaints)
        settle = Settle(**self._order["settle"])
        mute = self._sandbox.mute if self._sandbox else ()
        # A client that waits for another machine sleeps too, although it may draw at any time.
        near = self._server is not None and not self._order["far"]
        sleepers = SleepDetector(link, self._server.process.pid, self._bus_pid, mute) if self._server and near else None
        asleep, note_runs = (sleepers.look, sleepers.note_runs) if sleepers else (lambda: None, lambda: None)
        reader = self._bus_reader or BusReader(named_by(link, asked_for=self._order["accessibility"]))
        self._elements = Elements(link, reader, repaints, self.vault, lambda: self._bound.box)
        work = (
            self._work_in_flight(self._elements),
            [REMOTE_NOTE] if self._order["far"] else [],
            self._known_repainting_boxes,
        )
        self._settled_screen = SettledScreen(
            self._screen, repaints, self._pinger, settle, gate, lambda: stacked(link), asleep, *work, note_runs
        )
        return note_runs

    def _create_input(self, note_runs: Callable[[], None]) -> None:
        """Create the parts that send input, for the agent and for a person. They use those of `_create_screen`."""
        from holo_tasks.desktop.fields.changed_field import Fields
        from holo_tasks.desktop.fields.focused_field import FocusedField
        from holo_tasks.desktop.input.direct_press import DirectPress
        from holo_tasks.desktop.input.double_click import double_click_limits
        from holo_tasks.desktop.input.foreign_windows import ForeignWindows, is_outside
        from holo_tasks.desktop.input.gesture_looks import PointChecker
        from holo_tasks.desktop.input.gesture_player import GesturePlayer
        from holo_tasks.desktop.input.keyboard import Keyboard
        from holo_tasks.desktop.input.pointer import Pointer
        from holo_tasks.desktop.input.typing import Typist
        from holo_tasks.desktop.programs.window_owners import owner_of
        from holo_tasks.desktop.remote.remote_input import ViewerInput
        from holo_tasks.desktop.secrets.secret_windows import SecretWindows

        assert self._elements is not None
        link, gate, pulse, repaints = self._link, self._gate, self._pinger, self._repaints
        self._keyboard = Keyboard(link, gate)
        glance = PointChecker(link, self._screen, pulse, repaints, gate)
        authority, direct = Path(os.environ["XAUTHORITY"]), DirectPress(link, pulse, gate)
        self._pointer = Pointer(
            self._display, authority, gate, glance, direct, partial(double_click_limits, link), note_runs
        )
        self._typist = Typist(self._keyboard, pulse, repaints, gate)
        if self._server is not None and not self._order["far"]:
            self._foreign = ForeignWindows(link, pulse, partial(is_outside, mark=self._env[processes.MARK]))
        keyboard = Keyboard(link, free := gate.for_person())
        self._person_input = ViewerInput(link, free, keyboard, Typist(keyboard, pulse, repaints, free), pulse)
        self._secret_windows = SecretWindows(link)
        fields = Fields(
            self._settled_screen, self._screen, lambda: owner_of(link, None).box, self._secret_windows.inside
        )
        far = self._remote_typing(lambda at: owner_of(link, at))
        hands = (link, self._pointer, self._keyboard, self._typist, pulse, gate, self.vault, fields, self._bound, far)
        self._gesture_player = GesturePlayer(*hands, FocusedField(self._elements, lambda: owner_of(link, None), gate))

    def _work_in_flight(self, elements: Elements) -> WorkInFlight | None:
        """Return the sensor for work in flight; ``None`` if the programs run on another machine."""
        from holo_tasks.desktop.readiness.build_detector import build_detector

        if self._order["far"]:
            return None
        forwarders = {helper.pid for helper in self._sandbox.helpers} if self._sandbox else set()
        seen = (self._link, self._repaints, elements, self._known_repainting_boxes)
        programs = (lambda: self._helper_pids() - forwarders, self._bus_pid)
        return build_detector(*seen, *programs, alone=self._server is not None, own_network=self._sandbox is None)

    def _remote_typing(self, owner_at: Callable[[Point | None], Owner]) -> RemoteTyping:
        from holo_tasks.desktop.input.remote_typing import PASTE_S, RemoteTyping

        remote = self._remote.remote if self._remote else None
        paste_s = PASTE_S + remote.answers_within_s if remote and remote.paste else 0.0
        return RemoteTyping(self._display, owner_at, self._gate, paste_s)

    def _limit_to_monitor(self) -> None:
        """Limit captures and the watch for repaints to the monitor to which this desktop is bound, if any."""
        self._screen.within = self._repaints.within = self._bound.measure()

    def monitors(self) -> list[Message]:
        """Describe the monitors of the display."""
        from holo_tasks.desktop.x11.monitors import monitors

        return [asdict(monitor) for monitor in monitors(self._link)]

    def calibration_setting(self) -> Message:
        """Return the conditions under which a calibration is valid, such as scaling and window manager."""
        from holo_tasks.desktop.calibration.click_window import calibration_setting

        return calibration_setting(self._link, self._order["app_env"] if self._order["app"] else {})

    @cached_property
    def click_windows(self) -> ClickWindows:
        """The test windows for calibrations. One is open at a time, and covers the area in which input is allowed."""
        from holo_tasks.desktop.calibration.click_window import ClickWindows

        return ClickWindows(self._display, lambda: self._bound.measure() or Box.whole(self._link.size()))

    def _prepare_borrowed(self) -> None:
        """Tell `restore_keymap` which key codes are unused, and release keys that an earlier, killed run left pressed.

        The keyboard gives a character that no key has to an unused key code for a while: the key code is lent.
        """
        from holo_tasks.desktop.session.borrowed import input_method_warning

        os.write(self._order["watch"], " ".join([LENDS, *map(str, self._keyboard.free), ""]).encode())
        if self._order["touches"]:
            self._notices += input_method_warning(self._link)
            self._let_go_of_all()

    def _let_go_of_all(self) -> None:
        from holo_tasks.desktop.input.keyboard import let_go_of_buttons

        self._keyboard.release_all(held_by_others=True)
        let_go_of_buttons(self._link)

    def warm_up(self) -> None:
        """Import pyautogui now, so that the first gesture is not slow."""
        with contextlib.suppress(DesktopFailed):  # the first gesture raises it again
            self._pointer.load()

    def look(self, *, after_action: bool, windows: bool) -> Message:
        """Wait until the screen has settled, write its picture to the shared memory, and return its description."""
        from holo_tasks.desktop.secrets.secret_windows import boxes_between

        places: WindowBoxes = {}
        self._reconnect_if_dropped()
        self._limit_to_monitor()

        def first() -> None:
            nonlocal places
            self._recent_frames.arrange()
            places = self._secret_windows.window_boxes()

        self._repaint_watch.confirm(self._gate.sleep)
        windows = windows or self._secret_windows.any  # the places of typed secrets can be masked only with the windows
        ask = partial(self.read_ahead, early=True)
        seen = self._settled_screen.look(after_action=after_action, windows=windows, first=first, asks=ask)
        while self._reconnect_if_dropped():
            seen = self._settled_screen.look(after_action=False, windows=windows, first=first)
        self._repaint_watch.looked(self._recent_frames.arranged_s, settled=seen.settled)
        return {
            **seen.to_message(),
            "bytes": self._screen.hand_over(seen.picture),
            "number": self._recent_frames.keep(seen.picture),
            "monitor": asdict(self._bound.box) if self._bound.box else None,
            "typed_in": [
                [window, asdict(box) if box else None]
                for window, box in boxes_between(places, self._secret_windows.window_boxes()).items()
            ],
            "asked_for_opengl": self._first_opengl_client(),
            "reconnected": self._remote.dropped if self._remote is not None else 0,
        }

    def _reconnect_if_dropped(self) -> bool:
        """Connect to the remote screen again if the connection dropped; return whether it had dropped."""
        if self._remote is None or not self._remote.mend(self._order["app_timeout_s"]):
            return False
        self._await_paint()
        self._settled_screen.program_started()
        return True

    def _first_opengl_client(self) -> str | None:
        """Return the first client that queried GLX on a server without it. Later calls return ``None``."""
        who: str | None = None if self._glx_requests is None else self._glx_requests.asked()
        if who is not None:
            self._glx_requests = None
        return who

    def await_processing(self) -> None:
        """Make the next look wait until the program has processed input that this process did not send."""
        self._settled_screen.program_started()

    def do(self, gesture: Gesture, *, expects_change: bool) -> Message:
        """Carry out a gesture, and return its receipt as plain values.

        ``expects_change`` makes the next look wait for an effect. Raises `ScreenChanged` if the connection to the
        remote screen dropped.
        """
        far = None if isinstance(gesture, Pause) else self._remote
        if far is not None and far.lost:
            raise ScreenChanged(f"The connection to the remote screen at {far.remote.place} dropped. Nothing was done.")
        if isinstance(gesture, Move) or not (isinstance(gesture, Pause) or self._gate.decided):  # else compare() has
            self._repaint_watch.acts()
        if isinstance(gesture, Scroll | Drag):
            self._repaint_watch.moves()
        if expects_change:
            self._settled_screen.acts(getattr(gesture, "at", None) or getattr(gesture, "start", None))
        watched = None if isinstance(gesture, Pause) else self._foreign
        if watched is not None:
            watched.before_gesture(getattr(gesture, "at", None) or getattr(gesture, "start", None))
        try:
            receipt = self._gesture_player.do(gesture)
            self._recent_frames.acted(gesture)
            if watched is not None:
                watched.after_gesture()
        finally:
            self._settled_screen.acted(self._gesture_player.last_event_ns if expects_change else None)
        return {
            "done_at_ns": receipt.done_at_ns,
            "took_ns": receipt.took_ns,
            "events": receipt.events,
            "left_out": HALF_WAY if far is not None and far.lost else receipt.left_out,
        }

    def put_foreign_behind(self, *, covering: bool) -> bool:
        """Put small windows of programs that do not belong to this desktop behind its programs, if one is in the way.

        Returns whether there was one.
        """
        if self._foreign is None or not self._foreign.behind(covering=covering):
            return False
        self._settled_screen.program_started()
        return True

    def fit_window(self) -> bool:
        """Bring the active window into the screen if it reaches beyond the edge; return whether it did."""
        from holo_tasks.desktop.input.fit_window import fit_active_window

        if self._foreign is None or self._foreign.has_keyboard() or not fit_active_window(self._link, self._pinger):
            return False
        self._settled_screen.program_started()
        return True

    def take_typed_places(self) -> list[Typed]:
        """Return the places of secrets that were typed since the last call, also by gestures that failed."""
        if self._gesture_player is None:
            return []
        typed: list[Typed] = self._gesture_player.typed
        self._gesture_player.typed = []
        return typed

    def windows(self) -> list[Message]:
        """Return the windows on the screen as plain values."""
        from holo_tasks.desktop.programs.window_owners import owner_by
        from holo_tasks.desktop.x11.windows import windows

        found = windows(self._link)
        if self._sandbox is not None:  # its _NET_WM_PID counts in the namespace of the sandbox
            found = [replace(window, pid=owner_by(self._link, window.id).pid) for window in found]
        return [window.described() for window in found]

    def repainting_areas(self) -> list[Message]:
        """Return the areas that have repainted themselves from before the last look until now."""
        return [asdict(area.box) for area in self._repaint_watch.steady(self._recent_frames.arranged_s)]

    def _known_repainting_boxes(self) -> list[Box]:
        """Return the areas that repaint themselves, as learned at the last sample."""
        return [area.box for area in self._repaint_watch.known(self._recent_frames.arranged_s)]

    def owner(self, at: Point | None) -> Message:
        """Return the program that gets a press at a point or, without one, the keys."""
        from holo_tasks.desktop.programs.window_owners import owner_of

        return asdict(owner_of(self._link, at))

    def elements(self, known: int) -> Message:
        """Return the accessibility trees of programs.

        If they have not changed since the tree with the version number ``known``, only a note that says so is returned.
        """
        assert self._elements is not None
        return self._elements.tree_message(known, self._gate)

    def read_ahead(self, *, early: bool = False) -> None:
        """Begin to read the accessibility trees, while a picture is awaited (``early``) or the model looks at it."""
        if self._elements is not None:
            self._elements.read_ahead(early=early)

    def explain(self, error: Exception) -> Exception:
        """Return ``error``, or an error that says that the X server is gone if it no longer answers."""
        if isinstance(error, InvalidUsage) or self._link is None or self._link.alive():
            return error
        return DesktopFailed(f"The X server of display {self._display} is gone: start the desktop again.")

    def hand_to_person(self) -> None:
        """Leave pointer and keyboard to a person: release everything and restore the keyboard map."""
        self._release_and_restore()
        self._pinger.await_manager()

    def take_from_person(self) -> None:
        """Release the keys and buttons that a person left pressed, and make the next look wait for their effects."""
        self._person_input.finish()
        self._let_go_of_all()
        # Another program that types may have remapped the free keys too, and restores its own later.
        self._keyboard.put_back()
        self._pinger.await_manager()
        self._settled_screen.program_started()
        self._repaint_watch.acts()

    def send_person_input(self, inputs: Sequence[ByHand]) -> None:
        """Send the input of a person at a live view. After a kill it releases everything and raises `Killed`."""
        try:
            self._person_input.do(inputs)
        except Killed:
            self._person_input.let_go()
            raise

    def open_vnc(self) -> Path:
        """Start a VNC server; return its socket."""
        server = vnc.launch(self._folder, self._env)
        vnc.await_server(server)
        self._vnc[server.path] = server
        return server.path

    def close_vnc(self, path: Path) -> None:
        """End a VNC server."""
        if (server := self._vnc.pop(path, None)) is not None:
            vnc.end(server)

    def leave(self) -> None:
        """Restore a borrowed X server: release everything and restore its keyboard map.

        The areas that repaint themselves are stored for the next run on this screen.
        """
        if self._keyboard is not None and self._server is None and self._link.alive():
            self._person_input.let_go()
            self._release_and_restore()
            os.write(self._order["watch"], DONE.encode())
            self._repaint_watch.keep()

    def _release_and_restore(self) -> None:
        """Release all keys and buttons that this process holds, and clear the lent key codes in the keyboard map."""
        self._gesture_player.let_go()
        with contextlib.suppress(HoloError):  # a frozen program, or a stop
            self._typist.finish()
        self._keyboard.put_back()

    def end_programs(self) -> list[str]:
        """Ask programs to close, and end those that do not; return the titles of dialogs that they opened meanwhile."""
        from holo_tasks.desktop.programs.closing import ask_to_close, is_stopped

        asked: list[str] = []
        frozen = self._server is not None and is_stopped(self._server.process.pid)
        if self._is_up and self._remote is None and not frozen and self._link.alive():
            asked = ask_to_close(self._link, self._own_pids)
        if self._launched is not None:
            self._launched.profile.note_documents(self._own_pids())
        processes.end(self._own_pids, grace_s=1.0)
        return [self.vault.hide(title) for title in asked]

    def remove_sockets(self) -> None:
        """Remove the sockets and locks of a killed X server or program."""
        if self._server is not None:
            xserver.remove_socket(self._display)
        if self._launched is not None:
            self._launched.profile.tidy()

    def _is_program(self, pid: int) -> bool:
        """Return whether a process descends from this one and from none of the desktop's helpers."""
        helpers, line = self._helper_pids(), processes.ancestry(pid)
        return os.getpid() in line[1:] and helpers.isdisjoint(line)

    def _own_pids(self) -> set[int]:
        """Return the ids of the programs' processes, without those of the desktop itself."""
        bus_processes = set(processes.descendants(self._bus_pid)) if self._bus_pid else set()
        around = self._sandbox.mute if self._sandbox else set()
        found = set(processes.descendants(os.getpid())) - self._helper_pids() - bus_processes - around
        return {pid for pid in found if not bus.is_registry(pid)}

    def _helper_pids(self) -> set[int]:
        return {helper.pid for helper in (*self._helpers, *(server.process for server in self._vnc.values()))}

    def _scale(self) -> float:
        """Return the factor by which Xft.dpi enlarges programs; 96 dpi is 1.0."""
        from holo_tasks.desktop.calibration.click_window import scale_of

        return scale_of(self._link.text(self._link.root, "RESOURCE_MANAGER"))

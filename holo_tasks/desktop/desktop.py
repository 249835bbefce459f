"""Desktops as the calling process uses them. Each method sends a request to the host process, through `child`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage, Killed, ScreenHeld
from holo_tasks.core.input.gestures import Gesture, Receipt
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.input.remote_input import ByHand
from holo_tasks.core.network import Network
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.screen.monitors import monitor_option
from holo_tasks.core.screen.remote_screen import Remote, limits_warning, reconnected
from holo_tasks.core.secrets.secret import Secret, by_name, check_bound
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.core.this_machine import check_display, switched_on
from holo_tasks.desktop.capture.settle import Settle
from holo_tasks.desktop.elements import element_messages
from holo_tasks.desktop.profiles.profile_setting import NEW, kept_profile_folder
from holo_tasks.desktop.programs.app_setting import USUAL_SETTLE, AppSetting
from holo_tasks.desktop.programs.environment import Inherits, for_ours, for_programs, withheld_names
from holo_tasks.desktop.programs.other_user import other_user
from holo_tasks.desktop.programs.shared_folder_mixin import SharedFolderMixin
from holo_tasks.desktop.sandbox.cgroup_limits import ResourceLimits
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.desktop.sandbox.sandbox_settings import SandboxSettings
from holo_tasks.desktop.session import ipc_messages
from holo_tasks.desktop.session.child import Child
from holo_tasks.desktop.x11.opengl import opengl_enabled
from holo_tasks.desktop.x11.windows import Window

LARGEST = 16384
USUAL_SIZE = Size(1280, 800)
BEGINS_AGAIN = "The program asks for OpenGL, so its desktop is restarted with it. HOLO_OPENGL=1 avoids the restart."
MISSES_OPENGL = "asks for OpenGL, but its desktop has none. If the program needs it, set HOLO_OPENGL=1."

ASKED = "While its desktop closed, a program opened the dialog ‘{}’. It got no answer and was ended without saving."
TITLE = 80

logger = logging.getLogger("holo_tasks.desktop")


class Desktop(SharedFolderMixin):
    """The common base of `VirtualDesktop` and `AttachedDesktop`; use one of those.

    Either ``async with VirtualDesktop(...) as desktop`` or ``desktop = await VirtualDesktop.start(...)`` and later
    ``await desktop.close()``. Several tasks may call its methods; the requests are carried out one after the other.
    """

    def __init__(
        self,
        *,
        app: Sequence[str] | str | Remote | None,
        env: Mapping[str, str] | None,
        secrets: Mapping[str, Secret | str] | None,
        settle: Settle,
        app_timeout_s: float,
        inherits: Inherits,
        run_as: str,
        opengl: bool | None = True,
        profiles: str = NEW,
        monitor: str | int = "",
        tell: Callable[[str], None] | None = None,
        network: Network = "host",
        folders: Mapping[str, Access] | None = None,
        memory_mb: int = 0,
        cpus: float = 0.0,
    ) -> None:
        alone = network == "host" and not (folders or memory_mb or cpus or run_as)
        self._app = AppSetting.of(app, os.environ, alone=alone)
        self.far, self.password = self._app.far, self._app.password
        self._sandbox = SandboxSettings.asked_for(
            network, folders or {}, ResourceLimits(memory_mb, cpus), starts=app is not None
        )
        self._monitor = monitor_option(monitor)
        self._env = dict(env or {})
        self._inherits = inherits
        if run_as and app is None:
            raise InvalidUsage("run_as names the user that a program runs as, but this desktop starts none: give app.")
        program = self._app.command[0] if self._app.command else ""
        self._kept = kept_profile_folder(profiles, program=program, run_as=run_as)
        self._run_as = other_user(run_as) if run_as else None
        self.secrets = by_name(secrets or {})
        self._settle = self._app.settle(settle)
        check_bound(self.secrets, starts=app is not None)
        if not (math.isfinite(app_timeout_s) and app_timeout_s > 0):
            raise InvalidUsage(f"app_timeout_s is a positive number of seconds, not {app_timeout_s!r}.")
        self._app_timeout_s = app_timeout_s
        self._opengl = opengl
        self._tell = tell or logger.warning
        self._child: Child | None = None
        self._borrowed = ""
        self._holders = self._holds = self._dropped = 0
        self.display = ""
        self.size = Size(1, 1)
        self.scale = 1.0
        self.started_s: Mapping[str, float] = {}
        self.tells_windows = False
        self.looks_on = False  # whether to take pictures while a person has the screen, to record their input
        self._tree: tuple[int, ElementTree] | None = None

    @property
    def name(self) -> str:
        """The name of this desktop in logs."""
        return f"desktop {self.display} ({self.size})"

    @property
    def pid(self) -> int:
        """The process ID of the host. Ending that process ends the desktop."""
        return self._running().pid

    @property
    def authority(self) -> Path:
        """The Xauthority file with which other X clients can connect to a virtual desktop."""
        return self._running().folder / "Xauthority"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.display or 'not started'}>"

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def look(self, after_action: bool = False) -> Frame:
        """Wait until the screen has settled and no work on the last input is in flight, then take a picture.

        With ``after_action``, also wait for the first repaint after the last gesture. `Settle` sets the limits.
        """
        child = self._running()
        async with child.turn:  # the pixels must be fetched before the next picture is taken
            self._refuse_held(looks=True)
            how = {"after_action": after_action, "looks_on": self.looks_on}
            answer = await child.ask("look", **how, windows=self.tells_windows)
            rgb = child.pixels(answer["bytes"])
        self.size = Size(**answer["size"])
        if answer["reconnected"] > self._dropped:
            self._dropped = answer["reconnected"]
            self._tell(reconnected(self.far))
        if (program := answer["asked_for_opengl"]) is not None:
            self._tell(f"{program or 'A program'} {MISSES_OPENGL}")
        return ipc_messages.to_frame(answer, rgb, display=self.display, scale=self.scale, holds=self._holds)

    async def do(
        self, gesture: Gesture, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        """Carry out a gesture.

        ``deadline`` is a time of `time.monotonic`, checked before each input event. Once it has passed, no more events
        are sent, all keys and buttons are released, and `LimitReached` is raised. Cancelling the task stops the gesture
        likewise.

        Once the desktop serves a run (`serve`), a ``input_permit`` for this gesture is needed. `PolicyRefused` is
        raised without a valid one, and `Killed` after the kill switch was used. A slip can name a frame. It is valid
        only while the screen around the target looks as in that frame; otherwise `ScreenChanged` is raised.
        """
        child = self._running()
        async with child.turn:
            if child.page.latched:
                raise Killed("The kill switch was used: this desktop takes no more input.")
            self._refuse_held()
            request = {"gesture": ipc_messages.from_gesture(gesture), "slip": ipc_messages.from_permit(input_permit)}
            answer = await child.ask("do", **request, deadline=deadline)
        typed, left_out = ipc_messages.to_typed(answer["typed"]), answer["left_out"]
        return Receipt(answer["done_at_ns"], answer["took_ns"], answer["events"], typed, left_out)

    async def windows(self) -> list[Window]:
        """List the visible windows in stacking order, the topmost last."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("windows")
        return [Window.from_description(values) for values in answer["windows"]]

    async def repainting_areas(self) -> list[Box]:
        """Return the areas that repaint at a pace of their own, as observed before the last look and since."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("repainting_areas")
        return [Box(**box) for box in answer["boxes"]]

    async def elements(self) -> ElementTree:
        """Return the elements that the programs publish. It waits for a slow program, but not for one that hangs.

        An empty tree has the reason in ``why_not``, such as a missing accessibility bus.
        """
        child, began = self._running(), time.perf_counter()
        async with child.turn:
            self._refuse_held(looks=True)
            known = self._tree
            answer = await child.ask("elements", known=known[0] if known else 0, looks_on=self.looks_on)
            if known is None or known[0] != answer["number"]:
                known = self._tree = answer["number"], element_messages.to_tree(answer, known[1] if known else None)
        return replace(known[1], took_ms=1000 * (time.perf_counter() - began), moving=bool(answer["moving"]))

    async def owner_at(self, at: Point | None) -> Owner:
        """Return the program whose window gets a press at a point or, without a point, the keys."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("owner", at=asdict(at) if at else None)
        owner = answer["owner"]
        return Owner(**{**owner, "box": Box(**owner["box"]) if owner["box"] else None})

    async def put_foreign_behind(self, *, covering: bool) -> bool:
        """Put small windows of programs that do not belong to this desktop behind its programs.

        This is done if one has the keyboard or, with ``covering``, lies over a program, and only on an X server of the
        library's own. They get no input. Returns whether there was one.
        """
        child = self._running()
        async with child.turn:
            self._refuse_held()
            answer = await child.ask("put_foreign_behind", covering=covering)
        return bool(answer["done"])

    async def fit_window(self) -> bool:
        """Bring the active window into the screen if it reaches beyond the edge. The program gets no input.

        This is done only on an X server of the library's own. Returns whether the window's place has changed.
        """
        child = self._running()
        async with child.turn:
            self._refuse_held()
            answer = await child.ask("fit_window")
        return bool(answer["done"])

    async def hold(self) -> None:
        """Give the screen to a person. The agent is kept away until `release` was called as often as this method.

        The current gesture is stopped with all keys released. Waiting and later requests raise `ScreenHeld`. When this
        returns, every key has its usual meaning again.
        """
        child = self._running()
        if child.page.latched:
            raise Killed("The kill switch was used, so a person cannot get the screen.")
        self._holders += 1
        child.page.hold(True)
        try:
            async with child.turn:
                await child.ask("hold")
        except BaseException:
            self._holders -= 1
            child.page.hold(self._holders > 0)
            raise
        self._holds += 1

    async def release(self) -> None:
        """Let the agent continue, with all keys and buttons released. If this fails, the screen stays held."""
        child = self._running()
        async with child.turn:
            if self._holders == 1:
                await child.ask("release")
            self._holders = max(0, self._holders - 1)
            child.page.hold(self._holders > 0)

    @property
    def held(self) -> bool:
        """Whether a person has the screen."""
        return self._holders > 0

    async def by_hand(self, inputs: Sequence[ByHand]) -> None:
        """Carry out a remote person's inputs in order. Raises `PolicyRefused` unless a person has the screen."""
        child = self._running()
        async with child.turn:
            await child.ask("by_hand", inputs=ipc_messages.from_inputs(inputs))

    async def open_vnc(self) -> Path:
        """Start a VNC server for watching this screen, and return the path of its socket, which only this user can
        open.

        The server ends with the desktop at the latest.
        """
        child = self._running()
        async with child.turn:
            answer = await child.ask("open_vnc")
        return Path(answer["path"])

    async def close_vnc(self, path: Path) -> None:
        """End a VNC server and close its connections."""
        child = self._running()
        async with child.turn:
            await child.ask("close_vnc", path=str(path))

    def _refuse_held(self, *, looks: bool = False) -> None:
        if self.held and not (looks and self.looks_on):
            raise ScreenHeld("A person has the screen: the agent neither sees it nor touches it.")

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Bind this desktop to a run, permanently. A later run may replace it.

        From now on input needs a slip and a lease, which `renew` extends. ``folder`` holds the requests to stop the run
        (`kill_files`). ``began_s`` is its start time (`time.monotonic`).
        """
        child = self._running()
        async with child.turn:
            await child.ask("serve", run_id=run_id, began_s=began_s, folder=str(folder))

    def renew(self, until_s: float) -> None:
        """Extend the lease of input to a time of `boot_s`. May be called from any thread."""
        if self._child is not None:
            self._child.page.renew(until_s)

    def latch(self) -> None:
        """Stop all input permanently and at once, for a kill switch. May be called from any thread."""
        if self._child is not None:
            self._child.page.latch()

    @property
    def latched(self) -> bool:
        """Whether all input was stopped permanently, by any process."""
        return self._child is not None and self._child.page.latched

    @property
    def at_rest(self) -> bool:
        """Whether the host has acknowledged the latch, so that nothing is pressed and no event is on its way."""
        return self._child is None or self._child.page.is_acknowledged

    async def close(self) -> list[str]:
        """Ask programs to close, end those left after two seconds, and end the desktop. May be called again.

        Return the titles of the dialogs that programs opened meanwhile and that got no answer.
        """
        titles = [one_line(title, TITLE) for title in await self._child.close()] if self._child is not None else []
        for title in titles:
            self._tell(ASKED.format(title or "something"))
        return titles

    def kill(self) -> None:
        """End the desktop at once, for a kill switch. May be called from any thread."""
        if self._child is not None:
            self._child.kill()

    def _running(self) -> Child:
        if self._child is None:
            raise InvalidUsage("The desktop was not started: use `async with`, or await its `start`.")
        return self._child

    def _order(self) -> dict[str, object]:
        raise NotImplementedError

    async def _open(self) -> None:
        if self._child is not None:
            raise InvalidUsage("The desktop was started already.")
        answer = await self._begin(opengl=self._opengl)
        if "asked_for_opengl" in answer:
            # A restart is safe: no picture was taken and no input was sent.
            before = self._running()
            await before.close()
            if before.page.latched:
                raise Killed("The kill switch was used: the desktop was not started again.")
            self._tell(BEGINS_AGAIN)
            answer = await self._begin(opengl=True)
        self.display, self._shares = answer["display"], answer["shares"]
        self.size = Size(**answer["size"])
        self.scale = answer["scale"]
        self.started_s = answer["times"]
        for notice in [*answer["notices"], *([limits_warning(self.far)] if self.far else [])]:
            self._tell(notice)
        self._note_for_cleanup(self._running(), answer)

    async def _begin(self, *, opengl: bool | None) -> ipc_messages.Message:
        """Start a host process and have it start the desktop. Return its answer, which describes the desktop."""
        values = [secret.value for secret in self.secrets.values()] + self._app.values
        ours = for_ours(os.environ, values) | {n: text for n, text in self._env.items() if n == "XAUTHORITY"}
        making = asyncio.ensure_future(asyncio.to_thread(Child, ours, self._borrowed))
        try:
            child = self._child = await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread goes on, and its child would have no owner.
            (made,) = await asyncio.gather(making, return_exceptions=True)
            if isinstance(made, Child):
                await asyncio.to_thread(made.kill)
            raise
        try:
            async with child.turn:
                return await child.ask(
                    "start",
                    folder=str(child.folder),
                    watch=child.watch,
                    **self._app.to_message(),
                    env=child.env,
                    # The variables of the program are kept from the host and the X server, which do not need them.
                    app_env=for_programs(os.environ, self._env, values, inherits=self._inherits),
                    added=list(self._env),
                    run_as=asdict(self._run_as) if self._run_as else None,
                    closed=self._sandbox and self._sandbox.to_message(),
                    kept_back=withheld_names(os.environ, values) if self._inherits == "plain" else [],
                    secrets={name: asdict(secret) for name, secret in self.secrets.items()},
                    settle=asdict(self._settle),
                    app_timeout_s=self._app_timeout_s,
                    opengl=opengl,
                    monitor=self._monitor,
                    **self._order(),
                )
        except BaseException:
            await child.close()
            raise

    def _note_for_cleanup(self, child: Child, answer: ipc_messages.Message) -> None:
        """Record what cleaning up this kind of desktop needs. Subclasses override this."""


class VirtualDesktop(Desktop):
    """A desktop of its own, with an X server, a window manager and, if named, a program."""

    rebuilt = True
    """A new desktop can replace this one, so it need not be kept while a question to a person is open."""

    def __init__(
        self,
        *,
        size: Size = USUAL_SIZE,
        app: Sequence[str] | str | Remote | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret | str] | None = None,
        settle: Settle = USUAL_SETTLE,
        app_timeout_s: float = 20.0,
        inherits: Inherits = "needed",
        run_as: str = "",
        opengl: bool | None = None,
        profiles: str = NEW,
        monitor: str | int = "",
        tell: Callable[[str], None] | None = None,
        network: Network = "host",
        folders: Mapping[str, Access] | None = None,
        memory_mb: int = 0,
        cpus: float = 0.0,
    ) -> None:
        super().__init__(
            app=app,
            env=env,
            secrets=secrets,
            settle=settle,
            app_timeout_s=app_timeout_s,
            inherits=inherits,
            run_as=run_as,
            opengl=opengl_enabled(opengl, os.environ),
            profiles=profiles,
            monitor=monitor,
            tell=tell,
            network=network,
            folders=folders,
            memory_mb=memory_mb,
            cpus=cpus,
        )
        if size.width > LARGEST or size.height > LARGEST:
            raise InvalidUsage(f"A screen of {size} is too large: up to {LARGEST}x{LARGEST} pixels work.")
        self.size = size

    @classmethod
    async def start(
        cls,
        size: Size = USUAL_SIZE,
        app: Sequence[str] | str | Remote | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret | str] | None = None,
        settle: Settle = USUAL_SETTLE,
        app_timeout_s: float = 20.0,
        inherits: Inherits = "needed",
        run_as: str = "",
        opengl: bool | None = None,
        profiles: str = NEW,
        monitor: str | int = "",
        tell: Callable[[str], None] | None = None,
        network: Network = "host",
        folders: Mapping[str, Access] | None = None,
        memory_mb: int = 0,
        cpus: float = 0.0,
    ) -> Self:
        """Start a desktop. If a program is named, return when its window has appeared and settled.

        ``app`` is a command (a list, or a text that is split as in a shell) or a remote screen, `Vnc` or `Rdp`, which a
        client shows on the whole desktop. ``env`` is added to the environment of the program. From this process it
        inherits only the variables that any program needs. With ``inherits="plain"`` it also gets all that look like no
        key and no login (`environment`). ``secrets`` are the values for ``{{secret:NAME}}`` in typed texts. One without
        a binding is typed only into windows of this program and of its child processes. ``run_as`` is the name or
        number of another user, as whom the program runs. It then cannot read this user's private files. This takes root
        (`other_user`).

        ``opengl`` says whether programs can draw by OpenGL (GLX), which takes 50 MB. If neither it nor HOLO_OPENGL is
        set, they can if the program asks for it while it starts. Unless that was to be expected, it is then started a
        second time. ``tell`` gets messages about that, about programs that ask for OpenGL later in vain, and about
        dialogs that programs open while the desktop closes. Without ``tell`` they are logged.

        ``profiles`` applies to programs that would otherwise pass their document to a running instance, such as an
        office program or a browser. A ``new`` profile is deleted with the desktop. A ``kept`` one (``kept:NAME``) is
        used again by the next desktop with its name. A command that names a profile itself is not changed.

        ``network`` runs the program in a sandbox of bubblewrap, unless it is "host". It then reaches no host ("none"),
        or only the listed ones (``["portal.example:443"]``). It sees only its own processes. It can read the system's
        files, the files that its command names, and ``folders``, each granted to "read" or to "write". Its home is
        empty and deleted with the desktop. ``memory_mb`` and ``cpus`` limit it by control groups; without control
        groups it is not started.
        """
        desktop = cls(
            size=size,
            app=app,
            env=env,
            secrets=secrets,
            settle=settle,
            app_timeout_s=app_timeout_s,
            inherits=inherits,
            run_as=run_as,
            opengl=opengl,
            profiles=profiles,
            monitor=monitor,
            tell=tell,
            network=network,
            folders=folders,
            memory_mb=memory_mb,
            cpus=cpus,
        )
        await desktop._open()
        return desktop

    def _note_for_cleanup(self, child: Child, answer: ipc_messages.Message) -> None:
        child.own_display = self.display

    def _order(self) -> dict[str, object]:
        return {
            "display": None,
            "profiles": str(self._kept or ""),
            "size": asdict(self.size),
            "xauthority": None,
            "touches": True,
            "accessibility": True,
        }


class AttachedDesktop(Desktop):
    """The screen of an X server that runs already. It is restored at the end."""

    def __init__(
        self,
        display: str,
        *,
        app: Sequence[str] | str | Remote | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret | str] | None = None,
        settle: Settle = USUAL_SETTLE,
        app_timeout_s: float = 20.0,
        inherits: Inherits = "needed",
        run_as: str = "",
        touches: bool = True,
        monitor: str | int = "",
        accessibility: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            app=app,
            env=env,
            secrets=secrets,
            settle=settle,
            app_timeout_s=app_timeout_s,
            inherits=inherits,
            run_as=run_as,
            monitor=monitor,
            tell=tell,
        )
        if ":" not in display:
            raise InvalidUsage(f"{display!r} is not an X display: give it as in `:0`.")
        if switched_on(os.environ):
            check_display(display, socket.getaddrinfo)
        self.display = self._borrowed = display
        self._touches = touches
        self._accessibility = accessibility

    @classmethod
    async def start(
        cls,
        display: str,
        app: Sequence[str] | str | Remote | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, Secret | str] | None = None,
        settle: Settle = USUAL_SETTLE,
        app_timeout_s: float = 20.0,
        inherits: Inherits = "needed",
        run_as: str = "",
        touches: bool = True,
        monitor: str | int = "",
        accessibility: bool = False,
    ) -> Self:
        """Attach to a display. A program named in ``app`` is started on it, and ended with the desktop.

        Keys and buttons that were left pressed there, as by a killed run, are released first, unless a person holds
        them on a mouse or keyboard. With ``touches=False`` nothing is changed, for a caller who only looks. ``monitor``
        is the name or the number of the monitor that is used (`monitors` lists them). The others are black in every
        picture, repaints there are ignored, and input there is refused. With ``accessibility`` elements are read over
        the bus that the display names.
        """
        desktop = cls(
            display,
            app=app,
            env=env,
            secrets=secrets,
            settle=settle,
            app_timeout_s=app_timeout_s,
            inherits=inherits,
            run_as=run_as,
            touches=touches,
            monitor=monitor,
            accessibility=accessibility,
        )
        await desktop._open()
        return desktop

    def _order(self) -> dict[str, object]:
        xauthority = self._env.get("XAUTHORITY", os.environ.get("XAUTHORITY"))
        return {
            "display": self.display,
            "profiles": None,
            "size": None,
            "xauthority": xauthority,
            "touches": self._touches,
            "accessibility": self._accessibility,
        }

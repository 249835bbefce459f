"""A screen with hands, seen from the process that uses it."""

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

from holo_tasks.core.elements import ElementTree
from holo_tasks.core.errors import InvalidUsage, Killed, ScreenHeld
from holo_tasks.core.frame import Frame
from holo_tasks.core.geometry import Box, Point, Size
from holo_tasks.core.gestures import Gesture, Receipt
from holo_tasks.core.input_permit import Slip
from holo_tasks.core.monitors import wanted_monitor
from holo_tasks.core.network import Network
from holo_tasks.core.programs import Owner
from holo_tasks.core.remote_input import ByHand
from holo_tasks.core.remote_screen import Remote, lost, reconnected
from holo_tasks.core.secret import Secret, by_name, check_bound
from holo_tasks.core.this_machine import check_display, switched_on
from holo_tasks.core.visible_text import one_line
from holo_tasks.desktop import element_messages, ipc_messages
from holo_tasks.desktop.child import Child
from holo_tasks.desktop.environment import Inherits, for_ours, for_programs, kept_back
from holo_tasks.desktop.opengl import wanted
from holo_tasks.desktop.other_user import other_user
from holo_tasks.desktop.profiles.asked import NEW, kept_folder
from holo_tasks.desktop.sandbox.asked import Closed
from holo_tasks.desktop.sandbox.bounds import Bounds
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.desktop.settle import Settle
from holo_tasks.desktop.sharing import Sharing
from holo_tasks.desktop.wanted_program import USUAL_SETTLE, Wanted
from holo_tasks.desktop.windows import Window

LARGEST = 16384
USUAL_SIZE = Size(1280, 800)
BEGINS_AGAIN = "The program asks for OpenGL: its desktop is started again with it; HOLO_OPENGL=1 has it at once."
MISSES_OPENGL = "asks for OpenGL, which its desktop was started without: if it needs that, set HOLO_OPENGL=1."

ASKED = "As its desktop was closed, a program asked ‘{}’ and nobody answered: it was ended, and saved nothing more."
TITLE = 80

logger = logging.getLogger("holo_tasks.desktop")


class Desktop(Sharing):
    """What virtual and attached desktops have in common; use one of those.

    Either ``async with VirtualDesktop(...) as desktop`` or ``desktop = await
    VirtualDesktop.start(...)`` and later ``await desktop.close()``. All methods may be called from
    several tasks: what they ask for is done one after the other.
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
        self._wanted = Wanted.of(app, os.environ, alone=alone)
        self.far, self.password = self._wanted.far, self._wanted.password
        self._closed = Closed.asked_for(network, folders or {}, Bounds(memory_mb, cpus), starts=app is not None)
        self._monitor = wanted_monitor(monitor)
        self._env = dict(env or {})
        self._inherits = inherits
        if run_as and app is None:
            raise InvalidUsage("run_as says whose the program is, and this desktop starts none.")
        program = self._wanted.command[0] if self._wanted.command else ""
        self._kept = kept_folder(profiles, program=program, run_as=run_as)
        self._run_as = other_user(run_as) if run_as else None
        self.secrets = by_name(secrets or {})
        self._settle = self._wanted.settle(settle)
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
        self.tells_windows = self.looks_on = False  # on: also while a person has the screen, to record what they do
        self._tree: tuple[int, ElementTree] | None = None

    @property
    def name(self) -> str:
        """What to call it in a log."""
        return f"desktop {self.display} ({self.size})"

    @property
    def pid(self) -> int:
        """The process id of the host: ending it ends the desktop."""
        return self._running().pid

    @property
    def authority(self) -> Path:
        """The file of cookies that lets other X clients onto a virtual desktop."""
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
        """Wait until the screen is at rest and no work on the last input is in flight, then take its picture.

        With ``after_action`` the first repaint after the last gesture is waited for, too. `Settle` says how long.
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
        if (who := answer["asked_for_opengl"]) is not None:
            self._tell(f"{who or 'A program'} {MISSES_OPENGL}")
        return ipc_messages.to_frame(answer, rgb, display=self.display, scale=self.scale, holds=self._holds)

    async def do(self, gesture: Gesture, deadline: float | None = None, slip: Slip | None = None) -> Receipt:
        """Carry out a gesture.

        ``deadline`` is a time of `time.monotonic`, which the process that owns the mouse checks
        before each input event: past it nothing more is sent, what is pressed is released, and
        `LimitReached` is raised. Cancelling the task stops the gesture in the same way. Once the
        desktop serves a run (`serve`), a ``slip`` for this very gesture is needed: `PolicyRefused`
        is raised without one that is good, and `Killed` once the kill switch was used. A slip that names a
        frame is good only while the screen is as in that frame where the input goes: else `ScreenChanged`.
        """
        child = self._running()
        async with child.turn:
            if child.page.latched:
                raise Killed("The kill switch was used: this desktop takes no more input.")
            self._refuse_held()
            told = {"gesture": ipc_messages.from_gesture(gesture), "slip": ipc_messages.from_slip(slip)}
            answer = await child.ask("do", **told, deadline=deadline)
        typed, left_out = ipc_messages.to_typed(answer["typed"]), answer["left_out"]
        return Receipt(answer["done_at_ns"], answer["took_ns"], answer["events"], typed, left_out)

    async def windows(self) -> list[Window]:
        """List the visible windows, the topmost last."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("windows")
        return [Window.from_description(values) for values in answer["windows"]]

    async def stirring(self) -> list[Box]:
        """Say where the screen was seen to repaint itself, at a pace, before the last look and ever since."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("stirring")
        return [Box(**box) for box in answer["boxes"]]

    async def elements(self) -> ElementTree:
        """Return the elements of the programs' user interfaces, as far as they tell, within two seconds.

        Where there is no bus, or no program tells anything, the tree is empty and says why not.
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
        """Say which program's window gets a press at a point or, without one, the keys."""
        child = self._running()
        async with child.turn:
            answer = await child.ask("owner", at=asdict(at) if at else None)
        told = answer["owner"]
        return Owner(**{**told, "box": Box(**told["box"]) if told["box"] else None})

    async def hold(self) -> None:
        """Give the screen to a person: keep the agent away until `release` was called as often as this.

        What is being done is stopped, with nothing left pressed; what waits its turn, and whatever is asked for later,
        raises `ScreenHeld`. When this returns every key means what it always did.
        """
        child = self._running()
        if child.page.latched:
            raise Killed("The kill switch was used: there is no screen to give to a person.")
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
        """Let the agent go on, which finds nothing pressed; if this fails, the screen stays held."""
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
        """Do what a person does from elsewhere, in this order; raises `PolicyRefused` unless they have the screen."""
        child = self._running()
        async with child.turn:
            await child.ask("by_hand", inputs=ipc_messages.from_inputs(inputs))

    async def open_vnc(self) -> Path:
        """Start a VNC server on this screen, to watch it; return its socket, which only this user can open.

        It belongs to the desktop, and ends with it at the latest.
        """
        child = self._running()
        async with child.turn:
            answer = await child.ask("open_vnc")
        return Path(answer["path"])

    async def close_vnc(self, path: Path) -> None:
        """End a VNC server; all that is connected to it is cut off."""
        child = self._running()
        async with child.turn:
            await child.ask("close_vnc", path=str(path))

    def _refuse_held(self, *, looks: bool = False) -> None:
        if self.held and not (looks and self.looks_on):
            raise ScreenHeld("A person has the screen: the agent neither sees it nor touches it.")

    async def serve(self, run_id: str, began_s: float, folder: Path) -> None:
        """Make this the desktop of a run, for the rest of its life: a later run may take it over.

        From now on input needs a slip, and a lease that is kept up with `renew`; ``folder`` is where
        requests to stop the run are (`kill_files`), ``began_s`` when it began (`time.monotonic`).
        """
        child = self._running()
        async with child.turn:
            await child.ask("serve", run_id=run_id, began_s=began_s, folder=str(folder))

    def renew(self, until_s: float) -> None:
        """Let input be sent until then (`boot_s`); from any thread."""
        if self._child is not None:
            self._child.page.renew(until_s)

    def latch(self) -> None:
        """Stop all input for good, at once, from anywhere: for a kill switch."""
        if self._child is not None:
            self._child.page.latch()

    @property
    def latched(self) -> bool:
        """Whether all input was stopped for good, by whichever process."""
        return self._child is not None and self._child.page.latched

    @property
    def at_rest(self) -> bool:
        """Whether the process that owns the mouse has answered the latch: nothing is pressed or on its way."""
        return self._child is None or self._child.page.seen

    async def close(self) -> None:
        """End the desktop and all that was started for it; more than once does no harm.

        Its programs are asked to close first, and end after two seconds in any case.
        """
        for title in await self._child.close() if self._child is not None else ():
            self._tell(ASKED.format(one_line(title, TITLE) or "something"))

    def kill(self) -> None:
        """End the desktop at once, from anywhere: for a kill switch."""
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
            # Nobody has seen anything of it, and no input was sent.
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
        for notice in [*answer["notices"], *([lost(self.far)] if self.far else [])]:
            self._tell(notice)
        self._opened(self._running(), answer)

    async def _begin(self, *, opengl: bool | None) -> ipc_messages.Message:
        """Start a process of a desktop and all that belongs to it; return what it says of itself."""
        values = [secret.value for secret in self.secrets.values()] + self._wanted.values
        ours = for_ours(os.environ, values) | {n: text for n, text in self._env.items() if n == "XAUTHORITY"}
        making = asyncio.ensure_future(asyncio.to_thread(Child, ours, self._borrowed))
        try:
            child = self._child = await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread goes on: what it makes is nobody's.
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
                    **self._wanted.told(),
                    env=child.env,
                    # Not in the environment of the process that starts it, nor of the X server: they need none of it.
                    app_env=for_programs(os.environ, self._env, values, inherits=self._inherits),
                    added=list(self._env),
                    run_as=asdict(self._run_as) if self._run_as else None,
                    closed=self._closed and self._closed.told(),
                    kept_back=kept_back(os.environ, values) if self._inherits == "plain" else [],
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

    def _opened(self, child: Child, answer: ipc_messages.Message) -> None:
        """Note what kind-specific cleaning up will need."""


class VirtualDesktop(Desktop):
    """A desktop of its own: X server, window manager and, if named, a program."""

    rebuilt = True
    """Another one is as good: nothing of it has to be kept while a person is waited for."""

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
            opengl=wanted(opengl, os.environ),
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
        """Start a desktop; if a program is named, return when its window is there and at rest.

        ``app`` is a command, as a list or as a text that is split like in a shell, or a remote screen, `Vnc` or `Rdp`,
        which a client shows on all of the desktop. ``env`` is
        added to its environment, which has no more of ours than any program needs, or with ``inherits="plain"`` all
        that looks like no key and no login (`environment`). ``secrets`` are values for ``{{secret:NAME}}`` in texts to
        write; one without a binding of its own is typed only into windows of this program and of what it started.
        ``run_as`` is another user of this machine, by name or number, whom the program is started as: it then reads
        nothing that is this user's alone. That takes root (`other_user`). ``opengl`` says whether programs can draw by
        OpenGL (GLX), which takes 50 MB; if neither it nor HOLO_OPENGL does, they can if the program asks as it comes
        up: unless that was to be expected, it is then started a second time. Of that, and of one that asks later and
        gets none, ``tell`` is told in a line, and of what a program asks as the desktop is closed; else it is logged.

        ``profiles`` says whose settings a program has that would else hand its document to an instance that runs
        already, such as an office program or a browser: those of a ``new`` profile, which goes with the desktop, or of
        a ``kept`` one (``kept:NAME``), which the next desktop of that name finds again. A command that names a profile
        itself stays as it is.

        ``network`` closes the program in, by bubblewrap, unless it is "host": it then reaches nothing ("none"), or the
        hosts that are listed (``["portal.example:443"]``) and nothing else, sees no process but its own, and of files
        the system's, what its command names, and ``folders``, each granted to "read" or to "write". Its home is empty
        and goes with it, as everything in there does. ``memory_mb`` and ``cpus`` bound what it takes of the machine,
        where control groups allow that; else it is not started.
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

    def _opened(self, child: Child, answer: ipc_messages.Message) -> None:
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
    """The screen of an X server that runs already, and is left as it was found."""

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
        """Attach to a display; a program named in ``app`` is started on it, and ended at the end.

        What somebody left pressed there is let go of first, as a run that was killed may have; what a person holds on
        a mouse or keyboard of theirs stays. With ``touches=False`` nothing is changed: for one who only looks.
        ``monitor`` is the name or the number of the one that is used (`monitors` lists them): what the others show is
        black in every picture, repaints there are not waited for, and input that would go there is refused. With
        ``accessibility`` the programs there are asked for their elements, over the bus that the display names.
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

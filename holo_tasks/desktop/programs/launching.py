"""Start the program of a desktop, with its environment, profile, user and sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from holo_tasks.accessibility import bus, toolkits
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.desktop.profiles.profile import Profile, as_it_is, profile_for
from holo_tasks.desktop.profiles.programs import BROWSER
from holo_tasks.desktop.profiles.wrappers import place_of_program
from holo_tasks.desktop.programs.interpreter_scripts import StartedProgram
from holo_tasks.desktop.programs.other_user import OtherUser, OtherUserFolders, create_folders, temporary_folder_for
from holo_tasks.desktop.programs.program import Program
from holo_tasks.desktop.programs.shared_folder import VARIABLE as FILES
from holo_tasks.desktop.programs.window_owners import remember
from holo_tasks.desktop.sandbox.build_sandbox import build_sandbox
from holo_tasks.desktop.sandbox.start import Sandbox
from holo_tasks.desktop.x11.x_connection import XConnection
from holo_tasks.machine.private import FOLDER


@dataclass
class Launch:
    """The start of one program. `desktop.session.x_session` creates it.

    ``order`` is the client's request to create the desktop: its program, variables, user and sandbox. ``folder`` is the
    desktop's private folder, and ``runtime`` is XDG_RUNTIME_DIR. ``display_variables`` connect the program to the
    display. They replace variables of the same name from ``order``.
    """

    order: Mapping[str, Any]
    folder: Path
    runtime: Path
    display: str
    bus: bus.Bus | None
    display_variables: Mapping[str, str]
    shared: SharedFolder | None
    profile: Profile = field(default_factory=lambda: Profile([]))
    sandbox: Sandbox | None = None

    def environment(self) -> dict[str, str]:
        """Return the environment of a program that runs as our own user. `start` adapts it to `run_as`."""
        on_bus = self.bus.environment() if self.bus is not None else {}
        silenced = {"NO_AT_BRIDGE"} - set(self.order["added"]) if on_bus else set()
        given = {name: text for name, text in self.order["app_env"].items() if name not in silenced}
        return {"XDG_RUNTIME_DIR": str(self.runtime)} | on_bus | given | dict(self.display_variables)

    @cached_property
    def user(self) -> OtherUser | None:
        """The other user that the option `run_as` names, or ``None`` if the program runs as our own user."""
        return OtherUser(**self.order["run_as"]) if self.order["run_as"] else None

    def start(self, link: XConnection) -> Program:
        """Start the program."""
        order, folders = self.order, None
        env = self.environment()
        if self.user is not None:
            folders = create_folders(self.user, self.folder, self.display, Path(env["XAUTHORITY"]))
            env = folders.environment(env, order["added"]) | {"XAUTHORITY": str(folders.authority)}
            self.shared = folders.shared
        if self.shared is not None:
            env |= {FILES: str(self.shared.path)}
        self.profile = self._profile(env.get("PATH"))
        command = self.profile.command
        env |= self.profile.variables
        if folders is None and not (self.profile.is_snap or toolkits.has_other_files(command)):
            env |= self._temporary_folder(env)
        if self.bus is not None and not self.bus.unavailable_reason:
            if self.profile.kind is BROWSER:
                command = bus.with_accessibility(command, place_of_program(command))
            env |= {} if self.profile.is_snap else toolkits.variables(command, env, order["added"])
        start = folders.working_folder if folders else Path.cwd()
        if order["closed"] is not None:
            self.sandbox = build_sandbox(order, env, start, self._sockets(), self.profile.folder, self.folder.name)
            env = self.sandbox.environment(env, [*order["added"], *self.profile.variables])
        program = self._start_program(command, env, link, folders)
        remember(link, StartedProgram(program.process, command, start, closed=self.sandbox is not None))
        return program

    def _start_program(
        self, command: list[str], env: Mapping[str, str], link: XConnection, folders: OtherUserFolders | None
    ) -> Program:
        return Program(
            command,
            env,
            self.folder,
            link,
            kept_back=self.order["kept_back"],
            lodging=folders,
            sandbox=self.sandbox,
            hint=self.profile.hint,
        )

    def _temporary_folder(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for a private folder for temporary files, which is deleted with the desktop.

        Some programs find their running instance by a socket or a lock in that folder, and pass their document to it.
        """
        folder = temporary_folder_for(self.folder)
        folder.mkdir(FOLDER)
        names = {"TMPDIR"} | {"TMP", "TEMP"} & set(env)
        return {name: str(folder) for name in names - set(self.order["added"])}

    def _profile(self, path: str | None) -> Profile:
        """Return the program's profile: its usual one on a borrowed display, otherwise one for this desktop."""
        order = self.order
        if (profiles := order["profiles"]) is None:
            return as_it_is(order["app"], path)
        kept = Path(profiles) if profiles else None
        return profile_for(order["app"], path, self.folder, kept, order["added"], self.user)

    def _sockets(self) -> list[Path]:
        """Return the sockets that a sandbox makes visible inside: the X server and the message bus of this desktop."""
        sockets = [Path(f"/tmp/.X11-unix/X{self.display.removeprefix(':')}")]
        if self.bus is not None and self.bus.process is not None:
            sockets.append(self.bus.other_user.socket if self.bus.other_user else self.runtime / "bus")
        return sockets

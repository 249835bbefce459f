"""Read the ``app`` of a desktop: a program by its command, or a remote screen by its client.

`AppSetting` is the main class; `desktop.Desktop` uses it.
"""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.remote_screen import WITHIN_S, Rdp, Remote, Vnc, clients_name
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.this_machine import loopback_address, switched_on
from holo_tasks.desktop.capture.settle import Settle

USUAL_SETTLE = Settle()
SHORTEST_QUIET_S, LONGEST_QUIET_S = 0.1, 0.5
APPS = "a command, as a text or a list, or a remote screen: Vnc(…) or Rdp(…)"


@dataclass(frozen=True)
class AppSetting:
    """The program that a desktop shows. For a remote screen ``command`` holds the client, without its options.

    ``far`` is the address of the remote screen, or the name of a viewer that was given by its command. It is empty for
    a program of this machine.
    """

    command: list[str] | None
    remote: Remote | None = None
    far: str = ""

    @classmethod
    def of(cls, app: Sequence[str] | str | Remote | None, environ: Mapping[str, str], *, alone: bool) -> AppSetting:
        """Read ``app``. ``alone`` is true if no option asks for a sandbox.

        Raises `InvalidUsage` for values of other types, for a remote screen with such options, and for one on another
        machine in local-only mode.
        """
        if app is None:
            return cls(None)
        if not isinstance(app, Vnc | Rdp):
            asked = command(app)
            return cls(asked, None, clients_name(asked))
        if not alone:
            raise InvalidUsage(
                "A remote screen is shown by a client of ours: run_as, network, folders, memory_mb and cpus are for a "
                "program of this machine. Leave them out."
            )
        if switched_on(environ):
            loopback_address(app.host, socket.getaddrinfo, "the remote screen")
        from holo_tasks.desktop.remote.remote_client import executable  # imports cryptography only if it is needed

        return cls([executable(app)], app, app.place)

    @property
    def password(self) -> Secret | None:
        """Return the password of the remote screen, if any."""
        return self.remote.secret if self.remote else None

    @property
    def values(self) -> list[str]:
        """Return the values that no process may get in its environment."""
        return [self.password.value] if self.password else []

    def settle(self, asked: Settle) -> Settle:
        """Return the limits for waiting for the screen.

        For a remote screen the usual limits are longer, because its repaints arrive later and in pieces.
        """
        patience_s = asked.patience_s
        if not self.far or asked != replace(USUAL_SETTLE, patience_s=patience_s):
            return asked
        within = self.remote.answers_within_s if self.remote else WITHIN_S
        quiet = min(max(within / 4, SHORTEST_QUIET_S), LONGEST_QUIET_S)
        cap_s = max(4.0, 3 * within)
        return Settle(quiet_s=quiet, unasked_quiet_s=quiet, first_change_s=within, cap_s=cap_s, patience_s=patience_s)

    def to_message(self) -> dict[str, Any]:
        """Return plain values for the message to the process that owns the desktop."""
        return {"app": self.command, "remote": self.remote.to_message() if self.remote else None, "far": bool(self.far)}


def command(app: Sequence[str] | str) -> list[str]:
    """Return a command as a list of arguments; a text is split as by a shell.

    Raises `InvalidUsage` if it is empty or cannot be read.
    """
    try:
        parts = shlex.split(app) if isinstance(app, str) else [os.fspath(part) for part in app]
    except ValueError as error:
        raise InvalidUsage(f"The command {app!r} cannot be read: {error}.") from None
    except TypeError:
        raise InvalidUsage(f"app is {APPS}, not {app!r}.") from None
    if not parts or not parts[0]:
        raise InvalidUsage("The command of the program is empty: name a program, or none at all.")
    return parts

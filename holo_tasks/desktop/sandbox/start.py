"""Start a program in a sandbox of bubblewrap, and wait until the sandbox is complete. `Sandbox` is the main class."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holo_tasks.core.errors import DesktopFailed
from holo_tasks.core.network import Grant
from holo_tasks.desktop import processes
from holo_tasks.desktop.sandbox.bubblewrap import failure_reason, require
from holo_tasks.desktop.sandbox.cgroup_limits import ResourceLimits, put
from holo_tasks.desktop.sandbox.folders import Access
from holo_tasks.desktop.sandbox.identity import ANYBODY, ROOT, root_alone
from holo_tasks.desktop.sandbox.inner_sockets import READY
from holo_tasks.desktop.sandbox.syscalls import filter_program
from holo_tasks.desktop.sandbox.visible_files import Place, lookups, named_files, view
from holo_tasks.machine.proc import process as folder_of
from holo_tasks.machine.proc import status_of

PATIENCE_S, A_MOMENT_S = 20.0, 0.5
FIRST = 3
"""The program's process id inside the sandbox: bubblewrap is 1, and the shell that waits is 2."""
WAITER = """(exec "$@"); code=$?
while set -- /proc/[0-9]*; [ $# -gt 2 ]; do sleep 0.2 || break; done
exit $code"""
"""The shell script that runs the program. The sandbox ends with this shell, so the shell waits for the last process, as
a launcher may have left processes behind."""
WALLS = (
    *("--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"),
)
PERSONAL = (
    "HOLO_HOME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class Popen(Protocol):
    """Starts a command with the program's environment and user, and passes on the descriptors that it names."""

    def __call__(self, words: Sequence[str], pass_fds: Collection[int] = ()) -> subprocess.Popen[bytes]: ...


@dataclass
class Sandbox:
    """The sandbox of one program, and its helper processes outside."""

    grants: Sequence[Grant]
    folders: Mapping[str, Access]
    place: Place
    of_root: bool
    bounds: ResourceLimits
    name: str
    mute: set[int] = field(default_factory=set)
    """Ids of processes of the sandbox that draw nothing and cause no drawing."""
    helpers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self, env: Mapping[str, str], added: Collection[str]) -> dict[str, str]:
        """Return an environment without the folders and proxies that the program does not reach.

        Variables whose names are in ``added`` stay.
        """
        kept = {
            name: text
            for name, text in env.items()
            if name in added or not (name in PERSONAL or name.lower() in PROXIES)
        }
        # Without MIT-SHM, because the sandbox shares no memory with the X server.
        return {"QT_X11_NO_MITSHM": "1"} | kept | {"HOME": str(self.place.home)}

    def start(self, command: Sequence[str], path: str | None, popen: Popen, log: Path) -> subprocess.Popen[bytes]:
        """Start a program that is looked up in ``path``.

        Raises `FileNotFoundError` if it is not found, and `DesktopFailed` if the sandbox cannot be built.
        """
        bubblewrap = require()
        if shutil.which(command[0], path=path) is None:
            raise FileNotFoundError(command[0])
        addresses = _addresses(self.grants)
        texts = lookups({host: address for host, address in addresses.items() if host != address})
        with contextlib.ExitStack() as stack:
            made = {file: _memory_file(stack, text.encode()) for file, text in texts.items()}
            info_end, info_writer = os.pipe()
            held, go = os.pipe()
            inner = stack.enter_context(contextlib.ExitStack())
            for descriptor in (info_writer, held):
                inner.callback(os.close, descriptor)
            for descriptor in (info_end, go):
                stack.callback(os.close, descriptor)
            named = named_files(command, path, self.place.start)
            who, passed = self._identity(stack)
            words = [*WALLS, *who, *view(self.place, self.folders, named, made)]
            calls = _memory_file(stack, filter_program())
            words += ["--seccomp", str(calls), "--info-fd", str(info_writer), "--block-fd", str(held)]
            arguments = _memory_file(stack, os.fsencode("\0".join(words)))
            process = popen(
                [bubblewrap, "--args", str(arguments), "--", "/bin/sh", "-c", WAITER, command[0], *command],
                pass_fds=(*made.values(), *passed, calls, info_writer, held, arguments),
            )
            inner.close()  # while these stay open here, the end of the pipes cannot be seen
            first = _first_process(process, info_end, log)
            self.mute |= {process.pid, first}
            try:
                put(first, self.bounds, self.name)
                if self.grants:
                    self._forward(first, addresses)
                os.write(go, b"!")
            except (OSError, DesktopFailed) as error:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(A_MOMENT_S)
                if process.poll() is not None:
                    raise DesktopFailed(failure_reason(processes.last_words(log))) from None
                raise DesktopFailed(f"The program cannot be sandboxed: {error}") from None
        return process

    def _identity(self, stack: contextlib.ExitStack) -> tuple[Sequence[str], list[int]]:
        """Return bubblewrap's options for the program's user, and the descriptors that they name."""
        if not self.of_root:
            return ANYBODY, []
        try:
            namespace = root_alone()
        except OSError as error:
            raise DesktopFailed(failure_reason(str(error.strerror))) from None
        stack.callback(os.close, namespace)
        return ("--userns", str(namespace), *ROOT), [namespace]

    def _forward(self, first: int, addresses: Mapping[str, str]) -> None:
        """Start the forwarder to the granted hosts, and wait until it listens. Raises `DesktopFailed`."""
        network = os.open(f"/proc/{first}/ns/net", os.O_RDONLY)
        info_end, info_writer = os.pipe()
        try:
            helper = subprocess.Popen(
                [
                    *(
                        sys.executable,
                        "-P",
                        "-m",
                        "holo_tasks.desktop.sandbox.forwarder",
                        str(network),
                        str(info_writer),
                    ),
                    *(f"{addresses[grant.host]}={grant}" for grant in self.grants),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=(network, info_writer),
                preexec_fn=processes.end_with_parent(signal.SIGTERM),
            )
        finally:
            os.close(network)
            os.close(info_writer)
        self.helpers.append(helper)
        self.mute.add(helper.pid)
        with open(info_end, "rb") as saying:  # noqa: PTH123
            said = saying.read(1000) if select.select([info_end], [], [], PATIENCE_S)[0] else b"it does not answer"
        if said != READY:
            words = said.decode(errors="replace") or "it ended at once"
            raise DesktopFailed(f"The program cannot be connected to the granted hosts: {words}.")


def is_the_one(pid: int, sandbox: int) -> bool:
    """Return whether a process is the program that a sandbox started, and not a child of the program.

    ``sandbox`` is the id of the sandbox's process outside.
    """
    try:
        numbers = status_of(folder_of(pid))["NSpid"].split()
    except (OSError, KeyError):
        return False
    # The kernel assigns such a low id only once in a namespace.
    return numbers == [str(pid), str(FIRST)] and sandbox in processes.ancestry(pid)


def _addresses(grants: Sequence[Grant]) -> dict[str, str]:
    """Return an address in the program's network for each host. Each name gets its own, as two may use one port."""
    names = dict.fromkeys(grant.host for grant in grants if not grant.address)
    found = {name: f"127.1.{number // 250}.{number % 250 + 1}" for number, name in enumerate(names)}
    return found | {grant.host: grant.address for grant in grants if grant.address}


def _first_process(process: subprocess.Popen[bytes], info_end: int, log: Path) -> int:
    """Wait until the sandbox has its first process; return its id. Raises `DesktopFailed` if bubblewrap fails."""
    said, until = b"", time.monotonic() + PATIENCE_S
    while b"}" not in said:
        left = max(0.0, until - time.monotonic())
        some = os.read(info_end, 1000) if select.select([info_end], [], [], left)[0] else b""
        if not some:
            process.kill()
            process.wait()
            raise DesktopFailed(failure_reason(processes.last_words(log)))
        said += some
    found = re.search(rb'"child-pid":\s*(\d+)', said)
    assert found is not None, said
    return int(found[1])


def _memory_file(stack: contextlib.ExitStack, content: bytes) -> int:
    """Return a descriptor of a memory file with this content, at its start."""
    descriptor = os.memfd_create("holo-walls")
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor

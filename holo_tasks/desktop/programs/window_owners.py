"""Find the program whose window gets a press or a key, by its process and never by properties that it sets.

The X server knows which client made a window, and by the socket the client's process (X-Resource 1.2). The kernel
knows which file that process runs. A program can set `_NET_WM_PID` to any number, so that property counts only on
servers without X-Resource 1.2. While a program grabs the pointer or the keyboard (`grabs`), it gets the input.

`owner_of` is the main function; the process that owns the desktop uses it before each press.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import xcffib.res

from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop.programs.interpreter_scripts import StartedProgram, script
from holo_tasks.desktop.x11.grabs import held, popup
from holo_tasks.desktop.x11.windows import box, client_of
from holo_tasks.desktop.x11.x_connection import Refused, XConnection

NO_WINDOW, POINTER_ROOT = 0, 1
_HEADER, _COUNT, _ID = 32, struct.Struct("=8xI"), struct.Struct("=8xI")
_clients: WeakKeyDictionary[XConnection, Any] = WeakKeyDictionary()
_started: WeakKeyDictionary[XConnection, StartedProgram] = WeakKeyDictionary()


class _Counted(xcffib.Reply):  # type: ignore[misc]  # it has no types
    """A reply of which only the number of its items matters. xcffib would make an object of each."""

    def __init__(self, unpacker: Any) -> None:
        super().__init__(unpacker)
        self.count = _COUNT.unpack(unpacker.buf[: _COUNT.size])[0]


class _Ids(_Counted):
    """The ids of clients, as numbers for each client."""

    def __init__(self, unpacker: Any) -> None:
        super().__init__(unpacker)
        raw, at, self.ids = bytes(unpacker.buf[_HEADER : _HEADER + 4 * self.length]), 0, list[tuple[int, ...]]()
        for _ in range(self.count):
            size = _ID.unpack_from(raw, at)[0]
            at += _ID.size
            self.ids.append(struct.unpack_from(f"={size // 4}I", raw, at))
            at += size


def owner_at(link: XConnection, at: Point | None) -> str:
    """Return the name of the program that gets a press at a point or, without one, the keys; empty if unknown.

    It takes a few round trips and two reads from /proc: less than a millisecond, so it can run before every press.
    """
    return _owner(link, at)[0].name


def owner_of(link: XConnection, at: Point | None) -> Owner:
    """Return the program that gets a press at a point or, without one, the keys; with its window's title and box."""
    owner, window = _owner(link, at)
    if not window:
        return owner
    try:
        client = client_of(link, window) or window
        title = link.text(client, "_NET_WM_NAME") or link.text(client, "WM_NAME")
        return replace(owner, title=title[:200], box=box(link, client), popup=at is None and bool(popup(link)))
    except Refused:
        return owner


def windows_on_key_path(link: XConnection) -> list[int]:
    """Return the focused window and its ancestors, up to the root: the windows through which a key event propagates."""
    found = []
    try:
        window = _key_window(link) or link.root
        while window:
            found.append(window)
            window = int(link.conn.core.QueryTree(window).reply().parent)
    except Refused:
        return [*found, link.root]
    return found


def _owner(link: XConnection, at: Point | None) -> tuple[Owner, int]:
    try:
        window = innermost_window_at(link, at) if at is not None else _key_window(link)
        if window == NO_WINDOW:
            return Owner(why="no window has the keyboard"), 0
        if window == link.root:
            return Owner(why="it is the empty desktop"), 0
    except Refused:
        return Owner(why="the window was closed at this moment"), 0
    owner = owner_by(link, window)
    if owner.name and held(link, at) and not _holds(link, owner):
        what = "keyboard" if at is None else "pointer"
        return Owner(why=f"an unknown program has grabbed the {what}, as menus and screen lockers do"), 0
    return owner, window


def _holds(link: XConnection, owner: Owner) -> bool:
    """Return whether this program probably holds the grab: the topmost popup is its own, so its menu is open.

    This is not certain: a program that grabs without a window could wait for such a moment. But menus have to stay
    usable, and harmless programs that grab (a launcher, a locker) show popups of their own. Checks for secrets do not
    use this rule.
    """
    above = popup(link)
    return bool(above) and owner_by(link, above).name == owner.name


def owner_by(link: XConnection, window: int) -> Owner:
    """Return the program that made a window; ``why`` of the result gives the reason if it is unknown."""
    try:
        pid = _pid(link, window)
    except Refused:
        return Owner(why="the window was closed at this moment")
    if not pid:
        return Owner(why="the X server cannot say which process of this machine it belongs to")
    return _program(pid, _started.get(link))


def processes_of(link: XConnection, windows: Sequence[int]) -> list[int]:
    """Return for each window the process id of its maker, zero if it is unknown."""
    resources = _resources(link)
    if resources is None:
        return [_net_wm_pid(link, window) for window in windows]
    # All requests are sent before the first reply is waited for.
    asked = [_request_pid(resources, each) for each in (link.setup.resource_id_base, *windows)]
    mine, *found = (_pid_or_zero(each) for each in asked)
    return found if mine == os.getpid() else [0 for _ in windows]


def focused_process(link: XConnection) -> int:
    """Return the process id of the program that gets the keys, zero if it is unknown."""
    try:
        window = _key_window(link)
        return _pid(link, window) if window else 0
    except Refused:
        return 0


def clients(link: XConnection) -> Counter[int] | None:
    """Return the ids of the processes that are connected to the X server, with their numbers of connections.

    Returns ``None`` if the server does not know the process of each connection.
    """
    resources = _resources(link)
    if resources is None:
        return None
    everybody = xcffib.res.ClientIdSpec.synthetic(NO_WINDOW, xcffib.res.ClientIdMask.LocalClientPID)
    asked = resources.QueryClients(), resources.QueryClientIds(1, [everybody])
    asked[0].reply_type, asked[1].reply_type = _Counted, _Ids
    connected, reported = asked[0].reply().count, asked[1].reply().ids
    # It reports no process for a client on another machine. If our own process id is missing, the ids belong to another
    # process namespace.
    if len(reported) != connected or any(len(ids) != 1 for ids in reported):
        return None
    found = Counter(ids[0] for ids in reported)
    return found if found[os.getpid()] else None


def remember(link: XConnection, started: StartedProgram) -> None:
    """Store how the desktop's program was started, from which `script` knows the script that an interpreter runs."""
    _started[link] = started


def innermost_window_at(link: XConnection, at: Point) -> int:
    """Return the innermost window at a point. Window shapes and input-only windows count."""
    window = below = link.root
    while below:
        window = below
        below = link.conn.core.TranslateCoordinates(link.root, window, at.x, at.y).reply().child
    return int(window)


def _key_window(link: XConnection) -> int:
    """Return the window that gets the keys: the focused window, or the innermost window below it at the pointer."""
    focus = int(link.conn.core.GetInputFocus().reply().focus)
    if focus == NO_WINDOW:
        return NO_WINDOW
    pointed = innermost_window_at(link, link.pointer())
    above = pointed
    while above and above != focus and focus != POINTER_ROOT:
        above = link.conn.core.QueryTree(above).reply().parent
    return pointed if above else focus


def _pid(link: XConnection, window: int) -> int:
    """Return the id of the process that made a window, zero if it is unknown."""
    resources = _resources(link)
    if resources is None:
        return _net_wm_pid(link, window)
    # Process ids of a server in another container or on another machine do not match our /proc.
    if _local_pid(resources, link.setup.resource_id_base) != os.getpid():
        return 0
    return _local_pid(resources, window)


def _resources(link: XConnection) -> Any:
    """Return the X-Resource extension; ``None`` if the server lacks version 1.2, which reports processes."""
    if link not in _clients:
        _clients[link] = None
        if link.has("X-Resource"):
            resources = link.conn(xcffib.res.key)
            version = resources.QueryVersion(1, 2).reply()
            _clients[link] = resources if (version.server_major, version.server_minor) >= (1, 2) else None
    return _clients[link]


def _net_wm_pid(link: XConnection, window: int) -> int:
    """Return the process id in a window's `_NET_WM_PID`, zero if it is not set."""
    try:
        return int((link.numbers(client_of(link, window), "_NET_WM_PID") or [0])[0])
    except Refused:
        return 0


def _local_pid(resources: Any, resource: int) -> int:
    return _pid_of_reply(_request_pid(resources, resource))


def _request_pid(resources: Any, resource: int) -> Any:
    wanted = xcffib.res.ClientIdSpec.synthetic(resource, xcffib.res.ClientIdMask.LocalClientPID)
    asked = resources.QueryClientIds(1, [wanted])
    asked.reply_type = _Ids
    return asked


def _pid_or_zero(request: Any) -> int:
    try:
        return _pid_of_reply(request)
    except Refused:
        return 0


def _pid_of_reply(request: Any) -> int:
    found = request.reply().ids
    return int(found[0][0]) if len(found) == 1 and len(found[0]) == 1 else 0


def _program(pid: int, started: StartedProgram | None = None) -> Owner:
    """Return the program file of a process. The path must lead to that same file in our file system too."""
    link = Path(f"/proc/{pid}/exe")
    try:
        executable = link.readlink()
        if not link.samefile(executable):
            return Owner(pid=pid, why=f"{executable} is another file than the one that process {pid} runs")
    except PermissionError:
        return Owner(pid=pid, why=f"process {pid} does not let itself be looked at")
    except OSError:
        return Owner(pid=pid, why=f"the program file of process {pid} is gone")
    runs, said = script(pid, executable, started)
    return Owner(str(executable), runs, pid, said=said)

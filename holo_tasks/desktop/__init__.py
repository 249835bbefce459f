"""X11 desktops: they take a picture of a screen once it has settled, and control its pointer and keyboard.

    async with VirtualDesktop(app="xterm") as desktop:
        frame = await desktop.look()
        await desktop.do(Click(Point(640, 400)))
        frame = await desktop.look(after_action=True)

A process of its own (`session.host`) owns each desktop, because pyautogui serves one display per process.

The most important modules:

* `desktop` has the classes that other packages use.
* `child` starts the host process and sends requests to it; `ipc_messages` defines the messages.
* `host` answers the requests. It takes pictures through `settled_screen` and carries out gestures through
  `gesture_player`.

`readiness` finds work in flight, `profiles` gives programs a profile of their own, and `sandbox` runs programs in
sandboxes. May import `core`, `machine`, `loop` and `accessibility`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.desktop.capture.settle import Settle
    from holo_tasks.desktop.desktop import AttachedDesktop, Desktop, VirtualDesktop
    from holo_tasks.desktop.programs.tk_python import tk_python
    from holo_tasks.desktop.x11.windows import Window

_HOMES = {
    "AttachedDesktop": "desktop",
    "Desktop": "desktop",
    "Settle": "capture.settle",
    "VirtualDesktop": "desktop",
    "Window": "x11.windows",
    "tk_python": "programs.tk_python",
}

__all__ = ["AttachedDesktop", "Desktop", "Settle", "VirtualDesktop", "Window", "tk_python"]


def __getattr__(name: str) -> Any:
    # Imported on first use: the host process does not need the modules of its clients.
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks.desktop' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.desktop.{_HOMES[name]}"), name)

"""X11 desktops: see a screen once it has come to rest, and use its pointer and keyboard exactly.

    async with VirtualDesktop(app="xterm") as desktop:
        frame = await desktop.look()
        await desktop.do(Click(Point(640, 400)))
        frame = await desktop.look(after_action=True)

Each desktop is a process of its own (`host`), spoken to by `child`; pyautogui serves one display
per process. Reading order: `desktop`, `child`, `wire` on this side; `host`, `station`, then
`eyes` (`settle`, `repaints`, `pulse`, `screen`) and `hands` (`pointer`, `keyboard`, `typist`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.desktop.desktop import AttachedDesktop, Desktop, VirtualDesktop
    from holo_tasks.desktop.settle import Settle
    from holo_tasks.desktop.windows import Window

_HOMES = {
    "AttachedDesktop": "desktop",
    "Desktop": "desktop",
    "Settle": "settle",
    "VirtualDesktop": "desktop",
    "Window": "windows",
}

__all__ = ["AttachedDesktop", "Desktop", "Settle", "VirtualDesktop", "Window"]


def __getattr__(name: str) -> Any:
    # When they are used: a desktop's own process has no use for what others speak to it with.
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks.desktop' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.desktop.{_HOMES[name]}"), name)

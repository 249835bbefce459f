"""X11 desktops: see a screen once it has come to rest, and use its pointer and keyboard exactly.

    async with VirtualDesktop(app="xterm") as desktop:
        frame = await desktop.look()
        await desktop.do(Click(Point(640, 400)))
        frame = await desktop.look(after_action=True)

Each desktop is a process of its own (`host`), spoken to by `child`; pyautogui serves one display
per process. Reading order: `desktop`, `child`, `wire` on this side; `host`, `station`, then
`eyes` (`settle`, `repaints`, `pulse`, `screen`) and `hands` (`pointer`, `keyboard`, `typist`).
"""

from holo_tasks.desktop.desktop import AttachedDesktop, Desktop, VirtualDesktop
from holo_tasks.desktop.settle import Settle
from holo_tasks.desktop.windows import Window

__all__ = ["AttachedDesktop", "Desktop", "Settle", "VirtualDesktop", "Window"]

"""Collect an inventory of the machine for the model: programs, windows, menus and recent files.

`Discovery` runs once a run, reads only, and takes at most two seconds. The inventory goes into the trace.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from holo_tasks.core import events
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.elements.inventory import Discover, Inventory
from holo_tasks.core.elements.known_elements import TextFilter
from holo_tasks.core.errors import DesktopFailed, RedactionFailed
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.window_titles import CHARACTERS, LONGEST, may_leave
from holo_tasks.core.texts.visible_text import one_line
from holo_tasks.desktop.x11.windows import Window
from holo_tasks.inventory import menus as menu_lists
from holo_tasks.inventory.desktop_files import startable
from holo_tasks.inventory.recent_files import recent_files
from holo_tasks.loop.walk import Walk
from holo_tasks.run.desktops.lazy_desktop import LazyDesktop
from holo_tasks.run.run import Run
from holo_tasks.safety.scrubbing import scrub_text

T = TypeVar("T")
Screen: TypeAlias = tuple[tuple[str, ...], dict[str, tuple[str, ...]]]
"""Window titles, and menu entries by program."""
MOST_S = 2.0
"""Seconds that the whole inventory may take."""
PROGRAM_CHARACTERS = 40
FILES_S = 1.0
"""Seconds for reading files, which happens while the screen is read."""


@dataclass
class Discovery:
    """Collects the inventory once and gives every conversation of the run the same text.

    ``text_filter`` removes private text before it leaves this machine. Without ``unseen``, closed menus are left out,
    since no redaction has seen them. Without ``screen``, window titles, menus and recent files are left out.
    """

    wanted: Discover
    text_filter: TextFilter = scrub_text
    unseen: bool = True
    screen: bool = True
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    _found: str | None = None

    async def inventory_text(self, run: Run, walk: Walk) -> str:
        """Return the inventory as text for the model, and record it with its duration in the trace."""
        if self._found is None:
            desktop = await run.desktop.started() if isinstance(run.desktop, LazyDesktop) else run.desktop
            began_s = time.monotonic()
            inventory = await self._inventory(run, desktop, began_s + MOST_S)
            self._found = scrub_text(inventory.description())
            took_us = round((time.monotonic() - began_s) * 1_000_000)
            await walk.record(events.Inventoried(told=self._found, took_us=took_us))
        return self._found

    async def _monitor_and_masks(self, run: Run) -> tuple[Box, Sequence[Mask]] | None:
        """Return the monitor's area on the screen and the masks in it, or ``None`` if the screen cannot be read."""
        try:
            frame = await run.desktop.look()
            return frame.monitor or Box.whole(frame.size), (await run.outside.redactor.redact(frame)).masks
        except (RedactionFailed, DesktopFailed):
            return None  # the next screenshot reports the error

    async def _inventory(self, run: Run, desktop: Any, until_s: float) -> Inventory:
        files_s = time.monotonic() + FILES_S
        programs = asyncio.to_thread(startable, self.environment, until_s=files_s)
        recent = asyncio.to_thread(recent_files, self.wanted.recent, self.environment, until_s=files_s)
        started, files, screen = await asyncio.gather(
            _in_time(programs, until_s),
            _in_time(recent, until_s),
            _in_time(self._windows_and_menus(run, desktop) if self.screen else _empty_screen(), until_s),
        )
        windows, menus = screen or ((), {})
        return Inventory(
            programs=started or (),
            # Cut after redaction: half a secret would not be recognized.
            windows=tuple(one_line(title, CHARACTERS) for title in self._redacted_texts(windows)),
            menus={
                one_line(program, PROGRAM_CHARACTERS): self._redacted_texts(each)
                for name, each in menus.items()
                if (program := self.text_filter(name))
            },
            recent=self._redacted_texts(files or ()) if self.screen else (),
        )

    def _redacted_texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts after redaction; a text with private content is dropped."""
        return tuple(filter(None, map(self.text_filter, texts)))

    async def _windows_and_menus(self, run: Run, desktop: Any) -> Screen:
        """Return window titles and menus, without masked windows and windows on other monitors.

        Both are empty if the desktop or its screen cannot be read.
        """
        if not hasattr(desktop, "windows") or (seen := await self._monitor_and_masks(run)) is None:
            return (), {}
        area, masks = seen
        elements = run.outside.elements
        try:
            windows: Sequence[Window] = [one for one in await desktop.windows() if may_leave(one.box, area, masks)]
            tree = await elements.redacted_tree(masks) if elements is not None else ElementTree()
        except DesktopFailed:
            return (), {}  # the next screenshot reports the error
        titles = dict.fromkeys(one_line(window.title, LONGEST) for window in windows)
        menus: dict[str, tuple[str, ...]] = {}
        for window in windows:
            if window.pid and (entries := await asyncio.to_thread(self._menus, run, tree, window.pid)):
                menus.setdefault(_program(tree, window), entries)
        return tuple(filter(None, titles)), menus

    def _menus(self, run: Run, tree: ElementTree, pid: int) -> tuple[str, ...]:
        """Return the program's present menus, or those that an earlier run found in the same version."""
        if not self.unseen:
            return ()  # a closed menu is on no screenshot, so no mask covers it
        version, found = menu_lists.version_of(pid), menu_lists.menus_of(tree, pid)
        if found:
            menu_lists.save_menus(run.home, version, [scrub_text(entry) for entry in found])
        return found or menu_lists.saved_menus(run.home, version)


def _program(tree: ElementTree, window: Window) -> str:
    name = next((one.name for one in tree.applications if one.pid == window.pid), "")
    return one_line(name or window.title, LONGEST)


async def _in_time(part: Awaitable[T], until_s: float) -> T | None:
    """Return the result of ``part``, or ``None`` if it is not done in time."""
    try:
        async with asyncio.timeout(until_s - time.monotonic()):
            return await part
    except TimeoutError:
        return None


async def _empty_screen() -> Screen:
    return (), {}

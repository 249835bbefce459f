"""What an agent finds out about the machine before it begins: read only, once a run, within two seconds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from holo_tasks.core import events
from holo_tasks.core.elements import ElementTree
from holo_tasks.core.errors import DesktopFailed, RedactionFailed
from holo_tasks.core.frame import Mask
from holo_tasks.core.geometry import Box
from holo_tasks.core.inventory import Discover, Inventory
from holo_tasks.core.known_elements import Tell
from holo_tasks.core.visible_text import one_line
from holo_tasks.core.window_titles import CHARACTERS, LONGEST, may_be_told
from holo_tasks.desktop.windows import Window
from holo_tasks.inventory import menus as menu_lists
from holo_tasks.inventory.desktop_files import startable
from holo_tasks.inventory.recent_files import recent_files
from holo_tasks.loop.walk import Walk
from holo_tasks.run.lazy_desktop import LazyDesktop
from holo_tasks.run.run import Run
from holo_tasks.safety.scrubbing import hushed

T = TypeVar("T")
Screen: TypeAlias = tuple[tuple[str, ...], dict[str, tuple[str, ...]]]
"""Titles of windows, and entries of menus by program."""
MOST_S = 2.0
PROGRAM_CHARACTERS = 40
FILES_S = 1.0
"""For what is read of files: they are read beside the screen."""


@dataclass
class Discovery:
    """Finds out what there is once, and tells every conversation of the run the same words.

    ``tell`` is what texts go through before they are known outside this machine; without ``unseen`` what no picture
    shows is not told, nor, without ``screen``, anything that somebody has worked on.
    """

    wanted: Discover
    tell: Tell = hushed
    unseen: bool = True
    screen: bool = True
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    _found: str | None = None

    async def told(self, run: Run, walk: Walk) -> str:
        """Return what a model is told; what it took, and what it said, is in the trace."""
        if self._found is None:
            desktop = await run.desktop.started() if isinstance(run.desktop, LazyDesktop) else run.desktop
            began_s = time.monotonic()
            inventory = await self._inventory(run, desktop, began_s + MOST_S)
            self._found = hushed(inventory.told())
            took_us = round((time.monotonic() - began_s) * 1_000_000)
            await walk.record(events.Inventoried(told=self._found, took_us=took_us))
        return self._found

    async def _seen(self, run: Run) -> tuple[Box, Sequence[Mask]] | None:
        """Return what the agent sees of the screen, and what of that is masked; None where that cannot be known, so
        that nothing of it is told.
        """
        try:
            frame = await run.desktop.look()
            return frame.monitor or Box.whole(frame.size), (await run.outside.redactor.redact(frame)).masks
        except (RedactionFailed, DesktopFailed):
            return None  # whoever takes the next picture says why

    async def _inventory(self, run: Run, desktop: Any, until_s: float) -> Inventory:
        files_s = time.monotonic() + FILES_S
        programs = asyncio.to_thread(startable, self.environment, until_s=files_s)
        recent = asyncio.to_thread(recent_files, self.wanted.recent, self.environment, until_s=files_s)
        started, files, screen = await asyncio.gather(
            _in_time(programs, until_s),
            _in_time(recent, until_s),
            _in_time(self._screen(run, desktop) if self.screen else _nothing(), until_s),
        )
        windows, menus = screen or ((), {})
        return Inventory(
            programs=started or (),
            # Cut last: of a secret that was cut nobody finds what is left.
            windows=tuple(one_line(title, CHARACTERS) for title in self._known(windows)),
            menus={
                one_line(told, PROGRAM_CHARACTERS): self._known(each)
                for name, each in menus.items()
                if (told := self.tell(name))
            },
            recent=self._known(files or ()) if self.screen else (),
        )

    def _known(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts that may be known; of one that holds something private nothing is told."""
        return tuple(filter(None, map(self.tell, texts)))

    async def _screen(self, run: Run, desktop: Any) -> Screen:
        """Return the titles of windows, and the menus of their programs, but for what is masked on the screen or is on
        another monitor than the agent's.
        """
        if not hasattr(desktop, "windows") or (seen := await self._seen(run)) is None:
            return (), {}
        area, masks = seen
        elements = run.outside.elements
        try:
            windows: Sequence[Window] = [one for one in await desktop.windows() if may_be_told(one.box, area, masks)]
            tree = await elements.known(masks) if elements is not None else ElementTree()
        except DesktopFailed:
            return (), {}  # whoever takes the next picture says why
        titles = dict.fromkeys(one_line(window.title, LONGEST) for window in windows)
        menus: dict[str, tuple[str, ...]] = {}
        for window in windows:
            if window.pid and (entries := await asyncio.to_thread(self._menus, run, tree, window.pid)):
                menus.setdefault(_program(tree, window), entries)
        return tuple(filter(None, titles)), menus

    def _menus(self, run: Run, tree: ElementTree, pid: int) -> tuple[str, ...]:
        """Return the menus of a program: of now, else as they were found in this version of it before."""
        if not self.unseen:
            return ()  # a menu that is not open is on no picture, so nobody has masked it
        version, found = menu_lists.version_of(pid), menu_lists.menus_of(tree, pid)
        if found:
            menu_lists.keep(run.home, version, [hushed(entry) for entry in found])
        return found or menu_lists.kept(run.home, version)


def _program(tree: ElementTree, window: Window) -> str:
    name = next((one.name for one in tree.applications if one.pid == window.pid), "")
    return one_line(name or window.title, LONGEST)


async def _in_time(part: Awaitable[T], until_s: float) -> T | None:
    """Return what a part comes to; None if that is not there in time."""
    try:
        async with asyncio.timeout(until_s - time.monotonic()):
            return await part
    except TimeoutError:
        return None


async def _nothing() -> Screen:
    return (), {}

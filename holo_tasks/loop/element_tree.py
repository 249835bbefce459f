"""Read the accessibility tree for a run, only when needed. The desktop does not wait for programs that hang.

`Elements` belongs to a run's desktop. It names the element that an action hits, for the trace and for approvals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from holo_tasks.core.elements.element_anchors import anchors_of
from holo_tasks.core.elements.elements import TOO_LATE, Element, ElementTree
from holo_tasks.core.elements.known_elements import TextFilter, as_it_is, redacted_element, redacted_tree
from holo_tasks.core.errors import HoloError
from holo_tasks.core.input.gestures import Gesture, Pause
from holo_tasks.core.input.pressed_elements import hit_by, pressed_at
from holo_tasks.core.ports import ReportsElements
from holo_tasks.core.screen.frame import Mask
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.texts.outside_text import named

LONGEST_S = 20.0
"""Time limit of a reading in seconds, for a desktop that hangs.

The desktop waits up to 8 s for a program that goes on answering, and as long for a reading that began before.
"""
FIRST_S, AT_HAND_S = 0.3, 0.02
"""Seconds to wait before an action for a tree whose reading has not begun: the first time, and later."""
MOVING_S, AGAIN_S = 1.0, 0.05
"""Seconds to wait for an element tree that still reports old positions, and seconds between two readings."""
SLOW_S = 0.1
"""If reading ahead took longer, the tree is not read again right before the action."""
OUTDATED_S = 3.0
"""Seconds after which the tree that an action was compared with no longer names it if no newer one comes in time."""
RESTS = 10
"""If programs report nothing, the next ``RESTS`` actions skip the tree."""
NAME_CHARACTERS = 80


@dataclass(frozen=True)
class NewestTree:
    """The newest available tree. ``is_fresh`` is true if it was read just now and reports current positions."""

    tree: ElementTree
    is_fresh: bool


@dataclass
class Elements:
    """The accessibility tree of a run's desktop.

    ``text_filter`` filters the programs' texts before they leave this machine. ``unseen`` is whether elements that are
    not on the screen may leave it.
    """

    desktop: ReportsElements
    text_filter: TextFilter = as_it_is
    unseen: bool = True
    latest: ElementTree | None = field(default=None, repr=False)
    """The tree of the last action's decision, if it was available."""
    _was_read: bool = False
    _hangs: bool = False
    """Whether the desktop did not return its last tree within `LONGEST_S`."""
    _rests: int = 0
    _empty: ElementTree | None = field(default=None, repr=False)
    """The tree of programs that report nothing, while they are not asked."""
    _ahead: asyncio.Task[tuple[ElementTree, float]] | None = field(default=None, repr=False)
    _moving: ElementTree | None = field(default=None, repr=False)
    """The tree of the reading that is under way, while its positions still change."""
    _newest: tuple[NewestTree | None, float] | None = field(default=None, repr=False)
    """The last tree for the next action and its time; ``None`` after an action was named by it."""

    async def read(self) -> ElementTree:
        """Return the current elements with the programs' unfiltered texts, for use on this machine only."""
        try:
            async with asyncio.timeout(LONGEST_S):
                tree = await self._read_at_rest()
        except TimeoutError:
            self._hangs = True
            return ElementTree(complete=False, why_not=f"The elements of the desktop: {TOO_LATE}.")
        self._was_read, self._hangs = True, False
        if tree.elements:
            self._rests = 0
        return tree

    async def read_for_action(self) -> ElementTree:
        """Return the current elements as `read` does. `hit` names the next action by them."""
        tree = await self.read()
        if tree.elements:
            self._newest = NewestTree(tree, not tree.moving), asyncio.get_running_loop().time()
        return tree

    async def _read_at_rest(self) -> ElementTree:
        """Return the elements at their current positions. Programs report positions late after scrolling."""
        until = asyncio.get_running_loop().time() + MOVING_S
        self._moving = None
        while (tree := await self.desktop.elements()).moving and asyncio.get_running_loop().time() < until:
            self._moving = tree
            await asyncio.sleep(AGAIN_S)
        return tree

    def read_ahead(self) -> None:
        """Start reading the tree while nothing else uses the desktop, for example during a model call."""
        self._newest = None
        if not self._rests and (self._ahead is None or self._ahead.done()):
            self._ahead = asyncio.create_task(self._read_with_duration())

    async def _read_with_duration(self) -> tuple[ElementTree, float]:
        began = asyncio.get_running_loop().time()
        try:
            tree = await self.read()
        except HoloError:  # the next use of the desktop raises the error
            tree = ElementTree(complete=False)
        return tree, asyncio.get_running_loop().time() - began

    async def redacted_tree(self, masks: Sequence[Mask]) -> ElementTree:
        """Return the current elements as far as they may leave this machine, given the masks on the screen."""
        return redacted_tree(await self.read(), masks, self.text_filter, unseen=self.unseen)

    def read_once(self) -> Callable[[], Awaitable[ElementTree]]:
        """Return a function that reads the tree at its first call and returns the same tree later."""
        read: list[ElementTree] = []

        async def tree() -> ElementTree:
            if not read:
                read.append(await self.read())
            return read[0]

        return tree

    def name_lookup(self, masks: Sequence[Mask]) -> Callable[[Point], Awaitable[str]]:
        """Return a function that returns the accessible name at a point, as far as it may leave this machine."""
        tree = self.read_once()

        async def called(at: Point) -> str:
            try:
                element = pressed_at(found := await tree(), at)
            except HoloError:  # the next use of the desktop raises the error
                return ""
            if element is None:
                return ""
            return named(
                redacted_element(found, element, masks, self.text_filter, unseen=self.unseen).name, NAME_CHARACTERS
            )

        return called

    async def hit(self, gesture: Gesture, masks: Sequence[Mask]) -> dict[str, str]:
        """Return the role, name and application of the element that an action hits, and more facts to find it by.

        Returns an empty dict without a tree in time, and for an element of a moment ago.

        An action does not wait for a program that hangs.
        """
        known, self._newest, self.latest = self._newest, None, None
        if isinstance(gesture, Pause):
            self._rests -= self._rests > 0
            if self._ahead is not None:
                await self._read_ahead_result(self._ahead)
            self._ahead = None
            return {}
        now = asyncio.get_running_loop().time()
        newest = known[0] if known and now - known[1] <= SLOW_S else await self._read_newest(again=known is not None)
        if newest is None and known and now - known[1] <= OUTDATED_S:
            newest = known[0]  # on a busy machine a new reading is not there at once
        if newest is None:
            return {}
        element = hit_by(newest.tree, gesture)
        is_late = TOO_LATE in newest.tree.why_not if element is None else newest.tree.is_late(element.pid)
        self.latest = None if is_late else newest.tree
        if element is None or is_late:
            return {}

        def told(each: Element) -> Element:
            return redacted_element(newest.tree, each, masks, self.text_filter, unseen=self.unseen)

        facts = anchors_of(newest.tree, element, told)
        return {fact: named(text, NAME_CHARACTERS) for fact, text in facts.items()}

    async def newest(self) -> NewestTree | None:
        """Return the newest tree if it is available in time, otherwise ``None``. `hit` names the next action by it."""
        found = await self._read_newest()
        self._newest = found, asyncio.get_running_loop().time()
        return found

    async def _read_newest(self, *, again: bool = False) -> NewestTree | None:
        """Read the tree right before an action. ``again`` is set for a second reading for the same action."""
        self._rests -= self._rests > 0 and not again
        ahead, self._ahead = self._ahead, None
        before = await self._read_ahead_result(ahead) if ahead else None
        if self._rests and self._empty is not None:
            return NewestTree(self._empty, is_fresh=False)
        tree, fresh = before[0] if before else None, None
        if not (ahead and before is None) and not (before and before[1] > SLOW_S):
            fresh = await self._available_tree()
            tree = fresh or tree
        if tree is None or (not tree.elements and TOO_LATE in tree.why_not):
            return None
        if not tree.elements:
            self._rests, self._empty = RESTS, tree
        return NewestTree(tree, fresh is not None and not fresh.moving)

    async def _read_ahead_result(
        self, ahead: asyncio.Task[tuple[ElementTree, float]]
    ) -> tuple[ElementTree, float] | None:
        """Return the tree that was read ahead and its duration in seconds.

        A reading that is not finished in time is cancelled.
        """
        await asyncio.wait([ahead], timeout=FIRST_S if self._hangs else LONGEST_S)
        if ahead.done():
            return ahead.result()
        self._was_read = True
        ahead.cancel()
        await asyncio.wait([ahead])
        # Positions still change, but roles and names are known.
        return None if self._moving is None else (self._moving, 0.0)

    async def _available_tree(self) -> ElementTree | None:
        """Return the tree if it is available within a short time limit."""
        patience_s = AT_HAND_S if self._was_read else FIRST_S
        self._was_read = True
        try:
            async with asyncio.timeout(patience_s):
                return await self.desktop.elements()
        except (TimeoutError, HoloError):  # the next input raises the error
            return None

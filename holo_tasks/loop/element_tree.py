"""The tree of elements as one run asks for it: only where it is needed, and never longer than is worth it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from holo_tasks.core.elements import Element, ElementTree
from holo_tasks.core.errors import HoloError
from holo_tasks.core.frame import Mask
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Gesture, Pause
from holo_tasks.core.known_elements import Tell, as_it_is, known, known_element
from holo_tasks.core.outside import named
from holo_tasks.core.ports import TellsElements
from holo_tasks.core.pressed_elements import hit_by, pressed_at

LONGEST_S = 3.0
"""A desktop bounds the reading by itself; one that does not is left alone after this."""
FIRST_S, AT_HAND_S = 0.3, 0.02
"""What a name in the trace is worth waiting for: once, as nothing is loaded yet, and from then on."""
MOVING_S, AGAIN_S = 1.0, 0.05
"""How long it is waited until a program tells where things are, not where they were, and how often it is asked."""
SLOW_S = 0.1
"""Where reading ahead took longer, nobody reads once more right before the action."""
MOST_MISSES, RESTS = 3, 10
"""After so many times that it was not at hand, and where programs told nothing, so many actions go without a name."""
NAME_CHARACTERS = 80


@dataclass(frozen=True)
class Newest:
    """The newest tree that is at hand. ``is_fresh`` is true if it was read just now, and says where things are."""

    tree: ElementTree
    is_fresh: bool


@dataclass
class Elements:
    """What the programs on a run's desktop tell of their elements.

    ``tell`` is what their words go through before they are known outside this machine, ``unseen`` whether what is not
    on the screen may be known there at all.
    """

    desktop: TellsElements
    tell: Tell = as_it_is
    unseen: bool = True
    latest: ElementTree | None = field(default=None, repr=False)
    """The tree that the last action was decided on, if it was at hand."""
    _asked: bool = False
    _misses: int = 0
    _rests: int = 0
    _ahead: asyncio.Task[tuple[ElementTree, float]] | None = field(default=None, repr=False)
    _newest: tuple[Newest | None, float] | None = field(default=None, repr=False)
    """The result of the last `newest`, and when it came; ``None`` once an action was named by it."""

    async def read(self) -> ElementTree:
        """Return the elements of this moment, as programs tell them: for rules on this machine only."""
        try:
            async with asyncio.timeout(LONGEST_S):
                tree = await self._settled()
        except TimeoutError:
            return ElementTree(complete=False, why_not="The desktop did not tell its elements in time.")
        self._asked = True
        return tree

    async def _settled(self) -> ElementTree:
        """Return the elements where they are now: of a page that was just scrolled they are told late."""
        until = asyncio.get_running_loop().time() + MOVING_S
        while (tree := await self.desktop.elements()).moving and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(AGAIN_S)
        return tree

    def ahead(self) -> None:
        """Have the tree read while nobody waits for the desktop, as when a model is asked."""
        self._newest = None
        if not self._rests and (self._ahead is None or self._ahead.done()):
            self._ahead = asyncio.create_task(self._timed())

    async def _timed(self) -> tuple[ElementTree, float]:
        began = asyncio.get_running_loop().time()
        try:
            tree = await self.read()
        except HoloError:  # whoever uses the desktop next is told
            tree = ElementTree(complete=False)
        return tree, asyncio.get_running_loop().time() - began

    async def known(self, masks: Sequence[Mask]) -> ElementTree:
        """Return what of the elements of this moment may be known outside, where these masks are on the screen."""
        return known(await self.read(), masks, self.tell, unseen=self.unseen)

    def once(self) -> Callable[[], Awaitable[ElementTree]]:
        """Return what reads the tree when it is first asked for it, and goes by that from then on."""
        read: list[ElementTree] = []

        async def tree() -> ElementTree:
            if not read:
                read.append(await self.read())
            return read[0]

        return tree

    def namer(self, masks: Sequence[Mask]) -> Callable[[Point], Awaitable[str]]:
        """Return what tells what a program calls what is at a point, as far as that may be known outside."""
        tree = self.once()

        async def called(at: Point) -> str:
            try:
                element = pressed_at(found := await tree(), at)
            except HoloError:  # whoever uses the desktop next is told
                return ""
            if element is None:
                return ""
            return named(known_element(found, element, masks, self.tell, unseen=self.unseen).name, NAME_CHARACTERS)

        return called

    async def hit(self, gesture: Gesture, masks: Sequence[Mask]) -> dict[str, str]:
        """Return what an action hits, as the trace holds it: role, name and application; empty if that is not at hand.

        Nobody waits for a program that hangs: what is not there at once is left out.
        """
        known, self._newest, self.latest = self._newest, None, None
        if isinstance(gesture, Pause):
            self._rests -= self._rests > 0
            if self._ahead is not None:
                await self._finished(self._ahead)
            self._ahead = None
            return {}
        now = asyncio.get_running_loop().time()
        newest = known[0] if known and now - known[1] <= SLOW_S else await self._read_newest(again=known is not None)
        if newest is None:
            return {}
        self.latest = newest.tree
        element = hit_by(newest.tree, gesture)
        if element is None:
            return {}
        return self._told(known_element(newest.tree, element, masks, self.tell, unseen=self.unseen))

    async def newest(self) -> Newest | None:
        """Return the newest tree if it is at hand, ``None`` otherwise. `hit` names the next action by it."""
        found = await self._read_newest()
        self._newest = found, asyncio.get_running_loop().time()
        return found

    async def _read_newest(self, *, again: bool = False) -> Newest | None:
        """Read the tree right before an action; with ``again`` once more for the same action."""
        self._rests -= self._rests > 0 and not again
        ahead, self._ahead = self._ahead, None
        before = await self._finished(ahead) if ahead else None
        if self._rests:
            return None
        tree, fresh = before[0] if before else None, None
        if not (ahead and before is None) and not (before and before[1] > SLOW_S):
            fresh = await self._at_hand()
            tree = fresh or tree
        self._misses = 0 if tree else self._misses + 1
        if self._misses >= MOST_MISSES or (tree and not tree.elements):
            self._misses, self._rests = 0, RESTS
        return None if tree is None else Newest(tree, fresh is not None and not fresh.moving)

    async def _finished(self, ahead: asyncio.Task[tuple[ElementTree, float]]) -> tuple[ElementTree, float] | None:
        """Return what was read ahead, and how long that took; what is still being read is given up: hands are next."""
        await asyncio.wait([ahead], timeout=AT_HAND_S if self._asked else FIRST_S)
        if ahead.done():
            return ahead.result()
        self._asked = True
        ahead.cancel()
        await asyncio.wait([ahead])
        return None

    async def _at_hand(self) -> ElementTree | None:
        """Return the tree if it is there at once."""
        patience_s = AT_HAND_S if self._asked else FIRST_S
        self._asked = True
        try:
            async with asyncio.timeout(patience_s):
                return await self.desktop.elements()
        except (TimeoutError, HoloError):  # the hands say themselves what is wrong with a desktop
            return None

    def _told(self, element: Element) -> dict[str, str]:
        words = {"role": element.role, "name": element.name, "application": element.application}
        return {word: named(text, NAME_CHARACTERS) for word, text in words.items()}

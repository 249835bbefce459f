"""Compare the texts and answers of the model with the values that its task names.

A typed value that differs from the task's in one digit is withheld once. An answer is sent back once if the work seems
unfinished: a value of the task was neither typed nor seen, a field was clicked and left unchanged, nothing was pressed
after a text was typed, the press changed nothing, or a button or an option that it is to press was never pressed. If
the model repeats its call, it counts. A doubt that is left after further steps is sent once more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.elements.target_words import FIELD_ROLES, mentions_field
from holo_tasks.core.input.pressed_elements import names_at, pressed_at
from holo_tasks.core.prompts.call_to_gesture import to_pixel
from holo_tasks.core.prompts.tool_calls import (
    AnyCall,
    ClickCall,
    DoubleClickCall,
    DragAndDropCall,
    HoldAndTapKeyCall,
    HotkeyCall,
    WaitCall,
    WriteAtCall,
    WriteCall,
)
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.verdicts import Verdict
from holo_tasks.core.texts.outside_text import is_placeholder, named
from holo_tasks.core.texts.task_sentences import (
    asks_for_a_choice,
    asks_to_choose,
    asks_to_press,
    asks_to_save,
    without_sentences_of,
)
from holo_tasks.core.texts.task_values import TaskValues, loose
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.services import Services

MOST_TOLD = 3
"""Maximal number of missing values in one message."""
MOST_TIMES = 2
"""Maximal number of times that a doubt is sent: again only after further steps."""
MOVES_ONLY = {"tab", "left", "right", "up", "down", "home", "end", "pageup", "pagedown", "backspace", "delete"}
"""Keys that move or delete in a form, and send nothing."""
SLIP = (
    "You are about to type ‘{}’, but the task says ‘{}’. Nothing was typed. To type it all the same, repeat this call."
)
NOTHING_DONE = "you have done nothing yet, and your answer contains no text of the screen"
MISSING = "the task names {}, which you have neither typed nor chosen, and the screen does not show it"
UNSENT = "nothing was pressed after you typed ‘{}’"
VAIN = "your press on ‘{}’ after that text changed nothing on the screen"
UNTYPED = "you clicked into ‘{}’ and typed nothing after that"
UNPRESSED = "{} was never pressed"
UNSAVED = "the task asks to save, and nothing was saved"
UNCHOSEN = "the task names {}, which you have never pressed, and the screen shows it as not chosen"
PRESSED_BY_WORDS = frozenset({"button", "toggle button", "menu item"})
"""Roles of the controls that a task may ask to press."""
OPTIONS = frozenset({"check box", "radio button"})
CHOSEN = frozenset({"checked", "pressed", "indeterminate"})
DOUBT = "Your answer was not accepted yet: {}. If the work is done all the same, give the same answer again."


@dataclass
class TaskDoubts:
    """The doubts of one sub-goal. ``labels`` are the buttons that cause its effect, if any are declared.

    ``may_end_typed`` is shared by a run: the names of sub-goals that the model has ended right after a text, in spite
    of the doubt. They only fill in fields, so this doubt is not told again.
    """

    task: TaskValues = field(default_factory=TaskValues)
    labels: tuple[str, ...] = ()
    work: str = ""
    may_end_typed: set[str] = field(default_factory=set)
    _written: list[str] = field(default_factory=list)
    """Typed texts, and the model's words for pressed controls."""
    _unsent: str = ""
    """The last typed text, until something is pressed."""
    _vain: str = ""
    """The model's words for the control pressed after a text, if nothing on the screen has changed since."""
    _entered: str = ""
    """The model's words for a field, if its last action was a click into it."""
    _has_acted: bool = False
    _used_keys: bool = False
    """Whether keys were pressed that may do the same as a button."""
    _told: Counter[str] = field(default_factory=Counter)
    _stands: set[str] = field(default_factory=set)
    """The doubts that were sent since the last step."""
    _has_saved: bool = False

    async def slip(self, services: Services, call: AnyCall) -> str:
        """Return why a text is not typed, in sentences for the model; empty if it is typed."""
        text = call.content if isinstance(call, WriteCall | WriteAtCall) else ""
        found = self.task.slip_in(text) if text and not is_placeholder(text) else None
        if found is None or loose(found.typed) in loose(await _reported(services)):
            return ""
        return SLIP.format(named(found.typed), named(found.named))

    def did(
        self, call: AnyCall, before: NewestScreen, tree: ElementTree | None, verdict: Verdict | None = None
    ) -> None:
        """Note a step that was carried out on a screen, with that screen's tree and the step's effect if known."""
        unsent, unchanged = self._unsent or self._vain, verdict is not None and verdict.outcome == "unchanged"
        self._entered, self._has_acted = "", True
        self._stands.clear()
        if not (unchanged and isinstance(call, WaitCall)):
            self._vain = ""
        match call:
            case WriteCall() | WriteAtCall():
                self._written.append(call.content)
                sent = isinstance(call, WriteCall) and (call.press_enter or call.content.endswith(("\n", "\t")))
                self._unsent = "" if sent or is_placeholder(call.content) else call.content
                self._used_keys |= sent
            case ClickCall() | DoubleClickCall() | DragAndDropCall():
                self._written += [call.element, *_names_hit(call, before, tree)]
                if isinstance(call, ClickCall) and _is_field(call, before, tree):
                    self._entered = call.element
                else:
                    self._unsent, self._vain = "", call.element if unsent and unchanged else ""
            case HotkeyCall(keys=keys) if {"ctrl", "s"} <= set(keys):
                self._unsent, self._used_keys, self._has_saved = "", True, True
            case HotkeyCall(keys=keys) if not set(keys) <= MOVES_ONLY:
                self._unsent, self._used_keys = "", True
            case HoldAndTapKeyCall():
                self._unsent, self._used_keys = "", True

    def pressed_otherwise(self) -> None:
        """Note that a sequence or a person has worked on the screen."""
        self._unsent, self._vain, self._entered, self.labels = "", "", "", ()
        self._has_acted, self._used_keys, self._has_saved = True, True, True

    async def unfinished(self, services: Services, seen: NewestScreen, answer: str, pressed: bool) -> str:
        """Return why an answer is sent back, in sentences for the model; empty if it is taken.

        ``pressed`` is whether one of the declared buttons was pressed. A doubt is sent once, and once more if the model
        has worked on and the doubt is still there.
        """
        doubts = []
        shown = await self._shown(services, seen, answer)
        if missing := self.task.missing_in([*self._written, answer, shown]):
            listed = ", ".join(f"‘{named(value)}’" for value in missing[:MOST_TOLD])
            doubts.append(MISSING.format(listed))
        elif self.task.values and not self._has_acted and shown and not _has_read(answer, shown):
            doubts.append(NOTHING_DONE)
        if self._entered:
            doubts.append(UNTYPED.format(named(self._entered)))
        elif self._unsent and self.work not in self.may_end_typed:
            doubts.append(UNSENT.format(named(self._unsent)))
            if doubts[-1] in self._told and self.work:
                self.may_end_typed.add(self.work)
        elif self._vain:
            doubts.append(VAIN.format(named(self._vain)))
        elif left := self.labels if self.labels and not pressed else await self._named_buttons(services):
            doubts.append(UNPRESSED.format(" or ".join(f"‘{named(label)}’" for label in left)))
        if left := await self._unchosen(services):
            doubts.append(UNCHOSEN.format(", ".join(f"‘{named(label)}’" for label in left[:MOST_TOLD])))
        if (
            asks_to_save(self.task.goal)
            and not self._has_saved
            and not any("save" in loose(each) for each in self._written)
        ):
            doubts.append(UNSAVED)
        new = [doubt for doubt in doubts if doubt not in self._stands and self._told[doubt] < MOST_TIMES]
        self._told.update(new)
        self._stands.update(new)
        return DOUBT.format("; ".join(new)) if new else ""

    async def _shown(self, services: Services, seen: NewestScreen, answer: str) -> str:
        """Return the texts of the screen if the judgement of an answer needs them, by OCR only if nothing else tells.

        Without a source of texts, return the task's values: nothing proves that the screen does not show them.
        """
        if not self.task.values or (self._has_acted and not self.task.missing_in([*self._written, answer])):
            return ""
        if services.elements is None and services.screen_text is None:
            return "\n".join([*self.task.values, answer])
        goal = self.task.goal
        shown = without_sentences_of(goal, await _reported(services))
        if services.screen_text is not None and self.task.missing_in([*self._written, answer, shown]):
            size = seen.redacted.size
            read = await services.screen_text(seen.redacted, Box(0, 0, size.width, size.height))
            shown += "\n" + without_sentences_of(goal, read)
        return shown

    async def _named_buttons(self, services: Services) -> tuple[str, ...]:
        """Return the only button on the screen that the task asks to press and that was never pressed; empty otherwise.

        With declared buttons, only those count. A key may have done the same as the button. The data of a task asks for
        nothing.
        """
        if self.labels or self._used_keys or services.elements is None:
            return ()
        tree, did = await services.elements.read(), [loose(text) for text in self._written]
        buttons = (each for each in tree.elements if each.role in PRESSED_BY_WORDS and each.on_screen)
        found = {each.name for each in buttons if asks_to_press(self.task.goal, each.name)}
        left = tuple(name for name in found if not any(loose(name) in text for text in did))
        return left if len(left) == 1 else ()

    async def _unchosen(self, services: Services) -> tuple[str, ...]:
        """Return the options on the screen that the task asks to choose, not chosen and never pressed.

        A name that two options have tells neither.
        """
        if services.elements is None or not asks_for_a_choice(self.task.goal):
            return ()
        tree, did = await services.elements.read(), [loose(text) for text in self._written]
        shown = [each for each in tree.elements if each.role in OPTIONS and each.on_screen]
        names = Counter(each.name for each in shown)
        return tuple(
            each.name
            for each in shown
            if names[each.name] == 1
            and each.states.isdisjoint(CHOSEN)
            and asks_to_choose(self.task.goal, each.name)
            and not any(loose(each.name) in text for text in did)
        )


def _has_read(answer: str, shown: str) -> bool:
    """Return whether an answer has a text or a number that the screen shows."""
    bare = loose(shown)
    return any(len(loose(part)) > 1 and loose(part) in bare for part in _leaves(answer))


def _leaves(answer: str) -> list[str]:
    """Return the texts and numbers in an answer, without names of fields and without yes and no."""
    try:
        return list(_values_in(json.loads(answer)))
    except ValueError:
        return [answer]


def _values_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _values_in(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


async def _reported(services: Services) -> str:
    """Return all texts that the programs report."""
    if services.elements is None:
        return ""
    tree = await services.elements.read()
    return "\n".join(text for one in tree.elements for text in (one.name, one.value) if text)


def _names_hit(
    call: ClickCall | DoubleClickCall | DragAndDropCall, before: NewestScreen, tree: ElementTree | None
) -> tuple[str, ...]:
    """Return the names of the elements that a press hits."""
    if tree is None or isinstance(call, DragAndDropCall):
        return ()
    return names_at(tree, to_pixel(call.x, call.y, before.shot))


def _is_field(call: ClickCall, before: NewestScreen, tree: ElementTree | None) -> bool:
    """Say whether a click only puts the text caret into a field."""
    element = None if tree is None else pressed_at(tree, to_pixel(call.x, call.y, before.shot))
    return mentions_field(call.element) if element is None else element.role in FIELD_ROLES

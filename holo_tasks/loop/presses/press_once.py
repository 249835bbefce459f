"""Press a button with an effect once only, even if the screen shows no effect of the press.

A button that seems to do nothing may be slow or broken, or may lead to a page that looks like the one before. So a
second press waits until the effect of the first one was looked up. `EffectButtons` is used by the loop.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

from holo_tasks.core.input.chords import chords_in
from holo_tasks.core.input.gestures import Click, Drag, Gesture, HoldAndTap, Hotkey, Write
from holo_tasks.core.input.keynames import ESC, MODIFIERS, RETURN, TAB, keysym
from holo_tasks.core.input.permit import FocusedButton, ReadsTargets, Scene, TextReader
from holo_tasks.core.input.pressing import LINE_ENDS, is_wordy, presses
from holo_tasks.core.prompts.call_to_gesture import to_gesture
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.verdicts import changed_box
from holo_tasks.loop.ask_model.take_picture import NewestScreen
from holo_tasks.loop.guide import AnyGuide
from holo_tasks.loop.instructions import GiveUp, GuardSteps, Look, LookForEffect, Wait
from holo_tasks.loop.presses.click_retry import fits
from holo_tasks.loop.walk import PATIENCE_S

SPACE, ALT = keysym("space"), MODIFIERS["alt"]
_BLANKS = LINE_ENDS | {" "}
ENTER = "Enter"
"""Label that declares the key which submits a form."""
LETTER = "[0-9a-zß-öø-ž]"
"""Letters of scripts that put blanks between words."""
AGREES, SHORTEST_RUN = 0.9, 2
"""Smallest share of a text's characters that OCR must read in order, and the shortest run of characters that counts."""


async def _effect_is_unknown() -> bool:
    return False


@dataclass
class EffectButtons:
    """The labels of the buttons with an effect, and those that were pressed in this sub-goal.

    Without labels nothing is withheld. ``not_done`` looks for the effect. It returns true if the effect is certainly
    missing and false if that is unknown, and raises an error if the effect was found.
    """

    labels: tuple[str, ...] = ()
    not_done: Callable[[], Awaitable[bool]] = _effect_is_unknown
    pressed: set[str] = field(default_factory=set)
    declared: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.declared = self.labels

    async def pressed_by(self, step: Step, seen: NewestScreen, scene: Scene) -> frozenset[str]:
        """Return the labels of the buttons that a step may press: all labels if that cannot be determined."""
        gesture = to_gesture(step.tool_call, seen.shot) if self.labels else None
        if gesture is None:
            return frozenset()
        entered = frozenset({ENTER} if _enters(gesture) else ()) & set(self.labels)
        focused = await _keyed(gesture, scene)
        entered |= self._among(focused.names)
        if focused.button is None and await self._by_keys(gesture, scene):
            return entered | self._buttons
        called = str(getattr(step.tool_call, "element", ""))
        for at in _aims(gesture):
            entered |= await self._on(seen.frame, at, called, scene.reader)
            entered |= self._among(await _called(at, scene))
        return entered

    def _among(self, names: Sequence[str]) -> frozenset[str]:
        """Return the buttons that have one of the names."""
        return frozenset(label for label in self._buttons for name in names if fits(label, name))

    async def _on(self, frame: Frame, at: Point, called: str, reader: TextReader | None) -> frozenset[str]:
        """Return the button at a point. If reading fails and the model's words name no button, return all buttons."""
        text, unknown = "", frozenset[str]()
        if reader is not None:
            try:
                reading = reader.on_target if isinstance(reader, ReadsTargets) else reader
                text = await reading(frame, at)
            except Exception:
                unknown = self._buttons
        if not text.strip():  # nothing was read, so the model's words decide
            found = self.named_in(called)
        else:
            found = next((label for label in self.labels if fits(label, text)), "")
        return frozenset({found}) if found else unknown

    def named_in(self, words: str) -> str:
        """Return the first label that the model's words contain as words of its own; empty if they contain none."""
        return next((label for label in self.labels if _is_said(label, words)), "")

    @property
    def _buttons(self) -> frozenset[str]:
        return frozenset(self.labels) - {ENTER}

    async def _by_keys(self, gesture: Gesture, scene: Scene) -> bool:
        """Return whether keys may press some of the buttons.

        The rule is that of `Rules.confirm`: keys that may press a control count for all buttons that their window
        shows. A space right after a tab, and Alt with a letter of a label, always count, because a button may have no
        text. Escape never counts, because it cancels.
        """
        if not self._buttons or _escapes(gesture):
            return False
        if _spaces_behind_tab(gesture) or (self._presses_some(gesture) and not await scene.in_field(None)):
            return True
        if scene.reader is None:  # neither texts nor fields are known
            if not isinstance(gesture, Write):
                return False
            nowhere = await scene.written_at(gesture.at) is None
            return not _BLANKS.isdisjoint(gesture.text if nowhere else gesture.text.partition("\t")[2])
        try:
            at = next(reversed(_aims(gesture)), None)
            return await scene.may_press(gesture) and self._shown(await scene.window_text(at))
        except Exception:
            return True  # a window that cannot be read may show one

    def _shown(self, text: str) -> bool:
        return not text.strip() or any(fits(f"*{label}*", text) for label in self._buttons)

    def _presses_some(self, gesture: Gesture) -> bool:
        """Return whether keys press a button that they do not name: Space, or Alt with a letter of a button's label."""
        if isinstance(gesture, Write):
            return " " in gesture.text and _is_blank(gesture)
        letters = {keysym(letter) for label in self._buttons for letter in label.casefold() if letter.isalnum()}
        return any(SPACE in chord.keys or (ALT in chord.keys and chord.keys & letters) for chord in chords_in(gesture))

    def was_pressed(self, labels: Set[str]) -> bool:
        """Return whether one of the buttons may have been pressed before."""
        return not self.pressed.isdisjoint(labels)

    def too_often(self, step: Step, seen: NewestScreen) -> bool:
        """Return whether a single step would press a button more than once, as a double click does."""
        match gesture := to_gesture(step.tool_call, seen.shot):
            case Click(count=count):
                return count > 1
            case Hotkey(repeat=repeat):
                return repeat > 1
            case HoldAndTap(tap=tap):
                return sum(keysym(key) in (RETURN, SPACE) for key in tap) > 1
            case Write(text, press_enter=enter):
                entered = sum(map(text.count, LINE_ENDS)) + enter
                behind = max(map(_leading, text.split("\t")[1:]), default=0)
                blanks = text.count(" ") + entered if _is_blank(gesture) else behind
                return max(entered if ENTER in self.labels else 0, blanks) > 1
            case _:
                return False

    def press(self, labels: Set[str]) -> None:
        """Count buttons as pressed. Call it before the press, so that they count whatever happens."""
        self.pressed |= labels

    def count_as_unpressed(self, labels: Set[str]) -> None:
        """Count buttons as not pressed: no input was sent, or their effect is certainly missing."""
        self.pressed -= labels

    def again(self, labels: Set[str], guide: AnyGuide) -> GuardSteps[str]:
        """Return the message about a second press, which is not made.

        Waits for a state in which the work may end, then looks for the effect. Gives up if the effect is unknown.
        """
        if not guide.after:
            yield Wait(PATIENCE_S)  # no final state is declared that would show a slow effect
        pressed = named(labels & self.pressed)
        if (yield from guide.arrived()):
            return f"{pressed} was pressed before, and it worked: the program is at ‘{guide.here}’. Answer now."
        if not (yield LookForEffect(self.not_done)):
            yield GiveUp(f"{pressed} was pressed, and the effect is unknown. It was not pressed again.")
        self.count_as_unpressed(labels)
        yield Look()
        yield from guide.clear()
        return f"{pressed} was pressed before, and a check shows that it had no effect. Begin again."

    def declare(self, labels: Sequence[str]) -> None:
        """Declare more labels of buttons with an effect, for all layers from now on."""
        self.labels = tuple(dict.fromkeys((*self.labels, *labels)))
        self.declared = tuple(dict.fromkeys((*self.declared, *labels)))

    def count_as_pressed(self, labels: Sequence[str]) -> None:
        """Count buttons as pressed, even if they were not declared, because the outcome of a press is unknown."""
        self.labels = (*self.labels, *(label for label in labels if label not in self.labels))
        self.press(frozenset(labels))

    def let_go(self, labels: Sequence[str]) -> None:
        """Stop withholding the buttons that were not declared."""
        self.labels = tuple(label for label in self.labels if label not in labels or label in self.declared)
        self.pressed -= frozenset(labels) - frozenset(self.declared)

    def ended(self, guide: AnyGuide) -> bool:
        """Return whether a button was pressed and the program is in a final state, so that only the answer is left."""
        return bool(self.pressed) and guide.here in guide.after


async def shows_as_text(gesture: Gesture, before: Frame, after: Frame, reader: TextReader | None) -> bool:
    """Return whether a written text shows where the screen changed: then its keys were text and pressed no button.

    Only a text of at least three letters or digits counts, written to the control that had the keyboard, without Enter,
    Tab or a blank at its end. The text must not have shown there before.
    """
    if reader is None or not isinstance(gesture, Write) or gesture.at is not None:
        return False
    box = changed_box(before, after) if before.size == after.size else None
    if box is None or not is_wordy(gesture) or presses(gesture) == "may":
        return False
    try:
        earlier, now = await reader(before, box), await reader(after, box)
    except Exception:
        return False
    return _agrees(gesture.text, now) and not _agrees(gesture.text, earlier)


def _agrees(text: str, read: str) -> bool:
    """Return whether OCR has read a text, apart from a few characters."""
    wanted, found = ("".join(filter(str.isalnum, one)).casefold() for one in (text, read))
    runs = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    return sum(run.size for run in runs if run.size >= SHORTEST_RUN) >= AGREES * len(wanted)


async def _keyed(gesture: Gesture, scene: Scene) -> FocusedButton:
    """Return the button that a key presses, according to the programs.

    Returns an empty `FocusedButton` if they cannot be asked.
    """
    try:
        return await scene.focused_button(gesture)
    except Exception:  # the text on the screen decides alone
        return FocusedButton()


async def _called(at: Point, scene: Scene) -> tuple[str, ...]:
    try:
        return await scene.called(at)
    except Exception:
        return ()


def named(labels: Set[str]) -> str:
    """Return the labels for a sentence, joined with "or"."""
    return " or ".join(f"‘{label}’" for label in sorted(labels))


def _is_said(label: str, words: str) -> bool:
    """Return whether words contain a label, and not only as a part of a longer word such as *OK* in *Book*."""
    pieces = (re.escape(" ".join(piece.split())) for piece in label.casefold().split("*"))
    said = rf"(?<!{LETTER}){'.*'.join(pieces)}(?!{LETTER})"
    return re.search(said, " ".join(words.casefold().split())) is not None


def _is_blank(write: Write) -> bool:
    """Return whether hardly anything but blanks is written, to the focused control."""
    return write.at is None and len(write.text.strip()) <= 1


def _leading(text: str) -> int:
    """Return the number of blanks and line ends at the beginning of a text."""
    return len(text) - len(text.lstrip("".join(_BLANKS)))


def _aims(gesture: Gesture) -> tuple[Point, ...]:
    """Return the points where a mouse button goes down or up, in order."""
    match gesture:
        case Drag(start, end):
            return start, end
        case Click(at=at) | Write(at=Point() as at):
            return (at,)
        case _:
            return ()


def _spaces_behind_tab(gesture: Gesture) -> bool:
    """Return whether a space is pressed right after a tab has moved the focus."""
    match gesture:
        case Write(text):
            return "\t " in text
        case HoldAndTap(tap=tap):
            keys = [keysym(key) for key in tap]
            return any(before == TAB and key == SPACE for before, key in pairwise(keys))
        case _:
            return False


def _escapes(gesture: Gesture) -> bool:
    return isinstance(gesture, Hotkey) and {keysym(key) for key in gesture.keys} == {ESC}


def _enters(gesture: Gesture) -> bool:
    match gesture:
        case Write(text, press_enter=enter):
            return enter or not LINE_ENDS.isdisjoint(text)
        case Hotkey(keys):
            return any(keysym(key) == RETURN for key in keys)
        case HoldAndTap(tap=tap):
            return any(keysym(key) == RETURN for key in tap)
        case _:
            return False

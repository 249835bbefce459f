"""Remember the newest presses of a sub-goal, and the changes on the screen after each.

`MadePresses` is used by `repeated_press`. All frames here are redacted: a change under a mask must not be revealed, so
it must not influence an action either.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.chords import chords_in
from holo_tasks.core.input.gestures import Click, Gesture, HoldAndTap, Hotkey, Move, Pause, Scroll, Write
from holo_tasks.core.input.keynames import MODIFIERS, RETURN, SHIFT, keysym
from holo_tasks.core.input.pressing import LINE_ENDS, focus_after
from holo_tasks.core.screen.activity import UNKNOWN, Activity
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.screen.visible_change import Tile, around, effect_tiles, is_large

NEAR = 8
"""Two presses at most this far apart, in pixels, are on the same control."""
MOST_KEPT = 3
"""Number of remembered presses. Each keeps a frame."""
MOST_EFFECTS = 64
"""Number of remembered places where effects have shown."""
MOST_LOOKS = 2
"""Number of later frames that are kept for a press until they are compared."""
SPACE, ALT = keysym("space"), MODIFIERS["alt"]


@dataclass(frozen=True)
class Press:
    """A gesture that presses a control, reduced to the fields that make two presses the same.

    ``kind`` names the mouse button or the keys. ``at`` is the point of a click; ``None`` for keys. ``count`` is 2 for a
    double click. ``focus`` is the place that keys go to: the point of the last click, or a number that is new each time
    that keys may have moved the focus. ``written`` is the point that text was written at before the key. ``text`` is
    the written text's hash; ``None`` without text.
    """

    kind: str
    at: Point | None = None
    count: int = 1
    focus: Point | int | None = None
    written: Point | None = None
    text: int | None = None


@dataclass
class MadePress:
    """A press that was made: the screen before it, and all changes since.

    ``since_s`` is when the newest of the repeated presses was made or refused, in seconds. ``tiles`` are the places
    that looked different from ``before`` at any look since. ``times`` counts the presses on the unchanged screen.
    ``told`` is whether the decider was already told that the press is not repeated.
    """

    press: Press
    before: Frame
    since_s: float
    called: str = ""
    activity: Activity = UNKNOWN
    tiles: set[Tile] = field(default_factory=set)
    looks: list[Frame] = field(default_factory=list, repr=False)
    """Looks that were not compared yet. Most presses are never repeated, so most looks need no comparison."""
    times: int = 1
    told: bool = False

    @property
    def had_no_effect(self) -> bool:
        """Whether the desktop is certain that none of the presses had an effect."""
        return self.activity.had_no_effect and not self.activity.waiting_for

    @property
    def is_at_risk(self) -> bool:
        """Whether a change on the screen may be only part of the press's effect."""
        activity = self.activity
        return not activity.known or activity.sent or bool(activity.waiting_for)

    def follow(self, activity: Activity) -> None:
        """Add the signs of work that a new frame reports about this press."""
        if activity.known:
            known = self.activity
            self.activity = replace(
                activity,
                sent=activity.sent or known.sent,
                computed=activity.computed or known.computed,
                repainted=activity.repainted or known.repainted,
            )

    def reason(self) -> str:
        """Return why the press is not repeated, as one sentence."""
        if self.had_no_effect:
            return f"{self.called} does nothing: it was pressed {self.times} times without an effect."
        activity, twice = self.activity, "pressing it again might submit it twice"
        if activity.waiting_for:
            did = f"the program is still waiting for {activity.waiting_for}"
        elif activity.sent:
            did = "the program sent something"
        elif activity.known:
            did, twice = "the program worked on it", "pressing it again might do it twice"
        else:
            did, twice = "it is unknown whether the program works on it", "pressing it again might do it twice"
        return f"{self.called} was pressed before, {did}, and the screen has not changed: {twice}."


@dataclass
class MadePresses:
    """The newest presses of a sub-goal, over all layers, whose effect has not shown yet."""

    made: list[MadePress] = field(default_factory=list)
    restless: set[Tile] = field(default_factory=set)
    """Places that changed by themselves at least twice."""
    _focus: Point | int = 0
    _moved_focus: int = 0
    newest: MadePress | None = None
    """The press that was the last gesture. The activity of the next frames belongs to it."""
    again: MadePress | None = None
    """The press that may be repeated once."""
    effects: deque[tuple[Press, set[Tile]]] = field(default_factory=lambda: deque(maxlen=MOST_EFFECTS))
    """Places where the effects of presses have shown. The guard does not wait there again."""
    after_text: int = 0
    """Number of presses and key combinations since the first text of the sub-goal. They may have stored it."""
    _has_text: bool = False

    def press_of(self, gesture: Gesture | None) -> Press | None:
        """Return the press that a gesture makes; ``None`` if this guard does not apply to the gesture."""
        match gesture:
            case Click(at, button, count) if button != "right":
                return Press(f"{button} click", at, count)
            case Write(text, press_enter=enter, at=at) if enter or not LINE_ENDS.isdisjoint(text):
                focus = at or self._focus
                written = focus if text.strip() and isinstance(focus, Point) else None
                return Press("Enter", focus=focus, written=written, text=hash(text) if text.strip() else None)
            case Write(text, at=None) if text.isspace() and "\t" not in text:
                return Press("Space", focus=self._focus)
            case Hotkey() | HoldAndTap():
                kind = _key_kind(gesture)
                return Press(kind, focus=self._focus) if kind else None
            case _:
                return None

    def like(self, press: Press) -> list[MadePress]:
        """Return the remembered presses that may equal another one, the newest first."""
        return [made for made in reversed(self.made) if may_be_same(made.press, press)]

    def shows_effect(self, made: MadePress, frame: Frame) -> bool | None:
        """Return whether the screen has shown an effect of a press; ``None`` if a change may have another cause."""
        rest = self.changed_in(made)
        if not rest:
            return False
        known = [tiles for press, tiles in self.effects if may_be_same(press, made.press)]
        if not made.is_at_risk or is_large(rest, frame) or any(not tiles.isdisjoint(rest) for tiles in known):
            return True
        return None

    def forget_all(self) -> None:
        """Drop all presses, because a person has had the screen."""
        self.made = []

    def forget(self, made: MadePress) -> None:
        """Drop a press whose effect shows, and all presses before it."""
        self.made = self.made[self.made.index(made) + 1 :] if made in self.made else self.made

    def record(self, gesture: Gesture, frame: Frame, now_s: float) -> None:
        """Remember a gesture that was made, and the screen before it."""
        press, again = self.press_of(gesture), self.again
        self._focus, self.again, self.newest = self._focus_after(gesture), None, None
        self._has_text = self._has_text or (isinstance(gesture, Write) and bool(gesture.text.strip()))
        self.after_text += self._has_text and (press is not None or isinstance(gesture, Hotkey | HoldAndTap))
        if press is None:
            return
        if again not in self.made:
            again = next((made for made in self.like(press) if is_same_place(made.press, press)), None)
        if again is None:
            again = MadePress(press, frame, now_s, name_of(press))
        else:
            self.made.remove(again)
            again.times, again.since_s, again.activity = again.times + 1, now_s, UNKNOWN
        self.made = [*self.made, again][-MOST_KEPT:]
        self.newest = again

    def looked(self, frame: Frame) -> None:
        """Take in a new look at the screen. Presses from before a person had the screen are dropped."""
        self.made = [made for made in self.made if made.before.holds == frame.holds]
        if self.newest is not None:
            self.newest.follow(frame.activity)
        for made in list(self.made):
            if made.looks and made.looks[-1].rgb == frame.rgb:
                continue
            made.looks.append(frame)
            if len(made.looks) > MOST_LOOKS:
                self._compare_oldest(made)

    def _compare_oldest(self, made: MadePress) -> None:
        """Remove the oldest look. It is compared only if no change was found before."""
        oldest = made.looks.pop(0)
        if made.tiles:
            return
        made.tiles |= self.tiles_of(made, oldest)
        if made.tiles and (not made.is_at_risk or is_large(made.tiles, oldest)):
            self.forget(made)

    def changed_in(self, made: MadePress) -> set[Tile]:
        """Return the places that changed since a press, without those that change by themselves."""
        for look in made.looks:
            made.tiles |= self.tiles_of(made, look)
        made.looks.clear()
        return made.tiles - around(self.restless)

    def tiles_of(self, made: MadePress, frame: Frame) -> frozenset[Tile]:
        """Return the places in which a frame shows an effect since a press."""
        pressed = [each.press.at for each in self.made if each.press.at is not None]
        return effect_tiles(made.before, frame, pressed, made.press.written)

    def _focus_after(self, gesture: Gesture) -> Point | int:
        """Return the place that keys go to after a gesture."""
        match gesture:
            case Click(at, "left") | Write(at=Point() as at):
                return at
            case Move() | Pause() | Scroll():
                return self._focus
            case Write(text) if "\t" not in text:
                return self._focus
            case Hotkey() | HoldAndTap() if _key_kind(gesture) or focus_after(gesture, Point(0, 0)) is not None:
                return self._focus
            case _:
                self._moved_focus += 1
                return self._moved_focus


def may_be_same(one: Press, other: Press) -> bool:
    """Return whether two presses may be on the same control. For clicks that are apart, `same_control` decides."""
    if one.kind != other.kind:
        return False
    if one.text is not None and other.text is not None and one.text != other.text:
        return False  # another entry
    if one.at is None or other.at is None:
        return one.focus == other.focus or are_near(one.focus, other.focus)
    return True


def is_same_place(one: Press, other: Press) -> bool:
    """Return whether two presses are certainly on the same control, by their points and their focus alone."""
    if one.at is None or other.at is None:
        return True
    return one.count == other.count and are_near(one.at, other.at)


def are_near(one: Point | int | None, other: Point | int | None) -> bool:
    if not (isinstance(one, Point) and isinstance(other, Point)):
        return False
    return abs(one.x - other.x) <= NEAR and abs(one.y - other.y) <= NEAR


def _key_kind(gesture: Gesture) -> str:
    """Return the name of a key press that presses a button or submits a form. Returns an empty string for other keys.

    These are Enter and Space, also with modifiers, and Alt with a letter or digit.
    """
    modifiers = frozenset(MODIFIERS.values()) | {SHIFT}
    try:
        chords = list(chords_in(gesture))
    except InvalidUsage:  # unknown key name: sending the input raises the error
        return ""
    for chord in chords:
        main = chord.keys - modifiers
        held = sorted(chord.keys & modifiers)
        if RETURN in main:
            return f"Enter{held}" if held else "Enter"
        if SPACE in main:
            return f"Space{held}" if held else "Space"
        if ALT in chord.keys and any(chr(key).isalnum() for key in main if key < 0x100):
            return chord.written
    return ""


def name_of(press: Press) -> str:
    if press.at is not None:
        return "This place"
    return press.kind.partition("[")[0]

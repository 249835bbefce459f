"""Combine a person's mouse and keyboard input into gestures: clicks, typed words, key chords."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from unicodedata import normalize

from holo_tasks.core.input.gestures import Button, Click, Direction, Drag, Gesture, Hotkey, Scroll, Write
from holo_tasks.core.input.keynames import CAPS_LOCK, MODIFIERS, NAMED, RETURN
from holo_tasks.core.input.remote_input import ByHand, Key, Pointing
from holo_tasks.core.screen.geometry import Point

DOUBLE_S, STILL_PX = 0.5, 8
"""Longest time in seconds between the presses of a double click, and largest movement in pixels that is not a drag."""
COMMAND_S = 0.7
"""Seconds without input after a lone character, after which it may be a command to the program and not a text."""
BUTTONS: dict[int, Button] = {0: "left", 1: "middle", 2: "right"}
WHEEL: dict[int, Direction] = {3: "up", 4: "down", 5: "left", 6: "right"}
BACKSPACE = NAMED["backspace"]
MOST_TIMES = 50
"""Most repetitions of a chord in one gesture."""
EURO = 0x20AC
_ALPHABETS = {1: "iso8859_2", 2: "iso8859_3", 3: "iso8859_4", 5: "iso8859_6", 6: "koi8_u", 7: "iso8859_7"}
_ALPHABETS |= {0xC: "iso8859_8", 0xD: "tis_620", 0x13: "iso8859_15"}
"""Character sets from which X11 took keysyms before Unicode (X11 protocol, appendix A)."""
_NAMES = {keysym: name for name, keysym in NAMED.items()}
_MODIFIER_NAMES = {0xFFE1: "shift", 0xFFE2: "shift", 0xFFE3: "ctrl", 0xFFE4: "ctrl", 0xFFE9: "alt", 0xFFEA: "alt"}
_MODIFIER_NAMES |= {0xFFE7: "alt", 0xFFE8: "alt", 0xFFEB: "super", 0xFFEC: "super", 0xFE03: "altgr", 0xFF7E: "altgr"}
_MODIFIER_KEYSYMS = _MODIFIER_NAMES.keys() | MODIFIERS.values()
_LOCKS = frozenset((CAPS_LOCK, NAMED["numlock"], NAMED["scrolllock"], 0xFFE6))
"""Lock keys. The keysyms that arrive already include their effect."""
_LAYOUTS = frozenset(range(0xFE06, 0xFE10))
"""Keys that change the keyboard layout. The keysyms that arrive already include their effect."""
_ELSEWHERE = frozenset((0, 0xFFFFFF, *range(0x1008FF02, 0x1008FF08), *range(0x1008FF10, 0x1008FF18)))
_ELSEWHERE |= {0x1008FF21, 0x1008FF2A, 0x1008FF2D, 0x1008FF2F, 0x1008FF31, 0x1008FF3E, 0x1008FF93, 0x1008FF94}
_ELSEWHERE |= {0x1008FF95, 0x1008FF96, 0x1008FF97, 0x1008FF98, 0x1008FF99, 0x1008FFA7, 0x1008FFA8, 0x1008FFA9}
_ELSEWHERE |= {0x1008FFB0, 0x1008FFB1, 0x1008FFB2, 0x1008FFB4, 0x1008FFB5}
"""Keys for the machine and not for a program: volume, brightness, players, radios, power. Also meaningless keys."""
_PASSED_OVER = _LOCKS | _LAYOUTS | _ELSEWHERE
_ACCENTS = dict(zip(range(0xFE50, 0xFE5E), (0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x30A, 0x30B,
                                            0x30C, 0x327, 0x328, 0x345), strict=True))  # fmt: skip
"""Keys that set an accent on the next letter (dead keys), and the accents, in Unicode."""
_ALONE = {0xFE50: "`", 0xFE51: "'", 0xFE52: "^", 0xFE53: "~", 0xFE57: '"'}
"""The character that a dead key types together with the space bar."""
_SAME_AS = {0xFF8D: RETURN, 0xFF89: 0xFF09, 0xFF80: 0x20}
_SAME_AS |= dict(
    zip(range(0xFF95, 0xFF9D), (0xFF50, 0xFF51, 0xFF52, 0xFF53, 0xFF54, 0xFF55, 0xFF56, 0xFF57), strict=True)
)
_SAME_AS |= {0xFF9E: 0xFF63, 0xFF9F: 0xFFFF, 0xFE20: 0xFF09}
_SAME_AS |= {symbol: symbol - 0xFF80 for symbol in (*range(0xFFAA, 0xFFBA), 0xFFBD)}
"""Keys of the number pad, and Tab with Shift, mapped to the ordinary keys with the same meaning."""


@dataclass(frozen=True)
class MadeGesture:
    """A completed gesture, with the time of its first input and of its last press."""

    gesture: Gesture
    began_s: float
    last_s: float


@dataclass
class HandSteps:
    """Collects timestamped input events and returns completed gestures.

    An unfinished gesture, such as a word or the first click of two, is held back until another gesture begins or
    `ended` is called. A lone character with a pause after it is a gesture of its own.
    """

    _pending: MadeGesture | None = None
    _pressed: tuple[Button, Point, float] | None = None
    _at: Point = field(default_factory=lambda: Point(0, 0))
    _buttons: int = 0
    _held: dict[int, str] = field(default_factory=dict)
    _accent: tuple[int, float] | None = None

    def take_input(self, one: ByHand, at_s: float) -> list[MadeGesture]:
        """Process one input event and return the gestures that it completes."""
        match one:
            case Pointing():
                return self._handle_pointer(one, at_s)
            case Key(keysym, down):
                return self._handle_key(_SAME_AS.get(keysym, keysym), at_s, down=down)

    def ended(self) -> list[MadeGesture]:
        """Complete the unfinished gestures and return them."""
        over = self._lone_dead_key()
        pending, self._pending = self._pending, None
        return over if pending is None else [*over, pending]

    def ended_if(self, kind: type[Gesture]) -> list[MadeGesture]:
        """Complete the unfinished gesture if it is of this kind, and return it."""
        return self.ended() if self._pending is not None and isinstance(self._pending.gesture, kind) else []

    @property
    def buttons(self) -> int:
        """Bit mask of the buttons that are down."""
        return self._buttons

    def begins(self, one: ByHand, at_s: float) -> bool:
        """Return whether an input event begins a new gesture, instead of continuing or ending the current one."""
        if isinstance(one, Pointing):
            pressed = one.buttons & ~self._buttons
            if not pressed:
                return False
            return not self._continues(Point(one.x, one.y), pressed, at_s)
        keysym = _SAME_AS.get(one.keysym, one.keysym)
        if not one.down or keysym in _MODIFIER_KEYSYMS or keysym in _PASSED_OVER or self._accent is not None:
            return False
        return (
            self._open_write is None
            or bool(self._command_modifiers)
            or (bool(_character(keysym)) and self._may_be_command(at_s))
            or not (_character(keysym) or keysym == BACKSPACE or keysym in _ACCENTS)
        )

    def _continues(self, at: Point, pressed: int, at_s: float) -> bool:
        """Return whether a press is the second of a double click, or continues to turn the wheel."""
        match self._pending:
            case MadeGesture(Click(at=before, button="left")) as made if pressed == 1:
                return _is_near(before, at) and at_s - made.last_s <= DOUBLE_S
            case MadeGesture(Scroll(at=before, direction=same)):
                return any(pressed == 1 << bit and WHEEL[bit] == same for bit in WHEEL) and _is_near(before, at)
        return False

    @property
    def _open_write(self) -> Write | None:
        made = self._pending
        return made.gesture if made is not None and isinstance(made.gesture, Write) else None

    def _may_be_command(self, at_s: float) -> bool:
        """Return whether the pending text is one character, and the next one came after a pause."""
        made, typed = self._pending, self._open_write
        return made is not None and typed is not None and len(typed.text) == 1 and at_s - made.last_s > COMMAND_S

    @property
    def _command_modifiers(self) -> list[str]:
        """The held modifiers that turn a typed character into a command."""
        return [name for name in dict.fromkeys(self._held.values()) if name not in ("shift", "altgr")]

    def _lone_dead_key(self) -> list[MadeGesture]:
        """Return the gesture of a dead key that no letter followed."""
        if self._accent is None:
            return []
        (accent, began_s), self._accent = self._accent, None
        return self._add_chord((f"key {accent:#x}",), began_s)

    def _begin_gesture(self, gesture: Gesture, at_s: float, last_s: float | None = None) -> list[MadeGesture]:
        over = self.ended()
        self._pending = MadeGesture(gesture, at_s, at_s if last_s is None else last_s)
        return over

    def _continue_gesture(self, gesture: Gesture, at_s: float) -> list[MadeGesture]:
        assert self._pending is not None
        self._pending = replace(self._pending, gesture=gesture, last_s=at_s)
        return []

    def _handle_pointer(self, to: Pointing, at_s: float) -> list[MadeGesture]:
        at, changed, over = Point(to.x, to.y), to.buttons ^ self._buttons, list[MadeGesture]()
        for bit in range(7):
            if not changed & 1 << bit:
                continue
            down = bool(to.buttons & 1 << bit)
            if bit in WHEEL:
                over += self._turn_wheel(WHEEL[bit], at, at_s) if down else []
            elif down:
                over += self._lone_dead_key()
                over += self._end_press(self._at) if self._pressed is not None else []
                self._pressed = BUTTONS[bit], at, at_s
            elif self._pressed is not None and self._pressed[0] == BUTTONS[bit]:
                over += self._end_press(at)
        self._buttons, self._at = to.buttons, at
        return over

    def _end_press(self, at: Point) -> list[MadeGesture]:
        assert self._pressed is not None
        (button, start, at_s), self._pressed = self._pressed, None
        if not _is_near(start, at):
            return self._begin_gesture(Drag(start, at, button), at_s)
        match self._pending:
            case MadeGesture(Click(at=before, button="left", count=count)) as made if (
                button == "left" and _is_near(before, start) and at_s - made.last_s <= DOUBLE_S
            ):
                return self._continue_gesture(Click(before, count=count + 1), at_s)
        return self._begin_gesture(Click(start, button), at_s)

    def _turn_wheel(self, direction: Direction, at: Point, at_s: float) -> list[MadeGesture]:
        match self._pending:
            case MadeGesture(Scroll(at=before, direction=same, notches=notches)) if same == direction and _is_near(
                before, at
            ):
                return self._continue_gesture(Scroll(before, direction, notches + 1), at_s)
        return self._begin_gesture(Scroll(at, direction, 1), at_s)

    def _handle_key(self, keysym: int, at_s: float, *, down: bool) -> list[MadeGesture]:
        if keysym in _MODIFIER_KEYSYMS:
            if down:
                self._held[keysym] = _MODIFIER_NAMES.get(keysym, _NAMES.get(keysym, "shift"))
            else:
                self._held.pop(keysym, None)
            return []
        if not down or keysym in _PASSED_OVER:
            return []
        if self._accent is not None:
            return self._accented(keysym, at_s)
        if keysym in _ACCENTS and not self._command_modifiers:
            self._accent = keysym, at_s
            return []
        return self._plain(keysym, at_s, at_s)

    def _accented(self, keysym: int, at_s: float) -> list[MadeGesture]:
        """Process the key after a dead key."""
        assert self._accent is not None
        accent, began_s = self._accent
        typed = "" if self._command_modifiers else _character(keysym)
        letter = _ALONE.get(accent, "") if typed == " " else normalize("NFC", typed + chr(_ACCENTS[accent]))
        if len(letter) != 1 or not typed:  # programs differ in the resulting text
            return [*self._lone_dead_key(), *self._plain(keysym, at_s, at_s)]
        self._accent = None
        return self._plain(ord(letter) if ord(letter) <= 0xFF else ord(letter) + 0x1000000, began_s, at_s)

    def _plain(self, keysym: int, began_s: float, at_s: float) -> list[MadeGesture]:
        """Process a key that follows no dead key."""
        character, typed = _character(keysym), self._open_write
        if character and not self._command_modifiers:
            if typed is None or self._may_be_command(began_s):
                return self._begin_gesture(Write(character), began_s, at_s)
            return self._continue_gesture(replace(typed, text=typed.text + character), at_s)
        if typed is not None and not self._held:
            if keysym == BACKSPACE:
                if len(typed.text) > 1:
                    return self._continue_gesture(replace(typed, text=typed.text[:-1]), at_s)
                self._pending = None
                return []
            if keysym == RETURN:
                self._continue_gesture(replace(typed, press_enter=True), at_s)
                return self.ended()
        name = _NAMES.get(keysym) or character.lower() or f"key {keysym:#x}"
        return self._add_chord((*dict.fromkeys(self._held.values()), name), at_s)

    def _add_chord(self, keys: tuple[str, ...], at_s: float) -> list[MadeGesture]:
        match self._pending:
            case MadeGesture(Hotkey(keys=same, repeat=times)) if same == keys and times < MOST_TIMES:
                return self._continue_gesture(Hotkey(keys, times + 1), at_s)
        return self._begin_gesture(Hotkey(keys), at_s)


def _is_near(one: Point, other: Point) -> bool:
    return abs(one.x - other.x) <= STILL_PX and abs(one.y - other.y) <= STILL_PX


def _character(keysym: int) -> str:
    """Return the character that a key types; empty if it types none or an unknown one."""
    if 0x20 <= keysym <= 0x7E or 0xA0 <= keysym <= 0xFF:
        return chr(keysym)
    if 0x1000100 <= keysym <= 0x110FFFF:
        return chr(keysym - 0x1000000)
    if keysym == EURO:
        return "€"
    if keysym >> 8 not in _ALPHABETS:
        return ""
    letter = bytes([keysym & 0xFF]).decode(_ALPHABETS[keysym >> 8], errors="ignore")
    return letter if letter.isalpha() else ""

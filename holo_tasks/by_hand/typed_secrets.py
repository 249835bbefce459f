"""Find the secrets among the texts that a person typed, and mask the pixels that were drawn meanwhile.

A text counts as secret if the screen does not show it, or if the accessibility tree marks its field as protected.
`secrets_in` finds them, `TypedSecretRedactor` masks them, and the recording command uses both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from PIL import Image, ImageChops

from holo_tasks.by_hand.step_collector import HandStep, RecordedScreen
from holo_tasks.compiler.parameters import name_of
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.elements.elements import Element
from holo_tasks.core.input.gestures import Click, Hotkey, Write
from holo_tasks.core.input.pressed_elements import hit_by
from holo_tasks.core.screen.frame import Frame, Mask
from holo_tasks.core.screen.geometry import Box, Point
from holo_tasks.core.screen.verdicts import changed_box
from holo_tasks.core.secrets.mask_signs import hides
from holo_tasks.core.secrets.secret import Secret, placeholder
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Line, Sight, matches, plain

SHORTEST = 3
"""Shorter texts, in characters, are not secrets: such keys are commands, for example a letter that selects a list
entry.
"""
PIECE = 4
"""If a text is longer than its field, this many visible characters in a row show that it is not hidden."""
STILL_THERE = 0.8
"""Smallest share of a secret's drawn pixels that must be unchanged for the secret to count as still visible."""
EDITING = frozenset({"ctrl", "shift", "a", "home", "end", "left", "right", "backspace", "delete"})
"""Keys that do not move the keyboard focus out of the pressed field."""
TABULAR = frozenset({"table", "tree table", "row", "cell"})
JOINT = 4
"""Cells of a table are at most this far apart, in pixels. Fields of a form are farther apart."""
ROW = 24
"""Height in pixels above and below the pressed point that is searched if the field's box is unknown."""
KIND = "typed"


@dataclass(frozen=True)
class TypedPixels:
    """The pixels that changed while a secret was typed.

    They are masked because they reveal at least the secret's length.
    """

    box: Box
    drawn: Image.Image
    after: Image.Image

    def shows(self, frame: Frame) -> bool:
        """Return whether at least 80 % of these pixels are unchanged on a frame."""
        if not Box(0, 0, frame.size.width, frame.size.height).encloses(self.box):
            return False
        here = _picture(frame).crop(_corners(self.box))
        same = ImageChops.difference(here, self.after).convert("L").point(lambda value: 0 if value else 255)
        left = ImageChops.multiply(same, self.drawn)
        return _count(left) >= STILL_THERE * _count(self.drawn)


@dataclass(frozen=True)
class TypedSecret:
    """A secret that was typed in a step. ``sure`` is true if the program itself marks the field as a password."""

    step: int
    secret: Secret
    sure: bool
    ink: TypedPixels | None


def secrets_in(
    steps: Sequence[HandStep], last: RecordedScreen, reader: Reader, told: Collection[str] = ()
) -> list[TypedSecret]:
    """Return the secrets that were typed in the steps, in order.

    A text is not secret if it is shorter than three characters, is visible where it was typed, or is in ``told``. A
    text that OCR cannot find counts as secret. A text in a protected field is always secret.
    """
    found: list[TypedSecret] = []
    pressed: Point | None = None
    for place, step in enumerate(steps):
        if isinstance(step.gesture, Click):
            pressed = step.gesture.at
        elif isinstance(step.gesture, Hotkey) and not EDITING.issuperset(step.gesture.keys):
            pressed = None  # another field may have the focus now
        if not isinstance(step.gesture, Write):
            continue
        after = step.typed or (steps[place + 1].before if place + 1 < len(steps) else last)
        text, old, new = step.gesture.text, step.before.whole(), after.whole()
        changed = changed_box(old, new)
        within = pressed or _field_reached_by_keys(text, step, after, reader)
        at = within or (changed.center if changed is not None else None)
        sure = _is_protected(step, after) or _shows_signs(text, at, step, after, reader)
        if sure or not (len(text) < SHORTEST or text in told or _is_read(text, step.before, after, reader)):
            known = next((each.secret for each in found if each.secret.value == text), None)
            name = _name(_label(step, after, at, reader), {each.secret.name for each in found})
            ink = _ink(old, new, _inside(step, after, within, reader))
            found.append(TypedSecret(step.number, known or Secret(name, text), sure, ink))
        pressed = None
    return found


def by_name(steps: Sequence[HandStep], secrets: Sequence[TypedSecret]) -> list[HandStep]:
    """Return the steps with a placeholder in place of each secret."""
    names = {each.step: each.secret.name for each in secrets}
    return [
        replace(step, gesture=replace(step.gesture, text=placeholder(names[step.number])))
        if step.number in names and isinstance(step.gesture, Write)
        else step
        for step in steps
    ]


def into_empty(steps: Sequence[HandStep], reader: Reader) -> list[HandStep]:
    """Return the steps with ``overwrite`` set for texts that were typed into an empty field.

    Such a text can be typed again if it does not show at once. Cells of a table are left unchanged, because typing
    replaces their text anyway.
    """
    found: list[HandStep] = []
    for step in steps:
        before = found[-1].gesture if found else None
        if isinstance(step.gesture, Write) and isinstance(before, Click) and _is_empty(before.at, step, reader):
            step = replace(step, gesture=replace(step.gesture, overwrite=True))
        found.append(step)
    return found


class TypedSecretRedactor:
    """Redactor that masks the pixels of typed secrets while they are visible."""

    def __init__(self, secrets: Sequence[TypedSecret]) -> None:
        self._drawn = [each.ink for each in secrets if each.ink is not None]

    async def masks(self, frame: Frame) -> list[Mask]:
        """Return the masks of the secrets that a frame shows."""
        return [Mask(KIND, ink.box) for ink in self._drawn if ink.shows(frame)]


def read(shown: RecordedScreen, reader: Reader) -> Sight:
    """Return the OCR result of a screen."""
    return reader.read(_picture(shown.whole())).sight


def _is_empty(at: Point, step: HandStep, reader: Reader) -> bool:
    """Return whether the point is in an empty field that is not a table cell, before the step."""
    sight, field = read(step.before, reader), _field(at, step, reader)
    if field is None or _is_cell(at, step, reader):
        return False
    inside = [line for line in sight.lines if field.contains(line.box.center)]
    return all(len(plain(line.text)) <= 1 for line in inside)  # a caret may be read as a letter


def _is_cell(at: Point, step: HandStep, reader: Reader) -> bool:
    """Return whether the point is in a table cell.

    The tree decides if it reports a cell or a field there. Otherwise the point's box must have neighbors of the same
    size at its side and below.
    """
    element = step.before.tree.at(at)
    if element is not None and (element.role in TABULAR or "editable" in element.states):
        return element.role in TABULAR
    fields = _fields(step, reader)
    here = _field(at, step, reader)
    return (
        here is not None and _has_neighbor(here, fields) and _has_neighbor(_transposed(here), map(_transposed, fields))
    )


def _has_neighbor(box: Box, others: Iterable[Box]) -> bool:
    """Return whether another box of the same height is adjacent on the left or right."""
    return any(
        max(abs(other.top - box.top), abs(other.height - box.height)) <= JOINT
        and min(abs(other.left - box.right), abs(box.left - other.right)) <= JOINT
        for other in others
    )


def _transposed(box: Box) -> Box:
    return Box(box.top, box.left, box.height, box.width)


def _field(at: Point, step: HandStep, reader: Reader) -> Box | None:
    return next((box for box in _fields(step, reader) if box.contains(at)), None)


def _fields(step: HandStep, reader: Reader) -> list[Box]:
    """Return the boxes that look like fields before a step, the smallest first, because fields may contain others."""
    sight = read(step.before, reader)
    return sorted((*sight.fields, *sight.colored_fields), key=lambda box: box.area)


def _field_reached_by_keys(text: str, step: HandStep, after: RecordedScreen, reader: Reader) -> Point | None:
    """Return the center of a field that was reached by keys, or ``None``.

    Only a field that shows one sign for each character is found. The changed area alone does not identify the field: a
    button under the pointer may have changed too.
    """
    return next((box.center for box in _fields(step, reader) if _hides(box, text, step, after)), None)


def _focused(step: HandStep, after: RecordedScreen) -> Iterator[Element]:
    for shown in (step.before, after):
        if (element := hit_by(shown.tree, step.gesture)) is not None:
            yield element


def _is_protected(step: HandStep, after: RecordedScreen) -> bool:
    return any(element.protected for element in _focused(step, after))


def _shows_signs(text: str, at: Point | None, step: HandStep, after: RecordedScreen, reader: Reader) -> bool:
    """Return whether the field at a point shows the same sign for each character of the text."""
    field = _field(at, step, reader) if at is not None else None
    return field is not None and _hides(field, text, step, after)


def _hides(field: Box, text: str, step: HandStep, after: RecordedScreen) -> bool:
    if step.before.size != after.size:
        return False
    old, new = (_picture(shown.whole()).crop(_corners(field)) for shown in (step.before, after))
    return hides(text, old, new)


def _is_read(text: str, before: RecordedScreen, after: RecordedScreen, reader: Reader) -> bool:
    """Return whether OCR finds a text after the typing, in a place that looked different before it."""
    old, new = before.whole(), after.whole()
    lines = [line for line in read(after, reader).lines if _holds(line, text)]
    return any(_crop(old, line.box) != _crop(new, line.box) for line in lines)


def _holds(line: Line, text: str) -> bool:
    typed, there = plain(text), plain(line.text)
    return typed in there or matches(text, line.text) or (len(there) >= PIECE and there in typed)


def _label(step: HandStep, after: RecordedScreen, at: Point | None, reader: Reader) -> str:
    named = next((element.name for element in _focused(step, after) if element.name), "")
    target = target_at(at, read(step.before, reader), {}) if at is not None and not named else None
    return named or (target.field or "" if target is not None else "")


def _name(label: str, taken: Collection[str]) -> str:
    name = name_of(label) or "secret"
    return next(each for each in (name, *(f"{name}_{n}" for n in range(2, 1000))) if each not in taken)


def _inside(step: HandStep, after: RecordedScreen, at: Point | None, reader: Reader) -> Box:
    """Return the box of the field that was typed into. Changes elsewhere may have other causes.

    Without a known field, returns the row around the pressed point, or the whole screen without a point.
    """
    told = next((element.box for element in _focused(step, after) if element.protected and element.box.area), None)
    field = told or (_field(at, step, reader) if at is not None else None)
    across = Box(0, 0 if at is None else at.y - ROW, after.size.width, after.size.height if at is None else 2 * ROW)
    return field or across


def _ink(before: Frame, after: Frame, inside: Box) -> TypedPixels | None:
    changed = changed_box(before, after)
    if changed is None or before.size != after.size:
        return None
    box = changed.intersection(inside)
    if box is None:
        return None
    old, new = (_picture(frame).crop(_corners(box)) for frame in (before, after))
    drawn = ImageChops.difference(old, new).convert("L").point(lambda value: 255 if value else 0)
    return TypedPixels(box, drawn, new)


def _picture(frame: Frame) -> Image.Image:
    return Image.frombuffer("RGB", (frame.size.width, frame.size.height), frame.rgb, "raw", "RGB", 0, 1)


def _crop(frame: Frame, box: Box) -> bytes:
    return _picture(frame).crop(_corners(box)).tobytes()


def _corners(box: Box) -> tuple[int, int, int, int]:
    return box.left, box.top, box.right, box.bottom


def _count(mask: Image.Image) -> int:
    return sum(mask.histogram()[128:])

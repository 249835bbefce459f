"""At most one press per unchanged screen, for every agent.

A program that waits for its server shows nothing of a press at first. An agent that believes its picture presses again,
and a form is sent twice. So a press that was made before, on a screen that shows no effect of it, is put off until a
patient person would have looked again. If the screen still shows no effect, the press is refused: first with a sentence
to whoever decides, then, if they insist, as a press whose effect nobody knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from holo_tasks.core.frame import Frame
from holo_tasks.core.gestures import Gesture
from holo_tasks.core.permit import ReadsTargets, Scene
from holo_tasks.core.pressed_elements import BUTTONS, PRESSED, pressed_at
from holo_tasks.core.visible_change import Tile, around, moving_tiles
from holo_tasks.loop.click_retry import may_repeat
from holo_tasks.loop.instructions import Ask, Course, GiveUp, Glance, Look, LookForEffect, Now, Wait
from holo_tasks.loop.made_presses import Made, MadePresses, Press, is_same_place, name_of

PATIENT_S = 2.5
"""A patient person looks again this long after a press before they press again."""
WATCH_S, PIECE_S = 1.2, 0.3
"""A place whose change may be no effect is watched this long, with this long between two looks."""
SAME_ROW, SAME_CONTROL = 12, 60
"""Two points no further apart than this, down and across, are on one control if the same text is read on it."""
WIDE, TALL = 400, 60
"""Two points further apart than this are not on one control."""
MOST_CALLED = 80
FIELDS = frozenset({"text field", "password field", "spin button", "terminal", "paragraph"})
"""Roles of elements that a click gives the keyboard to, and does nothing else with."""


@dataclass(frozen=True)
class Withheld:
    """Why a press was not made, in sentences for whoever decides; ``changed``: the screen is another by now."""

    why: str
    changed: bool = False


async def repeated(presses: MadePresses, gesture: Gesture | None, frame: Frame, scene: Scene) -> Made | None:
    """Return the remembered press that a gesture repeats on a redacted screen that need not show its effect, if any.

    Programs are asked for their elements, and the screen is read, only if nothing on it has changed.
    """
    press = presses.press_of(gesture)
    for made in [] if press is None else presses.like(press):
        assert press is not None
        near = is_same_place(made.press, press)
        if not near and _are_apart(made.press, press):
            continue
        shows = presses.shows_effect(made, frame)
        if shows:
            presses.forget(made)
        elif near or (shows is False and await same_control(made.press, press, frame, scene)):
            return made
    return None


def check(
    presses: MadePresses,
    made: Made,
    frame: Frame,
    *,
    is_harmless: Callable[[], Awaitable[bool]],
    not_done: Callable[[], Awaitable[bool]],
) -> Course[Withheld | None]:
    """Return why a press is not made again; ``None`` if it may be made. Waits and looks again first.

    ``frame`` is the screen that the second press was decided on. ``is_harmless`` says whether the press may be made
    whatever the screen shows. ``not_done`` looks for the effect of the sub-goal. Gives up if the agent insists and
    nobody knows the effect of the first press.
    """
    shows = presses.shows_effect(made, frame)
    unsure = shows is None
    if shows:
        presses.forget(made)
        return None
    if not unsure and (yield Ask(is_harmless)):
        return None
    came = yield from _wait(presses, made, frame, watch=unsure)
    if came == "effect":
        presses.forget(made)
        return None
    if came == "changed":
        presses.forget(made)
        return Withheld(f"{made.called} was not pressed again: the screen has changed meanwhile.", changed=True)
    if unsure and (yield Ask(is_harmless)):
        return None
    if made.had_no_effect and made.times == 1:
        presses.again = made
        return None
    if not made.told:
        made.told = True
        yield Look()
        made.since_s = yield Now()  # who insists at once waits once more
        otherwise = "Do something else, such as to wait, to scroll or to answer."
        return Withheld(f"{made.reason()} It was not pressed again. {otherwise}")
    if not (yield LookForEffect(not_done)):
        yield GiveUp(f"{made.reason()} It was not pressed again, and nobody knows the effect of the first press.")
    presses.forget(made)
    yield Look()
    return Withheld(f"{made.called} was pressed before and had no effect: that was looked up. Begin again.")


def _wait(presses: MadePresses, made: Made, frame: Frame, *, watch: bool) -> Course[str]:
    """Wait as a patient person would, and look again; return "effect", "changed" or "same".

    "effect" is a change that was there before and stays, "changed" one that has come meanwhile. What changes by
    itself again and again is neither. The number of looks is bounded, however the clock goes. The time between
    ``frame`` and the first look counts as watched; where the desktop knows of no activity, that has to be enough.
    """
    rest = presses.changed_in(made)
    began: float = yield Now()
    watched = WATCH_S if made.activity.known else 0.0
    until = watched if watch else made.since_s + PATIENT_S - began
    moves, last, spent, looks_at_once = Counter[Tile](), frame, 0.0, watch
    while True:
        if until > spent and not looks_at_once:
            yield Wait(piece := min(PIECE_S, until - spent))
            spent = max(spent + piece, (yield Now()) - began)
        looks_at_once = False
        glance: Frame = yield Glance(redacted=True)
        moves.update(moving_tiles(last, glance))
        last = glance
        if made is presses.newest:
            made.follow(glance.activity)
        seen_for = max(spent, (glance.taken_at_ns - frame.taken_at_ns) / 1e9)
        if watch and seen_for >= watched and (still := rest - around(moves)):
            presses.effects.append((made.press, set(still)))
            return "effect"
        if moves:
            until = max(until, PATIENT_S)  # long enough to see whether it changes again
        if spent >= until:
            break
    presses.restless |= {tile for tile, times in moves.items() if times > 1}
    return "changed" if presses.tiles_of(made, last) - around(presses.restless) else "same"


async def is_harmless(presses: MadePresses, gesture: Gesture, scene: Scene, safe: Sequence[str]) -> bool:
    """Say whether a press may be made again whatever the screen shows.

    That is so if it only moves the caret of a text field, or if what it presses has one of the labels ``safe``, which
    were declared safe to press again. What cannot be read is not harmless.
    """
    press = presses.press_of(gesture)
    try:
        return press is not None and (await only_focuses(press, scene) or await _is_safe(gesture, scene, safe))
    except Exception:
        return False


async def same_control(one: Press, other: Press, frame: Frame, scene: Scene) -> bool:
    """Say whether two clicks are on one control: as its program tells or, where it tells nothing, as it is read there.

    A click and a double click are the same press of a button only; anything else may be selected by the first.
    """
    if is_same_place(one, other):
        return True
    if one.at is None or other.at is None or _are_apart(one, other):
        return False
    if scene.elements is not None:
        tree = await scene.elements()
        first, second = pressed_at(tree, one.at), pressed_at(tree, other.at)
        if first is not None and second is not None:
            roles = BUTTONS if one.count != other.count else PRESSED
            return first.id == second.id and first.role in roles
    if one.count != other.count or abs(one.at.y - other.at.y) > SAME_ROW:
        return False
    if abs(one.at.x - other.at.x) > SAME_CONTROL or not isinstance(scene.reader, ReadsTargets):
        return False
    texts = [" ".join((await scene.reader.on_target(frame, at)).split()) for at in (one.at, other.at)]
    return bool(texts[0]) and texts[0] == texts[1]


def _are_apart(one: Press, other: Press) -> bool:
    """Say whether two clicks are too far apart to be on one control."""
    if one.at is None or other.at is None:
        return False
    return abs(one.at.x - other.at.x) > WIDE or abs(one.at.y - other.at.y) > TALL


async def only_focuses(press: Press, scene: Scene) -> bool:
    """Say whether a press goes into a text field, where a click moves the caret and a space is text."""
    if press.kind == "Enter" or (press.at is None and press.kind != "Space"):
        return False
    if press.at is not None and scene.elements is not None:
        found = pressed_at(await scene.elements(), press.at)
        if found is not None and (found.role in FIELDS or "editable" in found.states):
            return True
    return await scene.in_field(press.at)


async def _is_safe(gesture: Gesture, scene: Scene, labels: Sequence[str]) -> bool:
    """Say whether what a gesture presses was declared safe to press again: ``*`` declares everything so."""
    return "*" in labels or await may_repeat(gesture, scene.frame, scene.frame, labels, scene.reader)


def named_press(press: Press, described: str) -> str:
    """Return what a press is called in a sentence: as the agent described it or, if it did not, by its key."""
    described = " ".join(described.split())[:MOST_CALLED]
    return f"‘{described}’" if press.at is not None and described else name_of(press)

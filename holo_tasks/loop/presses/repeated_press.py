"""Allow at most one press per unchanged screen, for every agent.

A program that waits for its server shows no effect of a press at first. An agent that trusts its picture presses again,
and a form is sent twice. So a repeated press on an unchanged screen is delayed as long as a patient person would wait.
If the screen still shows no effect, the press is refused. The first refusal is a sentence to the decider. If the
decider insists, the outcome of the press counts as unknown.

The loop calls `repeated` to find the earlier press, and `check` to decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from holo_tasks.core.input.gestures import Gesture
from holo_tasks.core.input.permit import ReadsTargets, Scene
from holo_tasks.core.input.pressed_elements import BUTTONS, PRESSED, pressed_at
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.visible_change import Tile, around, moving_tiles
from holo_tasks.loop.instructions import Ask, GetTime, GiveUp, Glance, GuardSteps, Look, LookForEffect, Wait
from holo_tasks.loop.presses.click_retry import may_repeat
from holo_tasks.loop.presses.made_presses import MadePress, MadePresses, Press, is_same_place, name_of

PATIENT_S = 2.5
"""Seconds after a press at which a patient person looks again before another press."""
WATCH_S, PIECE_S = 1.2, 0.3
"""Seconds for which a changed place is watched whose change may have another cause, and seconds between two looks."""
SAME_ROW, SAME_CONTROL = 12, 60
"""Two points within this distance in y and x, in pixels, are on one control if the same text is read at both."""
WIDE, TALL = 400, 60
"""Two points further apart than this in x and y, in pixels, are not on one control."""
MOST_CALLED = 80
FIELDS = frozenset({"text field", "password field", "spin button", "terminal", "paragraph"})
"""Roles of elements in which a click only sets the keyboard focus."""


@dataclass(frozen=True)
class Withheld:
    """The reason why a press was not made, for the decider. ``changed`` is whether the screen has changed."""

    why: str
    changed: bool = False


async def repeated(presses: MadePresses, gesture: Gesture | None, frame: Frame, scene: Scene) -> MadePress | None:
    """Return the earlier press that a gesture repeats on a redacted screen without its effect, or ``None``.

    Elements and texts are read only if nothing on the screen has changed.
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
    made: MadePress,
    frame: Frame,
    *,
    is_harmless: Callable[[], Awaitable[bool]],
    not_done: Callable[[], Awaitable[bool]],
) -> GuardSteps[Withheld | None]:
    """Return why a press is not repeated; ``None`` if it may be made. Waits and looks again first.

    ``frame`` is the screen that the second press was decided on. ``is_harmless`` returns whether the press may be made
    whatever the screen shows. ``not_done`` looks for the effect of the sub-goal. Gives up if the agent insists and the
    effect of the first press is unknown.
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
        return Withheld(f"{made.called} was not pressed again: the screen has changed since.", changed=True)
    if unsure and (yield Ask(is_harmless)):
        return None
    if made.had_no_effect and made.times == 1:
        presses.again = made
        return None
    if not made.told:
        made.told = True
        yield Look()
        made.since_s = yield GetTime()  # another attempt at once waits again
        otherwise = "Do something else, such as wait, scroll or answer."
        return Withheld(f"{made.reason()} It was not pressed again. {otherwise}")
    if not (yield LookForEffect(not_done)):
        yield GiveUp(f"{made.reason()} It was not pressed again, and the effect of the first press is unknown.")
    presses.forget(made)
    yield Look()
    return Withheld(f"{made.called} was pressed before, and a check shows that it had no effect. Begin again.")


def _wait(presses: MadePresses, made: MadePress, frame: Frame, *, watch: bool) -> GuardSteps[str]:
    """Wait as a patient person would, and look again; return "effect", "changed" or "same".

    "effect" is an earlier change that stays, and "changed" is a change during the wait. A place that changes by itself
    again and again is neither. The number of looks is bounded, however the clock goes. The time between ``frame`` and
    the first look counts as watched. If the desktop reports no activity, that time is enough.
    """
    rest = presses.changed_in(made)
    began: float = yield GetTime()
    watched = WATCH_S if made.activity.known else 0.0
    until = watched if watch else made.since_s + PATIENT_S - began
    moves, last, spent, looks_at_once = Counter[Tile](), frame, 0.0, watch
    while True:
        if until > spent and not looks_at_once:
            yield Wait(piece := min(PIECE_S, until - spent))
            spent = max(spent + piece, (yield GetTime()) - began)
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
    """Return whether a press may be repeated whatever the screen shows.

    This is true if it only moves the caret of a text field, or if its target has one of the ``safe`` labels. A target
    that cannot be read is not harmless.
    """
    press = presses.press_of(gesture)
    try:
        return press is not None and (await only_focuses(press, scene) or await _is_safe(gesture, scene, safe))
    except Exception:
        return False


async def same_control(one: Press, other: Press, frame: Frame, scene: Scene) -> bool:
    """Return whether two clicks are on one control: by its program's tree, otherwise by the text that is read there.

    A click and a double click are the same press only on a button. Elsewhere the first click may only select something.
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
    """Return whether two clicks are too far apart to be on one control."""
    if one.at is None or other.at is None:
        return False
    return abs(one.at.x - other.at.x) > WIDE or abs(one.at.y - other.at.y) > TALL


async def only_focuses(press: Press, scene: Scene) -> bool:
    """Return whether a press goes into a text field, where a click moves the caret and a space is text."""
    if press.kind == "Enter" or (press.at is None and press.kind != "Space"):
        return False
    if press.at is not None and scene.elements is not None:
        found = pressed_at(await scene.elements(), press.at)
        if found is not None and (found.role in FIELDS or "editable" in found.states):
            return True
    return await scene.in_field(press.at)


async def _is_safe(gesture: Gesture, scene: Scene, labels: Sequence[str]) -> bool:
    """Return whether a gesture's target was declared safe to press again. The label ``*`` declares everything safe."""
    return "*" in labels or await may_repeat(gesture, scene.frame, scene.frame, labels, scene.reader)


def named_press(press: Press, described: str) -> str:
    """Return the name of a press for a sentence: the agent's description, or the key."""
    described = " ".join(described.split())[:MOST_CALLED]
    return f"‘{described}’" if press.at is not None and described else name_of(press)

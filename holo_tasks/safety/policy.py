"""Which actions are allowed: read-only until a person trusts the agent, then whatever the rules leave."""

from __future__ import annotations

import unicodedata
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from holo_tasks.core.actions import ACTING, AnyCall, label
from holo_tasks.core.chords import DENIED, denied_in, parse
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.geometry import Point
from holo_tasks.core.gestures import Gesture, Write
from holo_tasks.core.permit import Permit, Scene
from holo_tasks.core.programs import FAR, Owner, is_viewer, runs
from holo_tasks.safety.confirm import Confirm, Kinds
from holo_tasks.safety.places import Area, points_of, way_of
from holo_tasks.safety.written_settings import Written

Trust: TypeAlias = Literal["read", "act"]
MOST_CHARACTERS = 10_000
SHOWN_CHARACTERS = 400
_KEYS_SHOWN = {ord("\n"): "⏎", ord("\r"): "⏎", ord("\t"): "⇥"}


def _chord(text: str) -> str:
    try:
        parse(text)
    except InvalidUsage as error:
        raise ValueError(str(error)) from None
    return text


ChordText = Annotated[str, AfterValidator(_chord)]
ProgramText = Annotated[str, Field(min_length=1)]


class Rules(Written):
    """What an agent may do. A field that is not given forbids nothing; an empty list allows nothing.

    Everything is checked against what would really happen: pixels, keys, and the process whose window gets them.
    """

    called: ClassVar[str] = "rules"

    trust: Trust | None = Field(
        default=None,
        description="read: looks only; act: may use mouse and keyboard. Empty: what `allow` says, read unless told.",
    )
    actions: Kinds = Field(default=None, description="The only actions allowed, by name: click, write, …")
    programs: tuple[ProgramText, ...] | None = Field(
        default=None,
        description="The only programs that may get input, by the file that their process runs: a name or a whole "
        "path; for scripts also the script's. A window whose process is not known gets none.",
    )
    regions: tuple[Area, ...] | None = Field(
        default=None, description="The only parts of the screen for the pointer, as [left, top, width, height]."
    )
    forbidden_regions: tuple[Area, ...] = Field(default=(), description="Parts of the screen that it never enters.")
    most_characters: int = Field(default=MOST_CHARACTERS, ge=0, description="The longest text of a single write.")
    denied_chords: tuple[ChordText, ...] = Field(
        default=DENIED, description="Key combinations that are never pressed, nor with more keys added."
    )
    allow_chords: tuple[ChordText, ...] = Field(
        default=(), description="Exactly these combinations are allowed although a denied one is in them."
    )
    confirm: tuple[Confirm, ...] = Field(default=(), description="Actions that need a person's yes.")

    def under(self, allow: Trust | None) -> Rules:
        """Return these rules for a run that is told ``allow``; where both say something, the stricter counts.

        Raises `InvalidUsage` for what is neither "read" nor "act": somebody meant one of them.
        """
        if allow is not None and (not isinstance(allow, str) or allow not in get_args(Trust)):
            raise InvalidUsage(f'allow= is "read" or "act", not {allow!r}: act lets the agent use mouse and keyboard.')
        said = {self.trust, allow} - {None}
        return self.model_copy(update={"trust": "act" if said == {"act"} else "read"})

    async def permit(self, call: AnyCall, gesture: Gesture, scene: Scene) -> Permit:
        """Decide about one action. The first rule that is broken says how to change it."""
        trust = self.trust or "read"
        if not isinstance(call, ACTING):
            return Permit(True, f"allow={trust}")
        wanted = f"The agent wanted to {label(call)}"
        refusal = self._on_its_own(call, gesture) or self._in_place(gesture)
        if refusal:
            return Permit(False, f"{wanted}, but {refusal}.")
        owners = await self._owners(gesture, scene)
        refusal = self._in_window(call, gesture, owners) or await self._with_keyboard(gesture, owners, scene)
        if refusal:
            return Permit(False, f"{wanted}, but {refusal}.")
        owner = owners[0].name if len({one.name for one in owners}) == 1 else ""
        for rule in self.confirm:
            for one in owners:
                if await rule.fits(call, gesture, one, scene):
                    asked = f"{_in_full(call, gesture)}{f' in {owner}' if owner else ''}"
                    return Permit(False, f"To {asked} needs a person's yes (confirm: {rule.words})", owner, asks=True)
        # Whatever was found out about the window holds only for as long as the gate sees the same program there.
        return Permit(True, f"allow={trust}, in {owner}" if owner else f"allow={trust}", owner)

    def _on_its_own(self, call: AnyCall, gesture: Gesture) -> str:
        """Return what is wrong with an action wherever it is done, or nothing."""
        if self.trust != "act":
            return 'this run is read-only; allow input with --allow act (or allow="act") if you trust it'
        if self.actions is not None and call.tool_name not in self.actions:
            return f"{call.tool_name} is not among the allowed actions; add it to actions if it is wanted"
        if isinstance(gesture, Write):
            if len(gesture.text) > self.most_characters:
                return (
                    f"the text has {len(gesture.text)} characters; raise most_characters above "
                    f"{self.most_characters} if that is wanted"
                )
            for character in gesture.text:
                if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\r\t":
                    return (
                        f"the text holds the control character U+{ord(character):04X}, which no rule allows; "
                        "leave it out, or press a key by its name"
                    )
        denied = denied_in(gesture, self.denied_chords, self.allow_chords)
        if denied:
            pressed, rule = denied
            return f"{rule} is denied; add {pressed} to allow_chords if it is wanted"
        return ""

    def _in_place(self, gesture: Gesture) -> str:
        """Return what is wrong with where the pointer would go, or nothing."""
        points = points_of(gesture)
        inside = any(all(box.contains(point) for point in points) for box in self.regions or ())
        if self.regions is not None and points and not inside:
            return f"{_written(points)} is not inside one of the allowed regions; widen regions if that is wanted"
        for box in self.forbidden_regions:
            if any(box.contains(point) for point in way_of(gesture)):
                return f"{_written(points)} enters the forbidden region {box}; change forbidden_regions if it may"
        return ""

    async def _owners(self, gesture: Gesture, scene: Scene) -> list[Owner]:
        """Return whose windows a gesture reaches, if any rule needs to know."""
        if self.programs is None and not self.confirm and not self._keeps_keys(gesture):
            return []
        return [await scene.owner_at(point) for point in points_of(gesture) or (None,)]

    def _in_window(self, call: AnyCall, gesture: Gesture, owners: list[Owner]) -> str:
        """Return what is wrong with the windows that would get the input, or nothing."""
        got = "the pointer" if points_of(gesture) else "the keys"
        confirmed = any(rule.programs is not None and rule.concerns(call) for rule in self.confirm)
        for owner in owners:
            if self.programs is not None and not runs(owner, self.programs):
                if owner.executable:
                    inside = f" ({FAR})" if is_viewer(owner) else ""
                    return f"{got} would reach {owner.name}{inside}; add it to programs if that is wanted"
                return f"{got} would reach {_unknown(owner)}, and only those in programs get input"
            if confirmed and not owner.name:
                # One that needs a yes may be there by the time of the press, and the gate could not tell.
                return (
                    f"{got} would reach {_unknown(owner)}, and a rule of confirm names programs; aim at a window "
                    "whose program is known, or leave programs out of that rule"
                )
        if (self.programs is not None or confirmed) and len({owner.name for owner in owners}) > 1:
            return f"it leads from {owners[0].name} to {owners[-1].name}; only what stays in one program is allowed"
        return ""

    def _keeps_keys(self, gesture: Gesture) -> bool:
        """Say whether a gesture presses keys, and rules say in which parts of the screen."""
        presses = isinstance(gesture, Write) or not points_of(gesture)
        return presses and (self.regions is not None or bool(self.forbidden_regions))

    async def _with_keyboard(self, gesture: Gesture, owners: list[Owner], scene: Scene) -> str:
        """Return what is wrong with where the window is that would get keys, or nothing."""
        if not self._keeps_keys(gesture):
            return ""
        windows = owners[:1]
        if points_of(gesture):
            # A click need not take the keyboard along. The gate then sees that it is with another program, but not
            # that it is with another window of the same one.
            windows += [one for one in [await scene.owner_at(None)] if one.name == owners[0].name]
        return next(filter(None, map(self._wrong_with, windows)), "")

    def _wrong_with(self, owner: Owner) -> str:
        """Return what is wrong with a window that would get keys, or nothing."""
        if not owner.name:
            return (
                f"the keys would reach {_unknown(owner)}, which cannot be kept to a part of the screen; write into a "
                "window whose program is known, or leave out regions and forbidden_regions"
            )
        if is_viewer(owner):
            return (
                f"the keys would reach {owner.name}, and cannot be kept to a part of the screen ({FAR}); leave out "
                "regions and forbidden_regions, or have the agent press buttons only"
            )
        reached = any(owner.box is not None and owner.box.intersects(box) for box in self.regions or ())
        if self.regions is not None and not reached:
            return "the window with the keyboard is outside the allowed regions; widen regions if it may be"
        if any(owner.box is None or box.encloses(owner.box) for box in self.forbidden_regions):
            return "the window with the keyboard is in a forbidden region; change forbidden_regions if it may be"
        return ""


def _in_full(call: AnyCall, gesture: Gesture) -> str:
    """Say what an action does with all that it writes, up to a length, for a person who has to say yes to it."""
    points = points_of(gesture)
    whole = gesture.text.translate(_KEYS_SHOWN) if isinstance(gesture, Write) else ""
    shown = f"{whole[:SHOWN_CHARACTERS]}… ({len(whole)} characters)" if len(whole) > SHOWN_CHARACTERS else whole
    return f"{label(call)}{f' at {_written(points)}' if points else ''}{f' [{shown}]' if whole else ''}"


def _unknown(owner: Owner) -> str:
    return f"no known program ({owner.why or 'nobody can say which'})"


def _written(points: tuple[Point, ...]) -> str:
    return " to ".join(f"({point.x}, {point.y})" for point in points)

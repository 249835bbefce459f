"""Rules about which actions are allowed. Runs are read-only until the user allows input.

`Rules` is loaded from a file or a Prefect block. The loop calls `Rules.permit` before each action.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.chords import DENIED, denied_in, parse
from holo_tasks.core.input.gestures import Gesture, Write
from holo_tasks.core.input.permit import Permit, Scene
from holo_tasks.core.programs import FAR, Owner, is_viewer, runs
from holo_tasks.core.prompts.tool_calls import ACTING, AnyCall, label
from holo_tasks.core.screen.geometry import Point
from holo_tasks.safety.approval_rules import Confirm, Kinds
from holo_tasks.safety.places import Area, path_of, points_of
from holo_tasks.safety.settings_model import SettingsModel

Trust: TypeAlias = Literal["read", "act"]
MOST_CHARACTERS = 10_000
"""Default limit on the characters of one write."""
SHOWN_CHARACTERS = 400
"""Characters of a written text that a person is shown."""
_KEYS_SHOWN = {ord("\n"): "⏎", ord("\r"): "⏎", ord("\t"): "⇥"}


def _chord(text: str) -> str:
    try:
        parse(text)
    except InvalidUsage as error:
        raise ValueError(str(error)) from None
    return text


ChordText = Annotated[str, AfterValidator(_chord)]
ProgramText = Annotated[str, Field(min_length=1)]


class Rules(SettingsModel):
    """The actions that an agent may perform.

    A field that is not given forbids nothing, and an empty list allows nothing. The rules are checked against the real
    effect of an action: pixels, keys, and the process that owns the target window.
    """

    called: ClassVar[str] = "rules"

    trust: Trust | None = Field(
        default=None,
        description="read: only takes screenshots; act: may use mouse and keyboard. Empty: the value of `allow`, "
        "which is read by default.",
    )
    actions: Kinds = Field(default=None, description="The only actions allowed, by name: click, write, …")
    programs: tuple[ProgramText, ...] | None = Field(
        default=None,
        description="The only programs that may get input, by name or full path of the executable, or of the script. "
        "A window whose process is unknown gets no input.",
    )
    regions: tuple[Area, ...] | None = Field(
        default=None, description="The only parts of the screen for the pointer, as [left, top, width, height]."
    )
    forbidden_regions: tuple[Area, ...] = Field(
        default=(), description="Parts of the screen that the pointer never enters."
    )
    most_characters: int = Field(default=MOST_CHARACTERS, ge=0, description="The longest text of a single write.")
    denied_chords: tuple[ChordText, ...] = Field(
        default=DENIED, description="Key combinations that are never pressed, alone or with more keys."
    )
    allow_chords: tuple[ChordText, ...] = Field(
        default=(), description="Exactly these combinations are allowed, although they include a denied one."
    )
    confirm: tuple[Confirm, ...] = Field(default=(), description="Actions that need a person's yes.")

    def under(self, allow: Trust | None) -> Rules:
        """Return these rules with ``trust`` set for a run with ``allow``.

        The stricter of the two counts; the default is "read". Raises `InvalidUsage` if ``allow`` is not ``None``,
        "read" or "act".
        """
        if allow is not None and (not isinstance(allow, str) or allow not in get_args(Trust)):
            raise InvalidUsage(f'allow= is "read" or "act", not {allow!r}: act lets the agent use mouse and keyboard.')
        levels = {self.trust, allow} - {None}
        return self.model_copy(update={"trust": "act" if levels == {"act"} else "read"})

    async def permit(self, call: AnyCall, gesture: Gesture, scene: Scene) -> Permit:
        """Decide whether an action is allowed. A refusal names the first broken rule and how to change it."""
        trust = self.trust or "read"
        if not isinstance(call, ACTING):
            return Permit(True, f"allow={trust}")
        wanted = f"The agent wanted to {label(call)}"
        refusal = self._refuse_action(call, gesture) or self._refuse_position(gesture)
        if refusal:
            return Permit(False, f"{wanted}, but {refusal}.")
        owners = await self._owners(gesture, scene)
        refusal = self._refuse_window(call, gesture, owners) or await self._refuse_focus(gesture, owners, scene)
        if refusal:
            return Permit(False, f"{wanted}, but {refusal}.")
        owner = owners[0].name if len({one.name for one in owners}) == 1 else ""
        for rule in self.confirm:
            for one in owners:
                if await rule.fits(call, gesture, one, scene):
                    asked = f"{_describe_action(call, gesture)}{f' in {owner}' if owner else ''}"
                    return Permit(False, f"To {asked} needs a person's yes (confirm: {rule.words})", owner, asks=True)
        # The permit names the program, because it is valid only while the gate sees that program at the target.
        return Permit(True, f"allow={trust}, in {owner}" if owner else f"allow={trust}", owner)

    def _refuse_action(self, call: AnyCall, gesture: Gesture) -> str:
        """Return why an action is refused regardless of its target, or an empty string."""
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
                        "remove it, or press a key by its name"
                    )
        denied = denied_in(gesture, self.denied_chords, self.allow_chords)
        if denied:
            pressed, rule = denied
            return f"{rule} is denied; add {pressed} to allow_chords if it is wanted"
        return ""

    def _refuse_position(self, gesture: Gesture) -> str:
        """Return why the pointer's way is refused, or an empty string."""
        points = points_of(gesture)
        inside = any(all(box.contains(point) for point in points) for box in self.regions or ())
        if self.regions is not None and points and not inside:
            return f"{_join_points(points)} is not inside one of the allowed regions; widen regions if that is wanted"
        for box in self.forbidden_regions:
            if any(box.contains(point) for point in path_of(gesture)):
                return f"{_join_points(points)} enters the forbidden region {box}; change forbidden_regions if it may"
        return ""

    async def _owners(self, gesture: Gesture, scene: Scene) -> list[Owner]:
        """Return the owners of the windows that a gesture reaches, or an empty list if no rule needs them."""
        if self.programs is None and not self.confirm and not self._restricts_keys(gesture):
            return []
        return [await scene.owner_at(point) for point in points_of(gesture) or (None,)]

    def _refuse_window(self, call: AnyCall, gesture: Gesture, owners: list[Owner]) -> str:
        """Return why the target windows are refused, or an empty string."""
        got = "the pointer" if points_of(gesture) else "the keys"
        confirmed = any(rule.programs is not None and rule.concerns(call) for rule in self.confirm)
        for owner in owners:
            if self.programs is not None and not runs(owner, self.programs):
                if owner.executable:
                    inside = f" ({FAR})" if is_viewer(owner) else ""
                    return f"{got} would reach {owner.name}{inside}; add it to programs if that is wanted"
                return f"{got} would reach {_unknown_program(owner)}, and only those in programs get input"
            if confirmed and not owner.name:
                # A program that needs an approval may be there at the time of the press, and the gate could not tell.
                return (
                    f"{got} would reach {_unknown_program(owner)}, and a rule of confirm names programs; aim at a "
                    "window whose program is known, or leave programs out of that rule"
                )
        if (self.programs is not None or confirmed) and len({owner.name for owner in owners}) > 1:
            return f"it leads from {owners[0].name} to {owners[-1].name}; only what stays in one program is allowed"
        return ""

    def _restricts_keys(self, gesture: Gesture) -> bool:
        """Return whether a gesture presses keys while rules restrict the regions of the screen."""
        presses = isinstance(gesture, Write) or not points_of(gesture)
        return presses and (self.regions is not None or bool(self.forbidden_regions))

    async def _refuse_focus(self, gesture: Gesture, owners: list[Owner], scene: Scene) -> str:
        """Return why the window that would get the keys is refused for its position, or an empty string."""
        if not self._restricts_keys(gesture):
            return ""
        windows = owners[:1]
        if points_of(gesture):
            # A click may leave the keyboard focus where it was. The gate notices if another program has the focus, but
            # not if another window of the same program has it.
            windows += [one for one in [await scene.owner_at(None)] if one.name == owners[0].name]
        return next(filter(None, map(self._refuse_key_window, windows)), "")

    def _refuse_key_window(self, owner: Owner) -> str:
        """Return why a window that would get the keys is refused, or an empty string."""
        if not owner.name:
            return (
                f"the keys would reach {_unknown_program(owner)}, which cannot be limited to a part of the screen; "
                "write into a window whose program is known, or leave out regions and forbidden_regions"
            )
        if is_viewer(owner):
            return (
                f"the keys would reach {owner.name}, and cannot be limited to a part of the screen ({FAR}); leave "
                "out regions and forbidden_regions, or have the agent press buttons only"
            )
        reached = any(owner.box is not None and owner.box.intersects(box) for box in self.regions or ())
        if self.regions is not None and not reached:
            return "the window with the keyboard is outside the allowed regions; widen regions if it may be"
        if any(owner.box is None or box.encloses(owner.box) for box in self.forbidden_regions):
            return "the window with the keyboard is in a forbidden region; change forbidden_regions if it may be"
        return ""


def _describe_action(call: AnyCall, gesture: Gesture) -> str:
    """Return a description of an action for its approver, with up to `SHOWN_CHARACTERS` of the written text."""
    points = points_of(gesture)
    whole = gesture.text.translate(_KEYS_SHOWN) if isinstance(gesture, Write) else ""
    shown = f"{whole[:SHOWN_CHARACTERS]}… ({len(whole)} characters)" if len(whole) > SHOWN_CHARACTERS else whole
    return f"{label(call)}{f' at {_join_points(points)}' if points else ''}{f' [{shown}]' if whole else ''}"


def _unknown_program(owner: Owner) -> str:
    return f"no known program ({owner.why or 'its process is unknown'})"


def _join_points(points: tuple[Point, ...]) -> str:
    return " to ".join(f"({point.x}, {point.y})" for point in points)

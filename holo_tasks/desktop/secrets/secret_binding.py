"""Decide by the owning process whether a secret may be typed into a window. `Binding` is the main class."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holo_tasks.core.programs import FAR, Owner, is_viewer, runs
from holo_tasks.core.screen.geometry import Point
from holo_tasks.core.secrets.secret import Secret

OwnerOf = Callable[[Point | None], Owner]


class Binding:
    """The rule for typing secrets on one desktop.

    ``owner_of`` returns the program that gets a press or a key. ``is_ours`` returns whether a process belongs to the
    program with which this desktop was started. ``is_held`` returns whether a program grabs the pointer or keyboard.
    """

    def __init__(
        self, owner_of: OwnerOf, is_ours: Callable[[int], bool], is_held: Callable[[Point | None], bool]
    ) -> None:
        self._owner_of = owner_of
        self._is_ours = is_ours
        self._is_held = is_held

    def refusal(self, secrets: Sequence[Secret], at: Point | None) -> str:
        """Return why one of the secrets may not be typed, or an empty string if all may.

        ``at`` is the point of a press before the typing; ``None`` means the window with the keyboard.
        """
        if not secrets:
            return ""
        if self._is_held(at):
            # This also refuses if a menu of the right program is open, because the receiver of the keys is not certain.
            what = "keyboard" if at is None else "pointer"
            return (
                f"The secret {secrets[0].name!r} is typed into {secrets[0].place} only, but a program has grabbed "
                f"the {what}, as menus and screen lockers do. The secret could go there, so close that menu or "
                "locker."
            )
        owner = self._owner_of(at)
        for secret in secrets:
            if is_viewer(owner) and (secret.title or not secret.fields):
                return (
                    f"The secret {secret.name!r} is not typed into {owner.name}: {FAR}. Their titles are unknown as "
                    "well. Bind the secret to a field by its labels (fields), and to no title."
                )
            ours = runs(owner, (secret.program,)) if secret.program else self._is_ours(owner.pid)
            if not (ours and secret.title in owner.title):
                found = owner.name or f"no known program ({owner.why or 'its process is unknown'})"
                if ours:
                    found = f"another window of {found}"
                return f"The secret {secret.name!r} is typed into {secret.place} only, and would go to {found}."
        return ""

"""Rules that ask for more than is known of the screen of another machine: refused before a run begins."""

from __future__ import annotations

from collections.abc import Mapping

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import Owner, is_viewer
from holo_tasks.core.secret import Secret
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules

WHY = "whose a window is there, and what it is called, nobody here can tell"


def check_far(far: str, rules: Rules, redaction: Redaction | None, secrets: Mapping[str, Secret]) -> None:
    """Raise `InvalidUsage` for what cannot be kept where the desktop shows the screen of another machine, at ``far``.

    What names the client itself can be kept.
    """
    if not far:
        return
    if rules.programs is not None and not any(map(_client, rules.programs)):
        raise _refused(far, f"rules.programs allows {', '.join(rules.programs) or 'no program'}", _CLIENT)
    for rule in rules.confirm:
        if rule.programs is not None and not any(map(_client, rule.programs)):
            raise _refused(far, f"a rule of confirm is about {', '.join(rule.programs)}", "Leave programs out of it.")
    if redaction is not None and redaction.windows:
        raise _refused(far, "redaction.windows masks windows by their program", "Mask regions, texts or patterns.")
    for secret in secrets.values():
        if secret.title or not secret.fields:
            bound = f"its window's title {secret.title!r}" if secret.title else "a program's windows"
            raise _refused(
                far, f"the secret {secret.name!r} is bound to {bound}", "Bind it to a field by its labels (fields)."
            )


_CLIENT = "Name the client (xfreerdp, xtigervncviewer), which allows all that is shown in it."


def _client(program: str) -> bool:
    return is_viewer(Owner(executable=program))


def _refused(far: str, what: str, instead: str) -> InvalidUsage:
    return InvalidUsage(f"The desktop shows the screen of another machine ({far}), and {what}: {WHY}. {instead}")

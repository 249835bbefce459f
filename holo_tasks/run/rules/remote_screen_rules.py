"""Refuse rules that cannot be checked on the screen of a remote machine, before the run begins.

`check_remote_rules` is called by `agent.open_agent`.
"""

from __future__ import annotations

from collections.abc import Mapping

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.programs import Owner, is_viewer
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules

WHY = "the owner and the title of a window there are unknown here"


def check_remote_rules(remote: str, rules: Rules, redaction: Redaction | None, secrets: Mapping[str, Secret]) -> None:
    """Raise `InvalidUsage` for rules, redaction or secrets that depend on programs or windows inside a remote screen.

    Lists of programs in rules must name a viewer. Redaction of windows is refused, even of the viewer's. A secret must
    be bound to labels of fields, and not to a window's title.

    ``remote`` is the address of the remote machine; an empty string skips the check.
    """
    if not remote:
        return
    if rules.programs is not None and not any(map(_is_viewer, rules.programs)):
        raise _refusal(remote, f"rules.programs allows {', '.join(rules.programs) or 'no program'}", _CLIENT)
    for rule in rules.confirm:
        if rule.programs is not None and not any(map(_is_viewer, rule.programs)):
            raise _refusal(
                remote, f"a rule of confirm is about {', '.join(rule.programs)}", "Leave programs out of it."
            )
    if redaction is not None and redaction.windows:
        raise _refusal(remote, "redaction.windows masks windows by their program", "Mask regions, texts or patterns.")
    for secret in secrets.values():
        if secret.title or not secret.fields:
            bound = f"its window's title {secret.title!r}" if secret.title else "a program's windows"
            raise _refusal(
                remote, f"the secret {secret.name!r} is bound to {bound}", "Bind it to a field by its labels (fields)."
            )


_CLIENT = "Name the client (xfreerdp, xtigervncviewer), which allows all that is shown in it."


def _is_viewer(program: str) -> bool:
    return is_viewer(Owner(executable=program))


def _refusal(remote: str, what: str, instead: str) -> InvalidUsage:
    return InvalidUsage(f"The desktop shows the screen of another machine ({remote}), and {what}: {WHY}. {instead}")

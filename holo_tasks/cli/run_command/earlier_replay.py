"""Refuse values of a playbook that `holo-tasks run` did before, or report that it did them before.

A playbook enters an item again without notice if its program does not show the item. `again:` in the playbook says
whether the command refuses such values or only reports them. A ``--token`` replaces this check.
"""

from __future__ import annotations

import os
import re
import shlex
from datetime import datetime
from typing import TYPE_CHECKING

from holo_tasks.cli.run_command.settings import Outcome, Replay, Settings
from holo_tasks.core.errors import InvalidUsage, NeedsPerson
from holo_tasks.core.input_digest import digest_of
from holo_tasks.machine.output import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from holo_tasks.safety.records.ledger import Finished

MAY_HAVE_ACTED = frozenset({"killed", "limit", "refused", "model_failed", "desktop_failed", "unavailable"})
"""Statuses of runs that ended at any step, perhaps between the effect of a step and its answer."""
_PARTS = re.compile(r"""[^\s=;|&<>()'"]+""")
"""The words of a shell's command line, and the value of an option or a variable after its equals sign."""


def digest_of_replay(playbook: str, values: object, app: str | None) -> str:
    """Return the digest of a playbook's goal, its values and the program with its files."""
    try:
        words = shlex.split(app or "")
    except ValueError:
        words = [app or ""]
    return digest_of({"playbook": playbook, "values": values, "program": [*map(_with_files, words)]})


def _with_files(word: str) -> str:
    """Return a word with full paths. The same relative path in another folder is another file."""
    if os.path.exists(word):  # noqa: PTH110  # also a name with blanks
        return os.path.realpath(word)

    def full(part: re.Match[str]) -> str:
        return os.path.realpath(part[0]) if os.path.exists(part[0]) else part[0]  # noqa: PTH110

    return _PARTS.sub(full, word)


def earlier_replay(settings: Settings) -> Finished | None:
    """Return the time and the trace of the last replay with the same values, or ``None``.

    A replay that did not report its end also counts, because it may have entered the item.
    """
    from holo_tasks.safety.records.replays import find_replay

    replay = settings.playbook
    if replay is None or replay.again is None or settings.options.key:
        return None
    return find_replay(settings.store, replay.digest)


def refused(replay: Replay, found: Finished) -> Outcome | None:
    """Return the outcome of a replay that is refused. Else return ``None``, and print that its values were done."""
    from holo_tasks.safety.records.replays import Interrupted

    if isinstance(found, Interrupted):
        done = f"This playbook began with the same values at {found.result}. "
        done += "It is still running, or it was interrupted or handed over, and the item may be there."
    else:
        done = f"This playbook was done with the same values at {found.result}. Trace: {found.trace}."
    if replay.again == "tell" or replay.repeats:
        say(f"note: {done} This run does them again.")
        return None
    said = f"{done} Nothing was done now: look whether the item is there, and add --again to enter it once more."
    trace = found.trace or None
    return Outcome("needs_person", NeedsPerson.exit_code, None, 0, 0, trace, None, said, done_before=found)


def begin_this_replay(settings: Settings) -> None:
    """Record the values of a replay before its first action, for the case that its process is killed."""
    from holo_tasks.safety.records.replays import begin_replay

    _record(settings, lambda replay: begin_replay(settings.store, replay.digest, _now()))


def keep_this_replay(settings: Settings, outcome: Outcome, before: Finished | None = None) -> None:
    """Record the values of a replay that answered. If the database is away, print that they are not recorded.

    The start of a replay that may have entered the item stays on record: this one, or the interrupted one ``before``.
    One that a person got back is such a replay if it did the steps that store the item.
    """
    from holo_tasks.safety.records.replays import Interrupted, end_replay, keep_replay

    if outcome.status == "answered":
        _record(settings, lambda replay: keep_replay(settings.store, replay.digest, _now(), outcome.trace or ""))
        return
    done = outcome.steps - (outcome.status == "refused")  # nothing was done in the refused step
    may_be_entered = outcome.status in MAY_HAVE_ACTED if done else isinstance(before, Interrupted)
    may_be_entered = may_be_entered or outcome.may_have_stored
    if not may_be_entered:
        _record(settings, lambda replay: end_replay(settings.store, replay.digest))


def _record(settings: Settings, change: Callable[[Replay], None]) -> None:
    replay: Replay | None = settings.playbook
    if replay is None or replay.again is None or settings.options.key:
        return
    try:
        change(replay)
    except InvalidUsage as error:
        say(f"note: the values of this run cannot be recorded, so a second run with them gets no warning. {error}")


def _now() -> str:
    return f"{datetime.now():%Y-%m-%d %H:%M}"

"""Find work that an earlier version of a flow stored under other tokens, so that it is not done again.

`earlier_work` is used by the expense audit flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from holo_tasks.run.run import Run


def earlier_work(
    run: Run, goal: str, tokens: Mapping[str, str], is_of: Callable[[str, str], bool]
) -> dict[str, str | None]:
    """Return the stored result of each item that was worked on under its earlier token, by current token.

    ``tokens`` maps each current token to the earlier one. The result is ``None`` for work that was begun and not
    finished. A stored result counts only if ``is_of(token, result)`` is true.

    If two items shared one earlier token, its unfinished work belongs to neither of them.
    """
    found: dict[str, str | None] = {}
    listed = {item.token for item in run.items.all()}
    sharing = Counter(tokens.values())
    for token, earlier in tokens.items():
        done = run.ledger.stored(earlier, goal)
        if done is not None:
            if is_of(token, done.result):
                found[token] = done.result
        elif sharing[earlier] == 1 and (earlier in listed or run.ledger.intents(earlier)):
            found[token] = None
    return found

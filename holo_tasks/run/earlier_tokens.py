"""Business items that an earlier version knew by other tokens: what it did of them is not done again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from holo_tasks.run.run import Run


def earlier_work(
    run: Run, goal: str, tokens: Mapping[str, str], is_of: Callable[[str, str], bool]
) -> dict[str, str | None]:
    """Return, by its token of now, the stored result of each item that was worked on under an earlier one.

    ``tokens`` are the earlier ones by those of now. The result is None for work that was begun and not finished; a
    stored one counts only if it ``is_of`` the item, asked with the token of now and the result. Where two items had one
    token nobody knows whose unfinished work it is, and it counts for neither.
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

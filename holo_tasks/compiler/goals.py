"""Select the recordings of one goal among those of some runs, and name the goal.

The name leaves out the values of a business item, such as its number, because the playbook is for all items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from holo_tasks.compiler.recording import Recording
from holo_tasks.core.errors import InvalidUsage

LONGEST_NAME = 40


def chosen_of(found: Sequence[Recording], goal: str) -> tuple[list[Recording], str]:
    """Return the recordings of one goal, and the name of the goal.

    ``goal`` selects the recordings with that goal. If it is empty or selects none, all recordings must have one goal.
    Raises `InvalidUsage` if they have several.
    """
    if not found:
        raise InvalidUsage(
            "No sub-goal of these runs did anything and was answered. `holo-tasks runs` shows how each run ended."
        )
    if of_it := [one for one in found if _is_called(one, goal)]:
        return of_it, name_of_goal(goal)
    kinds = {kind_of(one): one for one in found}
    if len(kinds) > 1:
        known = ", ".join(f"‘{name_of_goal(one.title)}’" for one in kinds.values())
        raise InvalidUsage(f"These runs have several goals: {known}. Say which one by --goal.")
    return list(found), name_of_goal(goal or common_words(found))


def looks_of(
    found: Sequence[Recording], chosen: Sequence[Recording], goal: str, name: str
) -> tuple[list[Recording], str]:
    """Return the recordings of the probe, which looks for the effect without acting, and the name of the probe.

    ``found`` are recordings of the probe's runs, which may also contain the goal itself. ``chosen`` are recordings
    of the goal, ``goal`` the text that it was selected by, and ``name`` its name. Raises `InvalidUsage` if all
    recordings are of the goal itself, or if a run has several other goals.
    """
    kinds, tells = {kind_of(one) for one in chosen}, any(_is_called(one, goal) for one in chosen)
    looks = [one for one in found if kind_of(one) not in kinds and not (tells and _is_called(one, goal))]
    if not looks:
        raise InvalidUsage(
            f"The runs given by --probe do nothing but ‘{name}’ itself: give runs that look whether its effect exists."
        )
    for trace in dict.fromkeys(one.trace for one in looks):
        several = {kind_of(one): one for one in looks if one.trace == trace}
        if len(several) > 1:
            known = ", ".join(f"‘{name_of_goal(one.title)}’" for one in several.values())
            raise InvalidUsage(
                f"{trace} has several goals in addition to ‘{name}’: {known}. Give --probe a run that only looks."
            )
    called = name_of_goal(common_words(looks))
    return looks, f"{called}-probe" if called == name else called


def _is_called(recording: Recording, goal: str) -> bool:
    words = recording.title, recording.goal
    return bool(goal) and goal in (*words, *map(name_of_goal, words))


def common_words(found: Sequence[Recording]) -> str:
    """Return the words that the goals of all recordings share, without values of their items."""
    said = [one.goal.partition(". ")[0] for one in found]
    own = [value for one in found for value in (*one.data.values(), *_typed(one), *_answered(one))]
    for value in sorted((one for one in own if isinstance(one, str) and one.strip()), key=len, reverse=True):
        said = [re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", " ", words, flags=re.IGNORECASE) for words in said]
    others = [set(words.casefold().split()) for words in said[1:]]
    return " ".join(word for word in said[0].split() if all(word.casefold() in other for other in others))


def _typed(recording: Recording) -> Iterator[object]:
    return (value for step in recording.steps for value in step.arguments.values() if step.tool == "write")


def _answered(recording: Recording) -> Iterator[object]:
    """Yield the values of an answer that is a JSON object. Yields any other answer itself."""
    with suppress(ValueError):
        told = json.loads(recording.answer)
        yield from told.values() if isinstance(told, dict) else ()
        return
    yield recording.answer


def kind_of(recording: Recording) -> str:
    """Return the words of a goal without numbers and quoted text, which differ from item to item."""
    return re.sub(r"\S*\d\S*|[\"“‘'].*?[\"”’']", "", recording.goal)


def name_of_goal(words: str) -> str:
    """Return a name made of a goal's words: lower case, joined by hyphens, without words that contain digits."""
    plain = re.sub(r"\S*\d\S*", "", words.partition(". ")[0]).casefold()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return name[:LONGEST_NAME].strip("-") or "goal"

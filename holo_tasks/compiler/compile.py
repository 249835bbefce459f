"""Verified traces in, one playbook out: what `holo-tasks compile` does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holo_tasks.audit.reader import Trace
from holo_tasks.compiler.build import Builder
from holo_tasks.compiler.dry_run import Astray, check_dry_run
from holo_tasks.compiler.parameters import Ask, parameters_of
from holo_tasks.compiler.paths import Visit, merged, visits
from holo_tasks.compiler.pictures import Pictures
from holo_tasks.compiler.recording import Done, Picture, Recording, recordings
from holo_tasks.compiler.sights import Seen, opened, read, told_apart, told_apart_by_targets, told_apart_roughly
from holo_tasks.compiler.targets import target_at
from holo_tasks.compiler.variants import variants
from holo_tasks.compiler.written import written
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.values import Value
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Sight, digits

LONGEST_NAME = 40
FEWEST_STRAIGHT = 2
"""So many runs must be left where some are left out."""


@dataclass(frozen=True)
class Compiled:
    """A playbook as text, and what it holds: ``unread`` are values of answers that the model is asked for at the end.

    ``parameters`` are told by their types; ``steps`` are those of the playbook, ``left_out`` those of the runs that
    were detours, ``astray`` how many runs were left out because they did something else than the others where these
    went on.
    """

    text: str
    goal: str
    parameters: dict[str, Kind]
    steps: int
    left_out: int
    unread: tuple[str, ...]
    astray: int = 0
    pictures: tuple[str, ...] = ()
    """The names of the picture files beside it that it needs."""


def compiled(
    verified: Sequence[tuple[Trace, str]],
    reader: Reader,
    goal: str = "",
    named: Sequence[tuple[str, str]] = (),
    ask: Ask | None = None,
    folder: Path | None = None,
) -> Compiled:
    """Return the playbook of one goal out of runs of it; each trace was verified, and comes with its head's digest.

    ``goal`` names one of the runs' sub-goals by its title or its words; where the runs have only one, it is the name
    that it gets. ``named`` are parameters with a literal of the runs, and ``ask`` is asked what to call all. ``folder``
    is where pictures of what has no words are put; without it there are none. Raises `InvalidUsage` if nothing can be
    made of them that does again what they did.
    """
    chosen, name = _chosen([one for trace, digest in verified for one in recordings(trace, digest)], goal)
    return compiled_of([trace for trace, _ in verified], chosen, reader, name, named, ask, folder)


def compiled_of(
    traces: Sequence[Trace],
    chosen: Sequence[Recording],
    reader: Reader,
    name: str,
    named: Sequence[tuple[str, str]] = (),
    ask: Ask | None = None,
    folder: Path | None = None,
) -> Compiled:
    """Return the playbook of recordings of one goal, out of traces that were verified, as `compiled` does."""
    pictures: dict[Picture, Sight] = {}
    for trace in traces:
        of_trace = [one for one in chosen if one.trace == trace.uri]
        sights = read(trace, of_trace, reader)
        pictures |= {picture: sights[picture.sha256] for one in of_trace for picture in one.pictures}
    if folder is not None:
        of = {
            picture.sha256: trace
            for trace in traces
            for one in chosen
            if one.trace == trace.uri
            for picture in one.pictures
        }
        cutter = Pictures(folder, name, pictures, lambda picture: opened(of[picture.sha256], picture.sha256))
        chosen = cutter.with_pictures(chosen)
    astray, asked = 0, _once(ask) if ask is not None else None
    while True:
        try:
            return replace(_made_somehow(name, chosen, pictures, named, asked, folder), astray=astray)
        except Astray as error:
            # A run that went round in circles tells nothing of the way; of two that differ nobody knows which did.
            straight = [one for one in chosen if one is not error.recording]
            if len(straight) < FEWEST_STRAIGHT:
                raise
            chosen, astray = straight, astray + 1


def _once(ask: Ask) -> Ask:
    """Return what asks for each parameter once, however often a playbook is tried."""
    known: dict[str, str] = {}

    def asked(values: Mapping[str, Value]) -> Mapping[str, str]:
        if new := {name: value for name, value in values.items() if name not in known}:
            known.update(ask(new))
        return known

    return asked


def _made_somehow(
    name: str,
    chosen: Sequence[Recording],
    pictures: Mapping[Picture, Sight],
    named: Sequence[tuple[str, str]],
    ask: Ask | None,
    folder: Path | None,
) -> Compiled:
    """Return the playbook of recordings that were read. Raises `Astray` for one that it would not do again."""
    shown = {picture.sha256: (picture, pictures[picture]) for one in chosen for picture in one.pictures}
    seen = told_apart(list(shown.values()))
    try:
        return _made(name, chosen, seen, named, ask, folder)
    except InvalidUsage as error:
        if isinstance(error, Astray):
            finer = told_apart_by_targets(seen, _pressed(chosen, seen))
            with suppress(InvalidUsage):
                if finer != seen:
                    return _made(name, chosen, finer, named, ask, folder)
        with suppress(InvalidUsage):
            return _made(name, chosen, told_apart_roughly(seen), named, ask, folder, stays_there=True)
        raise


def _pressed(chosen: Sequence[Recording], seen: Mapping[str, Seen]) -> Iterable[tuple[str, str]]:
    """Yield the pictures that something fixed was pressed on, and what is written on that."""
    for one in chosen:
        for step in one.steps:
            sight = seen[step.before.sha256].sight
            target = target_at(step.points[0], sight, {}) if step.points else None
            if target is not None and target.text is not None and not digits(target.text):
                yield step.before.sha256, target.text


def _made(
    name: str,
    chosen: Sequence[Recording],
    seen: Mapping[str, Seen],
    named: Sequence[tuple[str, str]],
    ask: Ask | None,
    folder: Path | None,
    *,
    stays_there: bool = False,
) -> Compiled:
    """Return the playbook of recordings whose screens are told apart."""
    parameters = parameters_of(chosen, seen, named)
    if ask is not None:
        parameters = parameters.renamed(ask(parameters.values[0]))
    ways = [visits(one, seen, values) for one, values in zip(chosen, parameters.values, strict=True)]
    way = merged(ways, variants(chosen, seen, parameters.values))
    taken = list(_steps(way))
    for mines in (True, False):
        built = Builder(chosen, seen, parameters, mines, stays_there).built(way)
        text = written(name, built, chosen)
        playbook = parse_playbook(text, "the compiled playbook", folder)
        try:
            for one, values in zip(chosen, parameters.values, strict=True):
                check_dry_run(playbook, name, one, values, seen, taken)
            break
        except Astray:
            # What was seen after a step, and was gone before the next one, is nothing to wait for.
            if not mines:
                raise
    steps = sum(len(visit.steps) for visit in way)
    left_out = sum(step not in taken for one in chosen for step in one.steps)
    targets = (target for rule in playbook.rules_of(name) for action in rule.do for target in action.targets)
    used = {way.picture.name: None for target in targets for way in target.ways if way.picture is not None}
    params = dict(playbook.goals[name].params)
    return Compiled(text, name, params, steps, left_out, built.unread, pictures=tuple(used))


def _chosen(found: Sequence[Recording], goal: str) -> tuple[list[Recording], str]:
    """Return the recordings of one goal, and what it is called."""
    if not found:
        raise InvalidUsage("Nothing was done in these runs that came to an answer.")
    if goal:
        of_it = [one for one in found if goal in (one.title, one.goal, name_of_goal(one.title), name_of_goal(one.goal))]
        if of_it:
            return of_it, name_of_goal(goal)
    kinds = {_kind(one): one for one in found}
    if len(kinds) > 1:
        known = ", ".join(f"‘{name_of_goal(one.title)}’" for one in kinds.values())
        raise InvalidUsage(f"These runs have several goals: {known}. Say which one by --goal.")
    return list(found), name_of_goal(goal or _common_words(found))


def _common_words(found: Sequence[Recording]) -> str:
    """Return the words of a goal that all runs have, but for what they were told or typed: that is of their items."""
    said = [one.goal.partition(". ")[0] for one in found]
    own = [value for one in found for value in (*one.data.values(), *_typed(one), *_answered(one))]
    for value in sorted((one for one in own if isinstance(one, str) and one.strip()), key=len, reverse=True):
        said = [re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", " ", words, flags=re.IGNORECASE) for words in said]
    others = [set(words.casefold().split()) for words in said[1:]]
    return " ".join(word for word in said[0].split() if all(word.casefold() in other for other in others))


def _typed(recording: Recording) -> Iterator[object]:
    return (value for step in recording.steps for value in step.arguments.values() if step.tool == "write")


def _answered(recording: Recording) -> Iterator[object]:
    """Yield the values of an answer that is an object, or the answer."""
    with suppress(ValueError):
        told = json.loads(recording.answer)
        yield from told.values() if isinstance(told, dict) else ()
        return
    yield recording.answer


def _kind(recording: Recording) -> str:
    """Return a goal's words without what is of one item: numbers, and what stands in quotation marks."""
    return re.sub(r"\S*\d\S*|[\"“‘'].*?[\"”’']", "", recording.goal)


def name_of_goal(words: str) -> str:
    """Return words as the name of a goal, without what is of one item."""
    plain = re.sub(r"\S*\d\S*", "", words.partition(". ")[0]).casefold()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return name[:LONGEST_NAME].strip("-") or "goal"


def _steps(way: Iterable[Visit]) -> Iterable[Done]:
    for visit in way:
        yield from visit.steps
        for steps in visit.alike.values():
            yield from steps

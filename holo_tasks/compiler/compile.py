"""Compile verified traces into one playbook. The command `holo-tasks compile` and learning agents use it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from holo_tasks.audit.reader import Trace
from holo_tasks.compiler.build import Builder, ByModel
from holo_tasks.compiler.chosen_by_keys import with_choices
from holo_tasks.compiler.dry_run import DryRunMismatch, check_dry_run
from holo_tasks.compiler.goals import chosen_of, looks_of
from holo_tasks.compiler.interruptions import Interruption, closed_in, may_close, without_interruptions
from holo_tasks.compiler.parameters import Ask, Parameters, occurs_in, parameters_of
from holo_tasks.compiler.paths import Visit, is_linear, merged, visits
from holo_tasks.compiler.pictures import Pictures
from holo_tasks.compiler.playbook_yaml import CompiledGoal, playbook_yaml
from holo_tasks.compiler.probes import (
    WAITS,
    ProbeBuilder,
    ProbeOf,
    answered_in,
    check_answers,
    check_looks,
    check_only_looks,
    check_probe,
    check_said,
    looks_at,
)
from holo_tasks.compiler.read_pictures import (
    ReadPicture,
    grouped_by_screen,
    grouped_by_text,
    opened,
    read,
    split_by_targets,
)
from holo_tasks.compiler.recording import Picture, RecordedStep, Recording, recordings
from holo_tasks.compiler.step_list import NOT_AGAIN, StepsBuilder
from holo_tasks.compiler.targets import target_at
from holo_tasks.compiler.variants import variants
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.scripts.loops import unrolled
from holo_tasks.scripts.params import Kind
from holo_tasks.scripts.playbook import Playbook, parse_playbook
from holo_tasks.scripts.values import Value
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Sight, digits

FEWEST_STRAIGHT = 2
"""The fewest runs that must remain after other runs are left out."""


@dataclass(frozen=True)
class Compiled:
    """A playbook as text, with facts about it.

    ``unread`` names the values of the answer that the model is asked for at the end. ``parameters`` maps names to
    types. ``steps`` counts the steps of the playbook. ``left_out`` counts the steps of the runs that were detours.
    ``astray`` counts the runs that were left out because they did something else than the others.
    """

    text: str
    goal: str
    parameters: dict[str, Kind]
    steps: int
    left_out: int
    unread: tuple[str, ...]
    astray: int = 0
    pictures: tuple[str, ...] = ()
    """The names of the picture files that the playbook needs in its folder."""
    probe: str = ""
    """The goal that looks whether the effect exists. Empty if the playbook has no probe."""
    by_model: tuple[ByModel, ...] = ()
    """The steps that the model does."""
    lists: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)
    """The lists of items that its loops need, each with the values of an item."""
    unused: tuple[str, ...] = ()
    """The names of the runs' values that no step uses. The playbook does the same whatever they are."""


@dataclass(frozen=True)
class CompileSettings:
    """Settings for making a goal from recordings.

    ``name`` is the name of the goal. ``named`` are pairs of a parameter and a literal of the runs. ``ask`` returns
    the names for all parameters. Pictures are written to ``folder``. ``probe_of`` describes the goal that a probe
    belongs to. ``interruptions`` are those of the goal, in the form of a playbook. With ``loops``, several
    items of one recording become a loop. If ``strict`` is set, recordings are refused if a step would be left to the
    model.
    """

    name: str
    named: Sequence[tuple[str, str]] = ()
    ask: Ask | None = None
    folder: Path | None = None
    probe_of: ProbeOf | None = None
    strict: bool = True
    interruptions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    loops: bool = False

    def builder(
        self,
        chosen: Sequence[Recording],
        seen: Mapping[str, ReadPicture],
        parameters: Parameters,
        mines: bool,
        stays: bool,
    ) -> Builder:
        """Return the builder of the rules."""
        if self.probe_of is None:
            return Builder(chosen, seen, parameters, mines, stays)
        return ProbeBuilder(chosen, seen, parameters, mines, stays, of=self.probe_of)


@dataclass(frozen=True)
class _Goal:
    """A goal that was made: its rules, the facts about it, its parameters and the pictures of its recordings."""

    made: CompiledGoal
    told: Compiled
    parameters: Parameters
    seen: Mapping[str, ReadPicture]


def compiled(
    verified: Sequence[tuple[Trace, str]],
    reader: Reader,
    goal: str = "",
    named: Sequence[tuple[str, str]] = (),
    ask: Ask | None = None,
    folder: Path | None = None,
    probes: Sequence[tuple[Trace, str]] = (),
    *,
    strict: bool = False,
) -> Compiled:
    """Return the playbook of one goal, compiled from its runs.

    Each trace must have been verified. The text with it is the digest of its last record.

    ``goal`` selects a sub-goal of the runs by its title or its words. If the runs have only one, ``goal`` becomes
    its name. ``named`` are parameters, each with a literal of the runs. ``ask`` returns the names of all
    parameters. Pictures of controls without text are written to ``folder``. Without a folder, no pictures are written.
    ``probes`` are traces of runs that only looked for the effect; a second goal, the probe, is made from them.

    A step that cannot be described safely is left to the model. Raises `InvalidUsage` instead if ``strict`` is set.
    """
    every = [one for trace, digest in verified for one in recordings(trace, digest)]
    chosen, name = chosen_of(every, goal)
    traces, others = [trace for trace, _ in verified], [one for one in every if one not in chosen]
    if not probes:
        wanted = CompileSettings(name, named, ask, folder, strict=strict, loops=True)
        return _made_from_traces(traces, chosen, reader, wanted, others).told
    found = [one for trace, digest in probes for one in recordings(trace, digest, idle=True)]
    looks, called = looks_of(found, chosen, goal, name)
    check_answers(looks)
    # A literal that only the probes contain is not for the goal. One that no run contains is refused below.
    mine = [one for one in named if occurs_in(chosen, one[1]) or not occurs_in(looks, one[1])]
    main = _made_from_traces(traces, chosen, reader, CompileSettings(name, mine, ask, folder, strict=strict), others)
    return _with_probe(
        main, [trace for trace, _ in probes], looks, reader, CompileSettings(called, named, None, folder)
    )


def compiled_of(
    traces: Sequence[Trace],
    chosen: Sequence[Recording],
    reader: Reader,
    name: str,
    named: Sequence[tuple[str, str]] = (),
    ask: Ask | None = None,
    folder: Path | None = None,
) -> Compiled:
    """Return the playbook of recordings of one goal, from verified traces. The parameters are those of `compiled`.

    It has no loops, because the caller knows the values of one item. Raises `InvalidUsage` if a step would be left to
    the model.
    """
    return _made_from_traces(traces, chosen, reader, CompileSettings(name, named, ask, folder)).told


def _with_probe(
    main: _Goal, traces: Sequence[Trace], looks: Sequence[Recording], reader: Reader, wanted: CompileSettings
) -> Compiled:
    """Return the playbook of a goal and its probe. ``looks`` are the recordings of the probe."""
    goal = main.made.name
    of = ProbeOf(goal, tuple(main.told.parameters), main.parameters.values, answered_in(main.made.recordings))
    theirs = [one for one in wanted.named if occurs_in(looks, one[1])]
    looks = [of.named_in(look, theirs) for look in looks]
    if len({look.goal for look in looks}) == 1 or of.is_private(wanted.name.replace("-", " ")):
        wanted = replace(wanted, name=f"{goal}-probe")  # its words may contain values of the item
    probe = _made_from_traces(traces, looks, reader, replace(wanted, named=theirs, probe_of=of))
    of.check_known(probe.told.parameters)
    text = playbook_yaml(main.made, probe.made)
    playbook = parse_playbook(text, "the compiled playbook", wanted.folder)
    every = list(zip(main.made.recordings, main.parameters.values, strict=True))
    ends = [(main.seen[one.last.sha256].sight, values) for one, values in every]
    before = [(main.seen[step.before.sha256].sight, values) for one, values in every for step in one.steps]
    check_only_looks(playbook, goal, ends)
    check_probe(playbook, goal, ends, before, at_once=any(not look.steps for look in looks))
    pictures = dict.fromkeys([*main.told.pictures, *probe.told.pictures])
    return replace(main.told, text=text, pictures=tuple(pictures), probe=probe.made.name)


def _made_from_traces(
    traces: Sequence[Trace],
    chosen: Sequence[Recording],
    reader: Reader,
    wanted: CompileSettings,
    others: Sequence[Recording] = (),
) -> _Goal:
    """Return the goal made from recordings of verified traces.

    Recordings that went astray are left out, as long as `FEWEST_STRAIGHT` remain. A probe leaves none out.
    Interruptions are also learned from ``others``, the recordings of other sub-goals.
    """
    pictures: dict[Picture, Sight] = {}
    for trace in traces:
        of_trace = [one for one in chosen if one.trace == trace.uri]
        sights = read(trace, of_trace, reader)
        pictures |= {picture: sights[picture.sha256] for one in of_trace for picture in one.pictures}
    if wanted.folder is not None:
        of = {
            picture.sha256: trace
            for trace in traces
            for one in chosen
            if one.trace == trace.uri
            for picture in one.pictures
        }
        cutter = Pictures(
            wanted.folder, wanted.name, pictures, lambda picture: opened(of[picture.sha256], picture.sha256)
        )
        chosen = cutter.with_pictures(chosen)
    wanted = wanted if wanted.ask is None else replace(wanted, ask=_once(wanted.ask))
    if wanted.probe_of is None:
        elsewhere = _closed_elsewhere(traces, others, reader)
        kept, interruptions = without_interruptions(chosen, pictures, elsewhere)
        with suppress(InvalidUsage):
            if interruptions:
                return _made_straight(replace(wanted, interruptions=interruptions), kept, pictures)
    return _made_straight(wanted, chosen, pictures)


def _closed_elsewhere(traces: Sequence[Trace], others: Sequence[Recording], reader: Reader) -> list[Interruption]:
    """Return the overlays that other sub-goals of the runs closed. Only their pictures are read."""
    found: list[Interruption] = []
    for one in others:
        trace = next((trace for trace in traces if trace.uri == one.trace), None)
        for before, step in zip((None, *one.steps), one.steps, strict=False):
            if trace is None or not may_close(step):
                continue
            steps = (step,) if before is None else (before, step)
            part = replace(one, steps=steps, last=step.after)
            sights = read(trace, [part], reader)
            found += closed_in(part, {picture: sights[picture.sha256] for picture in part.pictures})
    return found


def _made_straight(wanted: CompileSettings, chosen: Sequence[Recording], pictures: Mapping[Picture, Sight]) -> _Goal:
    """Return the goal of the recordings that went straight to their end."""
    astray, chosen = 0, [with_choices(one, pictures, wanted.named) for one in chosen]
    while True:
        try:
            goal = _made_somehow(wanted, chosen, pictures)
            return replace(goal, told=replace(goal.told, astray=goal.told.astray + astray))
        except DryRunMismatch as error:
            # A run that went in circles is left out. If there are only two runs and they differ, it is unknown which
            # run went in circles. The runs of a probe are never left out: they show the screens that do not count as
            # done.
            straight = [one for one in chosen if one is not error.recording]
            if len(straight) < FEWEST_STRAIGHT or wanted.probe_of is not None:
                raise
            chosen, astray = straight, astray + 1


def _once(ask: Ask) -> Ask:
    """Return a version of ``ask`` that asks for each parameter once, even if a playbook is tried several times."""
    known: dict[str, str] = {}

    def asked(values: Mapping[str, Value]) -> Mapping[str, str]:
        if new := {name: value for name, value in values.items() if name not in known}:
            known.update(ask(new))
        return known

    return asked


def _made_somehow(wanted: CompileSettings, chosen: Sequence[Recording], pictures: Mapping[Picture, Sight]) -> _Goal:
    """Return the goal of recordings whose pictures have been read.

    Recordings that did the same become a list of steps, and others become rules for screens. If no rules repeat them,
    and the settings are not strict, the shortest recording becomes a list. Raises `DryRunMismatch` for a recording that
    the playbook would not repeat.
    """
    shown = {picture.sha256: (picture, pictures[picture]) for one in chosen for picture in one.pictures}
    seen = grouped_by_screen(list(shown.values()))
    try:
        if wanted.probe_of is None and (goal := _made_of_steps(wanted, chosen, seen)) is not None:
            return goal
        return _made_of_rules(wanted, chosen, seen)
    except InvalidUsage as error:
        if (
            wanted.strict
            or wanted.probe_of is not None
            or (isinstance(error, DryRunMismatch) and len(chosen) > FEWEST_STRAIGHT)
        ):
            raise
        shortest = min(chosen, key=lambda one: len(one.steps))
        goal = _made_of_steps(wanted, [shortest], seen)
        if goal is None:
            raise
        return replace(goal, told=replace(goal.told, astray=len(chosen) - 1))


def _made_of_steps(
    wanted: CompileSettings, chosen: Sequence[Recording], seen: Mapping[str, ReadPicture]
) -> _Goal | None:
    """Return the goal of recordings as a list of steps; ``None`` if they did different things.

    A step that the list would not repeat is left to the model. Raises `DryRunMismatch` in its place if the settings are
    strict.
    """
    parameters = _parameters(wanted, chosen, seen)
    ways = [visits(one, seen, values) for one, values in zip(chosen, parameters.values, strict=True)]
    way = merged(ways, variants(chosen, seen, parameters.values))
    if not is_linear(way, chosen, {seen[one.last.sha256].screen for one in chosen}):
        return None
    taken, left, loops = list(_steps(way)), dict[int, str](), wanted.loops
    count = sum(len(visit.steps) for visit in way)
    while True:
        builder = StepsBuilder(chosen, seen, parameters, mines=True, left=left, loops=loops)
        made = CompiledGoal(wanted.name, builder.built(way).interrupted_by(wanted.interruptions), chosen)
        if wanted.strict and made.built.by_model:
            first = made.built.by_model[0]
            raise InvalidUsage(f"Step {first.step} takes the model: {first.why}.")
        text = playbook_yaml(made)
        playbook = parse_playbook(text, "the compiled playbook", wanted.folder)
        try:
            _check(wanted, playbook, chosen, parameters, seen, taken, made.built.items)
        except DryRunMismatch as error:
            if made.built.items:
                loops = False
                continue
            until = count if error.place is None else error.place
            # A step may also differ because an effect of an earlier one did not last.
            place = next((one for one in range(until, -1, -1) if one not in left), None)
            if wanted.strict or place is None or len(chosen) > 1:
                raise
            left[place] = NOT_AGAIN
            continue
        return _goal(made, text, playbook, parameters, seen, way)


def _made_of_rules(wanted: CompileSettings, chosen: Sequence[Recording], seen: Mapping[str, ReadPicture]) -> _Goal:
    """Return the goal of recordings as rules for screens.

    Tries finer and coarser ways to distinguish the screens if the first one fails.
    """
    try:
        return _made(wanted, chosen, seen)
    except InvalidUsage as error:
        if isinstance(error, DryRunMismatch):
            finer = split_by_targets(seen, _pressed(chosen, seen))
            with suppress(InvalidUsage):
                if finer != seen:
                    return _made(wanted, chosen, finer)
        with suppress(InvalidUsage):
            return _made(wanted, chosen, grouped_by_text(seen), stays_there=True)
        raise


def _pressed(chosen: Sequence[Recording], seen: Mapping[str, ReadPicture]) -> Iterable[tuple[str, str]]:
    """Yield pairs of a picture and the label without digits that was pressed on it."""
    for one in chosen:
        for step in one.steps:
            sight = seen[step.before.sha256].sight
            target = target_at(step.points[0], sight, {}) if step.points else None
            if target is not None and target.text is not None and not digits(target.text):
                yield step.before.sha256, target.text


def _made(
    wanted: CompileSettings, chosen: Sequence[Recording], seen: Mapping[str, ReadPicture], *, stays_there: bool = False
) -> _Goal:
    """Return the goal of recordings whose pictures are grouped by screen."""
    parameters = _parameters(wanted, chosen, seen)
    ways = [visits(one, seen, values) for one, values in zip(chosen, parameters.values, strict=True)]
    way = merged(ways, variants(chosen, seen, parameters.values))
    taken = list(_steps(way))
    for mines in (True, False):
        built = wanted.builder(chosen, seen, parameters, mines, stays_there).built(way)
        built = built.interrupted_by(wanted.interruptions)
        made = CompiledGoal(wanted.name, built, chosen)
        text = playbook_yaml(made)
        playbook = parse_playbook(text, "the compiled playbook", wanted.folder)
        try:
            _check(wanted, playbook, chosen, parameters, seen, taken)
            break
        except DryRunMismatch:
            # A text that disappeared before the next step cannot be waited for.
            if not mines:
                raise
    return _goal(made, text, playbook, parameters, seen, way)


def _parameters(wanted: CompileSettings, chosen: Sequence[Recording], seen: Mapping[str, ReadPicture]) -> Parameters:
    """Return the parameters of recordings, with the names that a person gives them."""
    parameters = parameters_of(chosen, seen, wanted.named)
    return parameters if wanted.ask is None else parameters.renamed(wanted.ask(parameters.every[0]))


def _goal(
    made: CompiledGoal,
    text: str,
    playbook: Playbook,
    parameters: Parameters,
    seen: Mapping[str, ReadPicture],
    way: Sequence[Visit],
) -> _Goal:
    """Return a checked goal with the facts about it."""
    taken = list(_steps(way))
    steps = sum(len(visit.steps) for visit in way)
    left_out = sum(step not in taken for one in made.recordings for step in one.steps)
    targets = (target for rule in playbook.rules_of(made.name) for action in rule.do for target in action.targets)
    used = {way.picture.name: None for target in targets for way in target.ways if way.picture is not None}
    given = (name for one in made.recordings for name, value in one.data.items() if isinstance(value, str | int))
    told = Compiled(
        text,
        made.name,
        dict(playbook.goals[made.name].params),
        steps,
        left_out,
        made.built.unread,
        pictures=tuple(used),
        by_model=made.built.by_model,
        lists=playbook.goals[made.name].lists,
        unused=tuple(name for name in dict.fromkeys(given) if f"{{{name}" not in text),
    )
    return _Goal(made, told, parameters, seen)


def _check(
    wanted: CompileSettings,
    playbook: Playbook,
    chosen: Sequence[Recording],
    parameters: Parameters,
    seen: Mapping[str, ReadPicture],
    taken: Collection[RecordedStep],
    items: Mapping[str, Sequence[Mapping[str, Value]]] = MappingProxyType({}),
) -> None:
    """Raise `DryRunMismatch` for a recording that the playbook would not repeat.

    ``items`` are the lists of its loops. Raises `InvalidUsage` if a probe would report the effect on a screen where its
    run did not.
    """
    is_probe = wanted.probe_of is not None
    for one, values in zip(chosen, parameters.every, strict=True):
        whole, told = unrolled(playbook, wanted.name, {**values, **items})
        ended = check_dry_run(whole, wanted.name, one, told, seen, taken, WAITS if is_probe else 0)
        if is_probe:
            check_said(ended, one)
    if is_probe:
        check_looks(playbook, wanted.name, looks_at(chosen, seen, parameters))


def _steps(way: Iterable[Visit]) -> Iterable[RecordedStep]:
    for visit in way:
        yield from visit.steps
        for steps in visit.alike.values():
            yield from steps

"""Learn a playbook from runs that the model has answered, and compare it with the model before it is used.

`run.learn` has the options: `Learn` lets a sub-goal learn, and the layer `Learned` follows a learned playbook.
`subgoal` gets a `PlaybookLearner` for both: from `learner_of_run` for `Learn`, and from `resolve_learned_layer` for
`Learned`.

A compiled playbook is first "in the shadow": it only predicts the model's actions. Compiling and comparing happen after
a run is over and its trace is closed. A fault of learning is logged and fails no item and no run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from holo_tasks.audit.keys import signing_key
from holo_tasks.audit.reader import Trace, open_trace
from holo_tasks.audit.trace import write_durably
from holo_tasks.audit.verifier.bundle import open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import verify
from holo_tasks.compiler.compile import compiled_of
from holo_tasks.compiler.goals import name_of_goal
from holo_tasks.compiler.paths import TYPING
from holo_tasks.compiler.playbook_stores import store_at
from holo_tasks.compiler.recording import Recording, recordings
from holo_tasks.compiler.shadow import difference
from holo_tasks.compiler.versions import Version, Versions
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.texts.outside_text import is_placeholder
from holo_tasks.machine.private import private_folder
from holo_tasks.run.items.stored_work import Call, StoredFunction
from holo_tasks.run.learn import MOST, Learn, Learned
from holo_tasks.run.run import Run
from holo_tasks.run.subgoal_options import MODEL, PLAYBOOK, SubgoalOptions
from holo_tasks.safety.scrubbing import scrub_data
from holo_tasks.scripts.playbook import Playbook
from holo_tasks.scripts.script import Script
from holo_tasks.scripts.step_outcome import count
from holo_tasks.vision.control_text import can_read

TAG = 9
"""Length of the suffix of a name, which distinguishes sub-goals with the same title."""
_NOTES = "learning"
"""Folder in the home with notes about runs that have not been used for learning yet."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _AnsweredGoal:
    """A sub-goal that the model has answered: its trace, its number in the trace, and its arguments."""

    trace: str
    subgoal: int
    arguments: Mapping[str, str | int]


@dataclass
class PlaybookLearner:
    """Learns the playbook of one sub-goal in one run, and provides the playbook that was learned before.

    Without ``learn`` it only provides that playbook and counts its results. ``why_off`` is the reason if it cannot
    work, otherwise empty. ``place`` is the folder or bucket of the playbook. ``fitted`` and ``gave_up`` count this
    run's replays in which the playbook fitted the screens or gave up. ``begun`` is set after `begin`.
    """

    run: Run
    goal: str
    learn: Learn | None
    place: str = ""
    public_key: PublicKey | None = None
    """Key that must have signed the versions. ``None`` is this machine's key."""
    name: str = ""
    why_off: str = ""
    version: Version = field(default_factory=Version)
    playbook: Playbook | None = None
    fitted: int = 0
    gave_up: int = 0
    noted: list[_AnsweredGoal] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def options_with_playbook(self, declared: SubgoalOptions, arguments: Mapping[str, Any]) -> SubgoalOptions:
        """Return the options of a call, with a promoted playbook before the model."""
        script = self.script(arguments)
        return declared if script is None else replace(declared, layers=(script, *declared.in_order))

    def script(self, arguments: Mapping[str, Any]) -> Script | None:
        """Return the playbook with a call's arguments.

        Returns ``None`` without a promoted playbook, if it gave up more often than it fitted, or if the arguments do
        not fit.
        """
        version = self.version
        if self.why_off or self.playbook is None or version.gave_up + self.gave_up > version.fitted + self.fitted:
            return None
        wanted = self.playbook.goals[version.goal].params
        try:
            script = Script(
                self.playbook, version.goal, **{name: arguments[name] for name in wanted if name in arguments}
            )
            script.check_values()
        except InvalidUsage:
            return None
        script.version = version.id
        return script

    def count_result(self, run: Run, call: Call, answered: int, replayed: int) -> None:
        """Count the result of a call.

        ``answered`` and ``replayed`` are the lengths that `run.resolved` and `run.replayed` had before the call.
        """
        resolved, replays = run.resolved[answered:], run.replayed[replayed:]
        layers = {one.subgoal: one.layer for one in resolved}
        for replay in replays:
            if self.playbook is not None and replay.goal == self.version.goal:
                fits = layers.get(replay.subgoal) == PLAYBOOK or not count(replay.outcomes, "failed")
                self.fitted, self.gave_up = self.fitted + fits, self.gave_up + (not fits)
        mine = [one for one in resolved if one.title == call.title]
        if self.learn is not None and not replays and len(mine) == 1 and mine[0].layer == MODEL:
            self.noted = [*self.noted, _AnsweredGoal(run.trace, mine[0].subgoal, _plain(call.given))][:MOST]

    async def begin(self) -> None:
        """Look up the newest version and, if it is promoted, its playbook."""
        try:
            await self._log_faults(self._begin)
        finally:
            self.begun.set()

    async def finish(self) -> None:
        """Learn from the run, which is over."""
        await self._log_faults(self._finish)

    async def _log_faults(self, work: Any) -> None:
        if self.why_off:
            return
        try:
            await asyncio.to_thread(work)
        except Exception as error:  # the model does the item anyway, so learning must not fail it
            said = str(error) if isinstance(error, HoloError) else f"{type(error).__name__}: {error}"
            self.why_off = said
            self._log.warning("Nothing is learned about ‘%s’ in this run: %s", self.goal, said)

    # in a thread

    def _begin(self) -> None:
        if not can_read():
            raise InvalidUsage("Pictures cannot be read here: pip install 'prefect-holo[rehearsal]'.")
        self.name = self.name or self._folder_name()
        self.version = self._versions.newest()
        if self.version.status == "promoted":
            self.playbook, _ = self._versions.playbook(self.version)

    def _folder_name(self) -> str:
        """Return the name of this goal's folder at the place. Raises `InvalidUsage` if the goal selects several."""
        found = [name for name in store_at(self.place).folders() if self.goal in ("", name, name[:-TAG])]
        if len(found) > 1:
            raise InvalidUsage(f"{self.place} has {', '.join(found)}: name one with learned(place, goal).")
        return found[0] if found else self.goal or "none"

    def _finish(self) -> None:
        newest = self._versions.newest()  # other runs also act and learn
        if newest.id == self.version.id:
            self.version = newest
        if self.version.status == "promoted" and self.public_key is None and (self.fitted or self.gave_up):
            self._sign_note("acted", fitted=self.fitted, gave_up=self.gave_up, run=self.run.run_id)
            if self.version.gave_up > self.version.fitted:
                counts = f"{self.version.gave_up} times, and fitted {self.version.fitted}"
                self._sign_note("demoted", why=f"it gave up {counts}")
                self._log.warning(
                    "The learned playbook of ‘%s’ (version %s) gave up %s: the model works in its place again.",
                    self.goal, self.version.id, counts,
                )  # fmt: skip
        if self.learn is None:
            return
        self.version = newest if newest.id != self.version.id else self.version
        waiting = self.noted
        if waiting and self.version.status in ("none", "dropped"):
            waiting = self._compile([*self._stored_notes(), *self.noted])
        if waiting and self.version.status == "shadow":
            self._compare_in_shadow(waiting)

    def _compile(self, noted: list[_AnsweredGoal]) -> list[_AnsweredGoal]:
        """Compile a playbook once there are enough notes. Return the notes that were not used."""
        assert self.learn is not None
        enough, later = noted[: self.learn.after], noted[self.learn.after :]
        if len(enough) < self.learn.after:
            self._store_notes()
            return []
        for path in self._files():  # runs that cannot be compiled now cannot be compiled later
            path.unlink(missing_ok=True)
        found = [self._find_recording(note) for note in enough]
        if missing := [note.trace for note, one in zip(enough, found, strict=True) if one is None]:
            raise InvalidUsage(f"Nothing can be learned from {missing[0]}: it is incomplete or was changed.")
        whole = [one for one in found if one is not None]
        traces = list({trace.uri: trace for trace, _ in whole}.values())
        chosen = [replace(one, data={**_used_arguments(note.arguments, one), **one.data}) for note, (_, one) in
                  zip(enough, whole, strict=True)]  # fmt: skip
        made = compiled_of(traces, chosen, self._reader, self.goal)
        if strange := sorted(made.parameters.keys() - enough[0].arguments.keys()):
            raise InvalidUsage(f"the playbook would need {strange[0]!r}, which is not an argument of the sub-goal.")
        self.version = self._versions.add_version(made.text, self.goal, [one.digest for one in chosen])
        self._log.info("‘%s’ was learned from %d runs: version %s.", self.goal, len(chosen), self.version.id)
        return later

    def _compare_in_shadow(self, noted: Sequence[_AnsweredGoal]) -> None:
        """Compare the version in the shadow with the model's actions. Promote or drop it after enough comparisons."""
        assert self.learn is not None
        playbook, _ = self._versions.playbook(self.version)
        for note in noted:
            found = self._find_recording(note)
            if found is None:
                continue
            values = {name: note.arguments.get(name) for name in playbook.goals[self.version.goal].params}
            differs = difference(playbook, self.version.goal, values, *found, self._reader)
            self._sign_note("shadow", agreed=not differs, run=self.run.run_id)
            if differs:
                self._log.info("‘%s’, version %s, differs: %s", self.goal, self.version.id, differs)
            if self.version.agreed >= self.learn.shadow and self.version.agreed > self.version.differed:
                self._sign_note("promoted", run=self.run.run_id)
                self._log.info("‘%s’, version %s, works before the model from now on.", self.goal, self.version.id)
                return
            if self.version.differed >= self.learn.shadow:
                self._sign_note("dropped", run=self.run.run_id)
                return

    def _find_recording(self, note: _AnsweredGoal) -> tuple[Trace, Recording] | None:
        """Return the recording of a noted sub-goal with its trace. ``None`` if the trace is not valid or lacks it."""
        if note.trace not in self._read:
            verdict = verify(open_bundle(note.trace), self._versions.public, Heads(Path(note.trace).name))
            trace = open_trace(note.trace)
            reported = recordings(trace, verdict.head) if verdict.verdict == "VALID" else []
            self._read[note.trace] = trace, {one.subgoal: one for one in reported}
        trace, by_number = self._read[note.trace]
        return (trace, by_number[note.subgoal]) if note.subgoal in by_number else None

    def _sign_note(self, kind: Any, **facts: Any) -> None:
        """Add a signed note of this kind to the version, such as a comparison or a promotion."""
        self.version = self._versions.note(self.version, kind, **facts)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob(f"{self.name}.*.json"))

    def _stored_notes(self) -> list[_AnsweredGoal]:
        """Return the notes of earlier runs, oldest first."""
        return [_AnsweredGoal(**one) for path in self._files() for one in json.loads(path.read_bytes())]

    def _store_notes(self) -> None:
        if self.noted:
            reported = json.dumps([asdict(one) for one in self.noted]).encode()
            write_durably(self._folder / f"{self.name}.{self.run.run_id}.json", reported)

    @cached_property
    def _versions(self) -> Versions:
        own = signing_key(self.run.home)
        public, key = (PublicKey(own.public_pem.encode()), own) if self.public_key is None else (self.public_key, None)
        return Versions(store_at(self.place or private_folder(self.run.home, "learned")), self.name, public, key)

    @cached_property
    def _folder(self) -> Path:
        return private_folder(self.run.home, _NOTES)

    @cached_property
    def _read(self) -> dict[str, tuple[Trace, dict[int, Recording]]]:
        return {}

    @cached_property
    def _reader(self) -> Any:
        from holo_tasks.vision.ocr_reader import Reader

        return Reader()

    @property
    def _log(self) -> Any:
        return self.run.log


async def learner_of_run(run: Run, known: StoredFunction, learn: Learn) -> PlaybookLearner:
    """Return the learner of a sub-goal that is declared with `Learn`. The newest version is looked up once per run."""
    goal = name_of_goal(known.goal)
    name = f"{goal}-{hashlib.sha256(known.same.name.encode()).hexdigest()[: TAG - 1]}"
    return await _begun_learner(
        run, f"{learn.into}/{name}", PlaybookLearner(run.whole, goal, learn, str(learn.into), name=name)
    )


async def resolve_learned_layer(
    run: Run, declared: SubgoalOptions, arguments: Mapping[str, Any]
) -> tuple[SubgoalOptions, PlaybookLearner | None]:
    """Return the options with the learned playbook in place of a `Learned` layer, and the learner that counts results.

    Raises `InvalidUsage` if no layer would be left, or if a version is not signed with the expected key.
    """
    layer = next((one for one in declared.in_order if isinstance(one, Learned)), None)
    if layer is None:
        return declared, None
    public = None if layer.public_key is None else PublicKey.load(layer.public_key)
    asked = PlaybookLearner(run.whole, layer.goal, None, layer.place, public)
    found = await _begun_learner(run, f"{layer.place}/{layer.goal}", asked)
    if found.why_off:
        raise InvalidUsage(found.why_off)
    script = found.script(arguments)
    place = declared.in_order.index(layer)
    layers = [*declared.in_order[:place], *([script] if script else []), *declared.in_order[place + 1 :]]
    if not layers:
        raise InvalidUsage(f"No version at {layer.place} is promoted yet: put 'model' after learned(…).")
    return replace(declared, layers=layers), found


async def _begun_learner(run: Run, key: str, wanted: PlaybookLearner) -> PlaybookLearner:
    found: PlaybookLearner | None = run.whole.learning.get(key)
    if found is None:
        found = run.whole.learning[key] = wanted
        await found.begin()
    await found.begun.wait()  # several desktops of one run may call this at the same time
    return found


def _plain(arguments: Mapping[str, Any]) -> dict[str, str | int]:
    """Return the texts and integers among the arguments, without those that contain a secret."""
    reported = scrub_data({name: one for name, one in arguments.items() if isinstance(one, str | int)})
    return {name: one for name, one in reported.items() if not isinstance(one, bool) and not is_placeholder(str(one))}


def _used_arguments(arguments: Mapping[str, str | int], recording: Recording) -> dict[str, str | int]:
    """Return the arguments that occur in the goal or the typed texts of a recording. Others are no parameters."""
    typed = [str(step.arguments.get(TYPING[step.tool], "")) for step in recording.steps if step.tool in TYPING]
    said = [recording.goal, recording.title, *typed]
    return {name: one for name, one in arguments.items() if any(str(one) in text for text in said)}

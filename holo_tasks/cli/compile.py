"""`holo-tasks compile`: make a playbook from the traces of finished runs. `record` also uses it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from holo_tasks.audit import keys
from holo_tasks.audit.reader import Trace, open_trace
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.cli.verify import verify_by
from holo_tasks.compiler.compile import Compiled, compiled
from holo_tasks.compiler.parameters import Ask
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import RunClosed
from holo_tasks.core.paths import expanded
from holo_tasks.machine.output import say
from holo_tasks.scripts.playbook import load_playbook
from holo_tasks.scripts.values import PLACEHOLDER
from holo_tasks.vision.control_text import can_read
from holo_tasks.vision.ocr_reader import Reader

KEY = "give each item a key (`run --token`, or key= of a sub-goal), or compile a probe"
AGAIN = f"a second run repeats an item that was done before; if the steps change something, {KEY}"
FIRST_SCREEN = f"the playbook looks for an earlier item on its first screen only; if items may be out of view, {KEY}"
REPEATS = (
    "a second run of the same values prints a warning and repeats them; to prevent this, write `again: refuse` into "
    f"the file, or {KEY}"
)


def compile_traces(
    traces: Sequence[str],
    out: Path,
    goal: str,
    params: Sequence[str],
    public_key: Path | None,
    home: Path,
    *,
    as_json: bool,
    ask: Ask | None = None,
    reader: Reader | None = None,
    probes: Sequence[str] = (),
    strict: bool = False,
) -> str:
    """Write a playbook from traces and return the text for stdout.

    ``ask`` names the parameters. ``reader`` may have pictures in its cache. ``probes`` are traces of runs that looked
    for the effect. An existing playbook with other contents is kept as ``FILE.before``. ``strict`` refuses runs with a
    step that the model would have to do.

    Raises `InvalidUsage` without writing anything, for example if a trace is not valid.
    """
    named = [_named(param) for param in params]
    if not out.name or out.is_dir():
        raise InvalidUsage(f"--out must name a file, not {str(out)!r}.")
    if not can_read():
        raise InvalidUsage("Pictures cannot be read here: pip install 'prefect-holo[rehearsal]'.")
    key = _key(public_key, home)
    traces, probes = ([uri.rstrip("/") or uri for uri in each] for each in (traces, probes))
    uris = list(dict.fromkeys([*traces, *probes]))
    verified = {}
    for number, uri in enumerate(uris, start=1):
        say(f"verifying and reading run {number} of {len(uris)}")
        verified[uri] = _verified(uri, key, home)
    runs, looks = ([verified[uri] for uri in dict.fromkeys(each)] for each in (traces, probes))
    with TemporaryDirectory() as scratch:
        made = compiled(runs, reader or Reader(), goal, named, ask, Path(scratch), looks, strict=strict)
        kept = _written(out, made.text, [Path(scratch, name) for name in made.pictures])
    for line in _advice(made, out, kept):
        say(line)
    return _as_json(made, out, list(verified.values())) if as_json else str(out)


def _named(param: str) -> tuple[str, str]:
    name, equals, value = param.partition("=")
    if not equals or not value:
        raise InvalidUsage(f"--param takes NAME=VALUE, not {param!r}.")
    return name, value


def _key(public_key: Path | None, home: Path) -> PublicKey:
    if public_key is not None:
        return PublicKey.load(expanded(str(public_key)))
    own = keys.existing_key(home)
    if own is None:
        raise InvalidUsage("This machine has no key: give --public-key of the machine that recorded the traces.")
    return PublicKey(own.public_pem.encode())


def _verified(uri: str, key: PublicKey, home: Path) -> tuple[Trace, str]:
    """Return a trace and the digest of its head. Raises `InvalidUsage` unless it is valid and ended as answered."""
    verdict = verify_by(uri, key, None, home)
    if verdict.verdict != "VALID":
        raise InvalidUsage(f"{uri} is {verdict.verdict}: {verdict.reason}. No playbook is made from it.")
    trace = open_trace(uri)
    last = [record.event for record in trace.records() if isinstance(record.event, RunClosed)][-1:]
    if not last or last[0].status != "answered":
        status = last[0].status if last else "not closed"
        raise InvalidUsage(f"{uri} did not end as answered ({status}): no playbook is made from it.")
    return trace, verdict.head


def _written(out: Path, text: str, pictures: Sequence[Path] = ()) -> Path | None:
    """Write a playbook atomically. Return the path of the previous one if its contents differ, else ``None``.

    The pictures are copied first. Each is named after its contents, so none replaces another.
    """
    draft, kept = out.with_name(f".{out.name}.{os.getpid()}"), out.with_name(f"{out.name}.before")
    try:
        for picture in pictures:
            shutil.copy(picture, out.parent)
        draft.write_text(text, encoding="utf-8")
        differs = out.exists() and out.read_text(encoding="utf-8", errors="replace") != text
        if differs:
            out.replace(kept)
        draft.replace(out)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidUsage(f"The playbook cannot be written: {error.strerror}; check --out.") from None
    return kept if differs else None


def _advice(made: Compiled, out: Path, kept: Path | None) -> list[str]:
    said = [f"{_count(made.steps, 'step')}; parameters: {', '.join(made.parameters) or 'none'}"]
    said += [
        f"a loop over the list {name!r}, with {', '.join(kinds)} for each item" for name, kinds in made.lists.items()
    ]
    if made.unused:
        said.append(f"no step uses {', '.join(made.unused)}: the playbook does the same for every such value")
    if made.probe:
        said.append(f"its probe {made.probe} looks for the effect")
    else:
        said += _told_of_repetition(out, made.goal)
    said += [f"step {one.step} takes the model: {one.why}" for one in made.by_model]
    if made.left_out:
        said.append(f"left out as detours: {_count(made.left_out, 'recorded step')}")
    if made.astray:
        said.append(f"left out because of another path than the others: {_count(made.astray, 'run')}")
    if made.pictures:
        said.append(f"some targets are found by pictures, in these colors: {', '.join(made.pictures)}")
    if made.unread:
        said.append(f"at the end the model is asked for {', '.join(made.unread)}: no recorded screen shows it")
    if kept is not None:
        said.append(f"the previous playbook is kept in {kept}")
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _told_of_repetition(file: Path, name: str) -> list[str]:
    """Return what to say of a playbook that types values of an item, so that it may enter the item twice."""
    playbook = load_playbook(file)
    goal = playbook.goals[name]
    done = [action for rule in playbook.rules_of(name) for action in rule.do]
    types = any(PLACEHOLDER.search(action.write.text) for action in done if action.write is not None)
    repetition = REPEATS if goal.again else AGAIN if types and not goal.absent else ""
    return [*filter(None, (FIRST_SCREEN if goal.absent else "", repetition))]


def _as_json(made: Compiled, out: Path, verified: Sequence[tuple[Trace, str]]) -> str:
    return json.dumps(
        {
            "file": str(out),
            "goal": made.goal,
            "params": made.parameters,
            "lists": {name: dict(kinds) for name, kinds in made.lists.items()},
            "steps": made.steps,
            "left_out": made.left_out,
            "astray": made.astray,
            "ask_model": list(made.unread),
            "probe": made.probe or None,
            "by_model": [{"step": one.step, "words": one.words, "why": one.why} for one in made.by_model],
            "runs": [{"trace": trace.uri, "sha256": digest} for trace, digest in verified],
        }
    )

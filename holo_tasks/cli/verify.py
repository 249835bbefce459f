"""`holo-tasks verify` and `holo-tasks keys`: verify a trace, and manage the signing key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from holo_tasks.audit import anchor_places, keys
from holo_tasks.audit.verifier.bundle import Bundle, open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import Verdict, verify
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.events import RUN_ID
from holo_tasks.core.paths import expanded


def verify_trace(
    trace: str, public_key: Path, anchors: str | None, home: Path, environ: Mapping[str, str] | None = None
) -> Verdict:
    """Verify a trace with the public key in a file. See `verify_by`."""
    return verify_by(trace, PublicKey.load(expanded(str(public_key))), anchors, home, environ)


def verify_by(
    trace: str, key: PublicKey, anchors: str | None, home: Path, environ: Mapping[str, str] | None = None
) -> Verdict:
    """Verify a trace with a public key and its anchored heads.

    ``anchors`` is the place of the heads. The default is the home and the place that HOLO_ANCHORS names.
    """
    bundle = open_bundle(trace)
    run = _run_of(bundle)
    own = str(anchor_places.anchor_file(home))
    named = "" if anchors is not None else anchor_places.named_anchors(environ)
    absent = []
    if anchors is not None:
        sources = [anchors if anchors.startswith("s3://") else str(expanded(anchors).absolute())]
    else:
        sources = [own] if _exists(own) else []
        if named.startswith("s3://") or (named and _exists(named)):
            sources += [named] if named != own else []
        elif named:
            absent.append(named)
    # Heads are read before the trace: a run that goes on could anchor a head behind the end that was read.
    heads = _heads(bundle.name, sources, key, own)
    if not heads.by_sequence and run != bundle.name:
        heads = _heads(run, sources, key, own)
    heads.missing_lists = absent
    spooled = bundle.in_segments and bool(run) and _exists(str(home.absolute() / "spool" / run))
    return verify(bundle, key, heads, insist=anchors is not None, spooled=spooled)


def in_words(verdict: Verdict) -> str:
    """Return the verdict as one or two sentences."""
    notes = "".join(f" Note: {note}." for note in verdict.notes)
    if verdict.verdict != "VALID":
        return f"{verdict.verdict}: {verdict.reason}.{notes}"
    anchored = (
        f"it fits its {verdict.anchored['heads']} anchored heads"
        if verdict.anchored
        else "no anchored head is known here, so the holder of the key may have rewritten the trace"
    )
    return (
        f"VALID: all {verdict.records} records and {verdict.frames} pictures of the run {verdict.run_id} are "
        f"unchanged since they were signed with the key {verdict.signed_by[:16]}…; {anchored}.{notes}"
    )


def as_json(verdict: Verdict) -> str:
    return json.dumps(asdict(verdict))


def public_pem(home: Path) -> str:
    """Return the public key (PEM) of this machine's signing key. Raises `InvalidUsage` without a key."""
    key = keys.existing_key(home)
    if key is None:
        raise InvalidUsage(
            f"{keys.key_path(home)} has no signing key yet: `holo-tasks keys new` makes one, and so does the first run"
        )
    return key.public_pem.rstrip("\n")


def new_key(home: Path, *, replace: bool) -> tuple[str, list[str]]:
    """Make a key pair. Return the path of its file, and lines for stderr."""
    said = []
    path = keys.key_path(home)
    if replace:
        aside = keys.replace_key(home)
        if aside is not None and aside.name.startswith(keys.UNUSABLE):
            said.append(f"the previous file could not be used as a key: it is kept in {aside}")
        elif aside is not None:
            said.append(
                f"the previous key is kept in {aside}: HOLO_SIGNING_KEY_FILE={aside} `holo-tasks keys show` prints the"
                " public key for the traces it signed"
            )
    elif not keys.make_key(home):
        raise InvalidUsage(
            f"a signing key exists already, {path}, and stays unchanged. `holo-tasks keys new --replace` makes a new "
            "key for further runs. It keeps this one, usable or not, for the traces that it signed"
        )
    for variable in (keys.KEY_VARIABLE, keys.FILE_VARIABLE):
        if os.environ.get(variable, "").strip():
            said.append(f"{variable} is set, so runs sign with that key and not with the new one")
    return str(path), said


def ready(home: Path) -> None:
    """Raise `InvalidUsage` if a run could not sign its trace or anchor its heads."""
    keys.signing_key(home)
    anchor_places.anchor_places(home)


def _run_of(bundle: Bundle) -> str:
    """Return the run id in a trace's first line, else its folder's name, else an empty text. It is not verified."""
    try:
        found = json.loads(bundle.first_line())
        run = found["run"]
    except (ValueError, RecursionError, KeyError, TypeError):
        run = None
    for name in (run, bundle.name):
        if isinstance(name, str) and RUN_ID.fullmatch(name):
            return name
    return ""


def _exists(path: str) -> bool:
    """Return whether a file exists. Raises `InvalidUsage` if that cannot be found out."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InvalidUsage(f"{path} cannot be looked at: {error.strerror}") from error
    return True


def _heads(run: str, sources: list[str], key: PublicKey, own: str) -> Heads:
    heads = Heads(run)
    for source in sources if RUN_ID.fullmatch(run) else ():
        heads.read(source, key, is_this_machines=source == own)
    return heads

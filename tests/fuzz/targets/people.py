"""Input from people: the command line, answers, Variables; and secrets that must not leak from it."""

from __future__ import annotations

import base64
import contextlib
import functools
import html
import json
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from hypothesis import strategies as st

from holo_tasks.cli.commands import carry_out
from holo_tasks.cli.parser import command_line
from holo_tasks.core.errors import HoloError, InvalidUsage
from holo_tasks.core.secrets.scrub import Scrubber
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.kill.sources import named_in
from holo_tasks.safety.database.store import Store
from holo_tasks.safety.masking.fuzzy_search import folded_secret, name_in, secret_in
from holo_tasks.safety.masking.kinds import FINDERS, find
from holo_tasks.safety.records.handoffs import Handoffs
from tests.fuzz.target import Target, check

COMMANDS = (
    "run\0Find it.\0--app\0xterm\0--max-steps\0 5\0--allow\0read\0--size"
    "\0800x600\0--max-cost-usd\0 0.5\0--secret\0pin=/usr/bin/xterm\0--json",
    "report\0trace\0--out\0page.html",
    "index\0runs\0--out\0index.html\0--json\0--reports",
    "export\0runs\0--csv\0-\0--steps",
    "models\0--json",
    "runs\0--last\0 5\0--json",
    "verify\0trace\0--public-key\0key.pem\0--anchors\0heads\0--json",
    "keys\0new\0--replace",
    "keys\0show",
    "approve\0 7\0--by\0me\0--ttl\0 9",
    "handoff\0list\0--json",
    "handoff\0resume\0ab12-cd34\0--choice\0done\0--note\0x\0--by\0y",
    "kill\0--run\0run-1\0--reason\0x",
    "retry\0item\0--done\0note",
    "doctor\0--timeout\0 5",
)
CARRIED_OUT = ("report", "index", "export", "models", "runs", "verify", "keys", "approve", "handoff", "retry")


@functools.cache
def _home() -> Path:
    home = Path(tempfile.mkdtemp())
    os.environ["HOLO_HOME"] = str(home / "holo")
    (home / "here" / "runs").mkdir(parents=True)
    (home / "here" / "trace").mkdir()
    (home / "here" / "trace" / "events.jsonl").write_bytes(b"{}\n")
    return home


def _arguments(data: bytes) -> object:
    """Parse any words. Run a command only if it starts no program and stays in this folder."""
    words = [word for word in os.fsdecode(data).split("\0") if word][:40]
    here = _home() / "here"
    os.chdir(here)
    far = any(
        word.startswith(("/", "~")) or ".." in word or "s3:" in word or "=/" in word or "=~" in word for word in words
    )
    try:
        if words and words[0] in CARRIED_OUT and not far:
            code = carry_out(words)
            check(code in (0, 2, 3, 4, 15), f"the exit code {code} is none")
            return words[0], code
        command_line().parse_args(words)
        return "read"
    except SystemExit as ended:
        check(ended.code in (0, None), f"the exit code {ended.code} is none")
        return "help"
    except HoloError as error:
        str(error).encode("utf-8", "replace")
        check(error.exit_code != 1, "an error has no exit code")
        raise


class _Waiting:
    """A waiting hand-off. Makes a new one after it was answered."""

    def __init__(self) -> None:
        self.handoffs = Handoffs(Store(f"sqlite:///{_home() / 'handoffs.db'}"))
        self.id = ""

    def open(self) -> str:
        if not self.id or self.handoffs.find(self.id).state != "open":
            self.id = self.handoffs.open("Which?", ("done", "refuse – Zoë"), run_id="run-1", timeout_s=9999).id
        return self.id


@functools.cache
def _waiting() -> _Waiting:
    return _Waiting()


def _handoff(data: bytes) -> object:
    """Three lines: the choice, the person, and the hand-off; the rest is the note."""
    choice, by, name, *note = (data.decode("utf-8", "surrogateescape") + "\n\n\n").split("\n")
    waiting = _waiting()
    id = name or waiting.open()
    answered = waiting.handoffs.answer(id, choice, note="\n".join(note), by=by)
    check(
        answered.choice in answered.choices and "\0" not in answered.note + answered.by,
        "an answer with an unknown choice was accepted",
    )
    json.dumps(answered.note, ensure_ascii=False).encode()
    return answered.choice


def _variable(data: bytes) -> object:
    """The value of a Prefect Variable, as JSON or as text."""
    value: Any = data.decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(data)
    named = named_in(value)
    check(all(isinstance(name, str) and name for name in named), "a name is none")
    check(data.strip() != b'"all"' or "all" in named, "all are not meant")
    return len(named)


CANARY = 'Canary-7 "pß\\/&%+é'
WAYS = (
    CANARY,
    json.dumps(CANARY)[1:-1],
    json.dumps(CANARY, ensure_ascii=False)[1:-1],
    json.dumps(json.dumps(CANARY)[1:-1])[1:-1],
    repr(CANARY)[1:-1],
    quote(CANARY, safe=""),
    quote(CANARY),
    quote_plus(CANARY),
    html.escape(CANARY),
    CANARY.encode().hex(),
    CANARY.encode().hex().upper(),
    *(base64.b64encode(b"x" * pad + CANARY.encode() + b"yyy").decode()[4:-8] for pad in range(3)),
)
PLACE = "@@"


@functools.cache
def _scrubber() -> Scrubber:
    return Scrubber([Secret("canary", CANARY), Secret("other", "7777"), Secret("third", "ry-7 ")])


def _scrub(data: bytes) -> object:
    """Insert a secret in every encoding at each marked position of a text, and scrub it."""
    text = data.decode("utf-8", "replace")[:4000]
    scrubber, found = _scrubber(), 0
    for way in WAYS:
        said = text.replace(PLACE, way)
        for safe in (
            scrubber.text(said),
            scrubber.written(said),
            json.dumps(scrubber.plain({"a": [said]}), ensure_ascii=False),
        ):
            for other in WAYS:
                check(other not in safe or other in text, "a secret was not removed")
            found += safe != said
        check(
            scrubber.text(scrubber.text(said)) == scrubber.text(said),
            "scrubbing changes a text that is already scrubbed",
        )
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            json.loads(scrubber.written(text))
    return found > 0


def _some_text() -> st.SearchStrategy[bytes]:
    piece = st.one_of(
        st.just(PLACE),
        st.just("{{secret:canary}}"),
        st.sampled_from(
            [
                '{"a": "',
                '"}',
                "[secret canary, encoded]",
                "7777",
                "ry-7 ",
                "Canary",
                "%22",
                "&quot;",
                "\\",
                " ",
                "\n",
                "=",
            ]
        ),
        st.text(max_size=5),
    )
    return st.lists(piece, max_size=10).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


def _masking(data: bytes) -> object:
    """The text of a screen, searched line by line for private texts."""
    kinds = set()
    for line in data.decode("utf-8", "replace").splitlines()[:15]:
        line = line[:2000]
        for found in find(line, tuple(FINDERS)):
            check(0 <= found.start < found.end <= len(line), "a match has an empty or invalid range")
            kinds.add(found.kind)
        for start, end in (*secret_in("hunter2-Kq7", folded_secret(line)), *name_in("Zoe Doe", line)):
            check(0 <= start <= end <= len(line), "a secret is found where nothing is")
            kinds.add("secret")
    return sorted(kinds)


PRIVATE = (
    b"Card 4111 1111 1111 1111 exp 12/29",
    b"IBAN DE89 3704 0044 0532 0130 00",
    b"a.b+c@mail.example, +49 (0)89 1234-567",
    b"SSN 078-05-1120 NI AB 12 34 56 C",
    b"hunter2-Kq7 Doe, Zoe",
    b"12345678Z 86095742719 2 55 08 14 168 025 38",
)

TARGETS = [
    Target(
        "arguments",
        _arguments,
        lambda: [command.replace("\0 ", "\0").encode() for command in COMMANDS],
        (HoloError,),
        words=(
            b"\0--json",
            b"\0--",
            b"\0-h",
            b"\0--last\0",
            b"\0--ttl\0nan",
            b"=",
            b"\0-\0",
            b"\0--out\0",
            b"index\0",
            b"\0@file",
            b"--timeout\0inf",
        ),
        quick=30,
        leak_rounds=4,
    ),
    Target(
        "handoff",
        _handoff,
        lambda: ["done\nme\n\nit is done – Zoë".encode(), "refuse – Zoë\n\n\n".encode()],
        (InvalidUsage,),
        words=(b"done\n", b"\n", b"\0", b"refuse"),
        quick=60,
        leak_rounds=3,
    ),
    Target(
        "variable",
        _variable,
        lambda: [b'"all"', b"run-1, run-2", b'["run-1", "flow-2"]', b"[run-1", b"true"],
        words=(b"[", b"]", b'"all"', b",", b"null"),
        quick=120,
    ),
    Target(
        "scrubber",
        _scrub,
        lambda: [
            b"@@",
            b'{"a": "@@", "b": ["x @@"]}',
            b"pass: @@ @@@@",
            b'{"a": "@@"} and {{secret:canary}} [secret canary, encoded]',
        ],
        shapes=_some_text,
        words=(b"@@", b'{"', b'"}', b"{{secret:canary}}", b"7777", b"\\u0022", b"%2"),
        quick=25,
    ),
    Target(
        "masking",
        _masking,
        lambda: [b"\n".join(PRIVATE), *PRIVATE],
        words=(b" 1111", b"DE89", b"@", b".example", b"+49", b"-", b"X1234567L", b"0" * 40, b"a.a.a.a"),
        cpu_s=8,
        quick=20,
    ),
]

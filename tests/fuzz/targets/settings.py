"""Files written by people: playbooks, rules, redaction rules, model profiles."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.models.profile import profiles
from holo_tasks.safety.masking.settings import Redaction
from holo_tasks.safety.policy import Rules
from holo_tasks.scripts.playbook import BadPlaybook, load_playbook
from tests.fuzz.target import Target, check

FLOWS = Path(__file__).parents[3] / "flows"
PLAYBOOK = b"""\
name: a program
screens:
  home: search
  states:
    search: LEDGER SEARCH
    record: [RECORD, {window: {title: "Rec*"}}, {not: X}, {any_of: [A, {asked: is it so}]}]
    saving: {marks: {text: "Saving*", within: [0, 0, 5, 5]}, busy: true}
  interruptions:
    notice: {marks: NOTICE, do: {click: Close, thought: A notice.}, most: 3}
  ways:
    - {to: search, from: record, do: back}
shared:
  both:
    - {id: wait, screen: BUSY, do: [{wait: 1, thought: It works.}]}
goals:
  back:
    rules: [{id: b, do: [{press: escape, thought: Back.}]}]
  find:
    when: 'find (?P<ref>TX-\\d+)'
    params: {ref: text, sum: money, on: date, sure: bool}
    values: &v {who: me}
    rules:
      - {include: both}
      - id: look
        if: not sure
        screen: ["*", "{ref}"]
        any_of: a
        not: b
        read: {total: {right_of: Total, as: money}, day: {line: '(\\d+)', optional: true}}
        do:
          - {write: "{ref}", into: Search, thought: I look for it., expect: search}
          - {answer: "{total}", thought: Done.}
"""
RULES = b"""\
allow = "act"
clicks = [[0, 0, 100, 100]]
programs = ["/usr/bin/xterm", "ledger.py"]
deny_chords = ["ctrl+q"]
[confirm]
text = "pay|submit"
"""
REDACTION = b"""\
regions = [[0, 0, 10, 10], {box = [1, 2, 3, 4], kind = "till"}]
texts = ["card", "iban"]
names = ["Zoe Doe"]
padding = 4
[patterns]
badge = '[A-Z]{2}\\d{4}'
[[windows]]
programs = ["*mail*"]
title = "In"
"""
PROFILES = b"""\
["my-model"]
like = "holo3-1-35b-a3b"
context_tokens = 32768
temperature = 0.5
price = {input = 0.5, output = 1.5, cached = "0.1"}
tool_names = {click = "click_at"}
dialects = ["tools"]
"""
YAML_WORDS = (
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!python/object:os.system ",
    b"!!binary ",
    b"? ",
    b": ",
    b"- ",
    b"|\n",
    b">\n",
    b"%TAG ! x\n",
    b"---\n",
    b"[*a, *a, *a, *a, *a, *a, *a, *a]",
    b"!!timestamp 9999-99-99",
    b"0o777",
    b".inf",
    b"1_0",
    b"{",
    b"}",
    b"(?P<a>",
    b"(a+)+$",
    b"2026-13-45",
    b"\t",
)
TOML_WORDS = (
    b"[[a]]\n",
    b"[a.b.c]\n",
    b"'''\n",
    b'"""\n',
    b" = ",
    b"inf",
    b"nan",
    b"1979-05-27T00:00:00Z",
    b"0xffffffffffffffffffff",
    b"{a={a={",
    b"(a+)+$",
    b"\\uD800",
    b"[",
    b"]",
    b"1e999",
    b"(?P<n>",
    b"a.b.c.d = 1\n",
    b"{,}",
    b"(?R)",
    b"\\p{L}",
    b"title = '(?:(?:a*)*)*'\n",
)


@functools.cache
def _file() -> Path:
    return Path(tempfile.mkdtemp()) / "written"


def _written(data: bytes) -> Path:
    _file().write_bytes(data)
    return _file()


def _told(error: InvalidUsage) -> None:
    str(error).encode()
    check(len(str(error)) < 6000, "an error is too long to read")


def _playbook(data: bytes) -> object:
    try:
        playbook = load_playbook(_written(data))
    except BadPlaybook as error:
        _told(error)
        raise
    playbook.model_dump_json()
    return sorted(playbook.goals)[:3]


def _settings(kind: type[Rules] | type[Redaction], data: bytes) -> object:
    try:
        read = kind.load(_written(data))
    except InvalidUsage as error:
        _told(error)
        raise
    read.model_dump_json()
    return sorted(read.model_fields_set)


def _profiles(data: bytes) -> object:
    try:
        read = profiles(_written(data))
    except InvalidUsage as error:
        _told(error)
        raise
    for profile in read.values():
        profile.sampling()
        profile.toolbox().step_schema()
        json.dumps(profile.constrained({}, name="x"))
    return len(read)


def _values() -> st.SearchStrategy[Any]:
    plain = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 40),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(
            ["act", "read", "*", "ctrl+s", "(", "a|b", "{x}", "card", "Close", "1.5", "2026-01-02", "escape"]
        ),
    )
    return st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "text",
                        "window",
                        "do",
                        "marks",
                        "kind",
                        "box",
                        "click",
                        "thought",
                        "title",
                        "a",
                        "programs",
                        "not",
                        "id",
                    ]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=6,
    )


def _some(lines: bytes, words: str) -> st.SearchStrategy[bytes]:
    """A valid file with some values changed. ``words`` separates a name from its value."""
    told = lines.decode().splitlines()

    def bent(changes: list[tuple[int, Any]]) -> bytes:
        made = list(told)
        for at, value in changes:
            number = at % len(made)
            name, found, _ = made[number].partition(words)
            if found:
                made[number] = f"{name}{words}{json.dumps(value, ensure_ascii=False, default=str)}"
        return "\n".join(made).encode("utf-8", "surrogatepass")

    return st.lists(st.tuples(st.integers(0, 100), _values()), min_size=1, max_size=4).map(bent)


TARGETS = [
    Target(
        "playbook",
        _playbook,
        lambda: [PLAYBOOK],
        (BadPlaybook,),
        shapes=lambda: _some(PLAYBOOK, ": "),
        words=YAML_WORDS,
        quick=12,
        leak_rounds=4,
    ),
    Target(
        "rules",
        lambda data: _settings(Rules, data),
        lambda: [RULES],
        (InvalidUsage,),
        shapes=lambda: _some(RULES, " = "),
        words=TOML_WORDS,
    ),
    Target(
        "redaction",
        lambda data: _settings(Redaction, data),
        lambda: [REDACTION],
        (InvalidUsage,),
        shapes=lambda: _some(REDACTION, " = "),
        words=TOML_WORDS,
        quick=60,
    ),
    Target(
        "profiles",
        _profiles,
        lambda: [PROFILES],
        (InvalidUsage,),
        shapes=lambda: _some(PROFILES, " = "),
        words=TOML_WORDS,
        quick=80,
        leak_rounds=4,
    ),
]

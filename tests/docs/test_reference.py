"""The reference pages name all commands, flags, keys, fields and variables, and no others."""

from __future__ import annotations

import argparse
import dataclasses
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.blocks.core import Block

import holo_blocks
import holo_tasks
from holo_tasks import desktop, office
from holo_tasks.audit.pages.index import Row
from holo_tasks.audit.verifier.verify import Verdict
from holo_tasks.cli import commands
from holo_tasks.cli.doctor.findings import Finding
from holo_tasks.cli.fleet import _plain as _plain_fleet
from holo_tasks.cli.handoff import _fields
from holo_tasks.cli.look import ScreenDescription
from holo_tasks.cli.parser import command_line
from holo_tasks.cli.run_command.settings import Outcome
from holo_tasks.cli.runs import _plain
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.states import State
from holo_tasks.healing.folder import Counts
from holo_tasks.healing.proposal import Proposal
from holo_tasks.models.profile import Profile
from holo_tasks.safety.records.fleet import Fleet, Holder, ListState, RunState, SeatsState
from holo_tasks.safety.records.handoffs import Handoff
from holo_tasks.safety.records.items import Item
from holo_tasks.safety.records.run_list import RunRow
from holo_tasks.safety.records.work_items import QueueCounts as ItemCounts
from holo_tasks.scripts.playbook import Goal, Playbook, Rule
from holo_tasks.scripts.steps_and_targets import Action
from tests.support.doc_pages import DOCS, ROOT

REFERENCE = DOCS / "reference"
PAGE = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## holo-tasks ([a-z ]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def parsers(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for word, each in action.choices.items():
            yield from parsers(each, f"{name} {word}".strip())


COMMANDS = dict(parsers(command_line()))


def test_the_page_has_a_section_for_each_command() -> None:
    assert SECTIONS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_names_all_arguments_of_its_command(name: str) -> None:
    rows = "\n".join(line for line in SECTIONS[name].splitlines() if line.startswith("| `"))
    actions = [action for action in COMMANDS[name]._actions if action.dest != "help"]
    options = {option for action in actions for option in action.option_strings}
    assert set(re.findall(r"`(--[a-z-]+)", "\n".join(re.findall(r"^\| (.*?) \|", rows, re.MULTILINE)))) == options
    for action in actions:
        for value in () if name == "doctor" else action.choices or ():  # `doctor` describes its `--model` as `run` does
            assert f"`{value}`" in rows or f" {value}`" in rows
        if not action.option_strings:
            assert f"`{str(action.metavar).partition('|')[0]}`" in rows


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_has_the_exit_codes_that_its_help_names(name: str) -> None:
    told = COMMANDS[name].epilog or ""
    section = PAGE if name == "run" else SECTIONS[name]
    for code in re.findall(r"\b\d+\b", told):
        assert re.search(rf"\b{code}\b", section), f"{name}: exit code {code}"


def fields(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def blank(kind: type) -> dict[str, object]:
    return dict.fromkeys(fields(kind))


RUN = RunRow(**{**blank(RunRow), "spent_micro": 1, "limit_micro": 1})  # type: ignore[arg-type]
HANDED = Handoff(**{**blank(Handoff), "choices": ()})  # type: ignore[arg-type]
FOUND = Finding(**blank(Finding))  # type: ignore[arg-type]
SPOT = Box(0, 0, 9, 9)
SEEN = ScreenDescription(
    Frame(b"\0\0\0", Size(1, 1), ":1"),
    ElementTree(),
    [desktop.Window(1, "", 0, SPOT, True)],
    [("a text", SPOT)],
    {"tree": 1.0, "text": None, "capture": 1.0},
    {"tree": "nobody tells"},
    states=[],
).as_json()
FLEET: dict[str, Any] = _plain_fleet(
    Fleet(
        (ListState("", ItemCounts(), 0, {("failed", "invalid"): 1}),),
        (SeatsState("", 1, (Holder(**blank(Holder)),)),),  # type: ignore[arg-type]
        (RunState(RUN, (), "", 0, None),),
    )
)
KEYS = {
    "run": {"status", *commands.NO_RUN, *commands.REPLAYED},
    "index": commands.EMPTY["index"].keys() | fields(Row),
    "verify": fields(Verdict),
    "models": {"default"},
    "compile": commands.EMPTY["compile"].keys() | {"trace", "sha256", "step", "words", "why"},
    "record": commands.EMPTY["record"].keys() | {"trace", "sha256", "step", "words", "why"},
    "playbook review": {"file", "proposals", "pictures", "steps", "at", "warnings"}
    | (Proposal.model_fields.keys() | Counts.model_fields.keys()) - {"point", "old_point"},
    "playbook apply": {"file", "applied", "proposals_left"},
    "playbook reject": {"file", "rejected", "proposals_left"},
    "handoff list": set(_fields(HANDED)),
    "runs": commands.EMPTY["runs"].keys() | set(_plain(RUN)) | fields(Item),
    "fleet": FLEET.keys()
    | {key for name in ("lists", "seats", "runs") for key in FLEET[name][0]}
    | FLEET["seats"][0]["holders"][0].keys()
    | FLEET["lists"][0]["errors"][0].keys(),
    "look": SEEN.keys()
    | {"tree", "text", "capture"}
    | {k for n in ("windows", "elements", "texts") for k in SEEN[n][0]},
    "doctor": commands.EMPTY["doctor"].keys() | set(FOUND.described()),
}


@pytest.mark.parametrize("name", [name for name, parser in COMMANDS.items() if "--json" in parser.format_help()])
def test_a_section_has_the_keys_of_its_json(name: str) -> None:
    named = {key for text in re.findall(r"Keys of .*?(?=\n\n|\Z)", SECTIONS[name], re.DOTALL) for key in ticked(text)}
    assert {key for key in named if key.islower() and key.isidentifier()} == KEYS[name]
    if name == "run":
        empty = Outcome("invalid", 2, None, 0, None, None, None).to_json(replayed=True)
        assert all(f'"{key}"' in empty for key in KEYS[name])


def ticked(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)))


@pytest.mark.parametrize(
    "block", [getattr(holo_blocks, name) for name in holo_blocks.__all__], ids=lambda one: one.__name__
)
def test_a_block_has_a_line_for_each_field(block: type) -> None:
    if not (isinstance(block, type) and issubclass(block, Block)):
        pytest.skip("a function, which is on the page of the API")
    page = (REFERENCE / "blocks.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {block._block_type_name}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section
    rows = "\n".join(line.split("|")[1] for line in section[1].splitlines() if line.startswith("| `"))
    assert ticked(rows) == set(block.model_fields)


def test_a_profile_has_a_line_for_each_field() -> None:
    page = (REFERENCE / "models.md").read_text(encoding="utf-8").partition("## Fields of a profile")[2]
    rows = {name for line in page.splitlines() if line.startswith("| `") for name in ticked(line.split("|")[1])}
    assert rows == {*Profile.model_fields, "like"}


@pytest.mark.parametrize("part", [Playbook, Goal, Rule, Action], ids=lambda part: part.__name__)
def test_a_playbook_has_a_line_for_each_key(part: type[Playbook | Goal | Rule | Action]) -> None:
    named = ticked((REFERENCE / "playbook.md").read_text(encoding="utf-8"))
    keys = {field.alias or name for name, field in part.model_fields.items()}
    assert not {key for key in keys if not any(re.match(rf"{key}\b", name) for name in named)}


def test_each_variable_has_a_line() -> None:
    named = ticked((REFERENCE / "environment.md").read_text(encoding="utf-8")) - {"HOLO_SECRET_PORTAL_PASSWORD"}
    sources = [path for folder in ("holo_tasks", "blocks", "flows") for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r'"(HOLO_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    ours = {"HOLO_DESKTOP", "HOLO_PASTED"}  # markers that the project sets itself; no user sets them
    wanted = {"HOLO_SECRET_NAME" if name == "HOLO_SECRET_" else name for name in read} - ours
    assert wanted == {name for name in named if name.startswith("HOLO_") and name.isupper() and "=" not in name}


def test_each_public_name_is_on_the_page_of_the_api() -> None:
    page = (REFERENCE / "api.md").read_text(encoding="utf-8")
    described = set(re.findall(r"^::: [\w.]*?\.(\w+)$", page, re.MULTILINE))
    assert set(holo_tasks.__all__) - {"NOT_DONE"} <= described
    assert set(holo_blocks.__all__) | set(office.__all__) <= described
    assert State.__name__ in described


def test_the_readme_is_short() -> None:
    assert len(Path(ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1000


def test_each_extra_has_a_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "index.md").read_text(encoding="utf-8").partition("| extra |")[2].partition("\n\n")[0]
    rows = re.findall(r"`(\w+)`(?=[^|\n]*\|[^|\n]*\|$)", page, re.MULTILINE)
    assert set(rows) == project["optional-dependencies"].keys()

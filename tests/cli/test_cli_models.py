"""`holo-tasks models` from outside: the profile of each model, for people, for grep and for programs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from holo_tasks.models.profile import DEFAULT_MODEL, shipped_profiles
from tests.support.command_line import EXECUTABLE, CommandLine, InProcess

OWN = """
["my-holo"]
like = "holo4-27b"
tool_suffix = "_desktop"
tool_names = { click = "left_click" }
tools = ["click", "write"]
note = "two\\nlines, [bold]no markup[/bold]"
price = { input = "0.10", output = "0.40", cached = "0.01" }

["nothing-known"]
"""


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str | None]:
    """An environment that names a profile file of the user."""
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    return {"HOLO_PROFILES": str(file)}


def test_each_model_is_one_line_that_can_be_searched(tmp_path: Path, own: dict[str, str | None]) -> None:
    # Some users set these to get colors in pipes.
    ended = InProcess(tmp_path, None)("models", env={**own, "FORCE_COLOR": "1", "COLUMNS": "20"})
    assert (ended.code, ended.stderr) == (0, "")
    head, *lines = ended.stdout.splitlines()
    assert "\x1b" not in ended.stdout
    assert [line.split()[0] for line in lines] == [*shipped_profiles(), "my-holo", "nothing-known"]
    by_name = {line.split()[0]: line for line in lines}
    for name, profile in shipped_profiles().items():
        assert profile.note in by_name[name]
        assert str(profile.context_tokens) in by_name[name].split()
    assert [name for name, line in by_name.items() if "(default)" in line] == [DEFAULT_MODEL]
    assert "deprecated" in by_name["holo3-35b-a3b"]
    mine = by_name["my-holo"]
    assert {"0.10", "0.40", "0.01"} <= set(mine.split())
    assert "…_desktop, click=left_click, only click write" in mine
    assert "two lines, [bold]no markup[/bold]; not spoken: structured, holotron" in mine
    assert by_name["nothing-known"].split().count("unknown") == 4, "the family and three prices"
    for column in ("family", "dialects", "context", "tools", "note"):
        starts = head.index(column)
        assert column == "context" or all(line[starts - 1] == " " for line in lines), f"{column} is not aligned"


def test_a_program_gets_every_field(tmp_path: Path, own: dict[str, str | None]) -> None:
    ended = InProcess(tmp_path, None)("models", "--json", env={**own, "HOLO_MODEL": "my-holo"})
    (line,) = ended.stdout.splitlines()
    found = {one["name"]: one for one in json.loads(line)}
    assert found["my-holo"]["price"] == {"input": "0.10", "output": "0.40", "cached": "0.01"}
    assert found["nothing-known"]["price"] is None
    assert [name for name, one in found.items() if one["default"]] == ["my-holo"]
    for name, profile in shipped_profiles().items():
        assert found[name] == {**profile.model_dump(mode="json"), "default": False}


def test_a_terminal_shows_all_columns(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path, None)
    near, far = pty.openpty()
    env = {**cli.env, "TERM": "xterm-256color", "COLUMNS": "60"}
    subprocess.run([str(EXECUTABLE), "models"], stdout=far, env=env, check=True)
    os.close(far)
    shown = b""
    try:
        while some := os.read(near, 65536):
            shown += some
    except OSError:
        pass  # the last writer has closed the terminal
    text = shown.decode()
    assert "\x1b[" in text
    words = " ".join(text.split())
    assert all(name in words and profile.note in words for name, profile in shipped_profiles().items())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nimage_budget = 9", ["a", "image_budget", "less than or equal to 5"]),
        ("[a]\nprice = { input = 'cheap', output = 1 }", ["a", "price.input", "decimal"]),
        ("[a]\ncolour = 'red'", ["a", "colour", "not permitted"]),
        ("[a]\ntools = ['fly']", ["a", "tools", "'fly'"]),
        ("[a]\nlike = 'b'", ["a", "'b'"]),
        ("a = 3", ["a", "not a table"]),
        ("[a\n", ["TOML", "line 1"]),
        ("\0", ["TOML"]),
        ("a = 1" + "0" * 5000, ["TOML", "4300 digits"]),
        ("a = " + "[" * 100_000, ["TOML", "recursion"]),
        (None, ["No such file"]),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_broken_file_is_named(form: tuple[str, ...], text: str | None, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    if text is not None:
        file.write_text(text)
    ended = InProcess(tmp_path, None)("models", *form, env={"HOLO_PROFILES": str(file)})
    assert (ended.code, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    for word in (str(file), *words):
        assert word in ended.complaint


def test_abbreviated_options_are_refused(tmp_path: Path) -> None:
    ended = InProcess(tmp_path, None)("models", "--js")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--js" in ended.complaint


def test_a_refused_list_of_runs_has_the_json_keys_of_a_list(tmp_path: Path) -> None:
    ended = InProcess(tmp_path, None)("runs", "--json", "--last", "0")
    assert (ended.code, json.loads(ended.stdout)) == (2, {"runs": [], "items": []})
    assert "--last" in ended.complaint


def test_a_closed_output_pipe_is_not_an_error(tmp_path: Path) -> None:
    shell = f"{EXECUTABLE} models | true; echo ${{PIPESTATUS[0]}}; {EXECUTABLE} models >/dev/full; echo $?"
    ended = subprocess.run(
        ["bash", "-c", shell], env=CommandLine(tmp_path, None).env, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["0", "2"]
    assert "Traceback" not in ended.stderr

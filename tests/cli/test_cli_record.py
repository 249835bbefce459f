"""`holo-tasks record`: a person's work becomes a playbook, which repeats it for another item."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
import yaml

from holo_tasks.core.input.keynames import TAB
from holo_tasks.desktop import tk_python
from tests.support.command_line import EXECUTABLE, CommandLine, InProcess, until
from tests.support.viewer import Person

FORM = Path(__file__).parents[1] / "apps" / "supplier_tk.py"
SECRET = "tulip-99-Xw"
PATIENCE_S = 120.0


class Form:
    """A form with a name and a password, and the positions of its widgets."""

    def __init__(self, folder: Path) -> None:
        self.saved, self.places = folder / "saved", folder / "places"
        self.command = [tk_python(), str(FORM), str(self.saved), str(self.places)]

    def at(self, what: str) -> tuple[int, int]:
        until(lambda: self.places.exists() and what in json.loads(self.places.read_text()))
        x, y = json.loads(self.places.read_text())[what]
        return x, y


@pytest.fixture
def form(tmp_path: Path) -> Form:
    return Form(tmp_path)


def said(stderr: IO[str], what: str) -> str:
    """Wait for a matching line of a command, and return the matched text."""
    lines = []
    while line := stderr.readline():
        lines.append(line)
        if found := re.search(what, line):
            return found[0]
    pytest.fail(f"{what} was not said: {''.join(lines)}")


def nowhere(value: str, *folders: Path) -> bool:
    return not any(value.encode() in path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file())


@pytest.mark.desktop
@pytest.mark.slow
def test_a_recording_in_a_browser_is_replayed_for_another_item_without_a_model(
    cli: CommandLine, form: Form, tmp_path: Path
) -> None:
    out = tmp_path / "new-supplier.yaml"
    given = ("--app", shlex.join(form.command), "--out", str(out), "--size", "640x400", "--json")
    recording = cli.start("record", *given)
    stderr = recording.process.stderr
    assert stderr is not None
    url = said(stderr, r"http://\S+")

    async def work() -> None:
        async with Person.at(url) as person:
            await person.click(*form.at("Name"))
            await person.type("Bäker & Söhne")
            await person.press(TAB)
            await person.type(SECRET)
            await person.click(*form.at("Save"))
            until(form.saved.exists)

    asyncio.run(work())
    assert form.saved.read_text() == f"Bäker & Söhne|{SECRET}"
    said(stderr, "Type `done`")
    urllib.request.urlopen(f"{url}done").close()
    ended = recording.end()
    assert ended.code == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    assert (told["params"], told["secrets"], told["steps"]) == ({"name": "text"}, ["password"], 5)
    assert "step 5: pressed ‘Save’" in ended.stderr
    assert nowhere(SECRET, tmp_path / "holo")
    assert SECRET not in out.read_text() + ended.stderr
    assert "Bäker" not in out.read_text()
    form.saved.unlink()
    again = ("--playbook", str(out), "--playbook-only", "--set", "name=Carter Ltd", "--secret", "password")
    env = {"HOLO_SECRET_PASSWORD": "Other-7z"}
    done = cli("run", "Do it.", *again, "--app", shlex.join(form.command), "--allow", "act", "--json", env=env)
    assert (done.code, done.told["layer"], done.told["model_calls"]) == (0, "playbook", 0), done.complaint
    assert form.saved.read_text() == "Carter Ltd|Other-7z"


@pytest.mark.desktop
@pytest.mark.long
def test_work_on_a_borrowed_display_is_recorded(
    cli: CommandLine, form: Form, tmp_path: Path, x_server: Callable[..., subprocess.Popen[bytes]], display: str
) -> None:
    x_server(display, *form.command)
    out = tmp_path / "new-supplier.yaml"
    env = {**cli.env, "DISPLAY": display}
    given = ["record", "--out", str(out), "--goal", "add one", "--answer", "4711", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen([EXECUTABLE, *given], env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as recording:
        assert recording.stdin is not None
        assert recording.stderr is not None
        said(recording.stderr, "Type `done`")

        def hands(*command: str) -> None:
            subprocess.run(["xdotool", *command], env=env, check=True)
            time.sleep(3)  # time for a person to look at the result

        def click(what: str) -> None:
            x, y = form.at(what)
            hands("mousemove", str(x), str(y), "click", "1")

        click("Name")
        hands("type", "Baker Ltd")
        click("Password")
        hands("type", SECRET)
        click("Save")
        until(form.saved.exists)
        stdout, stderr = recording.communicate("done\n", timeout=PATIENCE_S)
    assert recording.returncode == 0, stderr
    assert json.loads(stdout)["secrets"] == ["password"]
    made = yaml.safe_load(out.read_text())
    assert made["goals"]["add-one"]["params"] == {"name": "text"}
    answer = made["goals"]["add-one"]["steps"][-1]
    assert "number" in answer["read"]["answer"]["line"]
    assert "4711" not in out.read_text()
    assert nowhere(SECRET, tmp_path / "holo")


@pytest.mark.desktop
@pytest.mark.slow
def test_ctrl_c_discards_the_recording(cli: CommandLine, form: Form, tmp_path: Path) -> None:
    out = tmp_path / "nothing.yaml"
    recording = cli.start("record", "--app", shlex.join(form.command), "--out", str(out), "--size", "640x400")
    assert recording.process.stderr is not None
    said(recording.process.stderr, "Type `done`")
    ended = recording.signal(signal.SIGINT)
    assert ended.code == 13, ended.stderr
    assert not out.exists()
    assert not list((tmp_path / "holo" / "runs").glob("*"))


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.parametrize("how", ["the screen fails", pytest.param("terminated", marks=pytest.mark.long)])
def test_a_recording_that_is_cut_off_is_kept(how: str, cli: CommandLine, form: Form, tmp_path: Path) -> None:
    out = tmp_path / "new-supplier.yaml"
    recording = cli.start("record", "--app", shlex.join(form.command), "--out", str(out), "--size", "656x416")
    stderr = recording.process.stderr
    assert stderr is not None
    url = said(stderr, r"http://\S+")

    async def work() -> None:
        async with Person.at(url) as person:
            await person.click(*form.at("Name"))
            await person.type("Baker Ltd")
            await person.click(*form.at("Save"))
            until(form.saved.exists)
            await asyncio.to_thread(said, stderr, "step 3: ")

    asyncio.run(work())
    if how == "terminated":
        ended = recording.signal(signal.SIGTERM)
    else:
        subprocess.run(["pkill", "-KILL", "-f", "Xvfb .*656x416"], check=True)  # only this test's
        ended = recording.signal(signal.SIGTERM)  # without a further input nothing looks at the screen
        assert "The recording ends with the last screen before that." in ended.stderr
    assert ended.code == 0, ended.stderr
    assert "Baker Ltd" not in out.read_text()
    assert len(yaml.safe_load(out.read_text())["goals"]["new-supplier"]["steps"]) == 4  # with the answer


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--out", "missing/it.yaml"), "--out must name a file in an existing folder"),
        (("--out", "it.yaml"), "There is no screen: give --app COMMAND to start a program, or --display :N."),
        (("--out", "it.yaml", "--app", " "), "--app is empty"),
        (("--out", "it.yaml", "--app", "xterm", "--param", "A=b"), "'A' is not a valid parameter name"),
    ],
)
def test_invalid_arguments_are_refused_at_once(here: InProcess, given: tuple[str, ...], why: str) -> None:
    ended = here("record", *given, "--json")
    assert ended.code == 2
    assert why in ended.complaint
    assert json.loads(ended.stdout)["file"] is None

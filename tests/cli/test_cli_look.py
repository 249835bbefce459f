"""`holo-tasks look`: the elements of a screen, for the author of a script; it sends no input and prints no secret."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from holo_tasks.audit.pages.look import line_for
from holo_tasks.desktop import VirtualDesktop, tk_python
from tests.support import warm
from tests.support.browser import Tab
from tests.support.command_line import EXECUTABLE, InProcess
from tests.support.own_bus import own_bus

APPS = Path(__file__).parent.parent / "apps"
GTK = "/usr/bin/python3"
SECRET = "tulip-7-secret"
SCREENS = """name: supplier
screens:
  home: form
  states:
    form: Supplier form
    asked: {asked: 'Is there a form?'}
    other: Another thing
goals:
  nothing:
    rules: [{id: done, do: [{answer: done, thought: done}]}]
"""


def looked(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return warm.run_script([EXECUTABLE, "look", *arguments], by=warm.Popen, timeout=240, env=env)


def without_blinking(folder: Path) -> Path:
    """Return a settings folder that stops GTK's text cursors from blinking."""
    settings = folder / "config" / "gtk-3.0" / "settings.ini"
    settings.parent.mkdir(parents=True)
    settings.write_text("[Settings]\ngtk-cursor-blink = false\n")
    return folder / "config"


@pytest.fixture
def form() -> str:
    found = subprocess.run([GTK, "-c", "import gi; gi.require_version('Gtk', '3.0')"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("needs the Debian packages python3-gi and gir1.2-gtk-3.0")
    return shlex.join([GTK, str(APPS / "form_gtk3.py")])


@pytest.mark.desktop
async def test_elements_of_a_program_are_shown_with_a_line_for_a_script(form: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    screens = tmp_path / "supplier.playbook.yaml"
    screens.write_text(SCREENS)
    found = looked("--app", form, "--json", "--out", str(page), "--screens", str(screens))
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    (window,) = told["windows"]
    assert window["title"] == "Supplier form"
    assert window["program"].endswith("form_gtk3.py")
    elements = {(each["role"], each["name"]): each for each in told["elements"]}
    save = elements["button", "Save"]
    assert save["source"] == "accessibility"
    assert len(save["box"]) == 4
    assert "showing" in save["states"]
    assert ("password field", "Password") in elements
    assert "Don't save" in {each["text"] for each in told["texts"]}
    assert not [each for each in told["elements"] if each["source"] == "text" and each["name"] == "Save"]
    assert told["states"] == ["form"]
    assert {name: bool(took) for name, took in told["took_ms"].items()} == dict.fromkeys(
        ("tree", "text", "capture"), True
    )
    assert SECRET not in found.stdout + page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    async with Tab.opened(tmp_path / "profile") as tab:
        await tab.go(page.as_uri())
        boxed = "document.querySelectorAll('svg.look rect').length"
        await tab.becomes(boxed, len(told["elements"]))
        edges = ",".join(map(str, save["box"]))
        wanted = f"each => ['x', 'y', 'width', 'height'].map(side => each.getAttribute(side)).join() == '{edges}'"
        await tab.value(f"const rect = [...document.querySelectorAll('rect.element')].find({wanted}); 0")
        await tab.value("rect.dispatchEvent(new PointerEvent('pointerenter')); 0")
        await tab.becomes(
            "document.getElementById('said').textContent", "await hands.click(role='button', name='Save')"
        )


@pytest.mark.desktop
def test_a_program_without_a_tree_is_read_by_ocr(tmp_path: Path) -> None:
    found = looked("--app", shlex.join([tk_python(), str(APPS / "probe_counter.py")]), "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["elements"]
    assert {each["source"] for each in told["elements"]} == {"text"}
    assert told["why_not"]["tree"].startswith("No program on this screen reports")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--app", " "], "--app is empty"),
        (["--app", "x", "--accessibility"], "--accessibility is for"),
        (["--app", "x", "--size", "1x1"], "--size must look like"),
        (["--app", "x", "--patience", "nan"], "--patience is a number of seconds from 0 up"),
        (["--app", "x", "--screens", "/nowhere.yaml"], "/nowhere.yaml"),
        (["--display", "x"], "not an X display"),
    ],
)
def test_invalid_arguments_are_refused_before_any_program_starts(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    found = InProcess(tmp_path, None)("look", *arguments, "--json")
    assert found.code == 2
    assert said in found.stderr
    assert json.loads(found.stdout)["elements"] == []


def test_look_does_not_import_prefect() -> None:
    code = "import sys, holo_tasks.cli.look, holo_tasks.audit.pages.look; print('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("role", "name", "line"),
    [
        ("button", "Don't save", "await hands.click(role='button', name=\"Don't save\")"),
        ("text field", "Name", "await hands.click(role='text field', name='Name'); await hands.write('…')"),
        (
            "password field",
            "Pin",
            "await hands.click(role='password field', name='Pin'); await hands.write('{{secret:NAME}}')",
        ),
        ("label", "Ready", "await hands.wait_for('Ready')"),
        ("button", "", ""),
        ("panel", "Left", ""),
    ],
)
def test_a_line_for_a_script_uses_role_and_name(role: str, name: str, line: str) -> None:
    assert line_for(role, name) == line


@pytest.mark.desktop
async def test_a_borrowed_display_is_read_without_input(form: str, tmp_path: Path) -> None:
    """With --accessibility its programs are asked over the bus of the display; otherwise OCR reads it."""
    log = tmp_path / "events"
    with own_bus(tmp_path) as theirs:
        async with VirtualDesktop(
            app=[tk_python(), str(APPS / "probe_events.py"), str(log), "300x200+700+400"]
        ) as lent:
            env = {**os.environ, "DISPLAY": lent.display, "XAUTHORITY": str(lent.authority)}
            env["XDG_CONFIG_HOME"] = str(without_blinking(tmp_path))
            naming = ["xprop", "-root", "-f", "AT_SPI_BUS", "8s", "-set", "AT_SPI_BUS", theirs.address]
            subprocess.run(naming, env=env, check=True, timeout=60)  # the program looks there for its bus
            program = subprocess.Popen(shlex.split(form), env=env | theirs.environment())
            while len(await lent.windows()) < 2:
                await lent.look()
            drawn: set[str] = set()
            while not drawn >= {"Save", "Ready."}:  # a window appears before its content
                found = looked("--display", lent.display, "--json", env=env)
                drawn = {one["name"] for one in json.loads(found.stdout)["elements"]}
            got, shown = log.read_text(), (await lent.look()).digest
            for words, source in (([], "text"), (["--accessibility"], "accessibility")):
                found = looked("--display", lent.display, "--json", *words, env=env)
                assert found.returncode == 0, found.stderr
                told = json.loads(found.stdout)
                assert {window["title"] for window in told["windows"]} == {"Supplier form", "Events"}
                assert {one["source"] for one in told["elements"] if one["name"] in ("Save", "Ready.")} == {source}
                assert SECRET not in found.stdout
            assert (log.read_text(), (await lent.look()).digest) == (got, shown)
            program.kill()
            program.wait()

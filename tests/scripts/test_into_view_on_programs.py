"""A playbook brings its targets into view in real programs: by the mouse wheel, and by the pager of a list."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from holo_tasks.core.events import Decided
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.loop.walk import Walk
from holo_tasks.scripts import rules
from holo_tasks.scripts.into_view import WAIT_FOR_LIST, WAIT_FOR_PAGE
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.script import Script
from tests.accessibility.test_programs import FLAGS, until_there
from tests.support.scripts import done
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of

pytestmark = pytest.mark.desktop
APPS = Path(__file__).parent.parent / "apps"
PAGES, ROWS = 3, 30
HEAD = """<!doctype html><meta charset=utf-8><title>Suppliers</title><style>
body{font:15px sans-serif;margin:0 24px 90px} td{padding:6px 40px}
footer{position:fixed;bottom:0;left:0;right:0;height:90px;background:#ddd}</style>"""
FORM = """<h1>Supplier</h1><form onsubmit="return save()"><p id=key></p><div style="height:700px">Notes</div>
<p><label><input type=checkbox id=approved> Approved</label></p><p style="height:500px">Terms of delivery</p>
<p><label>Remark <input id=remark></label></p>
<footer><button style="width:90%;height:80px">Save</button></footer></form><script>
key.textContent = location.hash.slice(1)
function save() {
  const told = `Saved ${key.textContent}: ${approved.checked}, ${remark.value}`
  document.body.innerHTML = '<h1></h1>'; document.querySelector('h1').textContent = told; return false }
</script>"""
APPROVE = """
name: suppliers
goals:
  approve:
    params: {key: text}
    steps:
      - {click: {role: link, name: "{key}"}, after: {role: heading, name: Supplier}}
      - {before: {role: heading, name: Supplier}, click: {role: check box, name: Approved}}
      - {before: {role: heading, name: Supplier}, click: {role: text field, name: Remark}}
      - {write: by post}
      - {click: {role: button, name: Save}}
      - before: {role: heading, name: "Saved*"}
        read: {said: {element: {role: heading, name: "Saved*"}}}
        answer: "{said}"
"""
CHOOSE = """
name: files
goals:
  choose:
    params: {file: text}
    steps:
      - {click: {role: cell, name: "{file}"}, after: {role: label, name: "{file} is chosen."}}
      - {answer: done}
"""


def write_pages(folder: Path) -> None:
    """Write a list of suppliers with three pages, and a form whose button lies over its lower end."""
    (folder / "form.html").write_text(HEAD + FORM)
    for page in range(1, PAGES + 1):
        numbers = range(101 + ROWS * (page - 1), 101 + ROWS * page)
        rows = "".join(f"<tr><td><a href=form.html#L-{n}>L-{n}</a><td>Ltd {n}" for n in numbers)
        pager = " ".join(f"<b>{n}</b>" if n == page else f"<a href={n}.html>{n}</a>" for n in range(1, PAGES + 1))
        table = f"<table><tr><th>Number<th>Name{rows}</table>"
        (folder / f"{page}.html").write_text(f"{HEAD}<h1>Suppliers</h1>{table}<p>{pager} {PAGES * ROWS} suppliers")


def thoughts(recorder: MemoryRecorder) -> list[str]:
    """Return the thoughts of the steps in the trace, without waits for a busy program."""
    every = [one.thought for one in recorder.events if isinstance(one, Decided)]
    return [each for each in every if each not in (rules.WAITING, WAIT_FOR_PAGE)]


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let playbooks give up on a screen after two waits."""
    monkeypatch.setattr(rules, "UNKNOWN_SCREEN_WAITS", 2)


@pytest.mark.long
async def test_a_playbook_goes_to_the_page_of_its_row_and_uncovers_its_check_box(tmp_path: Path) -> None:
    write_pages(tmp_path)
    page, profile = f"--app=file://{tmp_path}/1.html", f"--user-data-dir={tmp_path / 'profile'}"
    recorder, script = MemoryRecorder(), Script(parse_playbook(APPROVE), "approve", key="L-175")
    async with VirtualDesktop(app=["chromium", *shlex.split(FLAGS), profile, page], app_timeout_s=60) as desktop:
        await until_there(desktop, "link", "L-101")
        walk = walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)
        said = await done(walk, script.brain(), max_steps=60)
    assert said == "Saved L-175: true, by post"
    made = thoughts(recorder)
    assert [each for each in made if "page" in each] == [
        "Go to page 2 of the list, to look for ‘{key} link’.",
        "Go to page 3 of the list, to look for ‘{key} link’.",
    ]
    assert "Scroll down to bring the check box ‘Approved’ into view." in made
    assert "Scroll down to bring the text field ‘Remark’ into view." in made


async def test_a_row_far_down_a_native_list_is_found_and_a_visible_one_is_not_scrolled_to() -> None:
    recorder, playbook = MemoryRecorder(), parse_playbook(CHOOSE)
    async with VirtualDesktop(app=["/usr/bin/python3", str(APPS / "list_gtk3.py")]) as desktop:
        await until_there(desktop, "cell", "invoice-01.txt")

        def walk() -> Walk:
            return walk_of(as_model(MemoryModel([])), desktop=desktop, recorder=recorder)

        assert await done(walk(), Script(playbook, "choose", file="invoice-03.txt").brain()) == "done"
        assert len(thoughts(recorder)) == 2
        assert await done(walk(), Script(playbook, "choose", file="invoice-27.txt").brain()) == "done"
        moved = {*thoughts(recorder)[2:-2]} - {WAIT_FOR_LIST}
        assert moved == {f"Look for ‘{{file}} cell’ further {way} in the list." for way in ("up", "down")}

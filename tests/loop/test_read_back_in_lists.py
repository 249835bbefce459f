"""Lists, and editors with paragraphs, are read back in a page of Chromium, and their fields are overwritten alone."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.input.gestures import Click, Hotkey
from holo_tasks.desktop import VirtualDesktop
from tests.accessibility.test_programs import FLAGS, until_there
from tests.loop.test_read_back import PATIENCE_S, Stage, patient, stage  # noqa: F401

pytestmark = pytest.mark.desktop
PAGE = """<!doctype html><meta charset=utf-8><title>Lists</title><style>body { font: 16px sans-serif }
#options { border: 1px solid; width: 200px; display: none } #options div { height: 24px } </style>
<p><label>First <input value=Alpha></label> <output id=all></output>
<p><label>Land <select id=land><option>Austria<option>Belgium<option>Canada<option>Denmark</select></label>
<label>Fruit <input id=fruit list=fruits value=Ap></label><datalist id=fruits><option>Apple<option>Apricot</datalist>
<p><label for=town>Town</label> <input id=town role=combobox aria-expanded=false aria-controls=options
 autocomplete=off aria-autocomplete=list><div id=options role=listbox></div>
<div id=rich contenteditable role=textbox aria-multiline=true aria-label=Rich><p>Old text</p><p>Second</p></div>
<p><label>Last <input value=Omega></label>
<script>
const towns = ["Bern", "Berlin", "Bonn", "Basel"]; let marked = 0, waiting = 0
function draw(found) {
  options.replaceChildren(...found.map((name, place) => {
    const option = document.createElement("div")
    option.role = "option", option.id = "option" + place, option.textContent = name
    option.ariaSelected = place == marked
    return option
  }))
  options.style.display = found.length ? "block" : "none"
  town.ariaExpanded = Boolean(found.length)
  if (found.length) town.setAttribute("aria-activedescendant", "option" + marked)
  else town.removeAttribute("aria-activedescendant")
}
function search() { marked = 0; draw(towns.filter(name => name.toLowerCase().includes(town.value.toLowerCase()))) }
town.onfocus = search
town.onblur = () => draw([])
town.oninput = () => { clearTimeout(waiting); waiting = setTimeout(search, 300) }
town.onkeydown = key => {
  if (key.key == "Enter" && options.children[marked]) { town.value = options.children[marked].textContent; draw([]) }
}
rich.oninput = () => {
  const text = getSelection().anchorNode
  if (text.data?.includes("(c)")) {
    text.data = text.data.replace("(c)", "©"); getSelection().collapse(text, text.data.length)
  }
}
setInterval(() => {
  const texts = [...document.querySelectorAll("input, select")].map(each => each.value).concat(rich.innerText)
  document.title = texts.join("|").replace(/\\s+/g, " ")
}, 50)
</script>"""


async def holds(form: Stage, *texts: str) -> bool:
    """Wait until the fields of the page hold these texts, from first to last."""
    desktop, end = form.walk.services.desktop, time.monotonic() + PATIENCE_S
    wanted = "|".join(texts)
    while True:
        titles = [each.name for each in (await desktop.elements()).elements if each.role == "document"]  # type: ignore[attr-defined]
        if any(wanted == title for title in titles):
            return True
        assert time.monotonic() < end, (wanted, titles)
        await asyncio.sleep(0.05)


async def press(form: Stage, *keys: str) -> None:
    await form.walk.services.desktop.do(Hotkey(keys))
    await form.walk.look(after_action=True)


async def click(form: Stage, role: str | None, name: str) -> None:
    desktop = form.walk.services.desktop
    found = next(each for each in (await desktop.elements()).find(role, name) if each.on_screen)  # type: ignore[attr-defined]
    await desktop.do(Click(found.box.center))
    await form.walk.look(after_action=True)


async def marks(form: Stage, name: str) -> None:
    """Wait until the program reports a marked option."""
    desktop, end = form.walk.services.desktop, time.monotonic() + PATIENCE_S
    while not any(
        "focused" in each.states and re.search(name, each.name)
        for each in (await desktop.elements()).elements  # type: ignore[attr-defined]
    ):
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def test_fields_with_open_lists_and_editors_with_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    app = shlex.split(f"chromium {FLAGS} --user-data-dir={tmp_path}/profile --app=file://{tmp_path}/page.html")

    async def there(desktop: VirtualDesktop) -> None:
        await until_there(desktop, "combo box", "Town")

    async with stage(app, there, env={"HOME": str(tmp_path)}) as form:
        # A closed list takes the typed entry, or the model learns what it holds.
        await click(form, "combo box", "Land")
        await press(form, "esc")
        assert await form.write("Den") == "holds ‘Denmark’ after ‘Den’ was typed."
        assert await form.write("Zypern") == "holds ‘Denmark’ as before and did not take ‘Zypern’."
        with pytest.raises(InvalidUsage, match=r"‘Land’ has the keyboard, and it is not open for text"):
            await form.write("Canada", overwrite=True)
        await press(form, "alt", "down")
        await marks(form, "Denmark")
        with pytest.raises(InvalidUsage, match="it is not open for text"):  # and nothing is chosen
            await form.write("Canada", overwrite=True)
        assert await form.write("Belgium", press_enter=True) == ""
        assert form.outcome == "exact"
        assert await holds(form, "Alpha", "Belgium", "Ap", "", "Omega", "Old text Second")
        # A list in a window of its own leaves the keyboard to its field.
        await click(form, "combo box", "Fruit")
        await press(form, "down")
        await press(form, "down")
        await marks(form, "Ap")
        assert await form.write("Fig", overwrite=True) == ""
        assert form.outcome == "exact"
        assert await holds(form, "Alpha", "Belgium", "Fig", "", "Omega", "Old text Second")
        # Enter takes the entry for the typed text, though the page looks for it a moment later.
        await click(form, "combo box", "Town")
        await marks(form, "Bern")
        assert await form.write("Bas", press_enter=True) == "holds ‘Basel’, not ‘Bas’."
        await click(form, "text field", "Last")
        await click(form, "combo box", "Town")
        await marks(form, "Basel")
        assert await form.write("Bonn", overwrite=True, press_enter=True) == ""
        assert form.outcome == "exact"
        assert await holds(form, "Alpha", "Belgium", "Fig", "Bonn", "Omega", "Old text Second")
        # The paragraphs of an editor are compared as one text.
        await click(form, "text field", "Rich")
        await press(form, "ctrl", "end")
        assert await form.write(" new") == ""
        assert form.outcome == "exact"
        assert await form.write("One\nTwo", overwrite=True) == ""
        assert form.outcome == "exact"
        assert await form.write(" (c)") == "holds ‘One Two ©’ after ‘(c)’ was typed."
        assert await holds(form, "Alpha", "Belgium", "Fig", "Bonn", "Omega", "One Two ©")

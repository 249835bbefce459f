"""Programs of toolkits that need a package or a variable before they publish their elements."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holo_tasks.accessibility import toolkits
from holo_tasks.accessibility.toolkits import CHOICE, JAVA_OPTIONS, variables
from holo_tasks.core.elements.elements import ElementTree
from holo_tasks.core.input.gestures import Click
from holo_tasks.desktop import AttachedDesktop, VirtualDesktop, tk_python
from tests.accessibility.conftest import APPS
from tests.accessibility.test_programs import FLAGS, ink, until_there

JAVA = shutil.which("javac") is not None and toolkits.has_java_wrapper()
needs_java = pytest.mark.skipif(not JAVA, reason="needs the Debian packages default-jdk and libatk-wrapper-java-jni")
desktop_test = pytest.mark.desktop
PAGE = """<!doctype html><meta charset=utf-8><title>Order</title>
<label>Supplier <input value=Ada></label>
<label>Terms <select><option>7 days<option selected>14 days</select></label><button>Save</button>"""


def controls(page: int, rows: int = 40) -> list[str]:
    return ["java", str(APPS / "ElementsSwing.java"), str(page), str(rows)]


async def press(desktop: VirtualDesktop, tree: ElementTree, role: str, name: str) -> None:
    (found,) = tree.find(role, name)
    await desktop.do(Click(found.box.center))
    await desktop.look(after_action=True)


@needs_java
@desktop_test
async def test_java_publishes_its_controls_where_they_are() -> None:
    async with VirtualDesktop(app=controls(0), app_timeout_s=60) as desktop:
        tree = await until_there(desktop, "combo box", "Terms")
        assert tree.complete, tree.why_not
        assert tree.find("combo box", "Terms")[0].value == "14 days"
        assert tree.find("text field", "Supplier")[0].value == "Ada Supplies"
        assert tree.find("password field", "Pin")[0].protected
        assert "1234" not in repr(tree.elements)
        assert ink(await desktop.look(), tree.find("button", "Ask")[0].box) > 2
        assert "checked" in tree.find("check box", "Urgent")[0].states
        await press(desktop, tree, "check box", "Urgent")
        tree = await desktop.elements()
        assert "checked" not in tree.find("check box", "Urgent")[0].states
        await press(desktop, tree, "combo box", "Terms")
        await press(desktop, await until_there(desktop, "list item", "30 days"), "list item", "30 days")
        assert (await desktop.elements()).find("combo box", "Terms")[0].value == "30 days"


@needs_java
@desktop_test
async def test_entries_of_menus_and_buttons_of_dialogs_of_java_can_be_pressed() -> None:
    """The wrapper publishes both at wrong places: relative to the menu, and to the window below."""
    async with VirtualDesktop(app=controls(0), app_timeout_s=60) as desktop:
        await press(desktop, await until_there(desktop, "menu", "File"), "menu", "File")
        tree = await until_there(desktop, "menu item", "Save")
        (popup,), (save,) = tree.find("popup menu", ""), tree.find("menu item", "Save")
        assert popup.box.encloses(save.box)
        await press(desktop, tree, "menu", "Export")
        await press(desktop, await until_there(desktop, "menu item", "As text"), "menu item", "As text")
        assert not (await desktop.elements()).find("popup menu", "")
        await press(desktop, await desktop.elements(), "button", "Ask")
        tree = await until_there(desktop, "button", "Yes")
        (window,) = [each for each in await desktop.windows() if each.title == "Question"]
        assert window.box.encloses(tree.find("button", "Yes")[0].box)
        await press(desktop, tree, "button", "Yes")
        assert not (await desktop.elements()).find("button", "Yes")


@needs_java
@desktop_test
@pytest.mark.parametrize("rows", [40, 3000])
async def test_visible_cells_of_a_table_of_java_are_read(rows) -> None:
    """With a listener, the wrapper's bridge takes seconds for 9,000 cells, and answers nothing meanwhile."""
    async with VirtualDesktop(app=controls(1, rows), app_timeout_s=60) as desktop:
        tree = await until_there(desktop, "cell", "R-103")
        assert tree.applications[0].how == "walk"
        await press(desktop, tree, "cell", "Item 3")
        tree = await desktop.elements()
        assert "selected" in tree.find("cell", "R-103")[0].states
        assert "selected" not in tree.find("cell", "R-104")[0].states
        (table,), (cell,) = tree.find("table", ""), tree.find("cell", "R-103")
        assert table.box.encloses(cell.box)
        await press(desktop, tree, "tab", "Lists")
        tree = await until_there(desktop, "list item", "Rome")
        assert not tree.find("cell", "R-103")
        assert tree.find("tree item", "colors")


@needs_java
@desktop_test
async def test_a_java_program_with_a_choice_of_its_own_starts_as_before() -> None:
    own = {"JAVA_TOOL_OPTIONS": f"-D{CHOICE}="}
    async with VirtualDesktop(app=controls(0), env=own, app_timeout_s=60) as desktop:
        tree = await desktop.elements()
        assert not tree.elements
        assert "it is a Java program that was started without accessibility" in tree.why_not


def test_options_that_a_person_gave_stay(monkeypatch) -> None:
    monkeypatch.setattr(toolkits, "has_java_wrapper", lambda: True)
    monkeypatch.setattr(toolkits, "has_gtk2_modules", lambda: True)
    theirs = {"JAVA_TOOL_OPTIONS": "-Xmx1g", "GTK_MODULES": "canberra"}
    found = variables(["program"], theirs, ())
    assert found == {"JAVA_TOOL_OPTIONS": f"{JAVA_OPTIONS} -Xmx1g", "GTK_MODULES": "canberra:gail:atk-bridge"}
    assert variables(["program"], theirs, ["JAVA_TOOL_OPTIONS", "GTK_MODULES"]) == found
    emptied = {"JAVA_TOOL_OPTIONS": "", "GTK_MODULES": ""}
    assert variables(["program"], emptied, list(emptied)) == {}
    chosen = {"JAVA_TOOL_OPTIONS": f"-D{CHOICE}=", "GTK_MODULES": "atk-bridge"}
    assert variables(["program"], chosen, list(chosen)) == {}
    assert variables(["program"], found, ()) == {}
    assert variables(["program"], {"NO_AT_BRIDGE": "1"}, ()) == {}
    assert variables(["/usr/bin/flatpak", "run", "org.x"], {}, ()) == {}


def test_without_the_packages_programs_get_no_variables(monkeypatch) -> None:
    monkeypatch.setattr(toolkits, "ITS_LIBRARY", Path("/nowhere"))
    monkeypatch.setattr(toolkits, "GAIL", Path("/nowhere"))
    assert variables(["java"], {}, ()) == {}


@needs_java
@desktop_test
async def test_a_package_that_is_missing_is_named(monkeypatch) -> None:
    own = {"NO_AT_BRIDGE": "1"}
    async with VirtualDesktop(app=controls(0), env=own, app_timeout_s=60) as desktop:
        (window,) = await desktop.windows()
        monkeypatch.setattr(toolkits, "ITS_LIBRARY", Path("/nowhere"))
        toolkits._why_no_elements.cache_clear()
        said = toolkits.why_no_elements(window.pid)
        toolkits._why_no_elements.cache_clear()
    assert said == "it is a Java program; install libatk-wrapper-java-jni so that its elements can be read"


@desktop_test
@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("xterm", "it has no accessibility tree; its text is read by OCR"),
        ("tk", "it is a Tk program, which has no accessibility tree on Linux; its text is read by OCR"),
    ],
)
async def test_programs_without_a_tree_are_named(program, says) -> None:
    if program != "tk" and not shutil.which(program):
        pytest.skip(f"needs the Debian package {program}")
    app = [tk_python(), str(APPS / "probe_counter.py")] if program == "tk" else [program]
    async with VirtualDesktop(app=app) as desktop:
        tree = await desktop.elements()
        assert tree.why_not.endswith(f": {says}.")


@desktop_test
async def test_a_desktop_names_its_bus_to_programs_that_ask_the_x_server(form, monkeypatch) -> None:
    """Qt 5 and Java's wrapper do not read AT_SPI_BUS_ADDRESS."""
    async with VirtualDesktop(app=form("gtk3"), app_timeout_s=60) as desktop:
        await until_there(desktop, "button", "Save")
        monkeypatch.setenv("XAUTHORITY", str(desktop.authority))
        async with AttachedDesktop(desktop.display, touches=False, accessibility=True) as other:
            assert (await other.elements()).find("button", "Save")


@desktop_test
@pytest.mark.parametrize(
    ("program", "toolkit", "role", "name"),
    [
        ("featherpad", "Qt 5", "menu item", "File"),
        ("gtk-demo", "GAIL 2", "tab", "*Info"),
    ],
)
async def test_programs_of_old_toolkits_publish_their_elements(program, toolkit, role, name) -> None:
    if not shutil.which(program) or (program == "gtk-demo" and not toolkits.has_gtk2_modules()):
        pytest.skip(f"needs {program}; for GTK 2 the packages gtk2.0-examples, {toolkits.FOR_GTK2}")
    async with VirtualDesktop(app=program, app_timeout_s=60) as desktop:
        tree = await until_there(desktop, role, name)
        assert tree.applications[0].toolkit.startswith(toolkit)
        assert ink(await desktop.look(), tree.find(role, name)[0].box) > 2


@desktop_test
@pytest.mark.parametrize("browser", ["chromium", "firefox-esr"])
async def test_fields_and_options_of_pages_are_read(browser, tmp_path) -> None:
    """Chromium is started by a script of another name, as other programs start it."""
    if not shutil.which(browser):
        pytest.skip(f"needs the Debian package {browser}")
    page, script = tmp_path / "page.html", tmp_path / "orders"
    page.write_text(PAGE)
    script.write_text(f'#!/bin/sh\nexec {browser} {FLAGS if browser == "chromium" else ""} "$@"\n')
    script.chmod(0o700)
    async with VirtualDesktop(app=["env", "A=B", str(script), f"file://{page}"], app_timeout_s=60) as desktop:
        tree = await until_there(desktop, "button", "Save")
        assert tree.find("text field", "Supplier")[0].value == "Ada"
        assert tree.find("combo box", "Terms")[0].value == "14 days"

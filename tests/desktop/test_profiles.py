"""Programs with private profiles are independent of other instances, and the same at every start."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.input.gestures import Write
from holo_tasks.desktop import VirtualDesktop, processes
from holo_tasks.desktop.profiles.office import SETTINGS, locks
from holo_tasks.desktop.x11 import windows
from holo_tasks.desktop.x11.x_connection import XConnection

APPS = Path(__file__).parents[1] / "apps"
PAGE = "file:///etc/os-release"
BROWSER = "chromium --no-sandbox --test-type --disable-gpu --disable-background-networking --disable-sync"
OFFICE = "libreoffice --nologo"
UNIQUE = f"/usr/bin/python3 {APPS / 'unique_gtk3.py'}"
UNIQUE_QT = f"{sys.executable} {APPS / 'unique_qt.py'}"
SLOW_S = 40.0
DOCUMENTS = ("report.xlsx", "os-release")
needs_office = pytest.mark.skipif(not shutil.which("libreoffice"), reason="needs LibreOffice")


class Somebody:
    """A person on another display, with their own home and message bus."""

    def __init__(self, display: str, authority: Path, address: str) -> None:
        self.display, self.address = display, address
        self._env = {
            **os.environ,
            "DISPLAY": display,
            "XAUTHORITY": str(authority),
            "DBUS_SESSION_BUS_ADDRESS": address,
        }
        self._link = XConnection(display)
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, command: str) -> None:
        """Start a program as this person."""
        out = subprocess.DEVNULL
        self._started.append(
            subprocess.Popen(command.split(), env=self._env, stdout=out, stderr=out, start_new_session=True)
        )

    def titles(self) -> list[str]:
        """Return the titles of the windows on their display."""
        return [window.title for window in windows.windows(self._link)]

    def leave(self) -> None:
        """End the programs of this person."""
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the person and of the run."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "holo"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def somebody(
    home: Path, x_server: Callable[..., tuple[str, Path]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Somebody]:
    display, authority = x_server("Xvfb", "-screen", "0", "1024x768x24")
    monkeypatch.setenv("XAUTHORITY", str(authority))
    bus = ["dbus-daemon", "--session", "--nofork", f"--address=unix:path={home}/bus", "--print-address=1"]
    with subprocess.Popen(bus, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        person = Somebody(display, authority, daemon.stdout.readline().decode().strip())
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", person.address)  # the run is started in this person's terminal
        try:
            yield person
        finally:
            person.leave()
            daemon.kill()


@pytest.fixture
def document(home: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"] = "rows"
    book.save(home / "report.xlsx")
    return home / "report.xlsx"


async def seen(desktop: VirtualDesktop) -> list[str]:
    """Return the window titles once the document is open, or a dialog asks for input before."""
    for _ in range(200):
        await desktop.look()
        titles = [window.title for window in await desktop.windows()]
        if len(titles) > 1 or any(title.startswith(DOCUMENTS) for title in titles):
            break
        await asyncio.sleep(0.1)
    return titles


async def shows(desktop: VirtualDesktop, word: str) -> bool:
    """Wait for a window whose title has a word."""
    for _ in range(200):
        await desktop.look()
        if any(word in window.title for window in await desktop.windows()):
            return True
        await asyncio.sleep(0.1)
    return False


async def beside(somebody: Somebody, theirs: str, ours: str, until: Callable[..., object], **how: object) -> None:
    """Open a document on a desktop while a person has an instance of the program on their own display."""
    somebody.start(theirs)
    assert await until(somebody.titles), "the person's own window"
    before = len(somebody.titles())
    async with VirtualDesktop(app=ours, app_timeout_s=SLOW_S, inherits="plain", **how) as desktop:  # type: ignore[arg-type]
        assert any(title.startswith(DOCUMENTS) for title in await seen(desktop))
        assert len(somebody.titles()) == before


async def test_a_browser_opens_its_page_on_the_desktop_though_a_person_has_it_open(somebody, until):
    await beside(somebody, f"{BROWSER} about:blank", f"{BROWSER} {PAGE}", until)


@needs_office
async def test_an_office_document_opens_on_the_desktop_though_a_person_has_the_office_open(somebody, document, until):
    await beside(somebody, f"{OFFICE} --norestore --calc", f"{OFFICE} {document}", until)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("firefox-esr"), reason="needs the Debian package firefox-esr")
async def test_firefox_opens_its_page_on_the_desktop_though_a_person_has_it_open(somebody, home, until):
    page = home / "page.html"
    page.write_text("<title>os-release</title>")
    await beside(somebody, "firefox-esr about:blank", f"firefox-esr {page.as_uri()}", until)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("gnome-text-editor"), reason="needs the Debian package gnome-text-editor")
@pytest.mark.parametrize("profiles", ["new", "kept"])
async def test_an_editor_stores_its_session_in_the_profile_and_not_in_the_home(home, profiles, until):
    document, session = home / "os-release", "org.gnome.TextEditor/session.gvariant"
    document.write_text("one\n")
    app = f"gnome-text-editor {document}"
    async with VirtualDesktop(app=app, app_timeout_s=SLOW_S, profiles=profiles, opengl=True) as desktop:
        folder = desktop.authority.parent / "profile"
        if profiles == "kept":
            folder = home.parent / "holo" / "profiles" / "gnome-text-editor" / "profile"
        await seen(desktop)
        assert await until(lambda: (folder / "data" / "org.gnome.TextEditor").exists())
    assert not (home / ".local" / "share" / "org.gnome.TextEditor").exists()
    assert (folder / "data" / session).exists() == (profiles == "kept")


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("jedit"), reason="needs the Debian package jedit")
async def test_jedit_opens_its_file_on_the_desktop_though_a_person_has_it_open(somebody, home, until):
    java = f"-Duser.home={home}"  # Java takes the home folder from the list of users
    (home / "theirs.txt").write_text("theirs\n")
    (home / "ours.txt").write_text("ours\n")
    somebody.start(f"env JAVA_TOOL_OPTIONS={java} jedit -nosplash {home}/theirs.txt")
    assert await until(lambda: any("theirs.txt" in title for title in somebody.titles()))
    assert await until((home / ".jedit" / "server").exists)
    app = f"jedit -nosplash {home}/ours.txt"
    async with VirtualDesktop(app=app, app_timeout_s=SLOW_S, env={"JAVA_TOOL_OPTIONS": java}) as desktop:
        assert await shows(desktop, "ours.txt")
        assert not any("ours.txt" in title for title in somebody.titles())


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("audacity"), reason="needs the Debian package audacity")
async def test_audacity_opens_its_file_on_the_desktop_though_a_person_has_it_open(somebody, home, until):
    """The settings name the folder for temporary files, and that folder holds the mark of a running instance."""
    settings, song, temporary = home / ".config/audacity/audacity.cfg", home / "ours.wav", home / "temporary"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[GUI]\nShowSplashScreen=0\n[Directories]\nTempDir={temporary}\n")
    with wave.open(str(song), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"\0\0" * 8000)
    somebody.start("audacity")
    assert await until(lambda: any("Audacity" in title for title in somebody.titles()))
    async with VirtualDesktop(app=f"audacity {song}", app_timeout_s=SLOW_S) as desktop:
        assert await shows(desktop, "ours")
        assert not any("ours" in title for title in somebody.titles())


async def test_a_gtk_program_opens_its_file_on_the_desktop_though_a_person_has_it_open(somebody, until):
    await beside(somebody, f"{UNIQUE} /etc/hostname", f"{UNIQUE} /etc/os-release", until)


async def test_a_program_with_a_socket_among_temporary_files_opens_its_file_on_the_desktop(
    somebody, until, nothing_left
):
    await beside(somebody, f"{UNIQUE_QT} /etc/hostname", f"{UNIQUE_QT} /etc/os-release", until)


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_browser_has_its_own_temporary_folder_however_long_the_path(is_long, tmp_path, monkeypatch):
    """Chromium creates a socket there, whose path may have 107 bytes."""
    if is_long:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        assert len(str(tmp_path)) > 40, "the folder of the desktop in it is longer than 60"
    async with VirtualDesktop(app=f"{BROWSER} {PAGE}", app_timeout_s=SLOW_S) as desktop:
        own = desktop.authority.parent
        folder = Path("/tmp", f"{own.name}-tmp") if is_long else own / "tmp"
        assert [*folder.glob("*/SingletonSocket")]
        assert own.joinpath("tmp").exists() != is_long
    assert not folder.exists()


async def test_a_failed_start_beside_a_running_instance_names_the_option(somebody, home, until):
    theirs = {"TMPDIR": tempfile.gettempdir()}
    with pytest.raises(DesktopFailed) as alone:
        await VirtualDesktop.start(app=f"{UNIQUE_QT} /etc/os-release x", env=theirs)
    assert "instance" not in str(alone.value)
    somebody.start(f"{UNIQUE_QT} /etc/hostname")
    assert await until(lambda: "hostname - Unique" in somebody.titles())
    with pytest.raises(DesktopFailed, match=r"with status 3 without.*add to its command the option by which.*HOME=FOL"):
        await VirtualDesktop.start(app=f"{UNIQUE_QT} /etc/os-release 3", env=theirs, app_timeout_s=SLOW_S)
    assert await until(lambda: "os-release - Unique" in somebody.titles())
    with pytest.raises(DesktopFailed) as other:
        await VirtualDesktop.start(app=[sys.executable, "-c", "raise SystemExit(3)"])
    assert "instance" not in str(other.value), "another script of the same interpreter"


async def test_the_error_for_a_handed_over_document_names_the_option(somebody, home, until):
    somebody.start(f"{UNIQUE} /etc/hostname")
    assert await until(lambda: "hostname - Unique" in somebody.titles())
    on_their_bus = {"DBUS_SESSION_BUS_ADDRESS": somebody.address}
    with pytest.raises(DesktopFailed, match=r"at once without a window.*add to its command the option by which"):
        await VirtualDesktop.start(app=f"{UNIQUE} /etc/os-release", env=on_their_bus, app_timeout_s=SLOW_S)
    assert await until(lambda: "os-release - Unique" in somebody.titles())
    somebody.start(f"{BROWSER} --user-data-dir={home}/theirs about:blank")
    assert await until(lambda: any("Chromium" in title for title in somebody.titles()))
    with pytest.raises(DesktopFailed, match=r"at once without a window.*add to its command --user-data-dir=FOLDER"):
        await VirtualDesktop.start(app=f"{BROWSER} --user-data-dir={home}/theirs {PAGE}", app_timeout_s=SLOW_S)


async def test_two_desktops_at_once_have_a_kept_profile_each(home):
    how = {"app": f"{BROWSER} {PAGE}", "app_timeout_s": SLOW_S, "profiles": "kept:pair"}
    async with VirtualDesktop(**how) as one, VirtualDesktop(**how) as two:
        assert await seen(one) == await seen(two) == ["os-release - Chromium"]
    kept = home.parent / "holo" / "profiles"
    assert sorted(place.name for place in kept.iterdir()) == ["pair", "pair-2"]
    assert all((place / "profile" / "Local State").exists() for place in kept.iterdir())


async def test_a_new_profile_is_deleted_with_its_desktop(home):
    async with VirtualDesktop(app=f"{BROWSER} {PAGE}", app_timeout_s=SLOW_S) as desktop:
        folder = desktop.authority.parent / "profile"
        assert (folder / "Default").exists()
    assert not folder.exists()
    assert not (home.parent / "holo" / "profiles").exists()


def end_all(desktop: VirtualDesktop) -> None:
    """Kill every process of a desktop at once, as the kernel does with a whole group when memory runs out."""
    name, host = desktop.authority.parent.name, desktop.pid
    os.kill(host, signal.SIGKILL)
    for pid in processes.processes_of_desktop(name, host):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@needs_office
@pytest.mark.parametrize("end", ["closed", "killed"])
async def test_an_office_program_starts_the_same_way_every_time(home, document, until, end):
    settings = home.parent / "holo" / "profiles" / "libreoffice" / "profile" / SETTINGS
    how = {"app": f"{OFFICE} {document}", "app_timeout_s": SLOW_S, "profiles": "kept"}
    first = VirtualDesktop(**how)
    async with first:
        begun = await seen(first)
        if end == "killed":
            assert await until(lambda: "RecoveryList" in settings.read_text()), "LibreOffice lists open documents"
            end_all(first)
            assert locks([document.parent]), "a killed program leaves its lock"
    async with VirtualDesktop(**how) as second:
        assert await seen(second) == begun == ["report.xlsx - LibreOffice Calc"]
    assert not locks([document.parent])


@needs_office
@pytest.mark.parametrize("end", ["closed", "killed"])
async def test_an_unsaved_office_document_opens_as_saved_without_a_question(home, document, end):
    how = {"app": f"{OFFICE} {document}", "app_timeout_s": SLOW_S, "profiles": "kept"}
    first = VirtualDesktop(**how)
    async with first:
        await seen(first)
        await first.do(Write("unsaved", press_enter=True))
        if end == "killed":
            end_all(first)
    async with VirtualDesktop(**how) as second:
        assert await seen(second) == ["report.xlsx - LibreOffice Calc"]
        assert "unsaved" not in {each.value for each in (await second.elements()).elements}
    assert not locks([document.parent])


@needs_office
async def test_a_dead_desktops_lock_is_removed_and_others_are_not(document):
    theirs = document.parent / ".~lock.other.xlsx#"
    theirs.write_text(f",person,host,28.11.2026 09:30,file://{document.parent}/.config/libreoffice/4;")
    first = VirtualDesktop(app=f"{OFFICE} {document}", app_timeout_s=SLOW_S)
    async with first:
        await seen(first)
        end_all(first)
    assert len(locks([document.parent])) == 2
    async with VirtualDesktop(app=f"{OFFICE} {document}", app_timeout_s=SLOW_S) as second:
        assert await seen(second) == ["report.xlsx - LibreOffice Calc"]
    assert [lock for lock, _ in locks([document.parent])] == [theirs]


@pytest.mark.parametrize("end", ["closed", "killed"])
async def test_a_browser_starts_the_same_way_every_time(home, until, end):
    how = {"app": f"{BROWSER} {PAGE}", "app_timeout_s": SLOW_S, "profiles": "kept"}
    settings = home.parent / "holo" / "profiles" / "chromium" / "profile" / "Default" / "Preferences"

    def exit_type() -> str:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(settings.read_text()).get("profile", {}).get("exit_type", "")
        return ""

    first = VirtualDesktop(**how)
    async with first:
        await seen(first)
        assert await until(lambda: exit_type() == "Crashed"), "Chromium sets this at its start"
        if end == "killed":
            end_all(first)
    assert exit_type() == ("Crashed" if end == "killed" else "Normal")
    async with VirtualDesktop(**how) as second:
        await seen(second)
        await asyncio.sleep(1.0)
        assert "Restore pages?" not in {each.name for each in (await second.elements()).elements}
    assert exit_type() == "Normal"


async def test_a_program_with_an_explicit_profile_gets_no_other(home, tmp_path):
    async with VirtualDesktop(app=f"{BROWSER} --user-data-dir={tmp_path}/mine {PAGE}", app_timeout_s=SLOW_S) as desktop:
        assert not (desktop.authority.parent / "profile").exists()
    assert (tmp_path / "mine" / "Default").exists()


@pytest.mark.parametrize("profiles", ["", "own", "new:x", "kept:", "kept:../x", "kept:a b"])
def test_an_unknown_value_is_refused(profiles):
    with pytest.raises(InvalidUsage, match="profiles is new, kept or kept:NAME"):
        VirtualDesktop(app=[sys.executable], profiles=profiles)

"""Which programs get a private profile, decided by the words and the files of their commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holo_tasks.desktop.profiles import office
from holo_tasks.desktop.profiles.profile import as_it_is, profile_for
from holo_tasks.desktop.profiles.programs import look_up
from holo_tasks.desktop.profiles.wrappers import command_in_terminal, files_of_program

OPTIONS = {
    "-env:UserInstallation=": ("libreoffice", "libreoffice24.8", "soffice", "localc", "lowriter"),
    "--user-data-dir=": ("chromium", "google-chrome", "google-chrome-stable", "microsoft-edge", "code"),
    "-settings=": ("jedit",),
    "--profile": ("firefox", "firefox-esr", "thunderbird", "librewolf"),
}


def program(folder: Path, name: str, text: str = "") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def given(command: list[str], folder: Path, added: tuple[str, ...] = ()) -> list[str]:
    desktop = folder / "desktop"
    desktop.mkdir(exist_ok=True)
    return profile_for(command, str(folder), desktop, None, added, None).command


@pytest.mark.parametrize(("option", "name"), [(option, name) for option, names in OPTIONS.items() for name in names])
def test_a_known_program_gets_its_profile_option_before_its_document(tmp_path: Path, option: str, name: str) -> None:
    program(tmp_path, name)
    first, added, *rest = given([name, "a.odt"], tmp_path)
    assert (first, rest[-1]) == (name, "a.odt")
    assert added.startswith(option)


def test_a_program_is_recognized_behind_links_scripts_and_env(tmp_path: Path) -> None:
    program(tmp_path / "lib", "soffice")
    (tmp_path / "office").symlink_to(tmp_path / "lib" / "soffice")
    program(tmp_path, "sheet", '#!/bin/sh\n# starts it\nexec office --calc "$@"\n')
    program(tmp_path, "sheets", f'#!/bin/sh\n{tmp_path}/sheet "$@"\n')
    assert [file.name for file in files_of_program("sheets", str(tmp_path))] == ["sheets", "sheet", "office", "soffice"]
    assert given(["env", "LANG=C", "sheets", "a.ods"], tmp_path)[3].startswith("-env:UserInstallation=")


def kept_by(command: list[str], folder: Path) -> Path:
    """Return the kept profile's folder after one more start; its lock is free again."""
    desktop = folder / "desktop"
    desktop.mkdir(exist_ok=True)
    found = profile_for(command, str(folder), desktop, folder / "kept", (), None).folder
    assert found is not None
    return found


def test_audacity_forgets_unsaved_projects_and_temporary_files_of_the_last_start(tmp_path: Path) -> None:
    program(tmp_path, "audacity")
    settings = kept_by(["audacity", "a.wav"], tmp_path) / "config" / "audacity" / "audacity.cfg"
    assert settings.read_text() == "[GUI]\nShowSplashScreen=0\n"
    settings.write_text("A=1\n[ActiveProjects]\n/tmp/a=1\n[GUI]\nB=2\n[Directories]\nTempDir=/tmp/b\n")
    kept_by(["audacity"], tmp_path)
    assert settings.read_text() == "A=1\n[GUI]\nB=2\n"


def test_a_killed_jedit_leaves_no_port_in_a_kept_profile(tmp_path: Path) -> None:
    program(tmp_path, "jedit")
    folder = kept_by(["jedit"], tmp_path)
    for name in ("server", "properties"):
        (folder / name).write_text("4711")
    kept_by(["jedit"], tmp_path)
    assert [file.name for file in folder.iterdir()] == ["properties"]
    for own in ("-settings=/srv", "-noserver", "-server=other"):
        assert given(["jedit", own], tmp_path) == ["jedit", own]


def test_an_electron_program_is_recognized_by_its_files(tmp_path: Path) -> None:
    program(tmp_path / "opt", "chat")
    (tmp_path / "chat").symlink_to(tmp_path / "opt" / "chat")
    assert given(["chat"], tmp_path) == ["chat"]
    program(tmp_path / "opt", "chrome_100_percent.pak")
    program(tmp_path / "opt" / "resources", "app.asar")
    assert given(["chat"], tmp_path)[1].startswith("--user-data-dir=")


@pytest.mark.parametrize(
    "command",
    [
        ["chromium", "--user-data-dir=/srv/c", "x"],
        ["chromium", "--user-data-dir", "/srv/c"],
        ["soffice", "-env:UserInstallation=file:///srv/o"],
        ["firefox", "-P", "work"],
        ["firefox", "--profile", "/srv/f"],
        ["xterm", "-e", "chromium"],
        ["mine", "a.ods"],
        ["no-such-program"],
    ],
)
def test_a_command_with_a_profile_and_an_unknown_program_are_unchanged(tmp_path: Path, command: list[str]) -> None:
    for name in ("chromium", "soffice", "firefox", "xterm"):
        program(tmp_path, name)
    program(tmp_path, "mine", "#!/bin/sh\nexec soffice /srv/form.ods\n")  # it passes no arguments on
    assert given(command, tmp_path) == command
    assert not (tmp_path / "desktop" / "profile").exists()


def test_a_program_that_the_message_bus_starts_gets_settings_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = tmp_path / "services"
    monkeypatch.setattr("holo_tasks.desktop.profiles.bus_services.FOLDERS", (services,))
    notes, script = program(tmp_path, "notes"), program(tmp_path, "draw.py")
    program(tmp_path, "python3")
    for name, command in {"n": f"{notes} --service", "d": f"/usr/bin/python3 {script} -s", "x": "'unclosed"}.items():
        program(services, f"org.example.{name}.service", f"[D-BUS Service]\nName=org.example.{name}\nExec={command}\n")
    desktop = tmp_path / "desktop"
    for words in (["notes", "a.txt"], ["python3", str(script)]):
        desktop.mkdir()
        found = profile_for(words, str(tmp_path), desktop, None, [], None)
        assert found.command == words
        assert found.variables["XDG_DATA_HOME"] == str(desktop / "profile" / "data")
        shutil.rmtree(desktop)
    desktop.mkdir()
    other = program(tmp_path, "other.py")
    for words in (
        ["python3", str(other)],
        ["python3"],
        ["python3", "-c", 5000 * "x"],
        ["python3", "-c", "\0"],
        ["env", "XDG_CONFIG_HOME=/home/x/.config", "notes"],
    ):
        assert profile_for(words, str(tmp_path), desktop, None, [], None).variables == {}
    assert profile_for(["notes"], str(tmp_path), desktop, None, ["HOME"], None).variables == {}


def test_an_explicit_settings_folder_prevents_a_private_profile(tmp_path: Path) -> None:
    program(tmp_path, "chromium")
    assert given(["chromium"], tmp_path, ("HOME",)) == ["chromium"]
    assert given(["chromium"], tmp_path, ("LANG",)) != ["chromium"]


def test_a_snap_without_a_window_is_mentioned_in_the_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holo_tasks.desktop.profiles.programs.SNAP", str(tmp_path / "snap"))
    program(tmp_path / "snap", "chromium")
    program(tmp_path, "chromium-browser", f'#!/bin/sh\nexec {tmp_path}/snap/chromium "$@"\n')
    assert look_up(["chromium-browser"], str(tmp_path)).is_snap
    assert "snap" in as_it_is(["chromium-browser"], str(tmp_path)).hint(1)
    program(tmp_path, "chromium")
    assert as_it_is(["chromium"], str(tmp_path)).hint(1) == ""
    assert "--user-data-dir=FOLDER" in as_it_is(["chromium"], str(tmp_path)).hint(0)


def test_an_office_programs_recovery_list_is_cleared_and_other_settings_stay(tmp_path: Path) -> None:
    office.write_settings(tmp_path)
    file = tmp_path / office.SETTINGS
    kept = file.read_text()
    entry = '<item oor:path="/org.openoffice.Office.Recovery/RecoveryList"><node oor:name="item">\n</node></item>\n'
    file.write_text(kept.replace("</oor:items>", f"{entry}</oor:items>"))
    (tmp_path / ".lock").write_text("")
    office.mend(tmp_path)
    assert file.read_text() == kept
    assert not (tmp_path / ".lock").exists()
    office.mend(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        (["xterm", "-e", "nano", "a b"], ["nano", "a b"]),
        (["env", "A=1", "/usr/bin/uxterm", "-bg", "white", "-e", "mc"], ["mc"]),
        (["gnome-terminal", "--wait", "--", "nano", "-e"], ["nano", "-e"]),
        (["x-terminal-emulator", "-e", "nano 'a b'"], ["nano", "a b"]),
        (["xterm", "-e", "nano 'a"], ["nano 'a"]),
        (["xterm"], []),
        (["xterm", "-e"], []),
        (["sed", "-e", "s/a/b/"], []),
    ],
)
def test_the_command_inside_a_terminal_is_found(command: list[str], inside: list[str]) -> None:
    assert command_in_terminal(command) == inside

"""The table of programs that hand their document to a running instance, with the option for a private profile.

Programs that register on the session's message bus need no option, because each desktop has its own bus. If the bus can
start them, they get settings folders of their own: many of these restore the documents of their last instance.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.accessibility.bus import CHROMIUM
from holo_tasks.desktop.profiles import office
from holo_tasks.desktop.profiles.bus_services import is_bus_service
from holo_tasks.desktop.profiles.instances import identifying_files
from holo_tasks.desktop.profiles.wrappers import files_of_program, place_of_program

OFFICE = re.compile(r"libreoffice[\d.]*|loffice|soffice(\.bin)?|oosplash|lo(base|calc|draw|impress|math|web|writer)")
MOZILLA = re.compile(r"(firefox|thunderbird)(-\w+)*|librewolf|waterfox|icecat|seamonkey")
OTHER_CHROMIUM = re.compile(r"ungoogled-chromium|thorium-browser|code(-\w+)?|codium|vscodium")
ELECTRON = ("resources/app.asar", "resources/app")
"""Files next to the executable of an Electron application, together with `PIECES`."""
PIECES = "chrome_100_percent.pak"
QUIET_CHROMIUM = {"autofill": {"profile_enabled": False, "credit_card_enabled": False}}
"""Settings of new profiles. A list of earlier entries would cover the field below, and Enter may take one."""
QUIET_FIREFOX = {
    "browser.aboutwelcome.enabled": False,
    "browser.formfill.enable": False,
    "browser.sessionstore.resume_from_crash": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.policy.firstRunURL": "",
    "mail.shell.checkDefaultClient": False,
    "termsofuse.bypassNotification": True,
    "toolkit.startup.max_resumed_crashes": -1,
}
SNAP = "/snap/bin"


@dataclass(frozen=True, slots=True)
class ProgramKind:
    """One kind of program.

    ``runs`` matches the file names of its programs. ``words`` returns the options for a profile in a folder, and
    ``option`` shows them to a person. ``named`` matches an argument that names a profile. ``seed`` fills an
    empty profile. ``mend`` removes the traces of a crash from a used one. ``variables`` returns the environment
    variables for a profile.
    """

    runs: re.Pattern[str]
    option: str
    named: re.Pattern[str]
    words: Callable[[Path], list[str]]
    seed: Callable[[Path], None]
    mend: Callable[[Path], None]
    variables: Callable[[Path], dict[str, str]] = lambda profile: {}


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """The kind of a command's program, ``None`` if the table lacks it, and the index of the program in the command.

    ``files`` tell the program from others, as in `instances.identifying_files`.
    """

    kind: ProgramKind | None
    place: int
    is_snap: bool
    files: Sequence[Path]


def look_up(command: Sequence[str], path: str | None) -> FoundProgram:
    """Find the program of a command in the table; ``path`` is the search path."""
    place = place_of_program(command)
    kind, is_snap = None, False
    files = list(files_of_program(command[place], path))
    for file in files:
        is_snap = is_snap or str(file.parent) == SNAP
        kind = kind or next((each for each in KINDS if each.runs.fullmatch(file.name)), None)
        kind = kind or (BROWSER if _is_electron(file) else None)
    known = identifying_files(command, place, files)
    if kind is None and is_bus_service(known):
        kind = BUS_SERVICE
    return FoundProgram(kind, place, is_snap, known)


def names_profile(kind: ProgramKind, command: Sequence[str]) -> bool:
    """Return whether the command names a profile itself."""
    return any(kind.named.match(word) for word in command)


def _is_electron(file: Path) -> bool:
    home = file.resolve().parent
    return any(
        (folder / PIECES).exists() and any((folder / piece).exists() for piece in ELECTRON)
        for folder in (home, home.parent)
    )


def _leave_unchanged(_: Path) -> None:
    """Leave a profile unchanged."""


def _seed_browser(profile: Path) -> None:
    settings = profile / "Default" / "Preferences"
    settings.parent.mkdir(0o700)
    settings.write_text(json.dumps(QUIET_CHROMIUM), encoding="utf-8")


def _mend_browser(profile: Path) -> None:
    for name in ("SingletonLock", "SingletonSocket", "SingletonCookie"):
        (profile / name).unlink(missing_ok=True)
    for file in profile.glob("*/Preferences"):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            settings = json.loads(file.read_text(encoding="utf-8"))
            settings.setdefault("profile", {}).update({"exit_type": "Normal", "exited_cleanly": True})
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(settings), encoding="utf-8")
            draft.replace(file)


def _seed_firefox(profile: Path) -> None:
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in QUIET_FIREFOX.items())
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")


def _mend_firefox(profile: Path) -> None:
    for name in ("lock", ".parentlock"):
        (profile / name).unlink(missing_ok=True)


def _forget_instance(profile: Path) -> None:
    """Remove the port of a jEdit that was killed."""
    (profile / "server").unlink(missing_ok=True)


def _seed_audacity(profile: Path) -> None:
    """Start without the welcome window."""
    _audacity_settings(profile).parent.mkdir(parents=True)
    _audacity_settings(profile).write_text("[GUI]\nShowSplashScreen=0\n", encoding="utf-8")


def _mend_audacity(profile: Path) -> None:
    """Forget the folder for temporary files and the unsaved projects of the last desktop."""
    file = _audacity_settings(profile)
    with contextlib.suppress(OSError, ValueError):
        parts = re.split(r"^(?=\[)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        kept = [part for part in parts if not part.startswith(("[ActiveProjects]", "[Directories"))]
        file.write_text("".join(kept), encoding="utf-8")


def _audacity_settings(profile: Path) -> Path:
    return profile / "config" / "audacity" / "audacity.cfg"


def _settings_folders(profile: Path) -> dict[str, str]:
    """Return the variables for settings folders in a profile."""
    return {f"XDG_{name}_HOME": str(profile / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}


FOLDERS = ("`env HOME=FOLDER` before it", re.compile(r"(HOME|XDG_(CONFIG|DATA|STATE|CACHE)_HOME)="))
"""How a command names settings folders."""
BROWSER = ProgramKind(
    re.compile(f"{CHROMIUM.pattern}|{OTHER_CHROMIUM.pattern}"),
    "--user-data-dir=FOLDER",
    re.compile(r"--user-data-dir(=|$)|--temp-profile$|--profile(=|$)"),
    lambda profile: [f"--user-data-dir={profile}", "--no-first-run", "--no-default-browser-check"],
    _seed_browser,
    _mend_browser,
)
KINDS = (
    ProgramKind(
        OFFICE,
        "-env:UserInstallation=file:///FOLDER",
        re.compile(r"--?env:UserInstallation="),
        lambda profile: [f"-env:UserInstallation={office.url(profile)}"],
        office.write_settings,
        office.mend,
    ),
    BROWSER,
    ProgramKind(
        MOZILLA,
        "--profile FOLDER --no-remote",
        re.compile(r"--?(profile|p|profilemanager)(=|$)", re.IGNORECASE),
        lambda profile: ["--profile", str(profile), "--no-remote"],
        _seed_firefox,
        _mend_firefox,
    ),
    ProgramKind(
        re.compile("jedit"),
        "-settings=FOLDER",
        re.compile(r"-(no)?(settings|server)(=|$)"),
        lambda profile: [f"-settings={profile}", "-norestore"],
        _leave_unchanged,
        _forget_instance,
    ),
    ProgramKind(
        re.compile("audacity"), *FOLDERS, lambda profile: [], _seed_audacity, _mend_audacity, _settings_folders
    ),
)
BUS_SERVICE = ProgramKind(
    re.compile(r"(?!)"),  # recognized by `is_bus_service`
    *FOLDERS,
    lambda profile: [],
    _leave_unchanged,
    _leave_unchanged,
    _settings_folders,
)

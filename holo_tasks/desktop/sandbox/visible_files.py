"""List the files that a sandboxed program sees, as options for bubblewrap. `visible_files` is the main function.

It sees the system's folders, read-only, but below /etc only files that every user may read. It sees its own file and
the files that its command names, read-only. Its home and the folders for temporary files start empty. The home gets a
link ``Downloads`` to the folder that is shared with the agent. It also sees the sockets and the cookie of its desktop,
and the granted folders. Each file has the same path as outside.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holo_tasks.desktop.sandbox.folders import Access, is_kept

SYSTEM = ("/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/cache/fontconfig")
TEMPORARY = ("/tmp", "/run", "/var/tmp")
SETTINGS = Path("/etc")
HOSTS, NSSWITCH = Path("/etc/hosts"), Path("/etc/nsswitch.conf")
PROC = Path("/proc")
DOWNLOADS = "Downloads"
"""The folder in which browsers save by default. It is a link to the folder that is shared with the agent."""
WRITABLE_BY_ROOT = ("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "sys", "sysrq-trigger", "mtrr", "tty")
"""Files and folders of /proc that root may write without capabilities. bubblewrap does not cover them all."""
READ_BY_OTHERS = stat.S_IROTH


@dataclass(frozen=True, slots=True)
class Place:
    """The parts of a desktop that its sandboxed program sees.

    ``home`` and ``runtime`` are folders that start empty, and ``start`` is the working folder. ``sockets`` and
    ``cookie`` are files from outside. ``shared`` is the folder outside that the program shares with the agent.
    """

    home: Path
    runtime: Path
    start: Path
    sockets: Sequence[Path]
    cookie: Path
    shared: Path

    @classmethod
    def of(cls, env: Mapping[str, str], start: Path, sockets: Sequence[Path], shared: Path) -> Place:
        """Return the place of a program with this environment. A home that is a system folder becomes /tmp/home."""
        home = Path(os.path.normpath(env.get("HOME") or "/"))
        taken = home in map(Path, ("/", *TEMPORARY)) or _within(home, map(Path, SYSTEM)) or is_kept(home)
        return cls(
            Path("/tmp/home") if taken or not home.is_absolute() else home,
            Path(env["XDG_RUNTIME_DIR"]),
            start,
            sockets,
            Path(env["XAUTHORITY"]),
            shared,
        )


@dataclass(frozen=True, slots=True)
class _Mount:
    """One mount of the view: its path, and bubblewrap's options before that path."""

    at: Path
    words: tuple[str, ...]

    def options(self) -> Iterator[str]:
        yield from self.words
        yield str(self.at)


def view(place: Place, folders: Mapping[str, Access], named: Iterable[Path], made: Mapping[Path, int]) -> list[str]:
    """Return bubblewrap's options for a view.

    ``named`` holds files that are visible read-only. ``made`` holds generated files, with the descriptors of their
    contents.
    """
    own = [_empty(place.home), _empty(place.runtime), *map(_read_only, place.sockets), _read_only(place.cookie)]
    own.append(_Mount(place.shared, ("--bind", str(place.shared))))
    mounts = [_Mount(Path(folder), _granted(folder, access)) for folder, access in folders.items()]
    granted = [mount.at for mount in mounts]
    mounts += [mount for mount in own if mount.at not in granted]
    mounts += [mount for path in named if not _within(path, granted) for mount in _file(path)]
    downloads = place.home / DOWNLOADS
    if place.home not in granted and not any(_within(mount.at, [downloads]) for mount in mounts):
        mounts.append(_Mount(downloads, ("--symlink", str(place.shared))))
    words = [*_system(), "--proc", str(PROC), *_settings_of_the_kernel(), "--dev", "/dev"]
    for folder in TEMPORARY:
        words += _empty(Path(folder)).options()
    # Outer paths come first, because a mount hides everything that was mounted below it.
    for mount in sorted(dict.fromkeys(mounts), key=lambda mount: len(mount.at.parts)):
        words += mount.options()
    for path, descriptor in made.items():
        words += ("--perms", "0644", "--ro-bind-data", str(descriptor), str(path))
    return [*words, "--dir", str(place.start), "--remount-ro", "/", "--chdir", str(place.start)]


def named_files(command: Sequence[str], path: str | None, start: Path) -> list[Path]:
    """Return the program's file and the files that its command names, without those that are hidden (`is_kept`)."""
    found = shutil.which(command[0], path=path)
    words = [*([found] if found else []), *command]
    files = [Path(os.path.normpath(start / word)) for word in words if word and "\0" not in word]
    return [
        file for file in dict.fromkeys(files) if _is_file(file) and not is_kept(file) and not is_kept(file.resolve())
    ]


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, RuntimeError):  # a name that is too long; a loop of links
        return path.is_file()
    return False


def lookups(grants: Mapping[str, str]) -> dict[Path, str]:
    """Return the files of the name service, by path, so that ``grants`` (addresses by name) are found before DNS."""
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in grants.items())]
    made = {HOSTS: "".join(f"{line}\n" for line in lines)}
    with contextlib.suppress(FileNotFoundError):
        switch_lines = NSSWITCH.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = [line for line in switch_lines if not line.strip().startswith("hosts:")]
        made[NSSWITCH] = "".join(f"{line}\n" for line in [*kept, "hosts: files dns"])
    return {path: text for path, text in made.items() if path.is_file() and not path.is_symlink()}


def _system() -> Iterator[str]:
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for hidden in _closed_to_others(SETTINGS):
        yield from _empty(hidden).options() if hidden.is_dir() else ("--ro-bind", "/dev/null", str(hidden))


def _closed_to_others(folder: Path) -> Iterator[Path]:
    """Yield the paths below a folder that not every user may read. An agent that runs as root could read them."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_symlink():
            continue
        try:
            directory, mode = entry.is_dir(), entry.stat().st_mode
        except FileNotFoundError:
            continue  # it was removed meanwhile
        needed = READ_BY_OTHERS | (stat.S_IXOTH if directory else 0)
        if mode & needed != needed:
            yield Path(entry.path)
        elif directory:
            yield from _closed_to_others(Path(entry.path))


def _settings_of_the_kernel() -> Iterator[str]:
    for name in WRITABLE_BY_ROOT:
        if (PROC / name).exists():
            yield from ("--ro-bind", str(PROC / name), str(PROC / name))


def _empty(folder: Path) -> _Mount:
    return _Mount(folder, ("--perms", "1777" if str(folder) in TEMPORARY else "0700", "--tmpfs"))


def _read_only(path: Path) -> _Mount:
    return _Mount(path, ("--ro-bind", str(path)))


def _granted(folder: str, access: Access) -> tuple[str, ...]:
    return ("--bind" if access == "write" else "--ro-bind", folder)


def _file(path: Path) -> Iterator[_Mount]:
    """Yield the mounts of a file, and of the link if the path is one. Files in system folders need none."""
    real = path.resolve()
    for each in {path.parent.resolve() / path.name, real}:
        if not _within(each, map(Path, SYSTEM)):
            yield _Mount(each, ("--symlink", str(real)) if each != real else ("--ro-bind", str(real)))


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)

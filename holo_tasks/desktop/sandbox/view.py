"""The files that a closed program sees, as the words that tell bubblewrap so.

There are the folders of the system, read-only, as any user of the machine may read them; the program's file and those
that its command names, read-only; an empty home and empty folders for what is temporary; the sockets of its own
desktop; and what was granted. Everything is where it is outside, so that a file's path means the same to both.
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
HOSTS, LOOKED_UP_IN = Path("/etc/hosts"), Path("/etc/nsswitch.conf")
PROC = Path("/proc")
DOWNLOADS = "Downloads"
"""Where browsers save, in a home that says nothing else: it leads to the folder that is shared with the agent."""
SETS_THE_KERNEL = ("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "sys", "sysrq-trigger", "mtrr", "tty")
"""What root could write to below /proc without any right but its number: bubblewrap does not cover all of it."""
READ_BY_OTHERS = stat.S_IROTH


@dataclass(frozen=True, slots=True)
class Place:
    """What a closed program finds of its own desktop, and where it starts.

    ``home`` and ``runtime`` are folders of its own, which begin empty; ``sockets`` and ``cookie`` are files of outside,
    and ``shared`` is the folder there that it shares with the agent.
    """

    home: Path
    runtime: Path
    start: Path
    sockets: Sequence[Path]
    cookie: Path
    shared: Path

    @classmethod
    def of(cls, env: Mapping[str, str], start: Path, sockets: Sequence[Path], shared: Path) -> Place:
        """Return the place of a program with this environment; a home that is no person's is one for this program."""
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
    """One thing in the view: where it is, and the words for it but the place."""

    at: Path
    words: tuple[str, ...]

    def told(self) -> Iterator[str]:
        yield from self.words
        yield str(self.at)


def view(place: Place, folders: Mapping[str, Access], named: Iterable[Path], made: Mapping[Path, int]) -> list[str]:
    """Return the words for a view. ``made`` are files made up for it, by the descriptors they are read from."""
    own = [_empty(place.home), _empty(place.runtime), *map(_bound, place.sockets), _bound(place.cookie)]
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
        words += _empty(Path(folder)).told()
    # Those above come first: whatever is mounted hides what was below it.
    for mount in sorted(dict.fromkeys(mounts), key=lambda mount: len(mount.at.parts)):
        words += mount.told()
    for path, descriptor in made.items():
        words += ("--perms", "0644", "--ro-bind-data", str(descriptor), str(path))
    return [*words, "--dir", str(place.start), "--remount-ro", "/", "--chdir", str(place.start)]


def named_files(command: Sequence[str], path: str | None, start: Path) -> list[Path]:
    """Return the program's file and those that its command names, less what is the agent's own."""
    found = shutil.which(command[0], path=path)
    words = [*([found] if found else []), *command]
    files = [Path(os.path.normpath(start / word)) for word in words if word and "\0" not in word]
    return [
        file for file in dict.fromkeys(files) if _is_file(file) and not is_kept(file) and not is_kept(file.resolve())
    ]


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, RuntimeError):  # a name that is too long; links in a circle
        return path.is_file()
    return False


def lookups(grants: Mapping[str, str]) -> dict[Path, str]:
    """Return the files by which names are found at these addresses, and nowhere else but in them at first."""
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in grants.items())]
    made = {HOSTS: "".join(f"{line}\n" for line in lines)}
    with contextlib.suppress(FileNotFoundError):
        told = LOOKED_UP_IN.read_text(encoding="utf-8", errors="replace").splitlines()
        kept = [line for line in told if not line.strip().startswith("hosts:")]
        made[LOOKED_UP_IN] = "".join(f"{line}\n" for line in [*kept, "hosts: files dns"])
    return {path: text for path, text in made.items() if path.is_file() and not path.is_symlink()}


def _system() -> Iterator[str]:
    for folder in map(Path, SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for hidden in _closed_to_others(SETTINGS):
        yield from _empty(hidden).told() if hidden.is_dir() else ("--ro-bind", "/dev/null", str(hidden))


def _closed_to_others(folder: Path) -> Iterator[Path]:
    """Yield what below a folder only root or a group may read, which an agent that is root's could."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_symlink():
            continue
        try:
            directory, mode = entry.is_dir(), entry.stat().st_mode
        except FileNotFoundError:
            continue  # it was there a moment ago
        needed = READ_BY_OTHERS | (stat.S_IXOTH if directory else 0)
        if mode & needed != needed:
            yield Path(entry.path)
        elif directory:
            yield from _closed_to_others(Path(entry.path))


def _settings_of_the_kernel() -> Iterator[str]:
    for name in SETS_THE_KERNEL:
        if (PROC / name).exists():
            yield from ("--ro-bind", str(PROC / name), str(PROC / name))


def _empty(folder: Path) -> _Mount:
    return _Mount(folder, ("--perms", "1777" if str(folder) in TEMPORARY else "0700", "--tmpfs"))


def _bound(path: Path) -> _Mount:
    return _Mount(path, ("--ro-bind", str(path)))


def _granted(folder: str, access: Access) -> tuple[str, ...]:
    return ("--bind" if access == "write" else "--ro-bind", folder)


def _file(path: Path) -> Iterator[_Mount]:
    """Yield a file, and the link that leads to it if it is one; those of the system are there."""
    real = path.resolve()
    for each in {path.parent.resolve() / path.name, real}:
        if not _within(each, map(Path, SYSTEM)):
            yield _Mount(each, ("--symlink", str(real)) if each != real else ("--ro-bind", str(real)))


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)

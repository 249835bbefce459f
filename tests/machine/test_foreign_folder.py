"""A folder that untrusted programs write to: no name leads out of the folder, and unfinished files are not copied."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from holo_tasks.core.errors import DesktopFailed, InvalidUsage
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.machine import foreign_folder
from holo_tasks.machine.foreign_folder import (
    CopyStopped,
    Entry,
    TooManyEntries,
    UnfinishedFile,
    copy_in,
    copy_out,
    entries,
    opened,
)

NEVER = threading.Event()


@pytest.fixture
def shared(tmp_path: Path) -> SharedFolder:
    path = tmp_path / "shared"
    path.mkdir()
    found = path.stat()
    return SharedFolder(path, found.st_dev, found.st_ino)


def found(shared: SharedFolder) -> dict[str, Entry]:
    with opened(shared) as folder:
        return {one.name: one for one in entries(folder)}


def take(shared: SharedFolder, entry: Entry, into: Path, name: str = "taken") -> foreign_folder.CopiedFile:
    with opened(shared) as folder:
        return copy_out(folder, entry, into, name, NEVER)


def test_only_regular_files_are_accepted(shared: SharedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text("ours")
    (shared.path / "link").symlink_to(secret)
    (shared.path / "second").hardlink_to(secret)
    os.mkfifo(shared.path / "pipe")
    (shared.path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(shared.path)
        listener.bind("socket")
    if os.geteuid() == 0:
        os.mknod(shared.path / "device", 0o600 | 0o020000, os.makedev(1, 5))
    (shared.path / "file").write_text("theirs")
    seen = found(shared)
    assert [name for name, one in seen.items() if not one.refusal] == ["file"]
    assert "link" in seen["link"].refusal
    for name, one in seen.items():
        if name != "file":
            with pytest.raises((UnfinishedFile, OSError)):
                take(shared, one, tmp_path / "into")
    assert not list((tmp_path / "into").glob("*"))


def test_a_copy_is_exact_private_and_replaces_nothing(shared: SharedFolder, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    (shared.path / "a.bin").write_bytes(data)
    one = take(shared, found(shared)["a.bin"], tmp_path / "into", "a.bin")
    two = take(shared, found(shared)["a.bin"], tmp_path / "into", "a.bin")
    assert (one.path.name, two.path.name) == ("a.bin", "a (2).bin")
    assert one.path.read_bytes() == two.path.read_bytes() == data
    assert one.sha256 == hashlib.sha256(data).hexdigest()
    assert one.path.stat().st_mode & 0o777 == 0o600
    assert one.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("leases", [True, False])
def test_a_file_open_for_writing_is_unfinished(
    shared: SharedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, leases: bool
) -> None:
    if not leases:  # as on a file system without leases
        monkeypatch.setattr(foreign_folder, "F_RDLCK", 12345)
    file = shared.path / "report.pdf"
    with file.open("w") as writing:
        writing.write("half")
        writing.flush()
        with pytest.raises(UnfinishedFile):
            take(shared, found(shared)["report.pdf"], tmp_path / "into")
    with file.open("r"):
        assert take(shared, found(shared)["report.pdf"], tmp_path / "into").size == 4


def test_a_file_mapped_writable_is_unfinished(shared: SharedFolder, tmp_path: Path) -> None:
    file = shared.path / "table.db"
    file.write_bytes(bytes(4096))
    with file.open("r+b") as writing:
        memory = mmap.mmap(writing.fileno(), 4096)
    with pytest.raises(UnfinishedFile):
        take(shared, found(shared)["table.db"], tmp_path / "into")
    memory.close()
    assert take(shared, found(shared)["table.db"], tmp_path / "into").size == 4096


def test_a_file_replaced_before_the_copy_is_unfinished(shared: SharedFolder, tmp_path: Path) -> None:
    file = shared.path / "report.pdf"
    file.write_text("first")
    seen = found(shared)["report.pdf"]
    (tmp_path / "other").write_text("other")
    (tmp_path / "other").replace(file)
    with pytest.raises(UnfinishedFile):
        take(shared, seen, tmp_path / "into")


def test_a_file_replaced_during_the_copy_is_unfinished(
    shared: SharedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shared.path / "report.pdf"
    file.write_bytes(bytes(3 * foreign_folder.PIECE))
    seen, read = found(shared)["report.pdf"], os.read
    (tmp_path / "other").write_bytes(bytes(3 * foreign_folder.PIECE))

    def replaced_meanwhile(descriptor: int, size: int) -> bytes:
        if (tmp_path / "other").exists():
            (tmp_path / "other").replace(file)
        return read(descriptor, size)

    monkeypatch.setattr(foreign_folder.os, "read", replaced_meanwhile)
    with pytest.raises(UnfinishedFile):
        take(shared, seen, tmp_path / "into")
    assert not list((tmp_path / "into").iterdir())


def test_a_copy_can_be_stopped(shared: SharedFolder, tmp_path: Path) -> None:
    (shared.path / "large").write_bytes(bytes(foreign_folder.PIECE + 1))
    stop = threading.Event()
    stop.set()
    with opened(shared) as folder, pytest.raises(CopyStopped):
        copy_out(folder, found(shared)["large"], tmp_path / "into", "large", stop)
    assert not list((tmp_path / "into").iterdir())


def test_a_replaced_folder_is_refused(shared: SharedFolder, tmp_path: Path) -> None:
    shared.path.rename(tmp_path / "moved")
    with pytest.raises(DesktopFailed, match="cannot be opened"):
        found(shared)
    (tmp_path / "elsewhere").mkdir()
    shared.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DesktopFailed, match="cannot be opened"):
        found(shared)
    shared.path.unlink()
    shared.path.mkdir()
    with pytest.raises(DesktopFailed, match="was replaced by another one"):
        found(shared)


def test_a_folder_with_too_many_files_is_not_listed(shared: SharedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_folder, "MOST_ENTRIES", 20)
    for number in range(21):
        (shared.path / str(number)).touch()
    with pytest.raises(TooManyEntries):
        found(shared)


def test_a_given_file_is_copied_under_one_name(shared: SharedFolder, tmp_path: Path) -> None:
    source = tmp_path / "letter.odt"
    source.write_text("Dear Ada")
    with opened(shared) as folder:
        copied, _ = copy_in(source, folder, shared, "letter.odt", 100, read_only=True)
        assert copied.path.stat().st_mode & 0o777 == 0o400
        with pytest.raises(InvalidUsage, match="another name"):
            copy_in(source, folder, shared, "letter.odt", 100, read_only=False)
        with pytest.raises(InvalidUsage, match="larger most_mb"):
            copy_in(source, folder, shared, "x", 3, read_only=False)
        with pytest.raises(InvalidUsage, match="not a regular file"):
            copy_in(Path("/dev/zero"), folder, shared, "x", 100, read_only=False)
    assert copied.sha256 == hashlib.sha256(b"Dear Ada").hexdigest()


@pytest.mark.parametrize("nameless", [True, False], ids=["nameless", "a file system that knows none"])
def test_a_copy_gets_its_name_when_complete_and_none_if_the_source_grows(
    shared: SharedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    os_open, read_into = os.open, foreign_folder._copy_bounded
    meanwhile: list[str] = []

    def opens(path: Any, flags: int, *mode: int, **how: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE and not nameless:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return os_open(path, flags, *mode, **how)

    def reads(*given: Any) -> tuple[int, str]:
        meanwhile.extend(found(shared))
        if given[2].name == "grows":
            given[2].write_text("Dear Ada, and Grace")
        return read_into(*given)

    monkeypatch.setattr(os, "open", opens)
    monkeypatch.setattr(foreign_folder, "_copy_bounded", reads)
    for name in ("letter", "grows"):
        (tmp_path / name).write_text("Dear Ada")
    with opened(shared) as folder:
        _, sign = copy_in(tmp_path / "letter", folder, shared, "letter", 8, read_only=True)
        assert found(shared) == {"letter": Entry("letter", sign, "")}
        assert not [name for name in meanwhile if not name.endswith(".part")]
        assert bool(meanwhile) is not nameless
        with pytest.raises(InvalidUsage, match="grows while it is read"):
            copy_in(tmp_path / "grows", folder, shared, "grows", 8, read_only=True)
    assert list(found(shared)) == ["letter"]


def test_clearing_removes_entries_and_follows_no_link(shared: SharedFolder, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "kept").touch()
    (shared.path / "link").symlink_to(ours)
    (shared.path / "folder" / "deep").mkdir(parents=True)
    (shared.path / "folder" / "link").symlink_to(ours)
    (shared.path / "new").touch()
    (shared.path / "before").touch()
    with opened(shared) as folder:
        foreign_folder.clear(folder, {"before"})
    assert [one.name for one in shared.path.iterdir()] == ["before"]
    assert (ours / "kept").exists()

"""A workbook survives killed writers, concurrent writers and a full disk."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.atomic_file import file_lock, replace_whole
from holo_tasks.office.workbook import Column, FileBusy, FileNotWritten, Workbook

COLUMNS = [Column("Receipt"), Column("Merchant")]
ROW: dict[str, Any] = {"Receipt": "R-1", "Merchant": "Café"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "audit.xlsx"


def book(path: Path, **more: Any) -> Workbook:
    return Workbook(path, columns=COLUMNS, key="Receipt", **more)


def test_a_lock_that_is_never_released_gives_a_one_line_error(path: Path) -> None:
    book(path).upsert(ROW)
    code = "import fcntl,sys,time;f=open(sys.argv[1]);fcntl.flock(f,fcntl.LOCK_EX);print(1,flush=True);time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, path.parent / ".audit.xlsx.lock"], stdout=subprocess.PIPE)
    try:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(FileBusy, match="another writer") as caught:
            book(path, lock_timeout_seconds=0.2).upsert({**ROW, "Receipt": "R-2"})
        assert caught.value.transient
    finally:
        holder.kill()
        holder.wait()
    assert book(path).upsert({**ROW, "Receipt": "R-2"}) is True


class Writer:
    """A process that adds rows and reports the committed ones; forked, so that it starts at once."""

    def __init__(self, path: Path, name: str, rows: int) -> None:
        self.said, saying = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                target = book(path)
                for number in range(rows):
                    target.upsert({"Receipt": f"{name}-{number}", "Merchant": str(number)})
                    os.write(saying, f"{name}-{number}\n".encode())
                os._exit(0)
            finally:
                os._exit(1)
        os.close(saying)

    def end(self, *, kill: bool = True) -> tuple[list[str], int]:
        """The rows that were committed, and how the process ended."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        with os.fdopen(self.said) as said:
            rows = said.read().split()
        return rows, os.waitpid(self.pid, 0)[1]


def keys(path: Path) -> list[str]:
    return [str(row[0].value) for row in openpyxl.load_workbook(path)["Audit"].iter_rows(min_row=2)]


def test_no_committed_row_is_lost_when_writers_are_killed(path: Path) -> None:
    chance = random.Random(20261005)
    committed: list[str] = []
    alive = [Writer(path, "w0", 1000), Writer(path, "w1", 1000)]
    for number in range(500):
        if number >= 12 and len(committed) > 8:
            break  # on a busy machine, most writers are killed before their first row
        alive.append(Writer(path, f"w{number + 2}", 1000))
        time.sleep(chance.uniform(0.01, 0.15))
        committed += alive.pop(0).end()[0]
        if path.exists():
            present = keys(path)  # the file can be opened at any moment
            assert len(present) == len(set(present))
            assert set(committed) <= set(present)
    for one in alive:
        committed += one.end()[0]
    book(path).upsert({"Receipt": "last"})
    assert set(committed) <= set(keys(path))
    assert len(committed) > 8
    assert {one.name for one in path.parent.iterdir()} == {"audit.xlsx", ".audit.xlsx.lock"}


def test_leftovers_of_a_dead_writer_are_removed(path: Path) -> None:
    book(path).upsert(ROW)
    (path.parent / ".audit.xlsx.77-abc.part").write_bytes(b"half a workb")
    book(path).upsert({**ROW, "Receipt": "R-2"})
    assert {one.name for one in path.parent.iterdir()} == {"audit.xlsx", ".audit.xlsx.lock"}


def test_two_concurrent_processes_lose_nothing(path: Path) -> None:
    both = [Writer(path, name, 12) for name in ("a", "b")]
    assert [one.end(kill=False)[1] for one in both] == [0, 0]
    assert sorted(keys(path)) == sorted(f"{name}-{number}" for name in "ab" for number in range(12))


def test_a_full_disk_gives_a_one_line_error_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "small" / "audit.xlsx"
    path.parent.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path.parent], capture_output=True
    ).returncode  # fmt: skip
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        book(path).upsert(ROW)
        before = path.read_bytes()
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), limits[1]))
        noise = random.Random(1)
        many = [{**ROW, "Receipt": f"R-{n}", "Merchant": noise.randbytes(90).hex()} for n in range(900)]
        with pytest.raises(FileNotWritten, match="disk is full") as caught:
            book(path).upsert_many(many)
        assert "\n" not in str(caught.value)
        assert path.read_bytes() == before
        assert {one.name for one in path.parent.iterdir()} == {"audit.xlsx", ".audit.xlsx.lock"}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        if mounted:
            subprocess.run(["umount", path.parent], check=True)


def _refusing(code: int) -> Any:
    """Return a system call that fails as on a file system without it."""

    def call(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


def test_a_network_share_without_locks_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No share can be mounted here, so the system call is replaced by one that fails as on such a share."""
    monkeypatch.setattr(fcntl, "flock", _refusing(errno.ENOLCK))
    with pytest.raises(InvalidUsage, match="has no file locks"), file_lock(tmp_path / "a.xlsx", timeout_s=1):
        pass


def test_a_share_without_permissions_and_folder_sync_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fchmod", _refusing(errno.EPERM))
    real = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda handle: real(handle) if stat.S_ISREG(os.fstat(handle).st_mode) else _refusing(errno.EINVAL)(),
    )
    with file_lock(tmp_path / "a.xlsx", timeout_s=1):
        replace_whole(tmp_path / "a.xlsx", b"new")
    assert (tmp_path / "a.xlsx").read_bytes() == b"new"

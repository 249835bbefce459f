"""Created files and folders are private regardless of the umask, and existing ones of ours are made private."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import (
    make_private,
    open_private,
    own_folder,
    private_file,
    private_folder,
    remove_access_of_others,
    replaceable,
)
from holo_tasks.machine.umask import users_umask

UMASKS = (0o000, 0o022, 0o077, 0o277)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can access."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("mask", UMASKS)
def test_created_folders_are_private_at_every_level(tmp_path: Path, mask: int) -> None:
    tmp_path.chmod(0o755)
    home = tmp_path / "data" / "share" / "holo"
    with umask(mask):
        folder = private_folder(home, "kill")
    assert folder == home / "kill"
    assert [mode(level) for level in (folder, *folder.parents[:3])] == [0o700] * 4
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("mask", UMASKS)
def test_created_files_are_private(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        os.close(open_private(tmp_path / "opened", os.O_WRONLY | os.O_CREAT))
        private_file(tmp_path / "there")
    assert mode(tmp_path / "opened") == mode(tmp_path / "there") == 0o600


def test_access_for_others_is_removed_without_changing_the_content(tmp_path: Path) -> None:
    for name in ("opened", "there", "wal"):
        (tmp_path / name).write_text("kept")
        (tmp_path / name).chmod(0o666)
    os.close(open_private(tmp_path / "opened", os.O_RDWR))
    private_file(tmp_path / "there")
    remove_access_of_others(tmp_path / "wal")
    remove_access_of_others(tmp_path / "nothing")
    for name in ("opened", "there", "wal"):
        assert (mode(tmp_path / name), (tmp_path / name).read_text()) == (0o600, "kept")


@pytest.mark.parametrize("names", [(), ("holo.db", "holo.db-wal", "keys", "runs", "anchors.jsonl")])
@pytest.mark.parametrize("wide", [0o755, 0o777, 0o2775])
def test_a_home_with_only_our_files_is_made_private(tmp_path: Path, names: tuple[str, ...], wide: int) -> None:
    home = tmp_path / "holo"
    home.mkdir()
    for name in names:
        (home / name).touch()
    home.chmod(wide)
    private_folder(home)
    assert mode(home) == 0o700


def test_a_home_with_other_files_keeps_its_mode_and_our_files_are_private(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    tmp_path.chmod(0o755)
    folder = private_folder(tmp_path, "keys")
    assert (mode(tmp_path), mode(folder)) == (0o755, 0o700)


@as_root
@pytest.mark.parametrize("uid", [0, 4_000, 65_534])
@pytest.mark.parametrize("wide", [0o700, 0o755, 0o775, 0o777])
def test_root_accepts_any_home_unchanged(tmp_path: Path, uid: int, wide: int) -> None:
    for name in ("thesis.odt", "runs"):
        (tmp_path / name).touch()
        os.chown(tmp_path / name, uid, uid)
    os.chown(tmp_path, uid, 4_000)
    tmp_path.chmod(wide)
    assert mode(private_folder(tmp_path, "keys")) == 0o700
    assert mode(tmp_path) == wide


@as_root
@pytest.mark.parametrize(
    ("owner", "gid", "wide", "within", "said"),
    [
        (4_000, 4_000, 0o777, "thesis", "chmod go-w"),
        (4_000, 5_000, 0o775, "thesis", "chmod go-w"),
        (4_000, 4_000, 0o775, "thesis", ""),
        (4_000, 4_000, 0o777, "runs", ""),
        (0, 0, 0o777, "thesis", ""),
        (0, 4_000, 0o2775, "thesis", ""),
        (0, 0, 0o755, "thesis", ""),
        (0, 0, 0o777, "keys of another", "was created by another user"),
        (65_534, 65_534, 0o777, "thesis", "belongs to another user"),
    ],
)
def test_homes_that_a_user_may_have(public: Path, owner: int, gid: int, wide: int, within: str, said: str) -> None:
    home = public / "home"
    home.mkdir()
    (home / within.split()[0]).touch()
    os.chown(home / within.split()[0], *((5_000, 5_000) if "another" in within else (4_000, 4_000)))
    os.chown(home, owner, gid)
    home.chmod(wide)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from holo_tasks.core.errors import InvalidUsage\n"
        "from holo_tasks.machine.private import private_folder\n"
        "os.setgroups([gid := int(sys.argv[2])]); os.setgid(gid); os.setuid(4000)\n"
        "try: private_folder(Path(sys.argv[1]))\n"
        "except InvalidUsage as error: print(error)\n"
    )
    command = [sys.executable, "-c", script, str(home), str(gid or 4_000)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert (said in told) if said else not told
    assert mode(home) == (0o700 if within == "runs" else wide)


@as_root
def test_replaceable_parents_are_found(public: Path) -> None:
    home = public / "volume" / "holo"
    home.mkdir(parents=True)
    assert replaceable(home) is None
    home.parent.chmod(0o777)
    assert replaceable(home) == home.parent
    home.parent.chmod(0o1777)
    assert replaceable(home) is None
    os.chown(home.parent, 65_534, 0)
    assert replaceable(home) == home.parent


def test_a_sticky_folder_keeps_its_mode_and_is_not_replaceable(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert mode(private_folder(tmp_path, "keys")) == 0o700
    assert mode(tmp_path) == 0o1777


@as_root
@pytest.mark.parametrize("name", ["holo.db", "keys", "runs"])
def test_planted_entries_in_a_sticky_folder_are_refused(tmp_path: Path, name: str) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / name).touch()
    os.chown(tmp_path / name, 65_534, 65_534)
    with pytest.raises(InvalidUsage, match="was created by another user: set HOLO_HOME"):
        private_folder(tmp_path)


def test_a_file_in_place_of_the_folder_raises_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "holo").touch()
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "holo")
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "holo" / "below")


def test_the_users_umask_is_read_without_changing_it() -> None:
    with umask(0o027):
        assert users_umask() == 0o027
    said = (
        "from holo_tasks.machine.umask import narrow_umask, users_umask\n"
        "narrow_umask(); narrow_umask()\n"
        "import os; print(users_umask(), os.umask(0))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, umask=0o002, check=True)
    assert done.stdout.split() == [str(0o002), str(0o077)]


@as_root
@pytest.mark.parametrize(
    "use", [remove_access_of_others, private_file, lambda path: open_private(path, os.O_RDWR), own_folder]
)
def test_a_foreign_link_changes_no_mode(tmp_path: Path, use: Callable[[Path], object]) -> None:
    victim, link = tmp_path / "victim", tmp_path / "holo.db"
    victim.mkdir() if use is own_folder else victim.touch()
    victim.chmod(0o755)
    link.symlink_to(victim)
    os.chown(link, 65_534, 65_534, follow_symlinks=False)
    with pytest.raises(InvalidUsage, match="another user has created"):
        use(link)
    assert mode(victim) == 0o755
    os.chown(link, os.geteuid(), os.getegid(), follow_symlinks=False)
    with suppress(OSError):
        os.close(use(link) or -1)
    assert mode(victim) == (0o700 if use is own_folder else 0o600), "one's own link is followed"

"""Whatever the umask, what is made is for one user; what is there is closed where nobody else can have a use for it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.private import close_to_others, make_private, open_private, private_file, private_folder
from holo_tasks.machine.umask import persons_umask

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
    """A folder that other users can get to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("mask", UMASKS)
def test_every_level_that_is_made_is_for_one_user(tmp_path: Path, mask: int) -> None:
    tmp_path.chmod(0o755)
    home = tmp_path / "data" / "share" / "holo"
    with umask(mask):
        folder = private_folder(home, "kill")
    assert folder == home / "kill"
    assert [mode(level) for level in (folder, *folder.parents[:3])] == [0o700] * 4
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("mask", UMASKS)
def test_every_file_that_is_made_is_for_one_user(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        os.close(open_private(tmp_path / "opened", os.O_WRONLY | os.O_CREAT))
        private_file(tmp_path / "there")
    assert mode(tmp_path / "opened") == mode(tmp_path / "there") == 0o600


def test_files_that_were_open_to_others_are_closed_and_keep_what_is_in_them(tmp_path: Path) -> None:
    for name in ("opened", "there", "wal"):
        (tmp_path / name).write_text("kept")
        (tmp_path / name).chmod(0o666)
    os.close(open_private(tmp_path / "opened", os.O_RDWR))
    private_file(tmp_path / "there")
    close_to_others(tmp_path / "wal")
    close_to_others(tmp_path / "nothing")
    for name in ("opened", "there", "wal"):
        assert (mode(tmp_path / name), (tmp_path / name).read_text()) == (0o600, "kept")


@pytest.mark.parametrize("names", [(), ("holo.db", "holo.db-wal", "keys", "runs", "anchors.jsonl")])
@pytest.mark.parametrize("wide", [0o755, 0o777, 0o2775])
def test_a_home_with_nothing_but_ours_is_closed(tmp_path: Path, names: tuple[str, ...], wide: int) -> None:
    home = tmp_path / "holo"
    home.mkdir()
    for name in names:
        (home / name).touch()
    home.chmod(wide)
    private_folder(home)
    assert mode(home) == 0o700


def test_a_home_beside_other_files_keeps_its_mode_and_what_we_make_in_it_is_private(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    tmp_path.chmod(0o755)
    folder = private_folder(tmp_path, "keys")
    assert (mode(tmp_path), mode(folder)) == (0o755, 0o700)


def test_a_home_beside_other_files_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    tmp_path.chmod(0o777)
    with pytest.raises(InvalidUsage, match="set HOLO_HOME to a folder of its own"):
        private_folder(tmp_path)
    assert mode(tmp_path) == 0o777


@as_root
def test_a_users_own_group_is_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    os.chown(tmp_path, 0, 0)
    tmp_path.chmod(0o775)
    private_folder(tmp_path)
    os.chown(tmp_path, 0, 4_000)
    with pytest.raises(InvalidUsage, match="Other users may write"):
        private_folder(tmp_path)


def test_a_sticky_folder_is_never_closed_and_nobody_can_replace_what_is_in_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert mode(private_folder(tmp_path, "keys")) == 0o700
    assert mode(tmp_path) == 0o1777


@as_root
@pytest.mark.parametrize("name", ["holo.db", "keys", "runs"])
def test_what_others_have_put_into_a_sticky_folder_is_not_taken_for_ours(tmp_path: Path, name: str) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / name).touch()
    os.chown(tmp_path / name, 65_534, 65_534)
    with pytest.raises(InvalidUsage, match="was made by another user: set HOLO_HOME"):
        private_folder(tmp_path)


@as_root
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "theirs"
    home.mkdir()
    os.chown(home, 65_534, 65_534)
    with pytest.raises(InvalidUsage, match="belongs to another user"):
        private_folder(home)


@as_root
@pytest.mark.parametrize(("wide", "gid", "taken"), [(0o2775, 4_000, True), (0o755, 0, True), (0o777, 0, False)])
def test_a_folder_that_root_lends_is_taken_unless_everybody_may_write(
    public: Path, wide: int, gid: int, taken: bool
) -> None:
    home = public / "lent"
    home.mkdir()
    os.chown(home, 0, gid)
    home.chmod(wide)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from holo_tasks.core.errors import InvalidUsage\n"
        "from holo_tasks.machine.private import private_folder\n"
        "os.setgroups([4000]); os.setgid(4000); os.setuid(4000)\n"
        "try: private_folder(Path(sys.argv[1]))\n"
        "except InvalidUsage: sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(home)], check=False)
    assert done.returncode == (0 if taken else 7)
    assert mode(home) == wide


def test_a_file_in_the_way_is_told_by_the_system(tmp_path: Path) -> None:
    (tmp_path / "holo").touch()
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "holo")
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "holo" / "below")


def test_the_persons_umask_is_known_without_changing_it() -> None:
    with umask(0o027):
        assert persons_umask() == 0o027
    said = (
        "from holo_tasks.machine.umask import narrow_umask, persons_umask\n"
        "narrow_umask(); narrow_umask()\n"
        "import os; print(persons_umask(), os.umask(0))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, umask=0o002, check=True)
    assert done.stdout.split() == [str(0o002), str(0o077)]

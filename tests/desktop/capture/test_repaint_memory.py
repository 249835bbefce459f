"""The file in which a process records the self-repainting areas of a display for the next process."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holo_tasks.core.repaints.known_repaints import MOST_BYTES, NO_WINDOW, KnownPlace, to_text
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.screen.recheck import WindowStack
from holo_tasks.desktop.capture import repaint_memory
from holo_tasks.desktop.capture.repaint_memory import FOLDER, STALE_S, keep, load, recall, save

SIZE, SCREEN, NOW_S = Size(800, 600), "c" * 32, 50.0
CLOCK = Box(560, 136, 72, 16)
PLACE = KnownPlace(NO_WINDOW, CLOCK, 1.0)
TEXT = to_text([PLACE], SCREEN, SIZE, NOW_S)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / FOLDER / "display.json"


def loaded(path: Path) -> list[KnownPlace]:
    return load(path, SCREEN, SIZE, NOW_S)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_saved_file_is_private_and_can_be_loaded(file: Path) -> None:
    assert loaded(file) == []
    before = os.umask(0)
    try:
        save(file, TEXT)
        save(file, TEXT)
    finally:
        os.umask(before)
    assert loaded(file) == [PLACE]
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_others_can_write_or_a_link_is_not_loaded(file: Path, tmp_path: Path) -> None:
    save(file, TEXT)
    for bits in (0o620, 0o602):
        file.chmod(bits)
        assert loaded(file) == []
    file.chmod(0o600)
    link = file.with_name("link.json")
    link.symlink_to(file)
    assert loaded(link) == []
    pipe = file.with_name("pipe.json")
    os.mkfifo(pipe)
    assert loaded(pipe) == []
    assert loaded(file.parent) == []
    assert loaded(Path("/dev/zero")) == []
    assert loaded(file) == [PLACE]


def test_a_file_of_another_user_is_not_loaded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(file, TEXT)
    monkeypatch.setattr(repaint_memory.os, "geteuid", lambda: os.getuid() + 1)
    assert loaded(file) == []


@pytest.mark.parametrize("text", [b"", TEXT.encode()[:-20], b"\0" * 100, TEXT.encode() + b" " * MOST_BYTES])
def test_a_damaged_file_is_not_loaded(file: Path, text: bytes) -> None:
    save(file, TEXT)
    file.write_bytes(text)
    assert loaded(file) == []


def test_a_process_killed_while_saving_leaves_the_old_file(file: Path) -> None:
    save(file, TEXT)
    code = (
        "import os, signal, sys, pathlib\n"
        "from holo_tasks.desktop.capture.repaint_memory import save\n"
        "pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "save(pathlib.Path(sys.argv[1]), 'another text')\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False).returncode == -signal.SIGKILL
    assert loaded(file) == [PLACE]
    [draft] = file.parent.glob(".*.part")
    save(file, TEXT)
    assert draft.exists(), "another process may be writing the draft"
    old_s = time.time() - 2 * STALE_S
    os.utime(draft, (old_s, old_s))
    save(file, TEXT)
    assert list(file.parent.iterdir()) == [file]


def test_of_several_writers_the_last_one_wins_and_the_file_is_always_complete(file: Path) -> None:
    save(file, TEXT)
    code = (
        "import sys, pathlib\n"
        "from holo_tasks.desktop.capture.repaint_memory import save\n"
        "for _ in range(200): save(pathlib.Path(sys.argv[1]), sys.argv[2])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), TEXT]) for _ in range(2)]
    while any(writer.poll() is None for writer in writers):
        assert loaded(file) == [PLACE]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert list(file.parent.iterdir()) == [file]


def test_a_draft_that_cannot_replace_the_file_is_removed(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        save(file, TEXT)
    assert list(file.parent.iterdir()) == [file]


class _Watch:
    """A repaint watch that has learned a clock, without a screen."""

    def __init__(self) -> None:
        self.expected: list[tuple[Box, float]] = []
        self.known = [(CLOCK, 1.0)]

    def learned(self) -> list[tuple[Box, float]]:
        return self.known

    def expect(self, places: list[tuple[Box, float]]) -> None:
        self.expected = places


class _Server:
    """An X server with one property on its root window, as its connection shows it."""

    display, root = ":7", 1

    def __init__(self) -> None:
        self.name = ""
        changed = SimpleNamespace(check=lambda: None)
        self.conn = SimpleNamespace(core=SimpleNamespace(ChangeProperty=lambda *told, **_: self._set(told[6], changed)))

    def _set(self, name: str, answer: Any) -> Any:
        self.name = name
        return answer

    def text(self, window: int, name: str) -> str:
        return self.name

    def atom(self, name: str) -> int:
        return 7

    def size(self) -> Size:
        return SIZE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(repaint_memory, "arrangement", lambda _: WindowStack())
    return tmp_path / "home"


def recalled(server: Any) -> list[tuple[Box, float]]:
    watch: Any = _Watch()
    recall(server, watch)
    return list(watch.expected)


def test_the_next_process_expects_the_areas_saved_on_the_same_server(home: Path) -> None:
    server: Any = _Server()
    watch: Any = _Watch()
    assert recalled(server) == []
    keep(server, watch)
    assert recalled(server) == [(CLOCK, 1.0)]
    assert recalled(_Server()) == [], "another server with the same display number has no identity"
    another: Any = _Server()
    keep(another, watch)
    assert recalled(another) == [(CLOCK, 1.0)]
    assert recalled(server) == []


@pytest.mark.parametrize("name", ["", "x", "../../etc/passwd", "c" * 33, "\0" * 32])
def test_an_invalid_server_identity_is_ignored(home: Path, name: str) -> None:
    server: Any = _Server()
    watch: Any = _Watch()
    keep(server, watch)
    server.name = name
    assert recalled(server) == []


def test_a_process_that_learned_nothing_keeps_the_saved_areas(home: Path) -> None:
    server: Any = _Server()
    watch: Any = _Watch()
    keep(server, watch)
    watch.known = []
    keep(server, watch)
    assert recalled(server) == [(CLOCK, 1.0)]


def test_areas_are_not_saved_if_windows_moved_meanwhile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([WindowStack(focus=1), WindowStack(focus=2)])
    monkeypatch.setattr(repaint_memory, "arrangement", lambda _: next(looks))
    watch: Any = _Watch()
    keep(_Server(), watch)  # type: ignore[arg-type]
    assert not (home / FOLDER).exists()


def test_an_unusable_home_folder_is_ignored(home: Path) -> None:
    home.write_text("no folder")
    server: Any = _Server()
    watch: Any = _Watch()
    keep(server, watch)
    assert recalled(server) == []

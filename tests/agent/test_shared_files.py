"""Files shared with a sub-goal: sent by name, accepted when complete, with the digest in the trace."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import hashlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prefect import flow

from holo_tasks import GaveUp, InvalidUsage, LimitReached, SharedFile, limits, pursue, shared_files, subgoal
from holo_tasks.audit import open_trace
from holo_tasks.audit.keys import signing_key
from holo_tasks.audit.pages.run_view import build_story
from holo_tasks.audit.verifier.bundle import open_bundle
from holo_tasks.audit.verifier.heads import Heads
from holo_tasks.audit.verifier.public_key import PublicKey
from holo_tasks.audit.verifier.verify import Verdict, verify
from holo_tasks.core.errors import RedactionFailed
from holo_tasks.core.events import FileArrived, FileGiven
from holo_tasks.core.secrets.secret import Secret
from holo_tasks.core.shared_files import SharedFolder
from holo_tasks.run.run import Run
from tests.support.agents import agent, events
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import ScriptedModel, step

pytestmark = pytest.mark.usefixtures("prefect")
DONE = step("answer", content="done")


class SharingDesktop(PaintedDesktop):
    """A painted desktop with a folder; threads of the test act as its programs."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.mkdir()
        self.path = path
        self.far = ""

    async def shared_folder(self) -> SharedFolder:
        found = self.path.stat()
        return SharedFolder(self.path, found.st_dev, found.st_ino)


@pytest.fixture
def desktop(tmp_path: Path) -> SharingDesktop:
    return SharingDesktop(tmp_path / "shared")


@contextlib.contextmanager
def program(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run a thread next to the agent until it is stopped."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@asynccontextmanager
async def opened(desktop: SharingDesktop, folder: Path, **options: object) -> AsyncIterator[Run]:
    with ScriptedModel([DONE] * 4) as served:
        async with agent(served, desktop, folder, **options) as run:
            yield run


def verdict(run: Run, folder: Path) -> Verdict:
    key = PublicKey(signing_key(folder / "holo").public_pem.encode(), "the home")
    return verify(open_bundle(run.trace), key, Heads(run.run_id))


async def test_given_and_arrived_files_are_reported_recorded_and_removed(
    desktop: SharingDesktop, tmp_path: Path
) -> None:
    given = tmp_path / "{{secret:x}} letter.odt"
    given.write_text("Dear Ada")

    def convert(stop: threading.Event) -> None:
        until(stop, lambda: list(desktop.path.iterdir()))
        (desktop.path / ".~lock.letter.odt#").touch()
        half = desktop.path / "letter.pdf.crdownload"
        with half.open("wb") as writing:
            for _ in range(20):
                writing.write(bytes(1000))
                writing.flush()
        half.rename(desktop.path / "letter.pdf")

    with ScriptedModel([DONE]) as served, program(convert):
        async with agent(served, desktop, tmp_path, key="L-1") as run:
            async with shared_files([given], read_only=True) as files:
                await pursue("Save the letter as a PDF.")
                letter = await files.wait("*.pdf", keep=True)
                assert {one.name for one in desktop.path.iterdir()} >= {"letter.pdf", files.given[0].name}
            assert not list(desktop.path.iterdir())
        told = str(served.requests[0])
    assert "letter.odt" in told
    assert str(desktop.path) in told
    assert "{{secret" not in told
    assert "Dear Ada" not in told
    assert letter.path.read_bytes() == bytes(20_000)
    assert letter.path.is_relative_to(tmp_path / "holo" / "files" / run.run_id)
    assert letter.sha256 == hashlib.sha256(bytes(20_000)).hexdigest()
    assert letter.evidence == f"{run.trace}/files/{letter.sha256}"
    gave, came = (one for one in events(run.trace) if isinstance(one, FileGiven | FileArrived))
    assert (gave.sha256, gave.size_bytes) == (hashlib.sha256(b"Dear Ada").hexdigest(), 8)
    assert came == FileArrived(name="letter.pdf", size_bytes=20_000, sha256=letter.sha256, kept=True, token="L-1")
    trace = open_trace(run.trace)
    assert trace.file(letter.sha256) == bytes(20_000)
    assert [heading for heading, _ in build_story(trace.records()).guided] == ["File given", "File arrived"]
    assert verdict(run, tmp_path).verdict == "VALID"
    kept = Path(run.trace) / "files" / letter.sha256
    kept.write_bytes(bytes(19_999) + b"1")
    assert verdict(run, tmp_path).verdict == "TAMPERED"
    kept.unlink()
    assert "which is missing" in verdict(run, tmp_path).reason


async def test_a_file_is_returned_once_and_again_after_a_change(desktop: SharingDesktop, tmp_path: Path) -> None:
    (desktop.path / "old.txt").write_text("there before")
    given = tmp_path / "letter.txt"
    given.write_text("Dear Ada")
    async with opened(desktop, tmp_path), shared_files([given]) as files:
        with pytest.raises(GaveUp, match=r"Nothing came\."):
            await files.wait("*.txt", timeout_seconds=0.6)
        (desktop.path / "letter.txt").write_text("Dear Ada, thank you")
        assert (await files.wait("*.txt")).path.read_text() == "Dear Ada, thank you"
        with pytest.raises(GaveUp):
            await files.wait("*.txt", timeout_seconds=0.6)
        (desktop.path / "old.txt").write_text("changed by now")
        assert (await files.wait("*.txt", into=tmp_path / "mine")).path == tmp_path / "mine" / "old.txt"


async def test_two_different_matching_files_are_ambiguous(desktop: SharingDesktop, tmp_path: Path) -> None:
    async with opened(desktop, tmp_path), shared_files() as files:
        for name in ("a.csv", "b.csv"):
            (desktop.path / name).write_text("the same")
        same = await files.wait("*.csv")
        assert same.name == "a.csv"
        assert [one.name for one in same.path.parent.iterdir()] == ["a.csv"]
        for name in ("c.csv", "d.csv"):
            (desktop.path / name).write_text(name)
        with pytest.raises(GaveUp, match="2 different files fit"):
            await files.wait("*.csv")
        with pytest.raises(GaveUp, match="2 different files fit"):
            await files.wait_all("*.csv", count=1)
        assert [one.name for one in await files.wait_all("*.csv", count=2)] == ["c.csv", "d.csv"]
        with pytest.raises(GaveUp, match="were not all complete"):
            await files.wait_all("*.csv", count=2, timeout_seconds=0.3)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("link.pdf", "is a link"),
        ("folder.pdf", "is a folder"),
        ("empty.pdf", "is empty"),
        ("half.pdf", "is still being downloaded"),
        ("held.pdf", "is open for writing"),
        ("x.pdf.crdownload", "is still being written"),
        ("x.PNG", "does not fit"),
    ],
)
async def test_an_incomplete_file_is_named_with_the_reason(
    desktop: SharingDesktop, tmp_path: Path, name: str, reason: str
) -> None:
    async with opened(desktop, tmp_path), shared_files() as files:
        file = desktop.path / name
        if name.startswith("link"):
            file.symlink_to("/etc/passwd")
        elif name.startswith("folder"):
            file.mkdir()
        else:
            file.write_text("" if name.startswith("empty") else "%PDF")
        if name.startswith("half"):
            file.with_name("half.pdf.part").touch()
        holding = file.open("a") if name.startswith("held") else contextlib.nullcontext()
        with holding, pytest.raises(GaveUp, match=f"‘{name}’ {reason}"):
            await files.wait("*.pdf", timeout_seconds=0.8)
        assert not list((tmp_path / "holo" / "files").rglob("*.*"))


async def test_too_large_or_too_many_files_end_the_wait_at_once(
    desktop: SharingDesktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holo_tasks.machine.foreign_folder.MOST_ENTRIES", 5)
    async with opened(desktop, tmp_path), shared_files() as files:
        with (desktop.path / "huge.iso").open("wb") as huge:
            huge.truncate(2_000_001)
        with pytest.raises(GaveUp, match="larger most_mb"):
            await files.wait("*.iso", most_mb=2, timeout_seconds=60)
        for number in range(6):
            (desktop.path / str(number)).touch()
        with pytest.raises(GaveUp, match="more than 5 files"):
            await files.wait("*.iso", timeout_seconds=60)


async def test_a_limit_and_a_kill_end_the_wait(desktop: SharingDesktop, tmp_path: Path) -> None:
    async with opened(desktop, tmp_path), shared_files() as files:
        with limits(timeout_seconds=0.3), pytest.raises(LimitReached):  # a deadline alone does not stop waiting code
            await files.wait(timeout_seconds=30)

    async def killed() -> None:
        async with opened(desktop, tmp_path) as run, shared_files() as files:
            asyncio.get_running_loop().call_later(0.2, run.switch.trip, "file", "killed by a test")
            (desktop.path / "late.txt").touch()
            await files.wait(timeout_seconds=600)

    with pytest.raises(asyncio.CancelledError, match="killed by a test"):
        await killed()
    assert not list(desktop.path.iterdir())


async def test_a_file_with_a_secret_is_not_stored_as_evidence(desktop: SharingDesktop, tmp_path: Path) -> None:
    secrets = {"portal": Secret("portal", "hunter2-harbour")}
    async with opened(desktop, tmp_path, secrets=secrets) as run, shared_files() as files:
        (desktop.path / "hunter2-harbour.txt").write_bytes("pass: hunter2-harbour".encode("utf-16-le"))
        with pytest.raises(RedactionFailed, match="contains the value of a secret"):
            await files.wait(keep=True)
        assert (await files.wait()).size == 42
    text = (Path(run.trace) / "events.jsonl").read_text()
    assert "hunter2" not in text
    assert "file_arrived" in text


async def test_one_sub_goal_at_a_time_uses_the_folder(desktop: SharingDesktop, tmp_path: Path) -> None:
    async def use() -> Path:
        async with shared_files() as files:
            return files.folder

    async with opened(desktop, tmp_path):
        beside = contextvars.copy_context()
        async with shared_files():
            assert await use() == desktop.path, "nested use is part of the outer one"
            with pytest.raises(InvalidUsage, match="Another sub-goal uses the folder"):
                await asyncio.get_running_loop().create_task(use(), context=beside)
        assert await use() == desktop.path


async def test_a_remote_screen_cannot_share_a_folder(desktop: SharingDesktop, tmp_path: Path) -> None:
    desktop.far = "erp.example"
    async with opened(desktop, tmp_path):
        with pytest.raises(InvalidUsage, match="has no access to folders of this one"):
            async with shared_files():
                pytest.fail("it began")


async def test_a_desktop_without_a_folder_says_so(desktop: SharingDesktop, tmp_path: Path) -> None:
    with ScriptedModel([]) as served:
        async with agent(served, PaintedDesktop(), tmp_path):
            with pytest.raises(InvalidUsage, match="shares no folder"):
                async with shared_files():
                    pytest.fail("it began")
    async with opened(desktop, tmp_path), shared_files() as files:
        for pattern in ("", "../*.pdf", "a\0b"):
            with pytest.raises(InvalidUsage, match="matches file names"):
                await files.wait(pattern)
        with pytest.raises(InvalidUsage, match="timeout_seconds= must be above 0"):
            await files.wait(timeout_seconds=0)
    async with opened(desktop, tmp_path):
        with pytest.raises(InvalidUsage, match="cannot be given"):
            async with shared_files([tmp_path / "absent"]):
                pytest.fail("it began")


async def test_a_re_run_returns_the_file_of_the_first(desktop: SharingDesktop, tmp_path: Path) -> None:
    @subgoal(key="{item}", effect=None)
    async def fetch(item: str) -> SharedFile:
        async with shared_files() as files:
            (desktop.path / f"{item}.txt").write_text(item)
            return await files.wait(keep=True)

    @flow(persist_result=False)
    async def twice() -> list[SharedFile]:
        found = []
        for _ in range(2):
            async with opened(desktop, tmp_path):
                found.append(await fetch("I-7"))
        return found

    first, second = await twice()
    assert first == second
    assert first.path.read_text() == "I-7"


def until(stop: threading.Event, there: Callable[[], object]) -> None:
    while not stop.wait(0.01) and not there():
        pass

"""A desktop has OpenGL for a program that requests it, and not for others; a program without it is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holo_tasks.core.errors import DesktopFailed, Killed
from holo_tasks.core.input.gestures import Click
from holo_tasks.core.screen.geometry import Point
from holo_tasks.desktop import VirtualDesktop
from holo_tasks.desktop.session.child import Child
from tests.desktop.conftest import connected
from tests.support.long import few

pytestmark = pytest.mark.usefixtures("nothing_left")
PROGRAM = Path(__file__).parent.parent.parent / "apps" / "probe_asking.py"
MIDDLE = Point(640, 400)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def starts(tmp_path):
    return tmp_path / "starts"


@pytest.fixture
def start(told, starts):
    def start(kind, **options):
        return VirtualDesktop(app=[sys.executable, str(PROGRAM), kind, str(starts)], tell=told.append, **options)

    return start


@pytest.fixture
def has():
    def glx(desktop):
        with connected(desktop) as conn:
            return bool(conn.core.QueryExtension(3, "GLX").reply().present)

    return glx


async def test_a_program_that_never_requests_opengl_gets_none_and_starts_once(start, starts, told, has):
    async with start("never") as desktop:
        await desktop.look()
        assert not has(desktop)
        assert (await desktop.owner_at(MIDDLE)).name
    assert (starts.read_text(), told) == ("never\n", [])


@pytest.mark.parametrize("kind", ["needs", "takes"])
async def test_a_program_that_requests_opengl_at_its_start_is_restarted_with_it(start, starts, told, has, color, kind):
    async with start(kind) as desktop:
        assert color(await desktop.look(), MIDDLE) == (255, 255, 255)
        assert has(desktop)
        assert len(await desktop.windows()) == 1
    assert starts.read_text() == f"{kind}\n{kind}\n"
    assert told == [
        "The program asks for OpenGL, so its desktop is restarted with it. HOLO_OPENGL=1 avoids the restart."
    ]


async def test_a_program_that_requests_opengl_later_goes_without_and_is_reported_once(start, starts, told, has, until):
    async with start("later") as desktop:
        await desktop.do(Click(MIDDLE))
        assert await until(lambda: "clicked" in starts.read_text())
        await desktop.look(after_action=True)
        await desktop.do(Click(MIDDLE))
        await desktop.look(after_action=True)
        assert not has(desktop)
    (line,) = told
    assert line.startswith(str(Path(sys.executable).resolve()))
    assert "set HOLO_OPENGL=1" in line


@pytest.mark.parametrize(("given", "said"), few([(True, "0"), (None, "1"), (True, "")], 2))
async def test_a_program_with_opengl_granted_starts_once(monkeypatch, start, starts, told, has, given, said):
    monkeypatch.setenv("HOLO_OPENGL", said)
    async with start("needs", opengl=given) as desktop:
        assert has(desktop)
    assert (starts.read_text(), told) == ("needs\n", [])


@pytest.mark.parametrize(("given", "said"), few([(False, "1"), (None, "0")]))
async def test_a_program_with_opengl_refused_goes_without(monkeypatch, start, starts, told, has, given, said):
    monkeypatch.setenv("HOLO_OPENGL", said)
    with pytest.raises(DesktopFailed, match="no visual"):
        async with start("needs", opengl=given):
            pass
    async with start("takes", opengl=given) as desktop:
        await desktop.look()
        assert not has(desktop)
    assert starts.read_text() == "needs\ntakes\n"
    assert len(told) == 1


async def test_a_program_expected_to_request_opengl_starts_once(starts, told, tmp_path, has):
    script = tmp_path / "drawing.py"
    script.write_text(f"# import OpenGL\n{PROGRAM.read_text()}")
    app = [sys.executable, str(script), "needs", str(starts)]
    async with VirtualDesktop(app=app, tell=told.append) as desktop:
        assert has(desktop)
    assert (starts.read_text(), told) == ("needs\n", [])


async def test_a_desktop_without_a_program_has_opengl(has):
    async with VirtualDesktop() as desktop:
        assert has(desktop)


async def test_a_kill_between_the_two_starts_is_respected(monkeypatch, start, starts):
    async def closed(child):
        child.page.latch()
        await close(child)

    close = Child.close
    monkeypatch.setattr(Child, "close", closed)
    with pytest.raises(Killed):
        async with start("needs"):
            pass
    assert starts.read_text() == "needs\n"

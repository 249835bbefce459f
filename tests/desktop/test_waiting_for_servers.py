"""A frame is taken once the program has its server's answer, and is not delayed by a program with constant traffic."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holo_tasks.core.input.gestures import Click
from holo_tasks.desktop import AttachedDesktop, Desktop, Settle
from tests.support.slow_pages import ANSWER, COUNTED, FORM
from tests.support.slow_server import SlowServer
from tests.support.waiting_programs import APPS, blocks, command, image_of, send_form, show_form, started, until_shown

DELAY_S = 1.0


async def test_a_form_in_a_browser_is_sent_once_by_a_model_that_trusts_its_screenshot(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind = "form"
        async with started(command("Chromium", server.url, tmp_path, server), tmp_path) as desktop:
            await show_form(desktop, server)
            server.delay_s = DELAY_S
            by_post = await send_form(desktop, server, 0.0)
            assert (by_post.sent, by_post.calls, by_post.error) == (1, 2, "")
            server.kind = "fetch"
            await show_form(desktop, server)
            by_fetch = await send_form(desktop, server, 0.0)
            assert (by_fetch.sent, by_fetch.calls, by_fetch.error) == (1, 2, "")


async def test_a_program_with_a_request_in_a_thread_sends_once(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind, server.delay_s = "program", DELAY_S
        async with started(command("Tk", server.url, tmp_path, server), tmp_path) as desktop:
            await show_form(desktop, server)
            came = await send_form(desktop, server, 0.0)
    assert (came.sent, came.calls, came.error) == (1, 2, "")


async def test_a_long_poll_from_before_a_click_is_not_awaited(tmp_path: Path, until: Callable[..., Any]) -> None:
    """The server answers it after the frame, or after 30 s: a frame that waits for it comes too late."""
    with SlowServer() as server:
        server.talk = "long poll later"
        app = command("Chromium", f"{server.url}counter", tmp_path, server)
        async with started(app, tmp_path, settle=Settle(patience_s=300)) as desktop:
            at = await until_shown(desktop, *COUNTED)
            assert await until(server.pending.is_set)
            answered = server.answered_polls
            await desktop.do(Click(at))
            frame = await desktop.look(after_action=True)
            assert server.answered_polls == answered
            assert COUNTED[1] in blocks(image_of(frame), COUNTED)
            assert not frame.activity.waiting_for
            server.release.set()
            assert await until(lambda: server.answered_polls > answered)


async def test_on_a_borrowed_display_the_touched_program_is_awaited(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind, server.delay_s = "program", DELAY_S
        async with (
            started(command("Tk", server.url, tmp_path, server), tmp_path) as there,
            AttachedDesktop(there.display, env={"XAUTHORITY": str(there.authority)}) as desktop,
        ):
            await is_waited_for(desktop)
            assert server.sent == 1


async def test_a_sandboxed_program_is_awaited_through_its_forwarder(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind, server.delay_s = "program", DELAY_S
        closed: dict[str, Any] = {"network": [f"127.0.0.1:{server.port}"], "folders": {str(APPS): "read"}}
        async with started(command("Tk", server.url, tmp_path, server), tmp_path, **closed) as desktop:
            await is_waited_for(desktop)
            assert server.sent == 1


async def is_waited_for(desktop: Desktop) -> None:
    """Send the form, and check that the first frame shows the answer."""
    at = await until_shown(desktop, FORM)
    await desktop.do(Click(at))
    frame = await desktop.look(after_action=True)
    assert frame.activity.sent
    assert not frame.activity.unseen
    assert ANSWER in blocks(image_of(frame), (FORM, ANSWER))


async def test_when_patience_ends_the_frame_names_the_reason_of_the_wait(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind, server.delay_s = "program", 60.0
        app = command("Tk", server.url, tmp_path, server)
        async with started(app, tmp_path, settle=Settle(patience_s=1.0)) as desktop:
            at = await until_shown(desktop, FORM)
            await desktop.do(Click(at))
            activity = (await desktop.look(after_action=True)).activity
            assert (activity.waiting_for, activity.detail) == ("its server", f"127.0.0.1:{server.port}")
            assert activity.sentence == "The program has been waiting for its server for 1 s."
            again = (await desktop.look()).activity
            assert not again.waiting_for


async def test_without_patience_the_frame_still_reports_the_request(tmp_path: Path) -> None:
    with SlowServer() as server:
        server.kind, server.delay_s = "program", 60.0
        app = command("Tk", server.url, tmp_path, server)
        async with started(app, tmp_path, settle=Settle(patience_s=0.0, quiet_s=0.5)) as desktop:
            at = await until_shown(desktop, FORM)
            for _ in range(2):  # the first request must not change the handling of the second
                await desktop.do(Click(at))
                end = time.monotonic() + 30
                while not (activity := (await desktop.look(after_action=True)).activity).sent:
                    assert time.monotonic() < end  # the request may be sent after the first picture
                assert not activity.waiting_for

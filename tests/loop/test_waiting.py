"""Messages to the model and to the trace about a program that was still working after the settle time."""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.core.screen.activity import Activity
from holo_tasks.core.screen.frame import Frame, RedactedFrame
from holo_tasks.core.screen.geometry import Size
from holo_tasks.loop.ask_model.take_picture import NewestScreen, frame_taken
from holo_tasks.loop.words import result_text
from tests.support.shots import shot

WAITING = Activity(
    known=True,
    sent=True,
    waiting_for="its server",
    detail="10.0.0.5:443",
    waited_ns=15_000_000_000,
    unseen=("pointer: the X server has no XFIXES",),
)
FRAME = Frame(bytes(12), Size(2, 2), ":1")


def seen(activity: Activity) -> NewestScreen:
    frame = replace(FRAME, activity=activity)
    return NewestScreen(frame, shot(1), frame, frame)


def test_the_model_gets_the_waiting_time_without_the_servers_address() -> None:
    told = result_text("Nothing changed.", seen(Activity()), seen(WAITING))
    assert told == "Nothing changed. The program has been waiting for its server for 15 s."
    assert result_text("It changed.", seen(WAITING), seen(Activity())) == "It changed."


def test_the_trace_contains_the_servers_address_and_unseen_signs() -> None:
    frame = seen(WAITING).frame
    event = frame_taken(frame, shot(1), RedactedFrame(frame))
    assert (event.waiting_for, event.waited_us) == ("its server (10.0.0.5:443)", 15_000_000)
    assert event.unseen == ["pointer: the X server has no XFIXES"]

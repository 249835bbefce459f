"""An action that needs approval waits for it, and is performed once, on the approved screen."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from holo_tasks.core.errors import NeedsPerson, PolicyRefused
from holo_tasks.core.input.gestures import Pause
from holo_tasks.core.person import Answer
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame, RedactedFrame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.handoff import approval_by_person
from holo_tasks.handoff.page import Pictured
from holo_tasks.loop import approval as consenting
from holo_tasks.loop.approval import ApprovalQuestion, Approver, await_approval
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.walk import Walk
from holo_tasks.run.subgoal_context import as_current_walk
from holo_tasks.safety.database.store import store_at
from holo_tasks.safety.policy import Rules
from holo_tasks.safety.records.approvals import Approvals, OnRequest
from holo_tasks.safety.redaction import NothingToRedact
from tests.support.painted_desktop import PaintedDesktop
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, shot, walk_of, wrote

SUBMIT = {"element": "the Submit button", "x": 500, "y": 500}


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    return Approvals(store_at(tmp_path))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consenting, "PATIENCE_S", 0.0)


def walk(desktop: PaintedDesktop, approver: Approver | None, **options: Any) -> Walk:
    """Return a walk in which clicks on Submit need approval."""
    rules = Rules.read({"trust": "act", "confirm": [{"text": "submit"}]})
    made = walk_of(as_model(MemoryModel([wrote("")])), desktop=desktop, recorder=MemoryRecorder())
    made.services = type(made.services)(**{**vars(made.services), "policy": rules, "approver": approver, **options})
    made.token = "T"
    return made


def on_request(approvals: Approvals) -> OnRequest:
    return OnRequest(approvals, run_id="run", trace="/trace", flow_run_id="flow")


async def attempt(desktop: PaintedDesktop, approvals: Approvals, **arguments: Any) -> Walk:
    """Take a screenshot, then click."""
    one = walk(desktop, on_request(approvals))
    await one.look()
    await one.act(a_step("click", **{**SUBMIT, **arguments}))
    return one


async def test_an_action_waits_for_approval_and_is_performed_once(approvals: Approvals) -> None:
    desktop = PaintedDesktop(frozen=True)
    one = walk(desktop, on_request(approvals))
    await one.look()
    with pytest.raises(NeedsPerson) as caught:
        await one.act(a_step("click", **SUBMIT))
    (waiting,) = approvals.waiting()
    assert str(caught.value) == (
        "To click ‘the Submit button’ at (160, 100) in /usr/bin/painted needs a person's yes (confirm: text submit): "
        f"say yes with `holo-tasks approve {waiting.id}`, then run it again."
    )
    recorder = one.services.recorder
    assert isinstance(recorder, MemoryRecorder)
    assert recorder.of("handoff")[0].question == str(caught.value)
    assert desktop.gestures == []
    with pytest.raises(NeedsPerson):
        await attempt(desktop, approvals)  # still not answered
    assert len(approvals.waiting()) == 1

    approvals.grant(waiting.id, "ada")
    again = (await attempt(desktop, approvals)).services.recorder
    assert isinstance(again, MemoryRecorder)
    assert [(event.allowed, event.rule) for event in again.of("permit")][-1] == (True, "ada said yes")
    assert len(desktop.gestures) == 1
    with pytest.raises(NeedsPerson):
        await attempt(desktop, approvals)  # a replay
    assert len(desktop.gestures) == 1


@pytest.mark.parametrize(
    "other", [{"x": 501}, {"y": 499}, {"element": "the Submit button!"}, {"button": "right"}], ids=str
)
async def test_another_action_needs_its_own_approval(approvals: Approvals, other: dict[str, Any]) -> None:
    desktop = PaintedDesktop(frozen=True)
    with pytest.raises(NeedsPerson):
        await attempt(desktop, approvals)
    approvals.grant(approvals.waiting()[0].id, "ada")
    with pytest.raises(NeedsPerson, match="say yes with"):
        await attempt(desktop, approvals, **other)
    desktop.owners = lambda at: Owner("/usr/bin/another")
    with pytest.raises(NeedsPerson):
        await attempt(desktop, approvals)
    assert desktop.gestures == []


async def test_another_screen_needs_its_own_approval(approvals: Approvals) -> None:
    desktop = PaintedDesktop()
    with pytest.raises(NeedsPerson):
        await attempt(desktop, approvals)
    approvals.grant(approvals.waiting()[0].id, "ada")
    one = walk(desktop, on_request(approvals))
    await one.look()
    desktop.gestures.append(None)  # type: ignore[arg-type]  # the screen shows how many there were
    with pytest.raises(NeedsPerson, match="looked different"):
        await one.act(a_step("click", **SUBMIT))  # it looked right, and changed since
    desktop.gestures.clear()
    await attempt(desktop, approvals)
    assert len(desktop.gestures) == 1


async def test_a_blinking_caret_does_not_void_an_approval(
    approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consenting, "PATIENCE_S", 5.0)
    number = approvals.request("run", "token T", "action", (await PaintedDesktop().look()).digest, "To click")
    approvals.grant(number, "ada")
    looks = 0

    async def look() -> Any:
        nonlocal looks
        looks += 1
        desktop = PaintedDesktop()
        desktop.gestures = [None] * (0 if looks == 3 else 1)  # type: ignore[list-item]
        return await desktop.look()

    by = await await_approval(on_request(approvals), ApprovalQuestion("T", "action", "frame", "To click"), look)
    assert (by, looks) == ("ada", 3)


async def test_without_a_token_an_approval_is_for_the_flow_run(approvals: Approvals) -> None:
    asked = ApprovalQuestion("", "action", "frame", "To click")
    with pytest.raises(NeedsPerson, match="retry this flow run"):
        await on_request(approvals).ask(asked)
    approvals.grant(approvals.waiting()[0].id, "ada")
    assert await OnRequest(approvals, run_id="run", trace="", flow_run_id="other").take(asked) is None
    assert await OnRequest(approvals, run_id="next", trace="", flow_run_id="flow").take(asked) == "ada"


async def test_without_an_approver_the_action_is_refused() -> None:
    desktop = PaintedDesktop()
    one = walk(desktop, None)
    await one.look()
    with pytest.raises(PolicyRefused, match="needs a person's yes"):
        await one.act(a_step("click", **SUBMIT))
    assert desktop.gestures == []


async def test_a_waiting_approver_lets_the_run_continue() -> None:
    answers = [None, "ada"]

    class Pausing:
        async def take(self, asked: ApprovalQuestion) -> str | None:
            return answers.pop(0)

        async def ask(self, asked: ApprovalQuestion) -> None:
            pass

    desktop = PaintedDesktop()
    one = walk(desktop, Pausing())
    await one.look()
    assert await one.act(a_step("click", **SUBMIT)) == "Done: click."
    answers[:] = [None, None]
    await one.look()
    with pytest.raises(PolicyRefused, match="No person has approved"):
        await one.act(a_step("click", **SUBMIT))


# which actions


@pytest.mark.parametrize(
    ("rule", "call", "asks"),
    [
        ({"text": "submit|send"}, ("click", SUBMIT), True),
        ({"text": "send"}, ("click", SUBMIT), False),
        ({"text": "send", "kinds": ["click"]}, ("click", {**SUBMIT, "element": "SEND it"}), True),
        ({"text": "send", "kinds": ["hotkey"]}, ("click", {**SUBMIT, "element": "SEND it"}), False),
        ({"kinds": ["hotkey"]}, ("hotkey", {"keys": ["a"]}), True),
        ({"kinds": ["hotkey"]}, ("click", SUBMIT), False),
        ({"text": "submit"}, ("move_to", SUBMIT), False),
        ({"text": "submit", "kinds": ["move_to"]}, ("move_to", SUBMIT), True),
        ({"programs": ["painted"]}, ("write", {"content": "a"}), True),
        ({"programs": ["another"]}, ("write", {"content": "a"}), False),
        # The text on the screen counts, regardless of the model's label: OCR finds “Pay now” at (160, 100).
        ({"text": r"pay\b"}, ("click", {**SUBMIT, "element": "Cancel"}), True),
        ({"text": r"pay\b"}, ("click", {"element": "Cancel", "x": 10, "y": 10}), False),
        ({"text": r"pay\b"}, ("write_at", {**SUBMIT, "content": "a", "element": "a field"}), True),
        ({"text": r"pay\b"}, ("write", {"content": "a note"}), True),  # to the focused window
        ({"text": r"pay\b"}, ("write", {"content": "x "}), True),
        ({"text": r"pay\b"}, ("write", {"content": "y"}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["y"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["f9"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["delete"]}), True),
        ({"text": r"other"}, ("write", {"content": "y"}), False),
        ({"text": r"pay\b"}, ("write", {"content": "a note\n"}), True),
        ({"text": r"pay\b"}, ("write", {"content": "a", "press_enter": True}), True),
        ({"text": r"pay\b"}, ("write", {"content": " "}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["Return"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["space"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["alt", "p"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["alt", "y"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["ctrl", "delete"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["ctrl", "a"]}), False),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["ctrl", "v"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["ctrl", "shift", "v"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["ctrl", "z"]}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["tab"]}), False),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["esc"]}), True),
        ({"text": r"other"}, ("hotkey", {"keys": ["esc"]}), False),
        ({"text": r"pay\b"}, ("click", {"element": "e", "x": 10, "y": 10, "button": "middle"}), True),
        ({"text": r"pay\b"}, ("write_at", {"element": "e", "x": 10, "y": 10, "content": "a\n"}), True),
        ({"text": r"pay\b"}, ("hotkey", {"keys": ["shift", "left"]}), False),
    ],
    ids=str,
)
async def test_actions_that_need_approval(rule: dict[str, Any], call: tuple[str, dict[str, Any]], asks: bool) -> None:
    async def reader(frame: object, where: Point | Box) -> str:
        box = where if isinstance(where, Box) else Box(where.x - 20, where.y - 20, 40, 40)
        near = box.left <= 160 < box.right and box.top <= 100 < box.bottom
        return "Pay now" if near else "Notes"

    desktop = PaintedDesktop()
    one = walk(desktop, None, policy=Rules.read({"trust": "act", "confirm": [rule]}), reader=reader)
    await one.look()
    step = a_step(call[0], **call[1]) if call[0] != "hotkey" else a_step("hotkey", **call[1])
    if asks:
        with pytest.raises(PolicyRefused, match="needs a person's yes"):
            await one.act(step)
    else:
        await one.act(step)
    assert bool(desktop.gestures) != asks


class Form:
    """Shows “Pay now” in its window, and has two fields: at (10, 10), and a tall one at (100, 100)."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return "Amount" if isinstance(where, Point) else "Amount Pay now"

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        fields = (Box(0, 0, 20, 20), Box(90, 20, 30, 170))
        return next((box for box in fields if box.contains(at)), None)


def in_field(tool: str = "click", **arguments: Any) -> Any:
    return a_step(tool, element="the amount", x=10 * 1000 // 320 + 1, y=10 * 1000 // 200 + 1, **arguments)


def in_high() -> Any:
    return a_step("click", element="the note", x=100 * 1000 // 320 + 1, y=500)


WORDS, NOWHERE = a_step("write", content="Paper and Pine"), a_step("click", element="nothing", x=900, y=900)
WORD, TAB = a_step("write", content="Paper"), a_step("hotkey", keys=["tab"])
OVER = a_step("write", content="y", overwrite=True)


@pytest.mark.parametrize(
    ("before", "step", "asks"),
    [
        ([in_field()], WORDS, False),
        ([in_field()], OVER, False),
        ([in_field(), a_step("hotkey", keys=["ctrl", "a"]), a_step("hotkey", keys=["backspace"])], WORDS, False),
        ([in_field(), WORDS], a_step("write", content=" and more"), False),
        ([], in_field("write_at", content="Paper and Pine"), False),
        ([in_field("write_at", content="1")], WORDS, False),
        ([], WORDS, True),
        ([NOWHERE], WORDS, True),
        ([in_field(), NOWHERE], OVER, True),
        ([in_field(), TAB], WORDS, True),
        ([in_field(), TAB], WORD, False),
        ([in_field(), WORDS, TAB], WORD, False),
        ([in_field(), TAB, WORD, TAB, a_step("hotkey", keys=["ctrl", "a"])], a_step("write", content="1284.50"), False),
        ([in_field("write_at", content="Paper"), a_step("hotkey", keys=["shift", "tab"])], WORD, False),
        *(
            ([in_field(), TAB], a_step("write", content=text), True)
            for text in ("x ", "y", "yes!\n", " ", "ok", "a b c")
        ),
        *(([in_field(), TAB], a_step("hotkey", keys=keys), True) for keys in (["y"], ["space"], ["alt", "y"], ["f9"])),
        ([in_field(), TAB], a_step("write", content="words", press_enter=True), True),
        ([NOWHERE, TAB], WORD, True),
        ([TAB], WORD, True),
        ([in_field(), TAB, NOWHERE], WORD, True),
        ([in_field(), TAB, a_step("hotkey", keys=["down"])], WORD, True),
        ([in_high()], WORDS, False),
        ([in_high()], OVER, True),
        ([in_high()], a_step("hotkey", keys=["y"]), True),
        ([in_field(button="right")], WORDS, True),
        ([in_field()], a_step("write", content="1", press_enter=True), True),
        ([in_field()], a_step("write", content="1\t "), True),
        ([in_field()], a_step("write", content=" "), True),
        ([in_field()], a_step("write", content="123456 "), True),
        ([in_field()], a_step("hotkey", keys=["f9"]), True),
        *(
            ([in_field()], a_step("hotkey", keys=keys), False)
            for keys in (["ctrl", "v"], ["ctrl", "z"], ["delete"], ["esc"])
        ),
        *(([in_high()], a_step("hotkey", keys=keys), True) for keys in (["ctrl", "v"], ["ctrl", "x"], ["delete"])),
        ([in_field()], a_step("hotkey", keys=["ctrl", "shift", "v"]), True),
        ([in_field(), TAB], a_step("hotkey", keys=["ctrl", "v"]), True),
    ],
)
async def test_writing_into_a_clicked_field_needs_no_approval_but_other_keys_do(
    before: list[Any], step: Any, asks: bool
) -> None:
    desktop = PaintedDesktop(frozen=True)
    one = walk(desktop, None, policy=Rules.read({"trust": "act", "confirm": [{"text": "pay"}]}), reader=Form())
    await one.look()
    for earlier in before:
        await one.act(earlier)
    if asks:
        with pytest.raises(PolicyRefused, match="needs a person's yes"):
            await one.act(step)
    else:
        await one.act(step)
    assert len(desktop.gestures) == len(before) + (not asks)


@pytest.mark.parametrize(
    ("step", "asks"), [(NOWHERE, True), (in_field(), False), (a_step("click", element="e", x=1, y=1), False)]
)
async def test_an_unreadable_button_needs_approval_but_an_unreadable_page_does_not(step: Any, asks: bool) -> None:
    class Signs(Form):
        async def __call__(self, frame: Frame, where: Point | Box) -> str:
            return ""

        async def unread_at(self, frame: Frame, at: Point) -> bool:
            return at.x > 200

    one = walk(PaintedDesktop(frozen=True), None, reader=Signs())
    await one.look()
    if asks:
        with pytest.raises(PolicyRefused, match="needs a person's yes"):
            await one.act(step)
    else:
        await one.act(step)


@pytest.mark.parametrize("keys", [["enter"], ["d"], ["esc"]])
async def test_a_menu_outside_its_window_is_read(keys: list[str]) -> None:
    async def reader(frame: Frame, where: Point | Box) -> str:
        assert isinstance(where, Box)
        return "Delete" if where.right > 200 else "Record"

    desktop = PaintedDesktop(frozen=True)
    small = Owner("/usr/bin/painted", box=Box(10, 10, 100, 80))
    desktop.owners = lambda at: small
    one = walk(desktop, None, policy=Rules.read({"trust": "act", "confirm": [{"text": "delete"}]}), reader=reader)
    await one.look()
    await one.act(a_step("hotkey", keys=keys))
    desktop.owners = lambda at: replace(small, popup=True)
    with pytest.raises(PolicyRefused, match="needs a person's yes"):
        await one.act(a_step("hotkey", keys=keys))


async def test_the_agents_own_recovery_needs_no_approval(approvals: Approvals) -> None:
    async def reader(frame: Frame, where: Point | Box) -> str:
        return "Submit"

    desktop = PaintedDesktop(frozen=True)
    one = walk(desktop, on_request(approvals), reader=reader)
    await one.look()
    assert "could not be pressed" in await Executor(one, Walk.act).escape()
    assert approvals.waiting() == []
    with pytest.raises(NeedsPerson):
        await one.act(a_step("hotkey", keys=["esc"]))
    assert desktop.gestures == []


async def test_an_unfocused_window_is_not_written_into() -> None:
    desktop = PaintedDesktop(frozen=True)
    one = walk(desktop, None, policy=Rules.read({"trust": "act", "confirm": [{"text": "pay"}]}), reader=Form())
    await one.look()
    await one.act(in_field())
    form = desktop.owners(None)
    for dialog in (replace(form, title="Sure?"), replace(form, pid=7), replace(form, box=Box(0, 0, 9, 9))):
        desktop.owners = lambda at, dialog=dialog: form if at else dialog
        with pytest.raises(PolicyRefused, match="needs a person's yes"):
            await one.act(WORDS)
    assert len(desktop.gestures) == 1


async def test_without_ocr_every_press_needs_approval() -> None:
    one = walk(PaintedDesktop(), None, reader=None)
    await one.look()
    pressing = [a_step("click", element="Refresh", x=5, y=5), in_field("write_at", content="words")]
    pressing += [a_step("hotkey", keys=keys) for keys in (["enter"], ["y"], ["f9"], ["ctrl", "v"])]
    for step in (*pressing, a_step("write", content="words"), a_step("write", content="Paper and Pine")):
        with pytest.raises(PolicyRefused, match="needs a person's yes"):
            await one.act(step)
    for keys in (["tab"], ["ctrl", "a"], ["down"], ["shift", "left"]):
        await one.act(a_step("hotkey", keys=keys))
    await one.act(a_step("move_to", element="Submit", x=5, y=5))


async def test_an_unreadable_target_needs_approval() -> None:
    async def broken(frame: object, where: Point | Box) -> str:
        raise RuntimeError("no weights")

    one = walk(PaintedDesktop(), None, reader=broken)
    await one.look()
    with pytest.raises(PolicyRefused, match="needs a person's yes"):
        await one.act(a_step("click", element="Cancel", x=5, y=5))


async def test_a_window_that_appeared_since_the_decision_is_read() -> None:
    desktop, first = PaintedDesktop(), set[str]()

    async def reader(frame: Frame, where: Point | Box) -> str:
        return "Cancel" if frame.digest in first else "Submit"

    one = walk(desktop, None, reader=reader)
    first.add((await one.look()).frame.digest)
    desktop.gestures.append(Pause(0.0))  # which paints another screen
    with pytest.raises(PolicyRefused, match="needs a person's yes"):
        await one.act(a_step("click", element="that button", x=5, y=5))


async def test_the_request_quotes_the_screen_at_the_target(
    approvals: Approvals,
) -> None:
    read: list[Frame] = []
    says: list[str] = ["Submit payment\n\x1b[2J" + "x" * 300, ""]

    class Masks(NothingToRedact):
        async def redact(self, frame: Frame) -> RedactedFrame:
            return RedactedFrame(replace(frame, rgb=bytes(len(frame.rgb))))

    async def reader(frame: Frame, where: Point | Box) -> str:
        read.append(frame)
        return says.pop(0)  # and then it fails

    asked: list[ApprovalQuestion] = []

    class Asks(OnRequest):
        async def ask(self, one: ApprovalQuestion) -> None:
            asked.append(one)
            await super().ask(one)

    approver = Asks(approvals, run_id="run", trace="/trace")
    for wanted in ("; there the screen says ‘Submit payment [2Jxxx", "; nothing can be read there", "; nothing can"):
        one = walk(PaintedDesktop(frozen=True), approver, reader=reader, redactor=Masks())
        await one.look()
        with pytest.raises(NeedsPerson):
            await one.act(a_step("click", element="the Refresh button of the submit form", x=500, y=500))
        assert asked[-1].words.startswith("To click ‘the Refresh button of the submit form’ at (160, 100)")
        assert wanted in asked[-1].words
        assert len(asked[-1].words) < 350
        assert asked[-1].points == (Point(160, 100),)
        assert not any(read[-1].rgb), "a masked area shows nothing"


def test_the_picture_of_the_request_marks_the_target() -> None:
    image = Image.new("RGB", (1280, 800), "white")
    out = io.BytesIO()
    image.save(out, "PNG")
    whole = replace(shot(size=Size(1280, 800)), data=out.getvalue())
    part = replace(whole, region=Box(400, 200, 640, 400))
    for pictured, at in (
        (Pictured(whole, (Point(640, 400),)), (320, 200)),
        (Pictured(part, (Point(720, 400),)), (320, 200)),
        (Pictured(whole, (Point(640, 400), Point(900, 400))), (320, 200)),
    ):
        small = pictured.small()
        assert small is not None
        shown = Image.open(io.BytesIO(small.data)).convert("RGB")
        red, green, _ = shown.getpixel(at)  # type: ignore[misc]
        assert red - green > 60
        assert shown.getpixel((10, 10)) > (240, 240, 240)
    plain = Pictured(whole).small()
    assert plain is not None
    assert Image.open(io.BytesIO(plain.data)).convert("RGB").getpixel((320, 200)) > (240, 240, 240)


async def test_an_approval_hand_off_marks_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    async def ask_person(question: str, walk: Walk, **options: Any) -> Answer:
        given.append((question, options["points"]))
        return Answer("approve", "", "somebody")

    monkeypatch.setattr(approval_by_person, "ask_person", ask_person)
    one = walk(PaintedDesktop(frozen=True), approval_by_person.ByHandOff())
    await one.look()
    with as_current_walk(one):
        await one.act(a_step("click", **SUBMIT))
    ((question, points),) = given
    assert "To click ‘the Submit button’ at (160, 100)" in question
    assert points == (Point(160, 100),)


async def test_the_request_shows_the_whole_text_to_write(approvals: Approvals) -> None:
    desktop = PaintedDesktop()
    one = walk(desktop, on_request(approvals), policy=Rules.read({"trust": "act", "confirm": [{"kinds": ["write"]}]}))
    await one.look()
    for text, shown in (("pay 1000 EUR to " + "x" * 100,) * 2, ("pay\nnow", "[pay⏎now]")):
        with pytest.raises(NeedsPerson):
            await one.act(a_step("write", content=text))
        assert shown in approvals.waiting()[-1].words

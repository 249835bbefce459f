"""During a sub-goal, the model learns why a secret was refused, and the masker learns where one shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from holo_tasks.core.errors import InvalidUsage, LimitReached, SecretRefused
from holo_tasks.core.input.gestures import Gesture, Receipt, Typed
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.programs import Owner
from holo_tasks.core.prompts.step import Step
from holo_tasks.core.screen.frame import LOST, Frame, Mask
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.core.secrets.secret import check_written
from holo_tasks.desktop.fields.changed_field import fields
from holo_tasks.loop.words import WITHHELD
from holo_tasks.safety.redaction import Painter
from holo_tasks.safety.typed_secrets.typed_fields import TypedFields
from tests.support.painted_desktop import PaintedDesktop
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, a_step, as_model, pictures_in, walk_of, work, wrote

FIELD = Typed(Box(10, 10, 50, 20), Box(0, 0, 70, 40), b"", b"")
WRITE, DONE = wrote(step("write", content="{{secret:pw}}")), wrote(step("answer", content="done"))


class Form(PaintedDesktop):
    """Has a field for secrets."""

    def __init__(self, fails: BaseException | None = None) -> None:
        super().__init__()
        self.fails = fails

    async def do(
        self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
    ) -> Receipt:
        if self.fails is not None:
            raise self.fails
        return replace(await super().do(gesture, deadline=deadline, input_permit=input_permit), typed=(FIELD,))


async def test_the_model_learns_that_a_secret_was_refused_and_continues() -> None:
    model, recorder = MemoryModel([WRITE, DONE]), MemoryRecorder()
    walk = walk_of(as_model(model), desktop=Form(SecretRefused("It is typed into xterm only. Nothing was typed.")))
    walk.services = replace(walk.services, recorder=recorder)
    assert (await work(walk)).text == "done"
    assert "typed into xterm only" in str(model.bodies[1]["messages"])
    assert [event.reason for event in recorder.of("action_failed")] == [
        "It is typed into xterm only. Nothing was typed."
    ]


@pytest.mark.parametrize(
    "content",
    [
        "x {{secret:pw}}",
        "{{secret:pw}}.",
        "user\t{{secret:pw}}\n",
        "\u3000{{secret:pw}}",
        "{{secret:pw}}{{secret:pw}}",
        "{{secret:pw}}\n{{secret:pw}}",
        "{{secret:pw",
        "a{{secret:}}",
    ],
)
@pytest.mark.parametrize("tool", ["write", "write_at"])
async def test_a_secret_within_other_text_is_refused_with_a_hint(tool: str, content: str) -> None:
    place = {"element": "Note", "x": 500, "y": 500} if tool == "write_at" else {}
    model, recorder = MemoryModel([wrote(step("write", content=content)), DONE]), MemoryRecorder()
    walk = walk_of(as_model(model), desktop=(desktop := Form()), recorder=recorder)
    if tool == "write_at":
        await walk.look()
        with pytest.raises(InvalidUsage, match="A secret cannot be typed together"):
            await walk.act(a_step(tool, content=content, **place))
    else:
        assert (await work(walk)).text == "done"
        assert "A secret cannot be typed together" in str(model.bodies[1]["messages"])
    assert desktop.gestures == []
    assert [event.reason[:23] for event in recorder.of("correction")] == ["A secret cannot be type"]


@pytest.mark.parametrize("content", ["{{secret:pw}}\n", "{{secret:pw}}\t", " {{secret: pw }}", "\t{{secret:pw}}\r\n"])
async def test_keys_around_a_secret_are_typed(content: str) -> None:
    model = MemoryModel([wrote(step("write", content=content)), DONE])
    walk = walk_of(as_model(model), desktop=(desktop := Form()))
    walk.secrets = frozenset({"pw"})
    await work(walk)
    assert [gesture.text for gesture in desktop.gestures] == [content]


@pytest.mark.parametrize(
    ("content", "writes"),
    [
        ("user\t{{secret:pw}}\n", r'here: "user\t", then "{{secret:pw}}\n"'),
        ("a\tb\n{{secret:pw}}\t{{secret:pin}}", r'here: "a\tb\n", then "{{secret:pw}}\t", then "{{secret:pin}}"'),
        ("x {{secret:pw}}", "separately. Nothing"),
        ("x" * 300 + "\t{{secret:pw}}", "separately. Nothing"),
    ],
)
def test_the_hint_lists_the_separate_writes(content: str, writes: str) -> None:
    with pytest.raises(InvalidUsage) as refused:
        check_written(content, None)
    assert writes in str(refused.value)


@pytest.mark.parametrize(("allowed", "typed"), [(None, True), ({"pw", "pin"}, True), ({"pin"}, False), (set(), False)])
async def test_a_secret_that_the_task_does_not_name_is_not_typed(allowed: set[str] | None, typed: bool) -> None:
    model = MemoryModel([WRITE, DONE])
    walk = walk_of(as_model(model), desktop=(desktop := Form()))
    walk.secrets = None if allowed is None else frozenset(allowed)
    assert (await work(walk)).text == "done"
    assert bool(desktop.gestures) == typed
    assert ("The task does not name the secret" in str(model.bodies[1]["messages"])) != typed


async def test_the_model_learns_why_a_window_is_masked() -> None:
    class Lost:
        def __init__(self) -> None:
            self.typed = False

        async def masks(self, frame: Frame) -> list[Mask]:
            return [Mask(LOST, Box(0, 0, 320, 200))] if self.typed else []

    masker, model, recorder = Lost(), MemoryModel([WRITE, DONE]), MemoryRecorder()
    walk = walk_of(as_model(model), desktop=Form(), redactor=Painter([masker]))
    walk.services = replace(walk.services, typed=lambda fields: setattr(masker, "typed", True), recorder=recorder)
    await work(walk)
    assert WITHHELD in str(model.bodies[1]["messages"])
    assert [[mask.kind for mask in event.masks] for event in recorder.of("frame")] == [[], [LOST]]


@pytest.mark.parametrize(("text", "told"), [("{{secret:pw}}", [()]), ("no secret", [])])
async def test_the_masker_learns_of_a_typed_secret_that_shows_nowhere(text: str, told: list[object]) -> None:
    heard: list[object] = []
    walk = walk_of(as_model(MemoryModel([])), desktop=PaintedDesktop())
    walk.services = replace(walk.services, typed=heard.append)
    await walk.look()
    await walk.act(a_step("write", content=text))
    assert heard == told


class Labels:
    """Reads a label next to every point in the left half."""

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return ""

    async def labelled(self, frame: Frame, at: Point, labels: Sequence[str]) -> Box | None:
        return FIELD.box if at.x < 160 and "Password" in labels else None


SECRET, LEFT, RIGHT = a_step("write", content="{{secret:pw}}"), {"x": 100, "y": 500}, {"x": 900, "y": 500}
WORDS, TAB = a_step("write", content="words"), a_step("hotkey", keys=["tab"])


def at(place: dict[str, int], tool: str = "click", **arguments: str) -> Step:
    return a_step(tool, element="the password field", **place, **arguments)


@pytest.mark.parametrize(
    ("before", "step", "why"),
    [
        ([at(LEFT)], SECRET, ""),
        ([at(LEFT), a_step("hotkey", keys=["ctrl", "a"])], SECRET, ""),
        ([], at(LEFT, "write_at", content="{{secret:pw}}"), ""),
        ([], SECRET, "click that field"),
        ([at(LEFT), TAB], SECRET, "click that field"),
        ([at(LEFT)], a_step("write", content="\t{{secret:pw}}"), "click that field"),
        ([], at(LEFT, "write_at", content="\n{{secret:pw}}"), "click that field"),
        ([at(LEFT)], a_step("write", content=" {{secret:pw}}\n"), ""),
        ([at(LEFT), at(RIGHT)], SECRET, "no such label"),
        ([at(RIGHT)], SECRET, "no such label"),
        ([at(LEFT)], at(RIGHT, "write_at", content="{{secret:pw}}"), "no such label"),
        ([], WORDS, ""),
    ],
)
async def test_a_secret_bound_to_a_field_is_typed_into_the_clicked_labeled_field(
    before: list[Step], step: Step, why: str
) -> None:
    walk = walk_of(as_model(MemoryModel([])), desktop=(desktop := Form()), recorder=MemoryRecorder())
    walk.services = replace(walk.services, reader=Labels(), secret_fields={"pw": ("Password", "PIN")})
    await walk.look()
    for earlier in before:
        await walk.act(earlier)
    if not why:
        await walk.act(step)
    else:
        with pytest.raises(SecretRefused, match=f"typed into the field ‘Password’ or ‘PIN’ only.*{why}"):
            await walk.act(step)
    assert len(desktop.gestures) == len(before) + (not why)


async def test_a_secret_bound_to_a_field_is_refused_without_ocr() -> None:
    walk = walk_of(as_model(MemoryModel([])), desktop=(desktop := Form()), recorder=MemoryRecorder())
    walk.services = replace(walk.services, secret_fields={"pw": ("Password",)})
    await walk.look()
    await walk.act(at(LEFT))
    with pytest.raises(
        SecretRefused, match=r"no OCR is installed to read labels: pip install 'prefect-holo\[rehearsal\]'"
    ):
        await walk.act(SECRET)
    walk.services = replace(walk.services, reader=Labels())
    desktop.owners = lambda at: replace(Owner("/usr/bin/painted"), title="form" if at else "a dialog", box=FIELD.box)
    with pytest.raises(SecretRefused, match="click that field"):
        await walk.act(SECRET)
    assert len(desktop.gestures) == 1


class Journal:
    """Records the outcome of its one action."""

    became = "begun"

    async def intend(self, action: str, frame: str) -> int:
        return 1

    async def done(self, number: int) -> None:
        self.became = "done"

    async def void(self, number: int) -> None:
        self.became = "void"


@pytest.mark.parametrize(
    ("typed", "became", "then"), [((), "void", "elsewhere"), ((FIELD,), "done", "click that field")]
)
async def test_a_refusal_after_the_first_character_counts_as_done(
    typed: tuple[Typed, ...], became: str, then: str
) -> None:
    told: list[object] = []
    walk, error = walk_of(as_model(MemoryModel([])), desktop=(desktop := Form())), SecretRefused("It went elsewhere.")
    walk.services = replace(
        walk.services,
        reader=Labels(),
        secret_fields={"pw": ("Password",)},
        typed=told.extend,
        journal=(journal := Journal()),
    )
    await walk.look()
    await walk.act(at(LEFT))
    told.clear()
    desktop.fails, error.typed = error, typed
    with pytest.raises(SecretRefused, match="elsewhere"):
        await walk.act(SECRET)
    assert journal.became == became
    assert told == list(typed)
    with pytest.raises(SecretRefused, match=then):  # the focus is unknown from here on
        await walk.act(SECRET)


async def test_the_masker_gets_the_fields_before_the_next_frame() -> None:
    told: list[object] = []

    class Watched(Form):
        async def look(self, *, after_action: bool = False):
            told.append("look")
            return await super().look(after_action=after_action)

    walk = walk_of(as_model(MemoryModel([WRITE, DONE])), desktop=Watched())
    walk.services = replace(walk.services, typed=told.extend)
    await work(walk)
    assert told == ["look", FIELD, "look"]


async def test_the_masker_gets_the_fields_of_an_interrupted_gesture() -> None:
    error, told = LimitReached("Too late.", limit="timeout_seconds"), []
    error.typed = (FIELD,)
    walk = walk_of(as_model(MemoryModel([WRITE])), desktop=Form(error))
    walk.services = replace(walk.services, typed=told.extend)
    with pytest.raises(LimitReached):
        await work(walk)
    assert told == [FIELD]


def said_of(typed: object | None, error: BaseException) -> BaseException:
    if typed is not None:
        error.typed = typed  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize("error", [asyncio.CancelledError, ValueError, KeyboardInterrupt])
async def test_the_masker_gets_the_whole_screen_if_the_fields_are_unknown(error) -> None:
    for says, masked in (((FIELD,), [FIELD.box]), ((), []), (None, [Box(0, 0, 320, 200)])):
        told: list[Typed] = []
        walk = walk_of(as_model(MemoryModel([WRITE])), desktop=Form(said_of(says, error())))
        walk.services = replace(walk.services, typed=told.extend)
        await walk.look()
        with pytest.raises(error):
            await walk.act(a_step("write", content="{{secret:pw}}"))
        assert [typed.box for typed in told] == masked
    with pytest.raises(error):
        await walk.act(a_step("write", content="no secret"))
    assert len(told) == 1


@pytest.mark.parametrize("knows", [True, False])
async def test_a_flow_that_continues_after_interrupted_typing_leaks_nothing(knows: bool) -> None:
    class Slow(PaintedDesktop):
        """Shows typed characters and never finishes typing."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self._value = value
            self._shows = ""
            self.typing = asyncio.Event()

        async def look(self, *, after_action: bool = False) -> Frame:
            return frame_with(self._shows)

        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Receipt:
            self._shows = self._value
            self.typing.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                if knows:
                    said_of(tuple(fields(painting(""), painting(self._value), None)), error)
                raise
            raise AssertionError

    sent = []
    for value in ("hunter2", "Kranich"):
        masker, client, desktop = TypedFields(), MemoryModel([DONE]), Slow(value)
        painter = Painter([masker])
        first = walk_of(as_model(MemoryModel([WRITE])), desktop=desktop, redactor=painter)
        first.services = replace(first.services, typed=masker.typed)
        walking = asyncio.create_task(work(first))
        await desktop.typing.wait()
        walking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await walking
        second = walk_of(as_model(client), desktop=desktop, redactor=painter)
        second.services = replace(second.services, typed=masker.typed)
        await work(second)
        sent.append(pictures_in(client.bodies[0]))
    assert sent[0] == sent[1]


def painting(text: str) -> Image.Image:
    image = Image.new("RGB", (320, 200), "#d9d9d9")
    draw = ImageDraw.Draw(image)
    draw.text((20, 46), "Password", fill="black")
    draw.rectangle((100, 40, 300, 64), fill="white", outline="black")
    draw.text((106, 46), text, fill="black")
    return image


def frame_with(text: str) -> Frame:
    return Frame(painting(text).tobytes(), Size(320, 200), ":painted")

"""An action declared to be done once is repeated only after it is certain that it had no effect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from holo_tasks.core.errors import GaveUp, InvalidUsage, ScreenChanged
from holo_tasks.core.input.gestures import Gesture, Hotkey, Pause, Write
from holo_tasks.core.input.input_permit import InputPermit
from holo_tasks.core.input.permit import TextReader
from holo_tasks.core.programs import Owner
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Point, Size
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide, NoGuide
from holo_tasks.loop.loop import Answered, pursue
from holo_tasks.loop.presses.press_once import ENTER, EffectButtons, shows_as_text
from holo_tasks.loop.screens import Screens
from holo_tasks.loop.walk import Walk
from tests.support.coloured_program import ColouredProgram, Colours, state
from tests.support.painted_desktop import WHOLE
from tests.support.scripted_model import step
from tests.support.shots import MemoryModel, MemoryRecorder, as_model, walk_of, wrote

SUBMIT = wrote(step("click", element="the grey box", x=500, y=500))
OTHER = wrote(step("click", element="Submit", x=10, y=10))
TWICE = wrote(step("double_click", element="the grey box", x=500, y=500))
ENTERED = wrote(step("hotkey", keys=["enter"]))
DONE = wrote(step("answer", content="done"))
MIDDLE = Point(160, 100)


class Clock:
    """A clock that advances by a tenth of a second at each reading."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.1
        return self.now_s


class Reads:
    """A reader that knows the only text field."""

    def __init__(self, reader: TextReader, field: Box) -> None:
        self._reader, self._field = reader, field

    async def __call__(self, frame: Frame, where: Point | Box) -> str:
        return await self._reader(frame, where)

    async def field_at(self, frame: Frame, at: Point) -> Box | None:
        return self._field if self._field.contains(at) else None


class Case:
    """A form with a Submit button in the middle, and a model with scripted replies.

    ``reads`` is the text read on the button, and ``window`` the text read in the window. ``field`` is the only text
    field. ``found`` are the answers of the probe for the effect.
    """

    def __init__(
        self,
        *said: Any,
        moves: Callable[[str, Gesture], str | None] = lambda screen, gesture: None,
        reads: str = "Submit",
        found: tuple[bool, ...] = (),
        labels: tuple[str, ...] = ("Submit",),
        safe: tuple[str, ...] = (),
        guided: bool = True,
        window: str = "Name Cancel Submit",
        field: Box | None = None,
    ) -> None:
        self.program, self.model, self.found = ColouredProgram("form", moves), MemoryModel([*said]), list(found)
        self.program.owners = lambda at: Owner("/usr/bin/program", title="Form", box=WHOLE)
        self.walk = walk_of(as_model(self.model), desktop=self.program, recorder=MemoryRecorder(), now_s=Clock())

        async def reader(frame: Frame, where: Point | Box) -> str:
            if isinstance(where, Box):
                return window
            return reads if where.x > 100 else "Cancel" if reads else ""

        self.walk.services = replace(self.walk.services, reader=Reads(reader, field) if field else reader)
        self.walk.safe_to_repeat = safe

        async def perform(do: Any, what: str, screens: Screens) -> Any:
            return await do()

        async def not_done() -> bool:
            return self.found.pop(0)

        self.once = EffectButtons(labels, not_done)
        known = Screens([state("form"), state("filed"), state("working", busy=True)], timeout_seconds=2.0)
        self.guide = Guide(known, after=("filed",)) if guided else NoGuide()
        self.executor = Executor(self.walk, Walk.act, "model", Colours(), perform)
        self.finals: list[bool] = []

    async def pursue(self) -> Answered[str]:
        async def decide(walk: Walk, final: bool) -> Any:
            self.finals.append(final)
            return await walk.decide(answer_only=final)

        return await pursue(
            self.executor, read=str, decide=decide, max_steps=9, guide=self.guide, effect_buttons=self.once
        )

    @property
    def presses(self) -> int:
        return sum(not isinstance(gesture, Pause) for gesture in self.program.gestures)

    @property
    def told(self) -> str:
        return str(self.model.bodies[-1]["messages"])


def filed_after(pauses: int) -> Callable[[str, Gesture], str | None]:
    """Return a transition to the filed state some waits after sending the form, without a visible change before."""
    left: list[int] = []

    def moves(screen: str, gesture: Gesture) -> str | None:
        if not isinstance(gesture, Pause):
            left[:] = [pauses]
        elif left:
            left[0] -= 1
        return "filed" if left and left[0] == 0 else None

    return moves


async def test_a_second_press_waits_for_the_effect_of_the_first_and_is_not_done() -> None:
    case = Case(SUBMIT, SUBMIT, DONE, moves=filed_after(3))
    assert (await case.pursue()).text == "done"
    assert case.presses == 1
    assert "pressed before, and it worked: the program is at ‘filed’" in case.told


async def test_only_an_answer_is_allowed_after_the_effect_was_seen() -> None:
    case = Case(SUBMIT, DONE, moves=filed_after(0))
    await case.pursue()
    assert case.finals == [False, True]


async def test_a_button_may_be_pressed_again_once_after_each_denial() -> None:
    case = Case(SUBMIT, SUBMIT, SUBMIT, SUBMIT, found=(True, False))
    with pytest.raises(GaveUp, match=r"effect .*is unknown"):
        await case.pursue()
    assert case.presses == 2
    assert "a check shows that it had no effect" in case.told


async def test_an_unknown_effect_goes_to_the_next_layer_with_the_press() -> None:
    case = Case(SUBMIT, SUBMIT, found=(False,))
    with pytest.raises(GaveUp, match="‘Submit’ was pressed, and the effect is unknown"):
        await case.pursue()
    assert case.presses == 1
    assert case.once.pressed == {"Submit"}


async def broken(frame: Frame, where: Point | Box) -> str:
    raise OSError("the reader is broken")


@pytest.mark.parametrize("named", ["the grey box", "Submit"])
async def test_a_press_may_be_of_any_declared_button_if_reading_fails(named: str) -> None:
    press = wrote(step("click", element=named, x=500, y=500))
    case = Case(press, press, found=(False,), labels=("Save", "Submit"))
    case.walk.services = replace(case.walk.services, reader=broken)
    with pytest.raises(GaveUp, match=r"effect .*is unknown"):
        await case.pursue()
    assert case.presses == 1
    assert case.once.pressed == ({"Submit"} if named == "Submit" else {"Save", "Submit"})


@pytest.mark.parametrize("later", [False, True])
async def test_an_unread_press_may_have_been_of_any_button(later: bool) -> None:
    unread = wrote(step("click", element="the grey box", x=500, y=500))
    case = Case(*((SUBMIT, unread) if later else (unread, SUBMIT)), found=(False,), labels=("Save", "Submit"))
    works = iter((later, not later))

    async def at_times(frame: Frame, where: Point | Box) -> str:
        return "Submit" if next(works) else await broken(frame, where)

    case.walk.services = replace(case.walk.services, reader=at_times)
    with pytest.raises(GaveUp, match=r"effect .*is unknown"):
        await case.pursue()
    assert case.presses == 1


async def test_any_button_may_be_pressed_again_if_no_effect_is_certain() -> None:
    unread = wrote(step("click", element="the grey box", x=500, y=500))
    case = Case(unread, unread, unread, unread, found=(True, False), labels=("Save", "Submit"))
    case.walk.services = replace(case.walk.services, reader=broken)
    with pytest.raises(GaveUp, match="‘Save’ or ‘Submit’ was pressed, and the effect is unknown"):
        await case.pursue()
    assert case.presses == 2


async def test_a_denied_effect_of_one_button_says_nothing_about_another() -> None:
    case = Case(SUBMIT, SUBMIT, SUBMIT, SUBMIT, found=(True, False), labels=("Save", "Submit"))
    read = iter(("Save", "Submit", "Submit", "Save"))

    async def in_turn(frame: Frame, where: Point | Box) -> str:
        return next(read)

    case.walk.services = replace(case.walk.services, reader=in_turn)
    with pytest.raises(GaveUp, match="‘Save’ was pressed, and the effect is unknown"):
        await case.pursue()
    assert case.presses == 2


async def test_a_press_that_was_not_sent_does_not_count() -> None:
    class Shifting(ColouredProgram):
        held = False

        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Any:
            if not self.held:
                self.held = True
                raise ScreenChanged("The screen changed meanwhile.")
            return await super().do(gesture, deadline=deadline, input_permit=input_permit)

    case = Case(SUBMIT, SUBMIT, DONE)
    case.program = Shifting("form", filed_after(0))
    case.walk.services = replace(case.walk.services, desktop=case.program)
    await case.pursue()
    assert case.presses == 1


async def test_enter_counts_as_a_button_if_it_is_declared() -> None:
    case = Case(SUBMIT, ENTERED, ENTERED, labels=(ENTER,), found=(False,))
    with pytest.raises(GaveUp, match="‘Enter’ was pressed"):
        await case.pursue()
    assert case.presses == 2


async def test_the_text_on_the_target_decides_and_not_the_models_description() -> None:
    case = Case(OTHER, SUBMIT, SUBMIT, found=(False,))
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 2


async def test_the_models_description_decides_without_ocr() -> None:
    case = Case(OTHER, OTHER, reads="", found=(False,))
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 1


@pytest.mark.parametrize(
    ("label", "words", "is_named"),
    [
        ("OK", "the OK button", True),
        ("OK", "the Book now button", False),
        ("Send", "Resend", False),
        ("保存", "保存按钮", True),
        ("Save*", "Save as button", True),
        ("Écrire", "le bouton Décrire", False),
    ],
)
def test_a_label_is_named_by_words_of_its_own(label: str, words: str, is_named: bool) -> None:
    assert bool(EffectButtons((label,)).named_in(words)) == is_named


async def test_a_double_click_is_refused_as_two_presses() -> None:
    case = Case(TWICE, SUBMIT, DONE, moves=filed_after(0))
    await case.pursue()
    assert case.presses == 1


async def test_a_press_once_button_is_not_repeated_even_if_repeats_are_safe() -> None:
    case = Case(SUBMIT, SUBMIT, found=(False,), safe=("*",))
    with pytest.raises(GaveUp, match=r"effect .*is unknown"):
        await case.pursue()
    assert case.presses == 1


async def test_a_slow_effect_gets_time_before_it_is_probed() -> None:
    case = Case(SUBMIT, SUBMIT, found=(False,), guided=False)
    with pytest.raises(GaveUp, match=r"effect .*is unknown"):
        await case.pursue()
    assert [type(gesture).__name__ for gesture in case.program.gestures] == ["Click", "Pause"]


SPACE, MNEMONIC = wrote(step("hotkey", keys=["space"])), wrote(step("hotkey", keys=["alt", "s"]))
BLANK, HELD = wrote(step("write", content="x ")), wrote(step("hold_and_tap_key", hold_keys=["alt"], tap_keys=["s"]))


@pytest.mark.parametrize("first", [SPACE, MNEMONIC, BLANK, HELD, SUBMIT])
@pytest.mark.parametrize("second", [SPACE, MNEMONIC, BLANK, HELD, SUBMIT])
@pytest.mark.parametrize("labels", [("Submit",), ("Submit", "Send")])
async def test_a_button_is_pressed_once_by_any_kind_of_input(first: Any, second: Any, labels: tuple[str, ...]) -> None:
    case = Case(first, second, DONE, moves=filed_after(3), labels=labels)
    assert (await case.pursue()).text == "done"
    assert case.presses == 1
    assert "pressed before, and it worked" in case.told


@pytest.mark.parametrize("first", [SPACE, MNEMONIC, HELD])
async def test_a_button_without_text_is_pressed_once(first: Any) -> None:
    case = Case(first, SUBMIT, DONE, moves=filed_after(3), window="Name")
    await case.pursue()
    assert case.presses == 1


FIELD, IN_FIELD = Box(10, 4, 50, 16), wrote(step("click", element="the name", x=60, y=40))


def keys(*names: str) -> Any:
    return wrote(step("hotkey", keys=list(names)))


def written(text: str, **how: Any) -> Any:
    return wrote(step("write", content=text, **how))


ALWAYS = [
    *(written("Paper\n"), written("a\rb"), written("Paper\tand"), written(" "), written("Paper", press_enter=True)),
    *(keys("enter"), keys("space"), keys("ctrl", "s"), keys("ctrl", "enter"), keys("f9"), keys("alt", "x")),
    *(written("x "), wrote(step("click", element="nothing", x=10, y=900, button="middle"))),
    *(keys("ctrl", "shift", "v"), wrote(step("hold_and_tap_key", hold_keys=["shift"], tap_keys=["tab", "enter"]))),
]
AS_TEXT = [
    *(written("Paper and Pine"), written("a b c"), written("s"), written("", overwrite=True)),
    *(keys("s"), keys("ctrl", "v"), keys("ctrl", "z"), keys("delete")),
]
EDITING = [keys("ctrl", "a"), keys("tab"), keys("left"), keys("esc"), keys("backspace")]


@pytest.mark.parametrize(
    ("before", "pressing", "counts"),
    [
        *(([IN_FIELD], each, True) for each in ALWAYS),
        *(([], each, True) for each in (*ALWAYS, *AS_TEXT)),
        *(([OTHER], each, True) for each in AS_TEXT),
        *(([IN_FIELD], each, False) for each in AS_TEXT),
        *(([], each, False) for each in EDITING),
        ([IN_FIELD, keys("tab")], written("Paper"), False),
        ([IN_FIELD, keys("tab")], written("Paper and Pine"), True),
    ],
)
async def test_gestures_that_may_press_a_button_count_as_presses(
    before: list[Any], pressing: Any, counts: bool
) -> None:
    case = Case(*before, pressing, SUBMIT, DONE, found=(False,), field=FIELD, guided=False)
    if counts:
        with pytest.raises(GaveUp, match="‘Submit’ was pressed, and the effect is unknown"):
            await case.pursue()
    else:
        await case.pursue()
    assert case.presses == len(before) + 1 + (not counts)


@pytest.mark.parametrize("harmless", [*ALWAYS, *AS_TEXT, *EDITING])
async def test_keys_press_only_buttons_that_their_window_shows(harmless: Any) -> None:
    if harmless in (written(" "), written("x "), keys("space")):
        return  # these also press a button without text
    case = Case(harmless, SUBMIT, DONE, moves=filed_after(3), window="Search Cancel")
    await case.pursue()
    assert case.presses == 2


@pytest.mark.parametrize("window", ["", None])
async def test_a_window_that_cannot_be_read_may_show_the_button(window: str | None) -> None:
    case = Case(keys("enter"), SUBMIT, found=(False,), window=window or "")
    if window is None:
        case.walk.services = replace(case.walk.services, reader=broken)
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 1


@pytest.mark.parametrize(
    ("before", "text", "counts"),
    [
        ([], "Paper and Pine", True),
        ([], "Paper\n", True),
        ([], "Paper", False),
        ([OTHER], "Paper and Pine", False),
        ([OTHER], " ", True),
    ],
)
async def test_blanks_count_as_presses_without_ocr_unless_a_click_came_first(
    before: list[Any], text: str, counts: bool
) -> None:
    pressing = wrote(step("click", element="Submit", x=500, y=500))
    case = Case(*[IN_FIELD for _ in before], written(text), pressing, DONE, found=(False,), guided=False)
    case.walk.services = replace(case.walk.services, reader=None)
    if counts:
        with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
            await case.pursue()
    else:
        await case.pursue()
    assert case.presses == len(before) + 1 + (not counts)


@pytest.mark.parametrize("drag", [{"x1": 500, "x2": 502}, {"x1": 500, "x2": 900}, {"x1": 10, "x2": 502}], ids=str)
async def test_a_drag_presses_where_it_starts_and_where_it_ends(drag: dict[str, int]) -> None:
    dragged = wrote(step("drag_and_drop", element="it", y1=500, y2=500, **drag))
    case = Case(dragged, dragged, found=(False,))
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 1
    away = wrote(step("drag_and_drop", element="it", x1=10, y1=10, x2=40, y2=10))
    case = Case(away, away, DONE, guided=False)
    await case.pursue()
    assert case.presses == 2


BEHIND_TAB = [
    written("ab\t cd"),
    written("ab\tcd\t "),
    wrote(step("hold_and_tap_key", hold_keys=["shift"], tap_keys=["a", "tab", "space"])),
]


@pytest.mark.parametrize("behind", BEHIND_TAB)
@pytest.mark.parametrize("reads", [True, False])
async def test_a_blank_after_a_tab_presses_even_a_button_without_text(behind: Any, reads: bool) -> None:
    pressing = wrote(step("click", element="Submit", x=500, y=500))
    case = Case(IN_FIELD, behind, pressing, found=(False,), field=FIELD, window="Name", guided=False)
    if not reads:
        case.walk.services = replace(case.walk.services, reader=None)
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 2


async def test_unknown_keys_have_pressed_nothing() -> None:
    class Clumsy(ColouredProgram):
        async def do(
            self, gesture: Gesture, *, deadline: float | None = None, input_permit: InputPermit | None = None
        ) -> Any:
            if not self.gestures and isinstance(gesture, Hotkey):
                raise InvalidUsage("There is no such key on this keyboard.")
            return await super().do(gesture, deadline=deadline, input_permit=input_permit)

    case = Case(ENTERED, SUBMIT, DONE)
    case.walk.services = replace(case.walk.services, desktop=Clumsy("form", filed_after(0)))
    await case.pursue()
    assert len(case.walk.services.desktop.gestures) == 1  # type: ignore[attr-defined]


async def test_enter_may_press_a_declared_button() -> None:
    case = Case(ENTERED, SUBMIT, labels=("Submit", ENTER), found=(False,))
    with pytest.raises(GaveUp, match="‘Submit’ was pressed"):
        await case.pursue()
    assert case.presses == 1
    case = Case(ENTERED, SUBMIT, ENTERED, labels=("Submit", ENTER), found=(False,), window="Search")
    with pytest.raises(GaveUp, match="‘Enter’ was pressed"):
        await case.pursue()
    assert case.presses == 2


@pytest.mark.parametrize(
    "keys",
    [
        step("write", content="  "),
        step("write", content="\n\n"),
        step("write", content="ab\t  "),
        step("hotkey", keys=["space"], repeat_count=2),
    ],
)
async def test_two_blanks_in_one_text_are_two_presses(keys: Any) -> None:
    case = Case(wrote(keys), DONE, guided=False)
    await case.pursue()
    assert case.presses == 0
    assert "press it once only" in case.told


NOTE = wrote(step("write", content="Doubtful amount"))


@pytest.mark.parametrize(("shown", "presses"), [("Doubtful arnount", 2), ("Doubtful", 1), ("", 1)])
async def test_keys_that_show_as_text_count_as_no_press_of_a_button(shown: str, presses: int) -> None:
    """Typing into an unknown control may press a button, unless the typed text shows afterwards."""

    def moves(screen: str, gesture: Gesture) -> str:
        return "record" if screen == "form" else "filed"

    case = Case(NOTE, SUBMIT, DONE, moves=moves, guided=False, found=(False,))

    async def reads(frame: Frame, where: Point | Box) -> str:
        return "Submit" if isinstance(where, Point) else f"Name {shown if frame.rgb[0] // 20 == 3 else ''} Submit"

    case.walk.services = replace(case.walk.services, reader=reads)
    with suppress(GaveUp):
        await case.pursue()
    assert case.presses == presses


@pytest.mark.parametrize(
    "written",
    [
        {"content": "Doubtful amount", "press_enter": True},
        {"content": "Doubtful amount\t"},
        {"content": "Doubtful amount "},
        {"content": "no"},
    ],
)
async def test_keys_that_may_press_a_button_beside_the_text_count_as_a_press(written: dict[str, Any]) -> None:
    text = str(written["content"])
    before, after = (Frame(bytes([shade]) * (3 * 4), Size(2, 2), ":0") for shade in (0, 9))

    async def reads(frame: Frame, where: Point | Box) -> str:
        return text if frame is after else ""

    gesture = Write(text, press_enter=bool(written.get("press_enter")))
    assert not await shows_as_text(gesture, before, after, reads)
    assert await shows_as_text(Write("Doubtful"), before, after, reads) is text.startswith("Doubtful")
    assert not await shows_as_text(Write("Doubtful", at=Point(1, 1)), before, after, reads)

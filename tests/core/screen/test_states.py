"""Invalid states and ways are refused at once, and a plan is the shortest possible."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.core.screen.geometry import Box
from holo_tasks.core.screen.states import Absent, AnyOf, Asked, Picture, State, Text, Window, marks_in
from holo_tasks.loop.screens import Interruption, Screens, Way, plan


async def go() -> None:
    """Do nothing."""


FORM, LIST, SAVING = State("form", Text("FORM")), State("list", Text("LIST")), State("saving", Text("…g"), busy=True)
NOTICE = Interruption(State("notice", Text("NOTICE")), go)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: State("form"), "has no marks"),
        (lambda: State("", Text("FORM")), "a name of its own"),
        (lambda: State("form", "FORM"), r"write Text\('FORM'\)"),  # type: ignore[arg-type]
        (lambda: Text(" * "), "needs words"),
        (lambda: Text("FORM", Box(0, 0, 0, 5)), "at least one pixel"),
        (lambda: Picture(Path("a.png"), likeness=1.5), "at most 1"),
        (lambda: Window(), "fits every window"),
        (lambda: Asked(" "), "needs a question"),
        (lambda: AnyOf(), "has no marks"),
        (lambda: Screens([]), "at least one State"),
        (lambda: Screens([FORM, State("form", Text("other"))]), "Two states are named 'form'"),
        (lambda: Screens([FORM], [Interruption(State("form", Text("x")), go)]), "Two states are named 'form'"),
        (lambda: Screens([FORM], [NOTICE, Interruption(LIST, go, name="notice")]), "Two interruptions"),
        (lambda: Screens([FORM], ways=[Way(go, "nowhere")]), "leads to 'nowhere'.*there are: form"),
        (lambda: Screens([FORM], ways=[Way(go, "form", "nowhere")]), "starts at 'nowhere'"),
        (lambda: Screens([FORM, SAVING], ways=[Way(go, "form", "saving")]), "busy"),
        (lambda: Screens([FORM], home="nowhere"), "choose one of: form"),
        (lambda: Screens([FORM, SAVING], home="saving"), "is busy; choose one of: form"),
        (lambda: Screens([FORM], timeout_seconds=float("nan")), "timeout_seconds"),
        (lambda: Interruption(SAVING, go), "never acted on"),
        (lambda: Interruption(FORM, go, most=0), "at least once"),
        (lambda: Way("go", "form"), "needs something to do"),  # type: ignore[arg-type]
        (lambda: Screens([FORM]).state("nowhere"), "there are: form"),
        (lambda: plan(Screens([FORM]), None, "nowhere"), "no state 'nowhere'"),
    ],
)
def test_invalid_declarations_are_refused_with_a_hint(make: object, said: str) -> None:
    with pytest.raises(InvalidUsage, match=said):
        make()  # type: ignore[operator]


def test_an_interruption_is_recognized_before_the_state_below_it() -> None:
    screens = Screens([FORM, LIST], [NOTICE])
    assert [state.name for state in screens.candidates] == ["notice", "form", "list"]
    assert screens.interruption(screens.state("notice")) is NOTICE
    assert screens.interruption(FORM) is None


def test_nested_marks_are_found() -> None:
    marks = (Absent(AnyOf(Text("a"), Absent(Window("b")))), Asked("c?"))
    assert list(marks_in(marks)) == [Text("a"), Window("b"), Asked("c?")]


def test_a_way_from_the_exact_state_is_preferred_and_failed_ways_are_skipped() -> None:
    anywhere, direct = Way(go, "form"), Way(go, "form", "list")
    screens = Screens([FORM, LIST], ways=[anywhere, direct])
    assert plan(screens, "list", "form") == (direct,)
    assert plan(screens, "list", "form", without=[direct]) == (anywhere,)
    assert plan(screens, None, "form") == (anywhere,)
    assert plan(screens, None, "list") is None
    assert plan(screens, "form", "form") == ()


NAMES = ["a", "b", "c", "d", "e"]
ways = st.lists(st.builds(lambda start, to: Way(go, to, start), st.sampled_from(["*", *NAMES]), st.sampled_from(NAMES)))


@given(ways, st.sampled_from([None, *NAMES]), st.sampled_from(NAMES))
def test_a_plan_is_the_shortest_that_leads_to_the_target(known: list[Way], start: str | None, to: str) -> None:
    found = plan(Screens([State(name, Text(name)) for name in NAMES], ways=known), start, to)
    distances: dict[str | None, int] = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for way in known:
            if way.start in ("*", here) and way.to not in distances:
                distances[way.to] = distances[here] + 1
                queue.append(way.to)
    assert (None if found is None else len(found)) == distances.get(to)
    here = start
    for way in found or ():
        assert way.start in ("*", here)
        here = way.to

"""What is mined from pictures: what must be seen after a step, and targets that are unique on all of a screen."""

from __future__ import annotations

from holo_tasks.compiler.effects import comes_of
from holo_tasks.compiler.recording import Picture
from holo_tasks.compiler.sights import Seen
from holo_tasks.compiler.targets import target_at
from holo_tasks.core.geometry import Box, Size
from holo_tasks.scripts.values import Value
from holo_tasks.vision.screen_text import Line, Sight

SIZE = Size(640, 400)
ORDERS: tuple[dict[str, Value], ...] = ({"order": "AB-1207"}, {"order": "CD-3391"})


def sight(*texts: tuple[str, int, int]) -> Sight:
    return Sight(tuple(Line(text, Box(left, top, 8 * len(text), 16)) for text, left, top in texts), SIZE)


def seen(screen: int, *texts: tuple[str, int, int]) -> Seen:
    return Seen(Picture(str(texts), Box.whole(SIZE), SIZE), sight(*texts), screen)


def of_order(number: str, *more: tuple[str, int, int]) -> Seen:
    return seen(1, ("ORDER DETAILS", 20, 50), ("Order", 20, 120), (number, 200, 120), *more)


MENU = seen(0, ("MAIN MENU", 20, 50), ("Newest order", 20, 120))


def test_after_a_step_its_own_item_must_be_seen() -> None:
    after = [of_order("AB-1207"), of_order("CD-3391")]
    then = comes_of([MENU, MENU], after, ORDERS, [MENU.sight], ["AB-1207", "CD-3391"], ["order"])
    assert then == ["ORDER DETAILS", "Order", "{order}"]


def test_an_item_that_was_there_before_or_is_not_there_in_all_runs_is_not_asked_for() -> None:
    after = [of_order("AB-1207"), of_order("CD-3391")]
    listed = seen(0, ("MAIN MENU", 20, 50), ("AB-1207", 20, 120), ("CD-3391", 20, 180))
    private = ["AB-1207", "CD-3391"]
    assert "{order}" not in comes_of([listed, listed], after, ORDERS, [MENU.sight], private, ["order"])
    other = [of_order("AB-1207"), of_order("XX-0000")]
    assert "{order}" not in comes_of([MENU, MENU], other, ORDERS, [MENU.sight], private, ["order"])


def test_of_one_run_on_a_screen_that_stays_only_the_item_tells_what_came_of_a_step() -> None:
    before = seen(0, ("ORDERS", 20, 50), ("Show", 20, 80))
    after = seen(0, ("ORDERS", 20, 50), ("Show", 20, 80), ("Ready", 20, 120), ("Order AB-1207", 20, 160))
    assert comes_of([before], [after], ORDERS[:1], [], ["AB-1207"], ["order"]) == ["*{order}*"]


def test_a_short_value_may_be_there_by_chance_and_is_not_asked_for() -> None:
    before, after = seen(0, ("ORDERS", 20, 50)), seen(0, ("ORDERS", 20, 50), ("12", 20, 160))
    assert comes_of([before], [after], [{"pieces": 12}], [], [], ["pieces"]) == []


def test_a_target_that_another_picture_of_its_screen_has_twice_is_told_by_what_it_stands_beside() -> None:
    one = sight(("SHELVES", 20, 50), ("Paper", 20, 120), ("Delete", 300, 120))
    two = sight(
        ("SHELVES", 20, 50), ("Paper", 20, 120), ("Delete", 300, 120), ("Pencils", 20, 180), ("Delete", 300, 180)
    )
    pressed = one.lines[2].box.center
    alone, beside = target_at(pressed, one, {}), target_at(pressed, one, {}, [(one, {}), (two, {})])
    assert alone is not None
    assert beside is not None
    assert (alone.text, alone.relations) == ("Delete", {})
    assert (beside.text, beside.relations) == ("Delete", {"right_of": "Paper"})


def test_where_no_way_is_unique_on_all_pictures_it_is_the_first_that_finds_it() -> None:
    one = sight(("Delete", 300, 120))
    two = sight(("Delete", 300, 120), ("Delete", 300, 180))
    found = target_at(one.lines[0].box.center, one, {}, [(two, {})])
    assert found is not None
    assert (found.text, found.relations) == ("Delete", {})

"""A false accessibility tree leads to no wrong target: errors are planted in the tree of a known picture."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw, ImageFont

from holo_tasks.core.elements.elements import NOWHERE, SHOWING, Element, ElementTree
from holo_tasks.core.screen.frame import Frame
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.scripts.element_search import NotFound
from holo_tasks.scripts.rules import find
from holo_tasks.scripts.steps_and_targets import Target
from holo_tasks.vision.checked_elements import seen_in, with_elements
from holo_tasks.vision.element_check import ElementCheck
from holo_tasks.vision.ocr_reader import Reader
from holo_tasks.vision.screen_text import Sight
from tests.support.elements import tree_of
from tests.support.long import few

SIZE = Size(760, 420)
NAMES = (
    "Save",
    "Save as",
    "Don't save",
    "Delete",
    "Item 1",
    "Item 2",
    "Approve",
    "Reject",
    "OK",
    "Close",
    "Send",
    "Pay 100",
)
FIELDS = ("Name", "Amount", "Note")
BUTTONS = {name: Box(20 + 185 * (n % 4), 20 + 60 * (n // 4), 165, 40) for n, name in enumerate(NAMES)}
INPUTS = {name: Box(140, 220 + 50 * n, 300, 32) for n, name in enumerate(FIELDS)}
TRUTH = BUTTONS | INPUTS
CHECK = ElementCheck(Reader())


def drawn() -> Frame:
    image = Image.new("RGB", (SIZE.width, SIZE.height), "#d8d8d8")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=18)
    for name, box in BUTTONS.items():
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill="#eeeeee", outline="#404040")
        draw.text((box.left + 20, box.top + 9), name, fill="black", font=font)
    for name, box in INPUTS.items():
        draw.text((20, box.top + 4), name, fill="black", font=font)
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill="white", outline="#404040")
    return Frame(image.tobytes(), SIZE, ":lies")


FRAME = drawn()
TREE = tree_of(
    *(("button", name, box) for name, box in BUTTONS.items()),
    *(("text field", name, box) for name, box in INPUTS.items()),
)
Lie = Callable[[random.Random, list[Element]], None]


def swapped(rng: random.Random, told: list[Element]) -> None:
    one, other = rng.sample(range(1, len(NAMES) + 1), 2)
    told[one], told[other] = replace(told[one], name=told[other].name), replace(told[other], name=told[one].name)


def renamed(rng: random.Random, told: list[Element]) -> None:
    one = rng.randrange(1, len(NAMES) + 1)
    told[one] = replace(told[one], name=rng.choice(NAMES))


def moved(rng: random.Random, told: list[Element]) -> None:
    one, box = rng.randrange(1, len(told)), Box(rng.randrange(-20, 700), rng.randrange(-20, 400), 165, 40)
    told[one] = replace(told[one], box=box.clipped(SIZE) or NOWHERE)


def put_on_another(rng: random.Random, told: list[Element]) -> None:
    one, other = rng.sample(range(1, len(told)), 2)
    told[one] = replace(told[one], box=told[other].box)


def resized(rng: random.Random, told: list[Element]) -> None:
    one = rng.randrange(1, len(told))
    box = told[one].box
    size = rng.choice([(0, 0), (1, 1), (3, 40), (600, 300), (20, 12)])
    told[one] = replace(told[one], box=Box(box.left, box.top, *size).clipped(SIZE) or NOWHERE)


def off_screen(rng: random.Random, told: list[Element]) -> None:
    one = rng.randrange(1, len(told))
    told[one] = replace(told[one], box=Box(rng.choice([-500, 5000]), 20, 165, 40))


def stale(rng: random.Random, told: list[Element]) -> None:
    down = rng.choice([-60, 60, 120])
    for place, each in enumerate(told[1:], 1):
        told[place] = replace(each, box=each.box.moved(0, down).clipped(SIZE) or NOWHERE)


def turned_roles(rng: random.Random, told: list[Element]) -> None:
    field, button = rng.randrange(len(NAMES) + 1, len(told)), rng.randrange(1, len(NAMES) + 1)
    told[field] = replace(told[field], box=told[button].box)
    told[button] = replace(told[button], role=rng.choice(["panel", "image"]))


def crowded(rng: random.Random, told: list[Element]) -> None:
    name, box = rng.choice(NAMES), Box(rng.randrange(700), rng.randrange(400), 30, 20)
    told += [
        Element(len(told) + n, "button", name, frozenset({SHOWING}), box, len(told) + n - 1, "program", 1)
        for n in range(rng.choice([1, 200]))
    ]


LIES: tuple[Lie, ...] = (
    swapped, renamed, moved, put_on_another, resized, off_screen, stale, turned_roles, crowded
)  # fmt: skip


def targets_of(tree: ElementTree) -> list[tuple[str, Box]]:
    """Return the targets found by name, for everything that the picture shows."""
    sight = with_elements(Sight((), SIZE), FRAME, seen_in(tree, None), CHECK)
    found = []
    for name in TRUTH:
        role = "text field" if name in FIELDS else "button"
        try:
            found.append((name, find(Target(role=role, name=name), {}, sight)))
        except NotFound:
            continue
    return found


def test_with_a_true_tree_all_targets_are_found() -> None:
    assert dict(targets_of(TREE)) == TRUTH


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
@pytest.mark.parametrize("times", few([4, 112]))
def test_no_false_tree_leads_to_a_wrong_target(lie: Lie, times: int) -> None:
    wrong, found = [], 0
    for seed in range(times):
        told = list(TREE.elements)
        lie(random.Random(f"{lie.__name__} {seed}"), told)
        for name, box in targets_of(ElementTree(tuple(told), TREE.applications)):
            found += 1
            if not TRUTH[name].contains(box.center):
                wrong.append((seed, name, box))
    assert not wrong
    assert found or lie is stale, "the unaffected elements must still be found"

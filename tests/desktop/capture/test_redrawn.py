"""Repaints that changed pixels are distinguished from repaints that drew the same pixels."""

from __future__ import annotations

from PIL import Image, ImageDraw

from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.desktop.capture.changed_pixels import SMALLEST, ChangedPixels, places_of
from holo_tasks.desktop.capture.settle import Repaint

SIZE = (640, 480)
COLUMN = Box(100, 0, 256, 480)


class Looks(ChangedPixels):
    """Reads a picture instead of a screen."""

    def __init__(self, picture: Image.Image) -> None:
        super().__init__(self)  # type: ignore[arg-type]
        self.picture = picture
        self.looked: list[Box] = []

    def size(self) -> Size:
        return Size(*self.picture.size)

    def _taken(self, box: Box) -> Image.Image:
        self.looked.append(box)
        return self.picture.crop((box.left, box.top, box.right, box.bottom))


def painted(*boxes: Box) -> Image.Image:
    picture = Image.new("RGB", SIZE, "white")
    for box in boxes:
        ImageDraw.Draw(picture).rectangle((box.left, box.top, box.right - 1, box.bottom - 1), "navy")
    return picture


def test_a_repaint_is_reduced_to_the_pixels_that_changed() -> None:
    looks, line = Looks(painted()), Box(120, 200, 30, 12)
    assert looks.since([Repaint(5, COLUMN)]) == ((5, COLUMN),), "there is no earlier picture to compare with"
    looks.picture = painted(line)
    seen = [Repaint(5, COLUMN), Repaint(7, COLUMN), Repaint(9, Box(0, 0, 50, 50))]
    assert looks.since(seen) == ((5, COLUMN), (7, line))
    assert looks.since(seen) == ((5, COLUMN), (7, line))
    assert looks.since([*seen, Repaint(11, COLUMN)])[2:] == ()
    looks.picture = painted()
    assert looks.since([*seen, Repaint(11, COLUMN), Repaint(12, line), Repaint(13, COLUMN)])[2:] == (
        (12, line),
        (13, line),
    )


def test_each_region_is_read_once() -> None:
    looks = Looks(painted())
    looks.since([])
    looks.looked.clear()
    looks.since([Repaint(1, Box(110, 10, 9, 9)), Repaint(2, COLUMN), Repaint(3, Box(120, 20, 9, 9))])
    assert looks.looked == [COLUMN]


def test_a_resized_or_forgotten_screen_is_compared_as_a_whole() -> None:
    looks = Looks(painted())
    looks.since([])
    looks.forget()
    assert looks.since([Repaint(1, COLUMN)]) == ((1, COLUMN),)
    looks.picture = Image.new("RGB", (800, 600))
    assert looks.since([Repaint(1, COLUMN), Repaint(2, COLUMN)]) == ((1, COLUMN), (2, COLUMN))


def test_changed_regions_are_separated_and_none_is_lost() -> None:
    boxes = [Box(3, 3, 5, 5), Box(300, 7, 40, 8), Box(2, 400, 600, 1), Box(639, 479, 1, 1)]
    found = places_of(painted(*boxes).point(lambda value: 255 - value))
    seen = painted(*found)
    for box in boxes:
        assert all(seen.getpixel((x, box.top)) == (0, 0, 128) for x in range(box.left, box.right))
    assert sum(place.area for place in found) < 3 * SMALLEST * SMALLEST
    assert all(max(place.width, place.height) <= SMALLEST for place in found)
    assert places_of(Image.new("RGB", SIZE)) == []

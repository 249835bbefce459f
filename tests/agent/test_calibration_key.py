"""The cache key of a calibration: another setting is measured, the same setting is not, in any run."""

from __future__ import annotations

import importlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter

from holo_tasks.core.elements.elements import Application, Element, ElementTree
from holo_tasks.core.errors import TransientModelFault
from holo_tasks.core.screen.calibration import Axis, Calibration, Correction, Setting
from holo_tasks.core.screen.geometry import Box
from holo_tasks.desktop.x11.windows import Window
from holo_tasks.models.encoding import ENCODERS, Tier
from holo_tasks.safety.policy import Rules

# The package exports a function of the same name
calibrating = importlib.import_module("holo_tasks.agent.screen.calibrate")
HERE = Setting(
    display="virtual",
    area=(0, 0, 800, 500),
    screen=(800, 500),
    scale="GDK_SCALE=1",
    window_manager="Openbox",
    model="holo",
    quality="Jpeg",
)
ELSEWHERE: dict[str, Any] = {
    "display": ":0",
    "area": (0, 0, 500, 800),
    "screen": (1600, 500),
    "scale": "GDK_SCALE=2",
    "window_manager": "",
    "model": "another",
    "quality": "Png",
}


def key(setting: Setting, rules: str = "rules", **context: Any) -> str | None:
    """Return the cache key of a measurement for plain values, as a task gets them."""
    told = TypeAdapter(Setting).dump_python(setting, mode="json")
    found: str | None = calibrating.SAME_SETTING.compute_key(
        context.get("run"), {"setting": told, "rules": rules}, context
    )
    return found


@pytest.mark.parametrize("part", [one.name for one in fields(Setting)])
def test_another_setting_has_another_key(part: str) -> None:
    assert key(replace(HERE, **{part: ELSEWHERE[part]})) != key(HERE)


def test_the_same_setting_has_the_same_key_unless_the_rules_differ() -> None:
    assert key(HERE) is not None
    assert key(replace(HERE)) == key(HERE, run="another run", of="another flow")
    assert key(HERE, rules="others") != key(HERE)
    moved = replace(HERE, area=(800, 0, 800, 500))
    assert key(moved) != key(HERE), "another monitor of the same display and size"


class Shown:
    """A desktop that never changes."""

    async def setting(self) -> Setting:
        return replace(HERE, model="", quality="")

    async def open_target(self, points: Any) -> None: ...

    async def target(self) -> Any: ...

    async def close_target(self) -> None: ...


@dataclass
class Measuring:
    """Fake of the measuring task: records the cache keys, and whether a new measurement was requested."""

    keys: list[str | None] = field(default_factory=list)
    anew: list[bool] = field(default_factory=list)
    refresh_cache: bool = False
    found: tuple[str, ...] = ()
    """Notes of its earlier result."""

    def with_options(self, *, refresh_cache: bool) -> Measuring:
        return replace(self, refresh_cache=refresh_cache)

    async def __call__(self, setting: dict[str, Any], rules: str) -> Any:
        held = TypeAdapter(Setting).validate_python(setting)
        self.keys.append(key(held, rules))
        self.anew.append(self.refresh_cache)
        return TypeAdapter(Calibration).dump_python(Calibration(held, notes=self.found), mode="json")


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    made = Measuring()
    monkeypatch.setattr(calibrating, "measure", made)
    return made


async def calibrated(
    monkeypatch: pytest.MonkeyPatch, *, name: str = "holo", quality: Tier = "default", **how: bool
) -> Setting:
    """Calibrate in a separate run with a model of this name; return the measured setting."""
    run_with(monkeypatch, name, quality)
    found: Calibration = await calibrating.calibrate(**how)
    return found.setting


async def found_on(monkeypatch: pytest.MonkeyPatch, desktop: Shown) -> Calibration:
    run_with(monkeypatch).desktop = desktop
    found: Calibration = await calibrating.calibrate()
    return found


async def left_by(monkeypatch: pytest.MonkeyPatch, before: Correction, *, model: bool) -> Any:
    """Return a run's surroundings after a calibration that began with this correction."""
    run = run_with(monkeypatch)
    run.outside.correction = before
    await calibrating.calibrate(model=model)
    return run.outside


@dataclass
class Outside:
    """The part of a run's surroundings that a calibration uses."""

    model: Any
    encoder: Any
    policy: Any
    correction: Correction | None = None


def run_with(monkeypatch: pytest.MonkeyPatch, name: str = "holo", quality: Tier = "default") -> Any:
    """Run a calibration as part of a separate run."""

    @asynccontextmanager
    async def alone() -> Any:
        yield

    outside = Outside(SimpleNamespace(name=name), ENCODERS[quality], Rules())
    run = SimpleNamespace(desktop=Shown(), exclusive_screen=alone, outside=outside, home=None)
    monkeypatch.setattr(calibrating, "current_run", lambda: run)
    monkeypatch.setattr(calibrating, "store", lambda home, found: None)
    return run


async def test_model_and_quality_are_part_of_the_key_only_with_a_model(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await calibrated(monkeypatch, model=True)
    assert asked.model == "holo"
    await calibrated(monkeypatch, model=True)
    await calibrated(monkeypatch, model=True, name="another")
    await calibrated(monkeypatch, model=True, quality="dense")
    await calibrated(monkeypatch, model=True, quality="full")
    first, again, *others = measuring.keys
    assert first == again
    assert len({first, *others}) == 4
    await calibrated(monkeypatch)
    await calibrated(monkeypatch, name="another", quality="full")
    unasked, by_another = measuring.keys[5:]
    assert unasked == by_another
    assert unasked not in measuring.keys[:5]


async def test_refresh_measures_again(measuring: Measuring, monkeypatch: pytest.MonkeyPatch) -> None:
    for refresh in (False, True):
        await calibrated(monkeypatch, refresh=refresh)
    assert measuring.anew == [False, True]
    assert measuring.keys[0] == measuring.keys[1]


async def test_a_measurement_below_another_window_is_repeated(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring.found = (f"A click at (1, 2) did not arrive: {calibrating.ABOVE}",)
    await calibrated(monkeypatch)
    assert measuring.anew == [False, True]
    measuring.anew.clear()
    measuring.found = ("Clicks were not measured, because the rules do not allow them: no.",)
    await calibrated(monkeypatch)
    assert measuring.anew == [False]


async def test_a_correction_ends_if_the_model_has_no_error(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Correction(x=Axis(offset=100))
    for model, after in ((False, before), (True, None)):
        outside = await left_by(monkeypatch, before, model=model)
        assert outside.correction == after


async def test_an_unreachable_model_raises_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> Any:
        raise TransientModelFault("503")

    monkeypatch.setattr(calibrating, "_located", away)
    monkeypatch.setattr(calibrating, "side_walk", lambda title: None)
    with pytest.raises(TransientModelFault):
        await calibrating._measure_model(SimpleNamespace(), HERE, [])


class Programs(Shown):
    """A desktop with programs that report their windows; two windows of the same title are ambiguous."""

    def __init__(self, *titles: str) -> None:
        self.titles = titles

    async def windows(self) -> Any:
        boxes = [Box(10 * n, 0, 300 + 200 * n, 200) for n in range(len(self.titles))]
        return [Window(1, title, 7, box, False) for title, box in zip(self.titles, boxes, strict=True)]

    async def elements(self) -> Any:
        told = [
            Element(n, "window", one.title, frozenset(), one.box, -1, "form", 7)
            for n, one in enumerate(await self.windows())
        ]
        return ElementTree(tuple(told), (Application("form", 7, "Qt", "cache"),))


async def test_toolkits_are_measured_each_time(measuring: Measuring, monkeypatch: pytest.MonkeyPatch) -> None:
    (toolkit,) = (await found_on(monkeypatch, Programs("One"))).toolkits
    assert (toolkit.application, toolkit.factor) == ("form", 1)
    twice = await found_on(monkeypatch, Programs("One", "One"))
    assert (twice.toolkits, twice.notes) == ((), ())

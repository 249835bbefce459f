"""What a calibration is kept by: another setting is measured anew, the same one is not, whatever run asks for it."""

from __future__ import annotations

import importlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter

from holo_tasks.core.calibration import Calibration, Setting
from holo_tasks.models.encoding import ENCODERS, Tier
from holo_tasks.safety.policy import Rules

calibrating = importlib.import_module("holo_tasks.agent.calibrate")  # the package names its function so
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
    """Return what a measurement is kept by; it is told plain values, as a task is."""
    told = TypeAdapter(Setting).dump_python(setting, mode="json")
    found: str | None = calibrating.SAME_SETTING.compute_key(
        context.get("run"), {"setting": told, "rules": rules}, context
    )
    return found


@pytest.mark.parametrize("part", [one.name for one in fields(Setting)])
def test_another_setting_is_measured_anew(part: str) -> None:
    assert key(replace(HERE, **{part: ELSEWHERE[part]})) != key(HERE)


def test_the_same_setting_is_not_and_other_rules_are_another_setting() -> None:
    assert key(HERE) is not None
    assert key(replace(HERE)) == key(HERE, run="another run", of="another flow")
    assert key(HERE, rules="others") != key(HERE)
    moved = replace(HERE, area=(800, 0, 800, 500))
    assert key(moved) != key(HERE), "another monitor of the same display and size"


class Shown:
    """A desktop that is always the same."""

    async def setting(self) -> Setting:
        return replace(HERE, model="", quality="")

    async def open_target(self, points: Any) -> None: ...

    async def target(self) -> Any: ...

    async def close_target(self) -> None: ...


@dataclass
class Measuring:
    """Stands for the task that measures: notes by what its result is kept, and whether it is to be measured anew."""

    keys: list[str | None] = field(default_factory=list)
    anew: list[bool] = field(default_factory=list)
    refresh_cache: bool = False

    def with_options(self, *, refresh_cache: bool) -> Measuring:
        return replace(self, refresh_cache=refresh_cache)

    async def __call__(self, setting: dict[str, Any], rules: str) -> Any:
        held = TypeAdapter(Setting).validate_python(setting)
        self.keys.append(key(held, rules))
        self.anew.append(self.refresh_cache)
        return TypeAdapter(Calibration).dump_python(Calibration(held), mode="json")


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    made = Measuring()
    monkeypatch.setattr(calibrating, "measure", made)
    return made


async def calibrated(
    monkeypatch: pytest.MonkeyPatch, *, name: str = "holo", quality: Tier = "default", **how: bool
) -> Setting:
    """Calibrate in a run of its own with a model of this name; return the setting that was measured."""

    @asynccontextmanager
    async def alone() -> Any:
        yield

    encoder, model = ENCODERS[quality], SimpleNamespace(name=name)
    outside = SimpleNamespace(model=model, encoder=encoder, policy=Rules())
    run = SimpleNamespace(desktop=Shown(), screen_alone=alone, outside=outside, home=None)
    monkeypatch.setattr(calibrating, "current_run", lambda: run)
    found: Calibration = await calibrating.calibrate(**how)
    return found.setting


async def test_a_model_and_its_pictures_count_only_where_the_model_is_asked(
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


async def test_it_is_measured_anew_where_that_is_asked_for(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    for refresh in (False, True):
        await calibrated(monkeypatch, refresh=refresh)
    assert measuring.anew == [False, True]
    assert measuring.keys[0] == measuring.keys[1]

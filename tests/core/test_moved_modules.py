"""Modules can still be imported by the names they had before packages were divided."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys

import pytest

from holo_tasks.core.moved_modules import RENAMED, present_name


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("holo_tasks.core.gestures", "holo_tasks.core.input.gestures"),
        ("holo_tasks.safety.ledger", "holo_tasks.safety.records.ledger"),
        ("holo_tasks.desktop.xlink", "holo_tasks.desktop.x11.x_connection"),
    ],
)
def test_a_former_name_gives_the_same_module_with_a_warning(former: str, present: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is {present} now"):
        module = importlib.import_module(former)
    assert module is importlib.import_module(present)
    assert module.__name__ == present
    assert module.__spec__ is not None
    assert module.__spec__.name == present


def test_each_renamed_module_exists() -> None:
    missing = [now for now in RENAMED.values() if importlib.util.find_spec(f"holo_tasks.{now}") is None]
    assert missing == []


@pytest.mark.parametrize("name", ["holo_tasks.core.nothing", "holo_tasks.nothing.gestures", "holo_tasks.core.input.no"])
def test_a_module_that_never_existed_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
    assert present_name("core", "../core") == ""


def test_packages_that_replaced_a_module_still_have_its_names() -> None:
    code = (
        "from holo_tasks.core.elements import Element, known_elements\n"
        "from holo_tasks.desktop.fields import Fields, clear_field\n"
        "assert Element.__module__ == 'holo_tasks.core.elements.elements'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
